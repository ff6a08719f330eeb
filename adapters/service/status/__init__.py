"""Writes `.status` and Kubernetes Events."""
