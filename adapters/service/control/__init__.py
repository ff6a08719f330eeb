"""Which jobs this installation controls, and what they are judged by."""
