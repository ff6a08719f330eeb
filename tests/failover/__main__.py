"""`python -m tests.failover`: every story of a ledger that was set back, on this machine."""

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.exit(pytest.main(["-p", "no:xdist", "-q", str(Path(__file__).parent), *sys.argv[1:]]))
