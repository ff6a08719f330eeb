"""The table of docs/compatibility.md that says what was seen of each case of upstream's suite."""

import re
from collections.abc import Mapping, Sequence

from tests.node.suite.cases import Case
from tests.node.suite.verdicts import CANNOT_APPLY, NOT_RUN, PASSED, Seen

TITLE = "## Upstream's end-to-end suite on a real node\n"
AFTER = "## What was not run\n"
"""The heading that follows the section on the page."""

HEAD = (
    TITLE
    + """
Made by `make test-node`: upstream's `test/e2erayjob`, compiled from its Go module, on a real \
Kubernetes node with real Ray in containers, with upstream's RayCluster controller and \
`jobledger run` in the place of its RayJob controller. Each case is run by itself; its row is \
what its last run saw, with the day. Four cases give a Ray job 45 s to be seen running: a busy \
machine is too slow for them (`make test-node ARGS='--at-once 1'`).

On another cluster: `KUBECONFIG=… KUBERAY_TEST_RAY_IMAGE=… make test-node`. There Jobledger has to \
run already, beside an operator that makes RayClusters and no RayJobs ([run in a \
cluster](howto/run-in-a-cluster.md)).

Programs: {programs}.

{summary}

| suite | case | verdict | on | why |
|---|---|---|---|---|
"""
)

NOTHING = (
    TITLE
    + """
Not run yet: `make test-node` does, and writes what it saw of each case here.

"""
)
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| ([a-z ]+?) \| (\S+) \| (.*?) ?\|$", re.MULTILINE)


def section(page: str) -> str:
    """Return the section of a page, up to the next; where there is none, that nothing was run."""
    at = page.find(TITLE)
    if at < 0:
        return NOTHING
    return page[at:].partition(AFTER)[0]


def with_section(page: str, text: str) -> str:
    """Return the page with another section.

    Args:
        page: has the heading that follows.
        text: the section, as `written` returns it.
    """
    before, heading, after = page.partition(AFTER)
    assert heading, f"the page has no {AFTER.strip()}"
    kept = before.partition(TITLE)[0]
    return kept + text + heading + after


def written(
    all_cases: Sequence[Case],
    seen: Sequence[Seen],
    programs: Mapping[str, str],
    day: str,
    page: str,
) -> str:
    """Return the section: one row for each case of the suite.

    Args:
        all_cases: of the suite, in their order.
        seen: of the cases that ran (or cannot apply).
        programs: what ran -> release.
        day: of this run.
        page: the page as it was. Its rows of cases that did not run now are kept, if it is of the
            same programs; a case that never ran with these is said not to have run on this day.
    """
    listed = ", ".join(f"{name} {release}" for name, release in programs.items())
    told = {item.case: item for item in seen}
    if f"Programs: {listed}.\n" in section(page):
        told = {**rows(section(page)), **told}
    found = [told.get(case, Seen(case, NOT_RUN, day)) for case in all_cases]
    head = HEAD.format(programs=listed, summary=_summary(found))
    return head + "".join(_row(item) for item in found) + "\n"


def rows(text: str) -> dict[Case, Seen]:
    """Return what the rows of a section say."""
    found = {}
    for test, name, verdict, day, why in ROW.findall(text):
        case = Case(test, _plain(name))
        found[case] = Seen(case, verdict, day, why=_plain(why))
    return found


def _summary(found: Sequence[Seen]) -> str:
    counts = {
        verdict: sum(item.verdict == verdict for item in found)
        for verdict in (PASSED, "failed", CANNOT_APPLY, NOT_RUN)
    }
    said = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    return f"Of {len(found)} cases: {', '.join(said)}."


def _row(item: Seen) -> str:
    name, why = _cell(item.case.name), _cell(item.why)
    return f"| `{item.case.test}` | {name} | {item.verdict} | {item.day} | {why} |\n"


def _cell(text: str) -> str:
    """Return a text that stays in its cell, and is no markup."""
    marked = text.replace("\\", "\\\\").replace("|", "\\|")
    return marked.replace("<", "\\<").replace("*", "\\*").replace("`", "'")


def _plain(cell: str) -> str:
    return re.sub(r"\\([\\|<*])", r"\1", cell)
