"""Asking Ray heads."""
