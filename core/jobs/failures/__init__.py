"""Causes of failures: the one list of them, each in its retry group, and how they are told."""
