"""What `jobledger doctor` asks of the database; each question is one function with a name."""
