"""One request and its answer over HTTP, for the API server and for heads of Ray."""
