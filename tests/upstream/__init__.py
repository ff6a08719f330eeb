"""What upstream's own code makes of jobs, and whether ours makes the same."""
