"""Applies events that every kind of job has."""
