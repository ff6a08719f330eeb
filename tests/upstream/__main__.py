"""Asks upstream's own code: `answers` makes the data of the tests anew, `search` looks for more.

make upstream                                  # answers to all cases, kept as data
make upstream ARGS="search --cases 10000"      # generated TrainJobs, with a fresh seed
"""

import argparse
import secrets
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.upstream import trainjob_data
from tests.upstream.programs import (
    MODULE,
    TRAINER,
    CannotAsk,
    Oracle,
    build,
    manifests,
    oracle,
    source_of,
)
from tests.upstream.trainjob_cases import cases, with_defaults
from tests.upstream.trainjob_search import search
from tests.upstream.trainjobs import explained, found, question


def say(line: str) -> None:
    """Write a line at once, so that progress is seen."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


EVERY = 250
"""Progress is said after so many cases."""


def main() -> int:
    """Run one command; return its exit code."""
    parser = argparse.ArgumentParser(prog="tests.upstream", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("answers", help="ask every case and keep the answers as data")
    searching = commands.add_parser("search", help="ask generated cases, say what differs")
    searching.add_argument("--cases", type=int, default=1000)
    searching.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    asked = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "trainer"
            say("compiling Trainer (minutes the first time)")
            build(TRAINER, program)
            with oracle(program) as upstream:
                if asked.command == "search":
                    return _search(upstream, asked.cases, asked.seed)
                return _answers(upstream)
    except CannotAsk as error:
        say(str(error))
        return 1


def _answers(upstream: Oracle) -> int:
    runtimes = _shipped()
    answers, new = [], 0
    for index, case in enumerate(cases(runtimes), start=1):
        answer = upstream.ask(question(case))
        answers.append(answer)
        differs = found(case, answer)
        if differs and not explained(case, answer):
            new += 1
            say(f"{case.id}:\n  " + "\n  ".join(differs[:5]))
        if index % EVERY == 0:
            say(f"{index} cases asked")
    say(f"{trainjob_data.write(runtimes, answers)} answers kept, {new} with unlisted differences")
    return 1 if new else 0


def _shipped() -> Mapping[str, Any]:
    folder = source_of(TRAINER, MODULE) / "manifests" / "base" / "runtimes"
    shipped = manifests(folder, ("ClusterTrainingRuntime", "TrainingRuntime"))
    return {item["metadata"]["name"]: with_defaults(item) for item in shipped}


def _search(upstream: Oracle, count: int, seed: int) -> int:
    runtimes, _ = trainjob_data.read()
    say(f"{count} cases, seed {seed}")
    smallest = search(upstream, runtimes, count, seed)
    if smallest is None:
        say(f"{count} cases asked, no difference that docs/differences.md does not list")
        return 0
    say(f"the smallest difference:\n{smallest}\nagain with: search --cases {count} --seed {seed}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
