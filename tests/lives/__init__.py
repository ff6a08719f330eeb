"""Whole lives of RayJobs, each under KubeRay's own controller and under ours, compared."""
