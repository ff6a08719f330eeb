"""What is secret in documents and texts, and what stands in its place."""
