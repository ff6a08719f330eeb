"""What forensics needs of the world: keys, files of seals, bundles."""
