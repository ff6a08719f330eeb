"""The kind RayJob outside of the core: how it is watched and acted for."""
