"""Connections to Postgres, and the meaning of its errors."""
