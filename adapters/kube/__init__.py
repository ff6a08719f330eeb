"""The Kubernetes API through the official client: requests, watches, and what their answers mean.

The client brings addresses, credentials, TLS and proxies (`connection`). Everything above the
connection is ours: retries (none here: they belong to the effects), decoding, errors, watching.
"""
