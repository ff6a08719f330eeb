"""Describes a job in words: attempts, timeline, explanation, state at an instant."""
