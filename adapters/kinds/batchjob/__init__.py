"""The kind Job (batch/v1) outside of the core: how it is watched and acted for."""
