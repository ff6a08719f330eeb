"""Ports once more, in memory: for tests, the simulator and the sandbox."""
