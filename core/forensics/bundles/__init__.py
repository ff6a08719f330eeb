"""A job in a file, and all there is about one job."""
