"""Metrics under the names of KubeRay's operator, and what stays standing."""
