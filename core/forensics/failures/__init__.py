"""The signs of failures in a stream of events, by which `core.jobs.failures` tells the cause."""
