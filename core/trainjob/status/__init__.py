"""What users see of a TrainJob: its `.status` and its Kubernetes Events."""
