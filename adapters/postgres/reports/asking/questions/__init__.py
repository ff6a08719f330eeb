"""The reports, one file per question."""
