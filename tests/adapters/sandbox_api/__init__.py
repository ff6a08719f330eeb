"""What the sandbox's API server does that no contract asks of a real one."""
