"""What watches tell of TrainJobs and of what belongs to them."""
