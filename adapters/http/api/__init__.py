"""The read-only JSON API: jobs, their timelines, their states at an instant, their evidence."""
