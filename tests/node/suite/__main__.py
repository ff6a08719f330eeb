"""`make test-node`: upstream's end-to-end suite of RayJobs, with Jobledger as the controller.

Without KUBECONFIG it starts the node of `make node` (and ends it, if it was not there before),
upstream's RayCluster controller and `jobledger run`. With KUBECONFIG it uses that cluster, in
which both have to run already. Writes its rows of docs/compatibility.md. The exit code is 0 only
if no case has failed.
"""

import argparse
import datetime as dt
import fcntl
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.apiserver.build import CannotBuild, version
from tests.node.__main__ import CannotStart, start, stop
from tests.node.build import KUBERNETES, SOURCE, release, suite, suite_sources
from tests.node.layout import Layout, layout
from tests.node.ray_image import image_name, ray_version
from tests.node.suite.cases import Case, cases
from tests.node.suite.programs import beside
from tests.node.suite.results import with_section, written
from tests.node.suite.runs import Suite, run_all
from tests.node.suite.verdicts import CANNOT_APPLY, FAILED, Seen
from tests.operators.results import PAGE

CANNOT = Path(__file__).resolve().parent / "cannot_apply.json"
SAID = threading.Lock()


def reasons(all_cases: Sequence[Case], named: Mapping[str, str]) -> dict[Case, str]:
    """Return which cases cannot apply, and why.

    Args:
        all_cases: of the suite.
        named: suite and name -> reason.

    Raises:
        ValueError: a case is named that the suite does not have.
    """
    by_name = {case.full: case for case in all_cases}
    unknown = sorted(set(named) - set(by_name))
    if unknown:
        raise ValueError(f"{CANNOT.name} names cases that the suite does not have: {unknown}")
    return {by_name[name]: why for name, why in named.items()}


def chosen_cases(all_cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """Return the cases with one of the texts in their names, in any case of letters; or all."""
    wanted = [pattern.lower() for pattern in patterns]
    return [
        case
        for case in all_cases
        if not wanted or any(pattern in case.full.lower() for pattern in wanted)
    ]


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Give the environment of a cluster in which everything runs.

    Args:
        folder: where the logs of what is started are written.
    """
    if os.environ.get("KUBECONFIG"):
        say(f"on the cluster of KUBECONFIG={os.environ['KUBECONFIG']}")
        yield dict(os.environ)
        return
    places = layout(os.environ)
    with alone(places):
        started = start(places)
        try:
            with beside(places, folder):
                yield {
                    **os.environ,
                    "KUBECONFIG": str(places.kubeconfig),
                    "KUBERAY_TEST_RAY_IMAGE": image_name(),
                    "KUBERAY_TEST_RAY_VERSION": ray_version(),
                }
        finally:
            if started:
                stop(places)


@contextmanager
def alone(places: Layout) -> Iterator[None]:
    """Have the node for one run: two would have two controllers of the same RayClusters.

    Raises:
        CannotStart: another run of the suite has it.
    """
    places.cache.mkdir(parents=True, exist_ok=True)
    with (places.cache / "suite.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise CannotStart("Another run of the suite is on this node: wait for it.") from problem
        yield


def programs(environment: dict[str, str]) -> dict[str, str]:
    """Return what runs -> release, as the page says it."""
    if os.environ.get("KUBECONFIG"):
        image = environment.get("KUBERAY_TEST_RAY_IMAGE", "upstream's image of Ray")
        return {f"`{SOURCE}`": release(), "a cluster named by KUBECONFIG with": image}
    return {
        f"`{SOURCE}`": release(),
        "Ray": ray_version(),
        "kubelet, scheduler and kube-proxy": version(KUBERNETES.path),
        "API server": version(),
    }


def run(chosen: Sequence[Case], all_cases: Sequence[Case], at_once: int, logs: Path) -> list[Seen]:
    """Run cases; write the page; return the verdicts."""
    day = dt.datetime.now(tz=dt.UTC).date().isoformat()
    why = reasons(all_cases, json.loads(CANNOT.read_text(encoding="utf-8")))
    seen = [Seen(case, CANNOT_APPLY, day, why=why[case]) for case in chosen if case in why]
    runnable = [case for case in chosen if case not in why]
    program = suite(os.environ)
    with cluster(logs) as environment:
        say(f"{len(runnable)} cases, {at_once} at once; logs are in {logs}")
        found = Suite(program, environment, logs, day)
        named = programs(environment)

        def tell(item: Seen) -> None:
            took = f"{item.seconds or 0:5.0f} s"
            say(f"{item.verdict} {took}  {item.case.full}  {item.why}".rstrip())
            seen.append(item)
            with SAID:
                before = PAGE.read_text(encoding="utf-8")
                text = with_section(before, written(all_cases, seen, named, day, before))
                PAGE.write_text(text, encoding="utf-8")

        run_all(found, runnable, at_once, tell)
    return [item for case in chosen for item in seen if item.case == case]


def say(line: str) -> None:
    """Write a line of progress at once."""
    sys.stderr.write(f"{dt.datetime.now(tz=dt.UTC):%H:%M:%S} {line}\n")
    sys.stderr.flush()


def document(item: Seen) -> dict[str, object]:
    """Return a verdict as JSON has it."""
    return {
        "suite": item.case.test,
        "case": item.case.name,
        "verdict": item.verdict,
        "day": item.day,
        "seconds": item.seconds,
        "why": item.why,
    }


def main(arguments: Sequence[str]) -> int:
    """Do as told; return 0 if no case has failed."""
    parser = argparse.ArgumentParser(prog="make test-node", description=__doc__)
    parser.add_argument(
        "--only", action="append", default=[], help="cases with this text in suite/name; repeatable"
    )
    parser.add_argument("--at-once", type=int, default=2, help="cases that run beside each other")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    parser.add_argument("--logs", type=Path, help="folder for logs; otherwise a temporary one")
    parser.add_argument("--list", action="store_true", help="name the cases, and run none")
    told = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as an interrupt: all is ended
    try:
        all_cases = cases(suite_sources(os.environ))
        chosen = chosen_cases(all_cases, told.only)
        if told.list or not chosen:
            sys.stdout.write("".join(f"{case.full}\n" for case in chosen or all_cases))
            return 0 if chosen else 1
        logs = (told.logs or Path(tempfile.mkdtemp(prefix="jobledger-suite-"))).resolve()
        logs.mkdir(parents=True, exist_ok=True)
        seen = run(chosen, all_cases, told.at_once, logs)
    except KeyboardInterrupt:
        sys.stderr.write("stopped; what was seen so far is on the page\n")
        return 1
    except (CannotBuild, CannotStart, ValueError, AssertionError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    failed = [item for item in seen if item.verdict == FAILED]
    if told.output == "json":
        sys.stdout.write(json.dumps([document(item) for item in seen], indent=1) + "\n")
    else:
        passed = sum(item.verdict == "passed" for item in seen)
        sys.stdout.write(f"{passed} of {len(seen)} cases passed, {len(failed)} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
