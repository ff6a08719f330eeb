"""Ports: the interfaces through which the core uses the outside world, one Protocol per file."""
