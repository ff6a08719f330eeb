"""What happens because of an observation: one file per source of observations."""
