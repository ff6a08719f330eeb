"""How the command line shows what it has found."""
