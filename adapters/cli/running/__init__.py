"""Commands that run a process: the service, a sandbox, a demonstration."""
