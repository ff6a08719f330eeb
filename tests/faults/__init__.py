"""Faults between the controller and its surroundings, and what must come out all the same."""
