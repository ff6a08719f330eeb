"""The page of the phases of a Job that is retried on new Jobs."""  # noqa: INP001 see generate.py

import inspect
from collections.abc import Iterator

from jobledger.core.batchjob import phases
from jobledger.core.batchjob.phases import ENTERED, FINAL, FOLLOWERS, Phase

HEAD = "# Phases of a Job that is retried on new Jobs\n"


def job_phases_page() -> str:
    """Return the page."""
    return "\n".join((HEAD, _theory(), "", *_diagram(), "", *_table()))


def _theory() -> str:
    _, *paragraphs = inspect.cleandoc(phases.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _name(phase: Phase) -> str:
    return phase.value or "New"


def _diagram() -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield f"    [*] --> {_name(Phase.NEW)}"
    for phase, followers in FOLLOWERS.items():
        for follower in sorted(followers, key=list(Phase).index):
            yield f"    {_name(phase)} --> {_name(follower)}"
    for phase in sorted(FINAL):
        yield f"    {_name(phase)} --> [*]"
    yield "```"


def _table() -> Iterator[str]:
    yield "| phase | when | may be followed by |"
    yield "|---|---|---|"
    for phase, followers in FOLLOWERS.items():
        named = ", ".join(_name(item) for item in sorted(followers, key=list(Phase).index))
        entered = ENTERED.get(phase, "no attempt has begun yet")
        yield f"| {_name(phase)} | {entered} | {named or 'nothing: final'} |"
