"""The `.status` of a RayJob and its Kubernetes Events."""
