"""Redaction: finds secrets in documents and texts, and replaces them."""
