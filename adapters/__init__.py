"""Adapters: everything that performs I/O, one folder per technology.

Adapters implement the ports of `core.ports` and do not know each other; `adapters.wiring` is the
only place that
knows them all.
"""
