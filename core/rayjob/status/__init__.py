"""What users see of a RayJob: its `.status` and its Kubernetes Events."""
