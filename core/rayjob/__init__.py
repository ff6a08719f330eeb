"""The life of a RayJob: specification, phases, state, events, decider, manifests, status."""
