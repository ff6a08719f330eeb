"""How an object of the sandbox is created, changed and deleted."""
