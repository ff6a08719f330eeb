"""Value types used everywhere: identifiers, instants, documents, quantities."""
