"""The objects that are made for a RayJob."""
