"""Seals over the log, archives of jobs that have left it, and how both are checked."""
