"""docs/compatibility.md: what was seen of each story, written by the run that saw it.

The section of upstream's end-to-end suite is another run's, and stays as it is.
"""

import ast
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.node.suite.results import section as suite_section

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "compatibility.md"
SUITES = {
    "test_kuberay.py": "KubeRay's operator",
    "test_retrying.py": "KubeRay's operator",
    "test_trainer.py": "Trainer's manager",
    "test_flux.py": "Trainer's manager",
    "queueing/test_queued_rayjobs.py": "Kueue",
    "queueing/test_queued_trainjobs.py": "Kueue",
    "queueing/test_pods_ready.py": "Kueue",
}
ROW = re.compile(r"^\| .* \| `(\w+)`", re.MULTILINE)

HEAD = """# Compatibility with upstream's operators

Made by `make test-operators`, which starts upstream's operators as they were released, built from \
their Go modules, beside Jobledger on a real API server with etcd, the controller manager and the \
JobSet controller. Each row is what the last run of its story saw; a run of other releases \
writes all rows anew, and a house test refuses a story that is missing here.

Programs: {programs}.

Pods run as processes of one machine, with the sandbox's small Ray heads and nodes: the operators \
reach the heads' dashboards by the standard proxy variables, and KubeRay's probes, which ask a \
raylet, are switched off by its own setting. Under Kueue jobs are run \
by Jobledger, except where a row names upstream's own `kuberay` or `trainer`: then the same is \
expected of both. The definitions are upstream's newest (KubeRay 1.7.0's), except where a story \
says otherwise.

| beside | story | verdict | what was seen |
|---|---|---|---|
"""

TAIL = """## What was not run

* **KubeRay 1.7.0's operator.** The Go module proxy refuses that release; 1.6.2 stands in.
* **MultiKueue, and Kueue's elastic jobs and topologies.** The stories under Kueue are of one \
cluster, with its definitions, webhooks and default integrations.
* **Trainer's own end-to-end suite.** It needs images of training runtimes. KubeRay's is above.
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """The verdict on one story."""

    file: str
    name: str
    verdict: str
    """passed, failed or skipped."""


def page(seen: Sequence[Seen], programs: Mapping[str, str], before: str = "") -> str:
    """Return the page; a story that ran in several ways has a row for each.

    Args:
        seen: in the order of the run.
        programs: module -> release.
        before: the page as it was. Its rows of stories that did not run are kept, if it is of
            the same programs.
    """
    told = {(item.file, name): why for item in seen for name, why in stories(HERE / item.file)}
    listed_programs = ", ".join(f"`{module}` {release}" for module, release in programs.items())
    head = HEAD.format(programs=listed_programs)
    rows = [_row(item, told[item.file, item.name.partition("[")[0]]) for item in seen]
    ran = {item.name.partition("[")[0] for item in seen}
    kept = _kept(before, ran) if before.startswith(head) else []
    order = [name for file in SUITES for name, _ in stories(HERE / file)]
    rows = sorted([*kept, *rows], key=lambda row: order.index(ROW.findall(row)[0]))
    return f"{head}{''.join(rows)}\n{suite_section(before)}{TAIL}"


def _kept(before: str, ran: Collection[str]) -> list[str]:
    rows = [line for line in before.splitlines(keepends=True) if ROW.match(line)]
    names = all_stories() - set(ran)
    return [row for row in rows if ROW.findall(row)[0] in names]


def _row(item: Seen, why: str) -> str:
    name, _, variant = item.name.partition("[")
    way = f", {variant.rstrip(']')}" if variant else ""
    return f"| {SUITES[item.file]} | `{name}`{way} | {item.verdict} | {why} |\n"


def stories(file: Path) -> list[tuple[str, str]]:
    """Return name and first line of the docstring of each story of a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [
        (node.name, (ast.get_docstring(node) or "").partition("\n")[0])
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def all_stories() -> set[str]:
    """Return the names of all stories."""
    return {name for file in SUITES for name, _ in stories(HERE / file)}


def listed(text: str) -> set[str]:
    """Return the names of the stories that a page lists."""
    return set(ROW.findall(text))


def save(seen: Sequence[Seen], path: Path) -> None:
    """Keep what was seen, for the process that writes the page."""
    path.write_text(json.dumps([[item.file, item.name, item.verdict] for item in seen]))


def load(path: Path) -> list[Seen]:
    """Return what was kept."""
    return [Seen(*item) for item in json.loads(path.read_text())]
