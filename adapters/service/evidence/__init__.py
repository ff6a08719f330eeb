"""Capturing evidence before it disappears."""
