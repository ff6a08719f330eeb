"""Writing `.status` and Kubernetes Events."""
