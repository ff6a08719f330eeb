"""Clues to why an attempt failed: where they come from, and those that any kind of job shows."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TypeAlias

from jobledger.core.jobs import events as shared


class Source(StrEnum):
    """Where a clue comes from. Rules name these."""

    REASON = "reason"
    """Why the attempt or the job failed, in upstream's one word."""
    MESSAGE = "message"
    """The same in upstream's words."""
    RAY = "ray"
    """What Ray says of the entrypoint: its message and type of error."""
    SUBMITTER = "submitter"
    """How the submitter ended."""
    LOG = "log"
    """A line of a log that was kept."""
    POD = "pod"
    """Reason and message of a Pod."""
    CONTAINER = "container"
    """Reason and message of a container: its end, or why it waits."""
    EXIT = "exit"
    """`exit N` of the entrypoint or of a container."""
    KUBERNETES_EVENT = "kubernetes event"
    REFUSAL = "refusal"
    """What the API server, or the head, said when it would not do something."""
    LOSS = "loss"
    """`cluster`, `head`, `submitter`, `jobset` or `attempt's Job` that went unasked."""
    SILENCE = "silence"
    """What was met instead of an answer of the head, or of a controller."""
    MANIFEST = "manifest"
    """Why the manifest is not valid."""
    DECISION = "decision"
    """The kind of a deadline or time-out that fired."""


Clue: TypeAlias = tuple[Source, str]
"""Where a clue comes from, and its text; an empty text is no clue."""


def shared_clues(event: shared.SharedEvent) -> Iterator[Clue]:
    """Yield the clues of an event that every kind of job has; evidence is read elsewhere."""
    if isinstance(event, shared.EffectFailed | shared.EffectFaltered):
        yield Source.REFUSAL, f"{event.kind}: {event.trouble}"
    elif isinstance(event, shared.DecisionFired):
        yield Source.DECISION, event.kind.value


def exit_clue(code: int | None) -> str:
    """Return the text for an exit code that is not 0."""
    return "" if code in (None, 0) else f"exit {code}"
