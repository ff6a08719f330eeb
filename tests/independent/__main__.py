"""Compares reports with the events of a large made-up year: `python -m tests.independent`."""

import argparse
import sys
import time

from bench.population.loading import load
from bench.population.population import Size
from jobledger.adapters.postgres.connection.engine import EngineOptions, open_engine
from jobledger.adapters.postgres.schema.version import upgrade
from tests.independent.comparing import HELD, differences
from tests.independent.standing import leave_standing
from tests.support.postgres import fresh_database, running_server

SECONDS_MAX = 3_600
"""How long a query over the events may take."""


def main() -> int:
    """Make the year, ask every report and the events, and print where they differ."""
    asked = argparse.ArgumentParser(prog="python -m tests.independent", description=__doc__)
    asked.add_argument("--jobs", type=int, default=20_000)
    asked.add_argument("--seed", type=int, default=1)
    told = asked.parse_args()
    size = Size(
        jobs=told.jobs,
        days=365,
        templates=min(1_500, told.jobs),
        open_jobs=max(told.jobs // 200, 1),
        seed=told.seed,
    )
    found = 0
    with running_server() as server, fresh_database(server) as url:
        upgrade(url)
        loaded = load(url, size)
        gone = leave_standing(url)
        sys.stdout.write(f"{loaded.events - gone} events of {loaded.jobs} jobs\n")
        engine = open_engine(url, EngineOptions(statement_timeout_seconds=SECONDS_MAX))
        try:
            for name in HELD:
                began = time.monotonic()
                lines = list(differences(engine, engine, name))
                found += len(lines)
                verdict = "\n  ".join(lines) or "as the events say"
                sys.stdout.write(f"{name}, {time.monotonic() - began:.1f} s: {verdict}\n")
        finally:
            engine.dispose()
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
