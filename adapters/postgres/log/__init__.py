"""The ports of the log over Postgres."""
