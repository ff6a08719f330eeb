"""One turn: observe, decide, append, hand over."""
