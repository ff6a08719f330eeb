"""Rules that all kinds of job share: effects, decisions, attempts, retries, rows."""
