"""Plugins of TrainJobs, compared field by field."""
