"""What all kinds of job share, each rule once: effects, decisions, attempts, retry, rows."""
