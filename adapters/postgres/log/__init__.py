"""The ports of the log, implemented over Postgres."""
