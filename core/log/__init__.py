"""Events as they are stored: envelope, hash chain, upcasting, redaction."""
