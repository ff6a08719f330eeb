"""A job's own object, for every kind: what a look tells, what is known of it, what is news."""
