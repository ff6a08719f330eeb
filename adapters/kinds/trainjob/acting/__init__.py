"""How the effects of TrainJobs are carried out."""
