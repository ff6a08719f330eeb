"""Commands that run something: the service, a sandbox, a demo."""
