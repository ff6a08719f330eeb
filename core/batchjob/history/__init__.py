"""What the log of a Job tells: words, signs of failures, rows, what was observed."""
