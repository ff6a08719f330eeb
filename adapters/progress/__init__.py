"""Where Pods of TrainJobs post how far they are: who may speak, what is taken, what is written."""
