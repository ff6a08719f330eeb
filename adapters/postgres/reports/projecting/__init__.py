"""The asynchronous projection behind the reporting views."""
