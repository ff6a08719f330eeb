"""Describes why a job of any kind is held when its log is older than the cluster.

A database that was restored, or a replica that was promoted without the last transactions, has lost
events whose effects are in the cluster. Everything that is done or shown outside is in the log
before: so whatever of ours the log cannot explain was explained by events that are lost.
"""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec.structs import replace

from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.jobs.events import (
    ControlReleased,
    ControlTaken,
    LedgerBehindFound,
    RecoveredFromCluster,
)
from jobledger.core.jobs.evolve.shared_state import SharedState
from jobledger.core.jobs.manifest.shared_manifest import SharedManifestSeen
from jobledger.core.jobs.observations import LedgerSetBack, Survey
from jobledger.core.values.instants import Instant

State = TypeVar("State", bound=SharedState)

RECOVER_ANNOTATION = "jobledger.dev/recover"
"""Asks to take a held job over although something is in doubt; its value names the holding."""

HELD = "the ledger is older than the cluster"
"""How it begins why a held job is not controlled."""

UNKNOWN_JOB = "the log knows nothing of the job, and its status was written here"


def why_held(signs: tuple[str, ...]) -> str:
    """Return why a job is held, in a sentence without its full stop."""
    return f"{HELD}: {'; '.join(signs)}"


def mark_of(since: Instant) -> str:
    """Return the value of the annotation that asks to end the holding that began at `since`.

    A later holding has another, so an annotation that was left on the job asks for nothing.
    """
    return since.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def mark_in(annotation: str) -> str:
    """Return the mark that an annotation holds; empty if it holds something else.

    An observation is kept in the log, and what somebody else writes into an annotation may be
    anything, a secret too.
    """
    return annotation if _MARK.fullmatch(annotation) else ""


_MARK = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def holding_of(events: Iterable[object]) -> LedgerBehindFound | None:
    """Return the last finding a job is held for, with the signs of those before; None: it is free.

    Args:
        events: The job's whole stream, in order.
    """
    held: LedgerBehindFound | None = None
    for event in events:
        if isinstance(event, LedgerBehindFound):
            signs = event.signs if held is None else (*held.signs, *event.signs)
            held = replace(event, signs=signs)
        elif isinstance(event, RecoveredFromCluster | ControlTaken | ControlReleased):
            held = None
    return held


def set_back(told: LedgerSetBack) -> tuple[LedgerBehindFound]:
    """Return that a stream ends before what had been appended to it."""
    known, found = told.known_version, told.found_version
    sign = f"the stream ended at version {known}, and ends at version {found} now"
    behind = LedgerBehindFound(at=told.at, signs=(sign,), known_version=known, found_version=found)
    return (behind,)


def unknown_job(seen: SharedManifestSeen) -> LedgerBehindFound:
    """Return that the log has lost a job as a whole."""
    return _behind(seen, (UNKNOWN_JOB,))


def behind_by_status(
    seen: SharedManifestSeen, signs: Iterable[str]
) -> tuple[LedgerBehindFound, ...]:
    """Return that the log is behind a status that was written here; nothing if it is not.

    `signs` are what the status tells that the log does not know.
    """
    if not seen.written_here or seen.recorded:
        return ()
    found = tuple(signs)
    return (_behind(seen, found),) if found else ()


def _behind(seen: SharedManifestSeen, signs: tuple[str, ...]) -> LedgerBehindFound:
    return LedgerBehindFound(at=seen.at, signs=signs, observed_generation=seen.observed_generation)


def recovered(
    state: State,
    seen: SharedManifestSeen,
    doubt_about: Callable[[State, Survey], str],
    *,
    is_final: bool,
) -> tuple[RecoveredFromCluster, ...]:
    """Return that a held job is taken over; nothing while that is in doubt and nobody asks for it.

    `state` has drawn all conclusions from the status. A job that has ended stays ended, whatever
    is there. Any other waits for a survey, as only that shows what is there now; one that is being
    deleted goes then. `doubt_about` says why the job cannot be taken over by itself; it is empty if
    nothing is in doubt.
    """
    held, survey, asked = state.recorded, seen.survey, ""
    if held is None or not held.behind or (survey is None and not is_final):
        return ()
    goes_on = not is_final and not is_leaving(state)
    if survey is not None and goes_on and doubt_about(state, survey):
        if seen.recover != mark_of(held.since):
            return ()
        asked = seen.recover
    taken_over = RecoveredFromCluster(
        at=seen.at,
        behind_since=held.since,
        there=survey.there if survey is not None else (),
        is_surveyed=survey is not None,
        asked=asked,
    )
    return (taken_over,)
