"""Failures with their evidence, each with what a good engineer would say of it.

`python -m tests.failure_corpus` asks explain about all of them and prints the score.
"""
