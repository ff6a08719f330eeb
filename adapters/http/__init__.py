"""What Jobledger serves over HTTP."""
