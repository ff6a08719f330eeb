"""The pages: what happened to jobs, in a browser. Read-only, made on the server."""
