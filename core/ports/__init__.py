"""What the core asks of the world, one Protocol per file, in the core's own words."""
