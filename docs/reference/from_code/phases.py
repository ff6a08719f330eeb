"""The page of a RayJob's phases: which may follow which, as a diagram made from the table."""  # noqa: INP001 see generate.py

import inspect
from collections.abc import Iterator

from jobledger.core.rayjob import phases
from jobledger.core.rayjob.phases import FINAL, FOLLOWERS, Phase
from jobledger.core.rayjob.rules import attempt_end as ending

HEAD = "# Phases of a RayJob\n"

CONSTANTS = (
    "APP_FAILED",
    "SUBMISSION_FAILED",
    "DEADLINE_EXCEEDED",
    "PRE_RUNNING_DEADLINE_EXCEEDED",
    "GRACE_PERIOD_EXCEEDED",
    "STATUS_CHECK_TIMEOUT_EXCEEDED",
)


def phases_page() -> str:
    """Return the page."""
    return "\n".join((HEAD, _theory(), "", *_diagram(), "", *_table(), "", *_reasons()))


def _theory() -> str:
    _, *paragraphs = inspect.cleandoc(phases.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _name(phase: Phase) -> str:
    return phase.value or "New"


def _diagram() -> Iterator[str]:
    yield "ValidationFailed is left out of the picture: every phase but the final ones leads there"
    yield "with an invalid manifest, and back with a valid one.\n"
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield f"    [*] --> {_name(Phase.NEW)}"
    for phase, followers in FOLLOWERS.items():
        if phase is not Phase.VALIDATION_FAILED:
            for follower in sorted(followers - {Phase.VALIDATION_FAILED}, key=list(Phase).index):
                yield f"    {_name(phase)} --> {_name(follower)}"
    for phase in sorted(FINAL):
        yield f"    {_name(phase)} --> [*]"
    yield "```"


def _table() -> Iterator[str]:
    yield "| phase | may be followed by |"
    yield "|---|---|"
    for phase, followers in FOLLOWERS.items():
        named = ", ".join(_name(item) for item in sorted(followers, key=list(Phase).index))
        yield f"| {_name(phase)} | {named or 'nothing: final'} |"


def _reasons() -> Iterator[str]:
    yield "`New` is the empty text in `status.jobDeploymentStatus`.\n"
    yield "## Reasons of a failure\n"
    yield "The words of `status.reason`, upstream's own.\n"
    for name in CONSTANTS:
        yield f"* `{getattr(ending, name)}`"
