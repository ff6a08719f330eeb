"""Postgres: the event log, its tables, reports, and a private server for trying out."""
