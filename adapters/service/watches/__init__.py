"""Handlers of watch events: map them to observations of the jobs concerned."""
