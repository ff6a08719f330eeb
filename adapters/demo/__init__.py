"""The demonstration: the main job on real processes, with the controller killed in the middle."""
