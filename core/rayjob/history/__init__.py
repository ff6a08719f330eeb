"""What the log of a RayJob tells: words, signs of failures, rows, what was observed."""
