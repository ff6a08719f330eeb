"""Failure classes, and the rules that recognise them in a stream of events."""
