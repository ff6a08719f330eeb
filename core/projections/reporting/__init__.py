"""What reports are made of: the facts of one job, folded from its events, a table each."""
