"""Validates RayJobs: upstream's rules and Jobledger's."""
