"""Applies events to the state of a TrainJob."""
