"""Reports against a second reckoning: SQL over the events alone, written without a look at theirs.

`python -m tests.independent` compares them on a large made-up year; a test does on a small one.
"""
