"""Captures evidence before it disappears."""
