"""Deciding the past again, with the same policy or another."""
