"""Keys that the nodes of a TrainJob reach each other with."""
