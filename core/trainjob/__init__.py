"""TrainJob: its phases, events, rules, and how its objects are built from a runtime."""
