"""What `kubectl get` prints of the sandbox's objects."""
