"""Lists and watches of Kubernetes objects."""
