"""What another controller did last is known before control of its RayJob is taken."""

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.kinds import status
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.observations.observations import ManifestSeen, SeenStatus
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.state import RayJobState
from tests.support.rayjob_builders import (
    ADDRESS,
    after,
    cluster,
    cluster_gone,
    manifest,
    poll,
    submitter,
    submitter_gone,
)
from tests.support.rows import Played, Step, check_laws, play

WHY = "this installation only records"
ANOTHERS = "kueue.x-k8s.io/multikueue"


def shown(phase: str, at: float, attempt: int = 1, **said: object) -> SeenStatus:
    """Return the status of a job whose attempt another controller has named."""
    fields = {
        "cluster_name": f"train-theirs-{attempt}",
        "job_id": f"job-{attempt}",
        "address": ADDRESS,
        "started_at": after(at),
        **said,
    }
    return SeenStatus(phase=phase, **fields)  # type: ignore[arg-type]  # fields by name


def recorded(at: float, told: SeenStatus) -> ManifestSeen:
    return manifest(at, recorded=WHY, status=told, backoff_limit=1)


def mine(at: float, told: SeenStatus) -> ManifestSeen:
    return manifest(at, status=told, backoff_limit=1)


def said(*story: Step) -> Played:
    played = play(RAYJOB, story)
    check_laws(RAYJOB, played.history, 0)
    return played


def wanted(state: RayJobState) -> set[EffectKind]:
    return {effect.desired.kind for effect in state.effects}


RUNNING = shown("Running", 1, job_status="RUNNING")
ENDED = shown("Complete", 1, job_status="SUCCEEDED", succeeded=1, ended_at=after(90))
GIVEN_UP = shown("Failed", 1, job_status="FAILED", failed=2, reason="AppFailed")
SECOND = shown("Running", 80, 2, job_status="RUNNING", failed=1)
RECORDED: tuple[Step, ...] = (
    recorded(2, RUNNING),
    cluster("ready", 3, name="train-theirs-1"),
    submitter("", 4, job_id="job-1"),
)


@pytest.mark.parametrize(
    ("left", "phase", "attempt", "counts"),
    [
        (RUNNING, Phase.RUNNING, 1, (0, 0)),
        (ENDED, Phase.COMPLETE, 1, (1, 0)),
        (GIVEN_UP, Phase.FAILED, 1, (0, 2)),
        (SECOND, Phase.RUNNING, 2, (0, 1)),
        (SeenStatus(phase=""), Phase.RUNNING, 1, (0, 0)),
    ],
    ids=["as it was", "complete", "failed", "at its second attempt", "a status that was lost"],
)
def test_control_goes_on_from_where_the_other_left_the_job(
    left: SeenStatus, phase: Phase, attempt: int, counts: tuple[int, int]
) -> None:
    state = said(*RECORDED, mine(100, left)).state
    assert state.recorded is None
    assert state.attempt is not None
    assert (state.phase, state.attempt.number) == (phase, attempt)
    assert (state.succeeded, state.failed) == counts
    assert not wanted(state) & {EffectKind.CREATE_CLUSTER, EffectKind.CREATE_SUBMITTER}


def test_the_raycluster_of_an_attempt_that_nobody_here_saw_begin_is_no_orphan() -> None:
    second = cluster("ready", 101, name="train-theirs-2", uid="second")
    state = said(*RECORDED, mine(100, SECOND), second).state
    assert state.orphans == ()
    assert EffectKind.DELETE_CLUSTER not in wanted(state)


CONTROLLED: tuple[Step, ...] = (manifest(0, finalizer=True, backoff_limit=1),)


def between(at: float, told: SeenStatus) -> ManifestSeen:
    """Return what a start is told of a job that another drove while this controller was off."""
    return replace(recorded(at, told), in_between=True)


def test_what_another_did_while_this_controller_was_off_is_recorded_and_taken_over() -> None:
    away = between(100, ENDED)
    played = said(*CONTROLLED, away, mine(100, ENDED))
    assert (played.state.phase, played.state.succeeded) == (Phase.COMPLETE, 1)
    assert not wanted(played.state) & {EffectKind.CREATE_CLUSTER, EffectKind.CREATE_SUBMITTER}
    names = [type(event).__name__ for event in played.history]
    assert (
        names.index("ControlReleased") < names.index("JobCompleted") < names.index("ControlTaken")
    )


def test_a_job_that_nobody_else_has_driven_on_is_not_released() -> None:
    own = status(said(*CONTROLLED).state)
    known = SeenStatus(
        phase=str(own["jobDeploymentStatus"]), cluster_name=str(own["rayClusterName"])
    )
    away = replace(between(100, known), finalizer=True)
    assert said(*CONTROLLED, away).news == ()


def test_of_a_job_that_the_log_does_not_know_it_tells_nothing() -> None:
    assert list(said(between(100, ENDED)).history) == []


