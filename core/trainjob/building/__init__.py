"""Builds the objects of a TrainJob from its runtime."""
