"""Objects, kinds and addresses of the sandbox, and where objects are kept."""
