"""Events of RayJobs: lifecycle, facts, Pods, and actions of another controller."""
