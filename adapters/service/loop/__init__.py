"""One turn of the controller: observe, decide, append, hand over."""
