"""Bundles (one job in a file) and dossiers (everything known about one job)."""
