"""Database side of archives and imported bundles."""
