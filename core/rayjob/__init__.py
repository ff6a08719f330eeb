"""RayJob: specification, phases, state, events, decider, manifests, status."""
