"""What watches tell of RayJobs and of what belongs to them."""
