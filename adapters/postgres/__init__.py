"""The event log in Postgres, and a private server for machines that have none."""
