"""Rules that follow from the state of a RayJob, and the effects and decisions it calls for."""
