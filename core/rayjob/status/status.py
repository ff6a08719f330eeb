"""Computes the `.status` of a RayJob from its state, field by field as upstream writes it.

Differences from upstream: message, reason and counters are always those of now (upstream writes
some only together
with other changes), `observedGeneration` is set, and the copy of a RayCluster that turned ready
shows it as ready.
Source: KubeRay's rayjob_types.go, RayJobStatus; empty fields are left out, as Go's omitempty does.
"""

from collections.abc import Iterable

from jobledger.core.rayjob.phases import FINAL, SPEECHLESS, Phase
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.instants import Instant, rfc3339
from jobledger.core.values.visible_text import visible

MESSAGE_MAX = 32_768
"""Characters of a message: escapes make one longer than what came in."""


def status(state: RayJobState) -> Manifest:
    """Return what users are to see. Empty for a job that is not known."""
    if state.manifest is None:
        return {}
    shown: dict[str, Json] = {
        "jobStatus": state.entrypoint.status.value,
        "jobDeploymentStatus": state.phase.value,
        "reason": state.reason,
        "message": visible(_message(state))[:MESSAGE_MAX],
        "startTime": _time(state.started_at),
        "endTime": _time(state.ended_at) if state.phase in FINAL else "",
        "jobStatusCheckFailureStartTime": _time(state.entrypoint.silent_since),
        "rayJobInfo": _without_empty(
            {
                "startTime": _time(state.entrypoint.started_at),
                "endTime": _time(state.entrypoint.ended_at),
            }
        ),
        **_attempt(state),
    }
    counters: dict[str, Json] = {
        "succeeded": state.succeeded,
        "failed": state.failed,
        "observedGeneration": state.manifest.generation,
    }
    return {**_without_empty(shown), **counters}


def _message(state: RayJobState) -> str:
    """Return upstream's message, and what it has no words for.

    While it says nothing: which annotations are left out, and what is met by a request that
    goes on being tried. While a retry waits: until when.
    """
    if state.manifest is None or state.phase in FINAL:
        return state.message
    message = state.message or "; ".join((*state.manifest.option_problems, *_troubles(state)))
    if state.phase is not Phase.RETRYING or (due_at := pending_retry(state)) is None:
        return message
    waits = f"retrying not before {rfc3339(due_at)}"
    return f"{message} ({waits})" if message else waits


def _troubles(state: RayJobState) -> Iterable[str]:
    """Return what is met by what would bring the job on, each once."""
    if state.phase not in SPEECHLESS:
        return ()
    return dict.fromkeys(item.trouble for item in state.effects if item.trouble)


def pending_retry(state: RayJobState) -> Instant | None:
    """Return when the next attempt may begin, where the retry was granted with a pause.

    What was granted counts: an edit of the annotations changes nothing of a pause that goes on.
    """
    attempt = state.attempt
    return attempt.retry_at if attempt is not None and attempt.retry_paused else None


def _attempt(state: RayJobState) -> dict[str, Json]:
    attempt = state.attempt
    if attempt is None or attempt.cleared:
        return {}
    mirrored = state.shown_cluster
    return {
        "jobId": attempt.job_id,
        "rayClusterName": attempt.cluster_name,
        "dashboardURL": attempt.address,
        "rayClusterStatus": dict(mirrored) if mirrored else {},
    }


def _time(instant: Instant | None) -> str:
    return rfc3339(instant) if instant is not None else ""


def _without_empty(shown: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in shown.items() if value not in ("", {})}


FIELDS = frozenset(
    {
        "jobId",
        "rayClusterName",
        "dashboardURL",
        "jobStatus",
        "jobDeploymentStatus",
        "reason",
        "message",
        "startTime",
        "endTime",
        "succeeded",
        "failed",
        "rayClusterStatus",
        "rayJobInfo",
        "jobStatusCheckFailureStartTime",
        "observedGeneration",
    }
)
"""Every field of the status, shown or not."""
