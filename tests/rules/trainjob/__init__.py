"""Tables of rules for TrainJobs."""
