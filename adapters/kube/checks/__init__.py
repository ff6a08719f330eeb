"""What `jobledger doctor` asks of the API server; each question is one function with a name."""
