"""Which events of the log somebody is told of, in which words and in which form."""
