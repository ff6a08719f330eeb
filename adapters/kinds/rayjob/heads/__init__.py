"""Polls Ray heads."""
