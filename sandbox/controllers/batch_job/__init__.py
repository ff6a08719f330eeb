"""The sandbox's controller of batch Jobs."""
