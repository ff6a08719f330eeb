"""The site of the acceptance tests: a sandbox, a ledger, a terminal."""

from tests.acceptance.conftest import bytecode, prepared, sandbox, site, terminal, witness

__all__ = ["bytecode", "prepared", "sandbox", "site", "terminal", "witness"]
