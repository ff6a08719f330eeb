"""Upstream's end-to-end suite of RayJobs against Jobledger: `make test-node`."""
