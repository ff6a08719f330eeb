"""APScheduler as the timer, over the table of pending decisions."""
