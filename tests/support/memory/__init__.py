"""The ports in memory, for tests and the simulation."""
