"""What is open of a job: effects, and decisions for later instants."""
