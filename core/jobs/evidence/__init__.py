"""What is kept of an attempt before it disappears."""
