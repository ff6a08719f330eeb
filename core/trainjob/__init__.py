"""TrainJob: phases, events, rules, and the building of its objects from a runtime."""
