"""Tells what may be a secret: by names, by shapes, by how a value looks."""
