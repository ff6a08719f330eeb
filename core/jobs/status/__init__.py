"""Kubernetes Events that every kind of job can have."""
