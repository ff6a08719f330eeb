"""From watched objects and answers to observations."""
