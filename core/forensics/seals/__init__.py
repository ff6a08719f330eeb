"""Seals of the log, archives of jobs that have left it, and the checks of both."""
