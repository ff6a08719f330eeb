"""I/O of forensics: keys, seals in files, bundles, archives."""
