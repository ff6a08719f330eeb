"""A batch/v1 Job that is retried on new Jobs: everything about this kind that is pure."""
