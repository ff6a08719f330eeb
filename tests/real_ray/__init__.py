"""A real Ray head under the sandbox's RayClusters: `make test-ray`."""
