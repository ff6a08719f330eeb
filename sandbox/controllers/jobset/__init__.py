"""The sandbox's controller of JobSets."""
