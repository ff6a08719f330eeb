"""How the effects of RayJobs are carried out."""
