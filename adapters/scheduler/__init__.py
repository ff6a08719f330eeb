"""APScheduler as the engine of time, over the table of pending decisions."""
