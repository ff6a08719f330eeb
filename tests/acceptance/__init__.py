"""What a user types, in real processes, on a real Postgres and the sandbox's API and node."""
