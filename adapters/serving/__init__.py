"""What servers share that answer strangers: tokens of requests, and how often one is heard."""
