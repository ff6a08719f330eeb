"""Fixtures of the tests of notifications."""

from tests.support.reported import reported_template, reported_url

__all__ = ["reported_template", "reported_url"]
