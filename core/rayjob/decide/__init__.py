"""Decides which events follow from an observation of a RayJob, one file per source."""
