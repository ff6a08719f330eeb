"""A small `torchrun` for Pods on machines without PyTorch. Needs only the standard library."""
