"""What can be told from a stream of events: the timeline (and more to come)."""
