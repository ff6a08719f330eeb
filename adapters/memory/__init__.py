"""In-memory implementations of the ports, for tests, the simulator and the sandbox."""
