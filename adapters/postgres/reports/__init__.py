"""The projection behind the reporting views."""
