"""Decides which events follow from an observation of a Job, one file per source."""
