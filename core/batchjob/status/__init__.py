"""The `.status` of a Job and its Kubernetes Events."""
