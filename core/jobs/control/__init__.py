"""Which jobs are controlled, whose an object is, and what holds a job."""
