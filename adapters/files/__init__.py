"""How files are read that others put in place."""
