"""Puts the sample data into an empty ledger, to try the cookbook: `python -m docs.cookbook.load`.

The ledger is that of DATABASE_URL, which has to name the owner. A ledger with anything in it is
refused: invented jobs must never stand among real ones.
"""  # noqa: INP001 see recipe.py

import os
import sys

from sqlalchemy import text

from bench.sample import END, load_sample
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.schema.version import upgrade


def main() -> int:
    """Load, and say what was loaded."""
    url = os.environ.get("DATABASE_URL", "")
    if not url:
        sys.stderr.write("set DATABASE_URL to an empty ledger\n")
        return 2
    upgrade(url)
    engine = open_engine(url)
    with engine.connect() as connection:
        events = connection.execute(text("SELECT position FROM log_head")).scalar_one()
    engine.dispose()
    if events:
        sys.stderr.write(f"this ledger has {events:,} events; the sample needs an empty one\n")
        return 4
    loaded = load_sample(url)
    sys.stdout.write(f"{loaded.jobs} jobs, {loaded.events:,} events, until before {END:%Y-%m-%d}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
