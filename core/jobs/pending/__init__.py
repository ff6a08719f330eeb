"""Open work of a job: effects to carry out, and decisions for later instants."""
