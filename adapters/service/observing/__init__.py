"""Maps watched objects and answers to observations."""
