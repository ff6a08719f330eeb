"""Realistic failures, each with what was seen of it and the class that it is of."""
