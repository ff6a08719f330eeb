"""Reads event streams after the fact: story, failure classes, replay, bundles, seals."""
