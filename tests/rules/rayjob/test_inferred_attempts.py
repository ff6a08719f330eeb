"""Attempts of a recorded RayJob that run on one RayCluster: which one a status tells of."""

from collections.abc import Sequence
from typing import Any

import pytest

from jobledger.core.rayjob.observations.observations import ManifestSeen, SeenStatus
from tests.rules.rayjob.test_recording import PACE, WHY, said
from tests.support.rayjob_builders import ADDRESS, after, manifest, submission_of
from tests.support.rows import Step

SHARED = "a-shared-cluster"


def on_shared(phase: str, at: float, began: float | None, **more: Any) -> ManifestSeen:  # noqa: ANN401 fields by name
    """Return a look at a job that selects a RayCluster; without `began` it names no attempt."""
    named: dict[str, Any] = {}
    if began is not None:
        job_id = submission_of(1 if began < PACE else 2)
        named = {"cluster_name": SHARED, "job_id": job_id, "started_at": after(began)}
    status = SeenStatus(phase=phase, **named, **more)
    return manifest(at, recorded=WHY, cluster_selector=SHARED, backoff_limit=2, status=status)


ON_SHARED = (on_shared("", 0, None), on_shared("Running", 1, 1, address=ADDRESS))
CLEARED = (
    *ON_SHARED,
    on_shared("Retrying", 40, 1, failed=1, reason="AppFailed"),
    on_shared("", 46, None, failed=1),
)


@pytest.mark.parametrize(
    ("rule", "given", "when", "number", "phase"),
    [
        (
            "an attempt that is over does not begin once more",
            CLEARED,
            on_shared("Running", 47, 1, address=ADDRESS),
            1,
            "",
        ),
        (
            "the next one has the RayCluster of the last, and a later start",
            CLEARED,
            on_shared("Initializing", 101, 101, failed=1),
            2,
            "Initializing",
        ),
        (
            "a status of the last one is behind then",
            (*CLEARED, on_shared("Initializing", 101, 101, failed=1)),
            on_shared("Running", 102, 1, failed=1, address=ADDRESS),
            2,
            "Initializing",
        ),
        (
            "starts that are a second apart are one: a status has whole seconds",
            (*CLEARED, on_shared("Initializing", 101, 101, failed=1)),
            on_shared("Running", 102, 100, failed=1, address=ADDRESS),
            2,
            "Running",
        ),
        (
            "while an attempt goes on so they are as well",
            ON_SHARED,
            on_shared("Running", 30, 2, address=ADDRESS, job_status="RUNNING"),
            1,
            "Running",
        ),
        (
            "further apart they are two",
            ON_SHARED,
            on_shared("Running", 130, 101, failed=1, address=ADDRESS),
            2,
            "Running",
        ),
    ],
)
def test_attempts_on_one_raycluster_are_told_apart_by_their_start(
    rule: str, given: Sequence[Step], when: ManifestSeen, number: int, phase: str
) -> None:
    state = said([*given, when]).state
    assert state.attempt is not None
    assert (state.attempt.number, state.phase.value) == (number, phase), rule
