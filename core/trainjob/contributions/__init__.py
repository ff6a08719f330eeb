"""Conditions that plugins contribute: what they declare, what they answer, and what is taken."""
