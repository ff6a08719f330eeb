"""The phases and conditions of a TrainJob, and the transitions between phases.

Theory of operation. A TrainJob is one machine with facts beside it: its JobSet, its runtime and
what became of the latest build and apply of its objects. The conditions of `.status` are changed by
events; the phase is no field of upstream's API but what the conditions and the JobSet amount to,
for people and for the table `job`. An observation changes a fact, then the rules in
`core.trainjob.rules.rules` are asked in their order until none has anything to say.

Created follows the latest build and apply, Suspended follows spec.suspend whatever Created says,
Complete and Failed are copies of the JobSet's own end (or Failed by the active deadline) and final:
the first of them wins, the other is never added.

While Created is False the job waits for a changed TrainJob, a changed runtime, or the deletion of
its snapshot. Where the cause may pass by itself (a quota, a runtime that comes later, an error of
the API server) it is also tried again, after a pause that doubles: a pending decision.

Source: the design of Trainer v2 (KEP-2170) for Created; trainjob_controller.go for the rest.
"""

from collections.abc import Mapping
from enum import StrEnum


class Phase(StrEnum):
    """What a TrainJob is at, in one word."""

    NEW = ""
    BUILD_FAILED = "JobsBuildFailed"
    CREATION_FAILED = "JobsCreationFailed"
    SUSPENDED = "Suspended"
    CREATED = "Created"
    RUNNING = "Running"
    COMPLETE = "Complete"
    FAILED = "Failed"


FINAL = frozenset({Phase.COMPLETE, Phase.FAILED})
"""Phases that nothing leaves."""

CREATED, SUSPENDED, COMPLETE, FAILED = "Created", "Suspended", "Complete", "Failed"
"""The four types of conditions that belong to the controller and to no plugin."""

OURS = frozenset({CREATED, SUSPENDED, COMPLETE, FAILED})
TERMINAL = frozenset({COMPLETE, FAILED})

CONDITIONS_MAX = 8
"""How many conditions the API server takes."""

CREATION_SUCCEEDED, CREATION_SUCCEEDED_MESSAGE = "JobsCreationSucceeded", "Succeeded to create Jobs"
BUILD_FAILED, BUILD_FAILED_MESSAGE = "JobsBuildFailed", "Failed to build Jobs"
CREATION_FAILED, CREATION_FAILED_MESSAGE = "JobsCreationFailed", "Failed to create Jobs"
SUSPENDED_REASON, SUSPENDED_MESSAGE = "Suspended", "TrainJob is suspended"
RESUMED_REASON, RESUMED_MESSAGE = "Resumed", "TrainJob is resumed"
DEADLINE_EXCEEDED = "DeadlineExceeded"
DEADLINE_MESSAGE = "TrainJob exceeded its active deadline"
RUNTIME_NOT_SUPPORTED = "TrainingRuntimeNotSupported"

REASONS: Mapping[tuple[str, str], str] = {
    (f"{CREATED}=True", CREATION_SUCCEEDED): CREATION_SUCCEEDED_MESSAGE,
    (f"{CREATED}=False", BUILD_FAILED): f"{BUILD_FAILED_MESSAGE}: …",
    (f"{CREATED}=False", CREATION_FAILED): f"{CREATION_FAILED_MESSAGE}: …",
    (f"{SUSPENDED}=True", SUSPENDED_REASON): SUSPENDED_MESSAGE,
    (f"{SUSPENDED}=False", RESUMED_REASON): RESUMED_MESSAGE,
    (f"{COMPLETE}=True", "copied from the JobSet"): "copied from the JobSet",
    (f"{FAILED}=True", "copied from the JobSet"): "copied from the JobSet",
    (f"{FAILED}=True", DEADLINE_EXCEEDED): DEADLINE_MESSAGE,
    (f"{FAILED}=True", RUNTIME_NOT_SUPPORTED): "unsupported runtime: …",
}
"""Condition and reason -> message, literally. The last one in the setting `upstream` only."""

ENTERED: Mapping[Phase, str] = {
    Phase.BUILD_FAILED: "building the objects fails",
    Phase.CREATION_FAILED: "an object cannot be applied",
    Phase.SUSPENDED: "spec.suspend is true",
    Phase.CREATED: "all objects are applied",
    Phase.RUNNING: "a Job of the JobSet is active",
    Phase.COMPLETE: "the JobSet has completed",
    Phase.FAILED: "the JobSet has failed, or the deadline passed",
}
"""Phase -> what leads there."""

_BEGUN = (Phase.BUILD_FAILED, Phase.CREATION_FAILED, Phase.SUSPENDED, Phase.CREATED, Phase.RUNNING)

FOLLOWERS: Mapping[Phase, frozenset[Phase]] = {
    Phase.NEW: frozenset(_BEGUN) | FINAL,
    **{phase: (frozenset(_BEGUN) | FINAL) - {phase} for phase in _BEGUN},
    Phase.SUSPENDED: (frozenset(_BEGUN) | FINAL | {Phase.NEW}) - {Phase.SUSPENDED},
    Phase.RUNNING: (frozenset(_BEGUN) | FINAL | {Phase.NEW}) - {Phase.RUNNING},
    Phase.COMPLETE: frozenset(),
    Phase.FAILED: frozenset(),
}
"""Phase -> phases that may follow it.

A resume goes back to New where nothing had been applied yet, and Running where its Jobs have
ended before the outcome of the apply was heard.
"""
