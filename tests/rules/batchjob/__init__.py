"""Tables of rules for Jobs that are retried on new Jobs."""
