"""Asks upstream's own code: `answers` makes the data of the tests anew, `search` looks for more.

make upstream                                                 # answers to all cases, kept as data
make upstream ARGS="answers --kind rayjob"                    # of one kind of job
make upstream ARGS="search --kind trainjob --cases 10000"     # generated ones, with a fresh seed
"""

import argparse
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.upstream import (
    rayjob_cases,
    rayjob_data,
    rayjob_known,
    rayjob_search,
    rayjobs,
    status_server,
    trainjob_cases,
    trainjob_data,
    trainjob_search,
    trainjob_statuses,
    trainjob_updates,
    trainjobs,
)
from tests.upstream.programs import (
    KUBERAY,
    MODULE,
    TRAINER,
    CannotAsk,
    Oracle,
    build,
    manifests,
    oracle,
    source_of,
)
from tests.upstream.searching import Searched


def say(line: str) -> None:
    """Write a line at once, so that progress is seen."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


EVERY = 250
"""Progress is said after so many cases."""


MODULES = {"rayjob": KUBERAY, "trainjob": TRAINER}
"""Kind of job -> the Go module that asks upstream about it."""


def main() -> int:
    """Run one command; return its exit code."""
    parser = argparse.ArgumentParser(prog="tests.upstream", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    answering = commands.add_parser("answers", help="ask every case and keep the answers as data")
    searching = commands.add_parser("search", help="ask generated cases, say what differs")
    searching.add_argument("--cases", type=int, default=1000)
    searching.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    for command in (answering, searching):
        command.add_argument("--kind", choices=sorted(MODULES), action="append")
    asked = parser.parse_args()
    try:
        return max([_run(asked, kind) for kind in asked.kind or sorted(MODULES)])
    except CannotAsk as error:
        say(str(error))
        return 1


def _run(asked: argparse.Namespace, kind: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / kind
        say(f"{kind}: compiling upstream's code (minutes the first time)")
        build(MODULES[kind], program)
        with oracle(program) as upstream:
            if asked.command == "search":
                return _search(upstream, kind, asked.cases, asked.seed)
            return _rayjobs(upstream) if kind == "rayjob" else _trainjobs(upstream)


def _rayjobs(upstream: Oracle) -> int:
    every = ((case.id, rayjobs.question(case), case) for case in rayjob_cases.cases())
    answers, new = _answers(upstream, every, rayjob_known.found)
    say(f"{rayjob_data.write(answers)} answers kept, {new} with unlisted differences")
    return 1 if new else 0


def _trainjobs(upstream: Oracle) -> int:
    runtimes = _shipped()
    every = ((case.id, trainjobs.question(case), case) for case in trainjob_cases.cases(runtimes))
    answers, new = _answers(upstream, every, _unlisted)
    kept = trainjob_data.write(runtimes, answers)
    say(f"{kept} answers kept, {new} with unlisted differences")
    told = ((case.id, trainjobs.question(case), case) for case in status_server.cases(runtimes))
    answers, of_told = _answers(upstream, told, _unlisted)
    kept = status_server.write(answers)
    say(f"{kept} answers with a status server kept, {of_told} with unlisted differences")
    of_changes = _of_changes(upstream, runtimes)
    return 1 if new or of_told or of_changes else 0


def _of_changes(upstream: Oracle, runtimes: Mapping[str, Any]) -> int:
    """Ask about changes of TrainJobs and what JobSets say; return how many differ."""
    changes = ((one.id, trainjob_updates.question(one), one) for one in _updates(runtimes))
    answers, new = _answers(upstream, changes, trainjob_updates.found)
    kept = trainjob_updates.write(answers)
    say(f"{kept} answers to changes kept, {new} with unlisted differences")
    training = runtimes[trainjob_statuses.RUNTIME]
    said = (
        (one.id, trainjob_statuses.question(one, training), one)
        for one in trainjob_statuses.sights()
    )
    answers, of_said = _answers(upstream, said, trainjob_statuses.found)
    kept = trainjob_statuses.write(answers)
    say(f"{kept} answers on JobSets' statuses kept, {of_said} with unlisted differences")
    return new + of_said


def _updates(runtimes: Mapping[str, Any]) -> Iterable[trainjob_updates.Update]:
    return trainjob_updates.updates(runtimes)


def _unlisted(case: trainjob_cases.Case, answer: Mapping[str, Any]) -> list[str]:
    return [] if trainjobs.explained(case, answer) else trainjobs.found(case, answer)


def _answers(
    upstream: Oracle,
    every: Iterable[tuple[str, Mapping[str, Any], Any]],
    found: Callable[[Any, Mapping[str, Any]], list[str]],
) -> tuple[list[Mapping[str, Any]], int]:
    """Return the answers, and how many of them are another than ours without being listed."""
    answers: list[Mapping[str, Any]] = []
    new = 0
    for name, question, case in every:
        answer = upstream.ask(question)
        answers.append(answer)
        if differs := found(case, answer):
            new += 1
            say(f"{name}:\n  " + "\n  ".join(differs[:5]))
        if len(answers) % EVERY == 0:
            say(f"{len(answers)} cases asked")
    return answers, new


def _shipped() -> Mapping[str, Any]:
    folder = source_of(TRAINER, MODULE) / "manifests" / "base" / "runtimes"
    shipped = manifests(folder, ("ClusterTrainingRuntime", "TrainingRuntime"))
    return {item["metadata"]["name"]: trainjob_cases.with_defaults(item) for item in shipped}


def _search(upstream: Oracle, kind: str, count: int, seed: int) -> int:
    say(f"{kind}: {count} cases, seed {seed}")
    runtimes, _ = trainjob_data.read()
    searches: Mapping[str, Callable[[], Searched]] = {
        "objects of TrainJobs": lambda: trainjob_search.search(upstream, runtimes, count, seed),
        "changes of TrainJobs": lambda: trainjob_updates.search(upstream, runtimes, count, seed),
        "statuses of JobSets": lambda: trainjob_statuses.search(upstream, runtimes, count, seed),
    }
    if kind == "rayjob":
        searches = {"RayJobs": lambda: rayjob_search.search(upstream, count, seed)}
    again = f"search --kind {kind} --cases {count} --seed {seed}"
    differing = 0
    for what, search in searches.items():
        seen = search()
        asked = f"{what}: {seen.asked} asked"
        if not seen.difference:
            say(f"{asked}, no difference that docs/differences.md does not list")
        else:
            differing += 1
            say(f"{asked}, the smallest difference:\n{seen.difference}\nagain with: {again}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
