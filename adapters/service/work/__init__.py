"""Work queues and the threads that take from them."""
