"""Makes the page of the twenty stories: what the commands print, as they print it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.failure_corpus.twenty.jobs import twenty

PAGE = Path(__file__).parents[3] / "docs" / "tutorial" / "twenty-failures.md"

Typed = Callable[[Sequence[str]], tuple[str, str]]
"""Runs `jobledger` with arguments and returns what it prints, and what on standard error."""

LEADS_ON = "why one of them failed: "
"""What begins the line on standard error that says how to go on; the others tell of the place."""

HEAD = """\
# Twenty failures, as they are told

Twenty jobs that failed for twenty reasons: RayJobs, TrainJobs and Jobs of the \
[corpus](../howto/investigate-a-failed-job.md#how-often-it-is-right), with the logs, Pods and \
Kubernetes Events that were kept of them. Nothing of them runs: the ledger is what is left, as \
months later. To ask for yourself, in a checkout:

```console
$ make failures
```

It makes a private ledger and prints two lines to type. The second lists the jobs and says how to \
ask why one of them failed; that answer says which command shows the whole log, and where another \
run of the job worked, which tells what differs.

This page is written by `python -m tests.failure_corpus.twenty --page`, and a test holds it \
against what is printed.
"""


def page(run: Typed) -> str:
    """Return the page, made of what commands print."""
    parts = [HEAD, _shown(run, "get")]
    for prepared in twenty():
        case = prepared.case
        where = f"{'data' if case.kind == 'Job' else 'ml'}/{prepared.name}"
        told = _shown(run, "explain", where)
        parts.append(f"\n## {prepared.name}: {case.title}\n\n{told}")
        compares = re.findall(r"jobledger (explain \S+ --compare \S+)", told)
        parts += ["\n" + _shown(run, *command.split()) for command in compares]
    return "".join(parts)


def _shown(run: Typed, *arguments: str) -> str:
    out, err = run(arguments)
    lines = [*out.splitlines(), *(line for line in err.splitlines() if line.startswith(LEADS_ON))]
    printed = "\n".join(line.rstrip() for line in lines)
    return f"```console\n$ jobledger {' '.join(arguments)}\n{printed}\n```\n"


def typed(environment: Mapping[str, str]) -> Typed:
    """Return what runs the command in an environment of its own."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}

    def run(arguments: Sequence[str]) -> tuple[str, str]:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("jobledger")), *arguments],
            env={**inherited, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout, done.stderr

    return run
