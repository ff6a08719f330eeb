"""What waits for its turn, and the threads that take it."""
