"""Commands that tell what happened to one job, and why."""
