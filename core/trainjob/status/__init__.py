"""The `.status` of a TrainJob and its Kubernetes Events."""
