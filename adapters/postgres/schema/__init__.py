"""The schema: tables, functions, guards and versions."""
