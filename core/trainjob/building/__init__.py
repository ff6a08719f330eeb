"""How the objects of a TrainJob are built from its runtime."""
