"""Run seeds: `python -m tests.simulation --seeds 10000 --start 0`, or one of them with its trace.

The last line says how many failed; the exit code is 1 if any did.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from tests.simulation.report import failure
from tests.simulation.run import Run

PROGRESS_SECONDS = 10.0


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds to run")
    parser.add_argument("--start", type=int, default=0, help="the first of them")
    parser.add_argument("--every", type=int, default=1, help="only every so manieth seed")
    parser.add_argument("--trace", type=int, metavar="SEED", help="run this one and show each step")
    parser.add_argument("--set-back", action="store_true", help="the ledger loses its last events")
    asked = parser.parse_args(arguments)
    if asked.trace is not None:
        return _trace(asked.trace, loses=asked.set_back)
    last = asked.start + asked.seeds * asked.every
    return _batch(range(asked.start, last, asked.every), loses=asked.set_back)


def _trace(seed: int, *, loses: bool) -> int:
    run = Run(seed, say, loses=loses)
    say(f"seed {seed}: {run.world.profile}")
    told = failure(seed, run)
    say(told or f"seed {seed}: {run.summary()}; every invariant holds")
    return 1 if told else 0


def _batch(seeds: range, *, loses: bool) -> int:
    begun = shown = time.monotonic()
    failed: list[int] = []
    steps, hours, jobs = 0, 0.0, 0
    for done, seed in enumerate(seeds, start=1):
        run = Run(seed, loses=loses)
        if told := failure(seed, run):
            failed.append(seed)
            say(told)
        steps, jobs = steps + run.steps, jobs + run.world.witness.jobs()
        hours += run.world.clock.monotonic() / 3600
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            sys.stderr.write(f"{done} of {len(seeds)} seeds, {len(failed)} failed\n")
    seconds = time.monotonic() - begun
    say(
        f"{len(seeds)} seeds from {seeds.start}: {len(failed)} failed {failed or ''}; {jobs} jobs, "
        f"{steps} steps, {hours:.1f} simulated hours in {seconds:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
