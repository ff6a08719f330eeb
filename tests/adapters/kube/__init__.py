"""The Kubernetes adapter against a server that misbehaves as scripted."""
