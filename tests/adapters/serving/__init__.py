"""What servers share that answer strangers."""
