"""How each event changes the state of a RayJob."""
