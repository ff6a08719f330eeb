"""Observations of a RayJob and its children, read from Kubernetes objects and Ray's answers."""
