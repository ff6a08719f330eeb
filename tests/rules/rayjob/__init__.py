"""Rules of the core as tables."""
