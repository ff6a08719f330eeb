"""The prefix of Jobledger's own labels and annotations."""

OUR_PREFIX = "jobledger.dev/"
"""Upstream has none of them."""
