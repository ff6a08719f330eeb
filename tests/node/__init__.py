"""A real Kubernetes node (`make node`), and upstream's suite on it (`make test-node`)."""
