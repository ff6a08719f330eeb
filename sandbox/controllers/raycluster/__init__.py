"""The sandbox's controller of RayClusters."""
