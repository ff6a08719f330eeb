"""Carries out effects and returns their outcomes."""
