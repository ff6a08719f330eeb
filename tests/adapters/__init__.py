"""What only one adapter does."""
