"""Real controllers, killed by SIGKILL before and after every step that the ports have."""
