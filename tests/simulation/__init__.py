"""The whole service on simulated time and faults: one seed, one run, one line per step."""
