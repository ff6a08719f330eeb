"""Which jobs this installation controls, who owns an object, and why a job is held."""
