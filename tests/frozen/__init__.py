"""One sample of every (type, schema version) of event that was ever released."""
