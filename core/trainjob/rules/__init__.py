"""Rules that follow from the state of a TrainJob, and the effects and decisions it calls for."""
