"""The demonstration: real processes, and a controller that is killed in the middle."""
