"""Metrics under the names of KubeRay's operator, and RayClusters that remain."""
