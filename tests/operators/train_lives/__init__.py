"""Whole lives of TrainJobs, the same beside Trainer's manager and beside `jobledger run`."""
