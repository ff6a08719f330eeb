"""What the log says once more: jobs decided again, and rows folded again."""
