"""Words that mean the same everywhere: identifiers, instants, documents, quantities."""