@pytest.mark.parametrize(
    ("beneath", "phase"),
    [
        (SeenStatus(phase="", job_status="SUCCEEDED", succeeded=1), Phase.COMPLETE),
        (SeenStatus(phase="", job_status="SUCCEEDED"), Phase.COMPLETE),
        (SeenStatus(phase="", job_status="STOPPED"), Phase.COMPLETE),
        (SeenStatus(phase="", job_status="FAILED", failed=2), Phase.FAILED),
    ],
    ids=["succeeded", "of a CRD without counters", "stopped", "failed"],
)
@pytest.mark.parametrize("is_recorded", [False, True])
def test_an_end_that_was_written_over_with_validationfailed_is_an_end(
    beneath: SeenStatus, phase: Phase, *, is_recorded: bool
) -> None:
    told = replace(beneath, phase="ValidationFailed", started_at=after(1), ended_at=after(60))
    story = (recorded(70, told), mine(80, told)) if is_recorded else (mine(80, told),)
    state = said(*story).state
    assert state.phase is phase
    assert EffectKind.CREATE_CLUSTER not in wanted(state)


def test_validationfailed_of_a_job_that_had_not_ended_is_no_end() -> None:
    told = SeenStatus(phase="ValidationFailed", started_at=after(1))
    assert said(mine(80, told)).state.phase is Phase.INITIALIZING


@pytest.mark.parametrize("phase", ["Running", "Retrying", "Failed", "Complete"])
def test_failures_of_a_gap_in_which_no_attempt_was_known_are_counted(phase: str) -> None:
    left = SeenStatus(phase="Suspended", started_at=after(1))
    suspended = manifest(50, recorded=WHY, status=left, backoff_limit=2)
    later = manifest(
        300,
        recorded=WHY,
        status=shown(phase, 200, 2, failed=2, reason="AppFailed"),
        backoff_limit=2,
    )
    played = said(suspended, later)
    assert "TransitionsMissed" in [type(event).__name__ for event in played.news]
    assert played.state.failed == 2


LATE: tuple[Step, ...] = (
    *RECORDED,
    recorded(60, shown("Retrying", 1, job_status="FAILED", failed=1, reason="AppFailed")),
    recorded(70, SeenStatus(phase="", failed=1)),
    recorded(81, SECOND),
)
"""The watch of batch Jobs hangs: attempt 2 runs, and of the submitter of attempt 1 no end is known.

All submitters of another controller have one name and say nothing of their attempt.
"""


def waiting(at: float, status: SeenStatus) -> ManifestSeen:
    """Return a look at a job that was created suspended, as another controller shows it."""
    return manifest(at, recorded=WHY, suspend=True, status=status)


def test_a_job_that_waits_since_its_creation_has_no_attempt_under_kuberay_either() -> None:
    """KubeRay passes through Initializing and Suspending with names that it gives up again."""
    queued = (
        manifest(0, recorded=WHY, suspend=True),
        waiting(1, shown("Initializing", 1)),
        waiting(2, shown("Suspending", 1)),
        waiting(3, SeenStatus(phase="Suspended", started_at=after(1))),
    )
    played = said(*queued)
    assert (played.state.phase, played.state.attempt) == (Phase.SUSPENDED, None)
    admitted = manifest(100, recorded=WHY, generation=2, status=shown("Initializing", 99, 2))
    attempt = said(*queued, admitted).state.attempt
    assert attempt is not None
    assert attempt.number == 1


def test_a_suspension_of_which_no_attempt_was_seen_is_one() -> None:
    new = manifest(0, recorded=WHY, backoff_limit=2)
    left = SeenStatus(phase="Suspended", started_at=after(1))
    state = said(new, manifest(50, recorded=WHY, status=left, backoff_limit=2)).state
    assert (state.phase, state.attempt) == (Phase.SUSPENDED, None)


def test_the_end_of_a_submitter_that_handed_in_another_attempt_is_not_this_ones() -> None:
    news = (
        submitter("Failed", 82, job_id="job-1"),
        submitter_gone(83),
        submitter("", 84, uid="submitter-2", job_id="job-2"),
    )
    taken = (mine(85, SECOND), poll("RUNNING", 86, job_id="job-2"))
    state = said(*LATE, *news, *taken).state
    assert (state.phase, state.failed) == (Phase.RUNNING, 1)
    assert state.submitter is not None
    assert (state.submitter.uid, state.submitter.outcome) == ("submitter-2", "")


def test_a_recorded_job_that_another_cluster_works_on_is_not_taken() -> None:
    theirs = manifest(2, recorded=WHY, status=RUNNING, managed_by=ANOTHERS)
    ended = manifest(20, status=ENDED, managed_by=ANOTHERS)
    played = said(theirs, manifest(10, status=RUNNING, managed_by=ANOTHERS), ended)
    assert "ControlTaken" not in [type(event).__name__ for event in played.history]
    assert played.state.phase is Phase.COMPLETE
    assert played.state.effects == ()


def test_a_raycluster_that_a_recorded_job_has_lost_is_still_lost_under_control() -> None:
    gone = cluster_gone(30, name="train-theirs-1")
    assert said(*RECORDED, gone, mine(40, RUNNING)).state.phase is Phase.RETRYING
    again = cluster("ready", 35, name="train-theirs-1", uid="made anew")
    assert said(*RECORDED, gone, again, mine(40, RUNNING)).state.phase is Phase.RUNNING
