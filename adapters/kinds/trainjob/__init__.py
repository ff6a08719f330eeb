"""The kind TrainJob outside of the core: how it is watched and acted for."""
