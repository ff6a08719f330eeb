"""Applies events to the state of a Job."""
