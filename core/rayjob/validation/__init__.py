"""Whether a RayJob is valid: upstream's rules and ours."""
