"""A job told in words: attempts, timeline, explanation, and how it stood at an instant."""
