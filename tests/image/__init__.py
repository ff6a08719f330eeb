"""The image without an engine: what its Dockerfile copies and runs, then used as in a Pod."""
