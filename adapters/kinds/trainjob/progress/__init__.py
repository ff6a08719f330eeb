"""The trainer-status server: TrainJob Pods report their progress to it."""
