"""A private Postgres on a machine that offers none."""
