"""What an event is, whatever the job: envelope, chain, upcasting, redaction."""
