"""What the log of a TrainJob tells: words, signs of failures, rows, what was observed."""
