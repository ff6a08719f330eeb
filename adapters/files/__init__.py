"""How files are read that others put in place, and written whole or not at all."""
