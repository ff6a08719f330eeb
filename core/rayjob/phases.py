"""The phases of a RayJob and the transitions between them.

Theory of operation. A RayJob is one machine with three facts beside it that move on their own: the
RayCluster, the
submitter (in K8sJobMode a batch Job) and the entrypoint as Ray reports it. The phase is upstream's
`status.jobDeploymentStatus`; the facts are what was last seen. An observation first changes a
fact; then the rules
in `core.rayjob.rules.rules` are asked in their order of priority, again and again, until none of
them has anything to say: leaving or entering ValidationFailed, suspension, the end of an attempt,
its progress, the clean-up between two attempts, the start of the next. So a transition never
depends on which observation came last, only on what is known.

An attempt runs from New through Initializing and Running to an end. A failed one is judged by
`core.jobs.retries.retry`
(nowhere else): granted, the job is Retrying until the old RayCluster and submitter are gone, then
New again and at
once Initializing; refused, it is Failed. A deadline over all attempts, where the job asks for one,
ends the pause between two of them as well: from Retrying to Failed. Complete and Failed are final:
no rule leaves them, not even for an invalid
edit. ValidationFailed is a pause: it remembers the phase it came from and returns to it.

Source: KubeRay's rayjob_controller.go (v1.7) and rayjob_types.go for the names.
"""

from collections.abc import Mapping
from enum import StrEnum


class Phase(StrEnum):
    """Upstream's JobDeploymentStatus, literally."""

    NEW = ""
    INITIALIZING = "Initializing"
    WAITING = "Waiting"
    RUNNING = "Running"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    RETRYING = "Retrying"
    COMPLETE = "Complete"
    FAILED = "Failed"
    VALIDATION_FAILED = "ValidationFailed"


class JobStatus(StrEnum):
    """What Ray says of an entrypoint: upstream's JobStatus, literally."""

    NEW = ""
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


FINAL = frozenset({Phase.COMPLETE, Phase.FAILED})
"""Phases that nothing leaves."""

ENDED = frozenset({JobStatus.STOPPED, JobStatus.SUCCEEDED, JobStatus.FAILED})
"""Job statuses that Ray does not leave."""

SPEECHLESS = frozenset(
    {Phase.NEW, Phase.INITIALIZING, Phase.WAITING, Phase.SUSPENDING, Phase.SUSPENDED}
)
"""Phases whose message is not spoken for: there it says why something was refused.

Elsewhere it is Ray's, the reason of a failure, or the fault of the manifest.
"""

_PAUSE = frozenset({Phase.VALIDATION_FAILED})

FOLLOWERS: Mapping[Phase, frozenset[Phase]] = {
    Phase.NEW: frozenset({Phase.INITIALIZING, Phase.SUSPENDED}) | _PAUSE,
    Phase.INITIALIZING: frozenset(
        {Phase.WAITING, Phase.RUNNING, Phase.SUSPENDING, Phase.RETRYING, Phase.FAILED}
    )
    | _PAUSE,
    Phase.WAITING: frozenset({Phase.RUNNING, Phase.RETRYING, Phase.FAILED}) | _PAUSE,
    Phase.RUNNING: frozenset({Phase.SUSPENDING, Phase.RETRYING, Phase.FAILED, Phase.COMPLETE})
    | _PAUSE,
    Phase.SUSPENDING: frozenset({Phase.SUSPENDED}) | _PAUSE,
    Phase.SUSPENDED: frozenset({Phase.NEW}) | _PAUSE,
    Phase.RETRYING: frozenset({Phase.NEW, Phase.FAILED}) | _PAUSE,
    Phase.COMPLETE: frozenset(),
    Phase.FAILED: frozenset(),
    Phase.VALIDATION_FAILED: frozenset(Phase) - _PAUSE,
}
"""Phase -> phases that may follow it. The diagram in the docs.

A property test is made from this table.

ValidationFailed is left to the phase it came from, or to Retrying, Failed or Complete when a
deadline or grace passes meanwhile.
"""
