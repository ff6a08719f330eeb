"""Decides which events follow from an observation of a TrainJob, one file per source."""
