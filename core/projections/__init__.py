"""Tables computed from events: pure functions `(row, event) -> row`, one file per table."""
