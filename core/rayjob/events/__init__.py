"""What can have happened to a RayJob: lifecycle, facts, Pods, and what another controller did."""
