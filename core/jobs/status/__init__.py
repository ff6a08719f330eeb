"""What users see of any job: Kubernetes Events."""
