"""A RayJob that another controller drives: what is recorded, inferred, and said to be unknown."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.core.forensics.replay.replay import replay
from jobledger.core.jobs.events import ControlReleased, ControlTaken
from jobledger.core.kinds import kind_of, status
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import (
    AttemptFailed,
    ClusterVanished,
    RayJobEvent,
    TransitionsMissed,
)
from jobledger.core.rayjob.observations.observations import ManifestSeen, SeenStatus
from jobledger.core.rayjob.phases import Phase
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import (
    ADDRESS,
    after,
    cluster,
    cluster_gone,
    cluster_of,
    manifest,
    manifest_gone,
    poll,
    submission_of,
    submitter,
    submitter_gone,
)
from tests.support.recorded import recorded
from tests.support.rows import Played, Step, check_laws, play

WHY = "this installation only records"
PACE = 100


def shown(
    phase: str, at: float, attempt: int = 1, *, failed: int = 0, bare: bool = False, **said: object
) -> ManifestSeen:
    """Return a look at the job as KubeRay shows it; `bare` names no attempt."""
    names = {} if bare else _names(attempt)
    running = phase in ("Waiting", "Running", "Retrying", "Complete", "Suspending")
    address = ADDRESS if running and not bare else ""
    fields = {"address": address, **names, **said}
    seen = SeenStatus(phase=phase, failed=failed, **fields)  # type: ignore[arg-type] # by name
    return manifest(at, recorded=WHY, status=seen, backoff_limit=2)


def _names(attempt: int) -> dict[str, object]:
    began = after((attempt - 1) * PACE + 1)
    return {
        "cluster_name": cluster_of(attempt),
        "job_id": submission_of(attempt),
        "started_at": began,
    }


NEW = manifest(recorded=WHY, backoff_limit=2)
BEGUN: tuple[Step, ...] = (NEW, shown("Initializing", 1), cluster("", 2), cluster("ready", 10))
RUNNING: tuple[Step, ...] = (*BEGUN, shown("Running", 12), submitter("", 12))
WORKING: tuple[Step, ...] = (*RUNNING, shown("Running", 30, job_status="RUNNING"))


def said(story: Sequence[Step]) -> Played:
    """Play a story; hold it against the laws, and decide it again from its record."""
    played = play(RAYJOB, story)
    check_laws(RAYJOB, played.history, 0)
    records = recorded(story)
    replayed = replay(records)
    assert (replayed.divergences, replayed.unknown) == ((), ())
    assert played.state.effects == (), "nothing is asked for"
    assert played.state.decisions == (), "nothing is pending"
    assert status(played.state) == {}, "no status is published"
    return played


def names_of(events: Sequence[RayJobEvent]) -> list[str]:
    return [type(event).__name__ + "*" * bool(getattr(event, "inferred", "")) for event in events]


FAILED: Mapping[str, Any] = {"job_status": "FAILED", "reason": "AppFailed", "message": "ValueError"}


@pytest.mark.parametrize(
    ("rule", "given", "when", "then", "phase"),
    [
        (
            "a job that is not begun is only seen",
            (),
            NEW,
            ["JobDiscovered", "ManifestReceived", "ControlReleased"],
            "",
        ),
        (
            "names in the status begin an attempt",
            (NEW,),
            shown("Initializing", 1),
            ["OthersStatusObserved", "AttemptStarted*"],
            "Initializing",
        ),
        (
            "the RayCluster is a fact as of any job",
            (NEW, shown("Initializing", 1)),
            cluster("ready", 10),
            ["ClusterObserved"],
            "Initializing",
        ),
        ("so is the submitter", BEGUN, submitter("", 12), ["SubmitterObserved"], "Initializing"),
        (
            "Running is reached when it is shown",
            BEGUN,
            shown("Running", 12),
            ["OthersStatusObserved", "AttemptReachedRunning*"],
            "Running",
        ),
        (
            "what Ray says is told by the status",
            RUNNING,
            shown("Running", 30, job_status="RUNNING"),
            ["OthersStatusObserved", "EntrypointObserved*"],
            "Running",
        ),
        (
            "Retrying: the attempt failed, and the controller in charge granted another",
            WORKING,
            shown("Retrying", 40, failed=1, **FAILED),
            [
                *("OthersStatusObserved", "EntrypointObserved*"),
                *("AttemptFailed*", "RetryGranted*"),
            ],
            "Retrying",
        ),
        (
            "what goes while the job is Retrying was deleted by its controller",
            (*WORKING, shown("Retrying", 40, failed=1, **FAILED)),
            cluster_gone(45),
            ["ClusterVanished*"],
            "Retrying",
        ),
        (
            "the pause before a retry ends with the job, as by a deadline over all attempts",
            (*WORKING, shown("Retrying", 40, failed=1, **FAILED)),
            shown("Failed", 50, failed=1, **FAILED),
            ["OthersStatusObserved", "JobFailed*"],
            "Failed",
        ),
        (
            "so does a suspension that is under way",
            (*WORKING, shown("Suspending", 40)),
            shown("Failed", 50, failed=1, **FAILED),
            ["OthersStatusObserved", "JobFailed*"],
            "Failed",
        ),
        (
            "an emptied status ends the clean-up",
            (*WORKING, shown("Retrying", 40, failed=1, **FAILED), cluster_gone(45)),
            shown("", 46, failed=1, bare=True),
            ["OthersStatusObserved", "AttemptCleared*"],
            "",
        ),
        (
            "New may go by unseen: names of another attempt tell it",
            (*WORKING, shown("Retrying", 40, failed=1, **FAILED), cluster_gone(45)),
            shown("Initializing", 101, 2, failed=1),
            ["OthersStatusObserved", "AttemptCleared*", "AttemptStarted*"],
            "Initializing",
        ),
        (
            "Complete",
            WORKING,
            shown("Complete", 40, job_status="SUCCEEDED", succeeded=1, ended_at=after(39)),
            ["OthersStatusObserved", "EntrypointObserved*", "JobCompleted*"],
            "Complete",
        ),
        (
            "a RayCluster that goes after the end, and nothing asks for it: nobody knows why",
            (*WORKING, shown("Complete", 40, job_status="SUCCEEDED", succeeded=1)),
            cluster_gone(60),
            ["ClusterVanished"],
            "Complete",
        ),
        (
            "Failed: the attempt failed, and no other was granted",
            WORKING,
            shown("Failed", 40, failed=1, reason="DeadlineExceeded", job_status="RUNNING"),
            ["OthersStatusObserved", "AttemptFailed*", "RetryRefused*", "JobFailed*"],
            "Failed",
        ),
        (
            "Suspending and Suspended",
            (*WORKING, shown("Suspending", 40, job_status="RUNNING")),
            shown("Suspended", 50, bare=True),
            ["OthersStatusObserved", "JobSuspended*"],
            "Suspended",
        ),
        (
            "Suspended without Suspending is the same way",
            WORKING,
            shown("Suspended", 50, bare=True),
            ["OthersStatusObserved", "SuspensionStarted*", "JobSuspended*"],
            "Suspended",
        ),
        (
            "a resumed job begins the next attempt",
            (*WORKING, shown("Suspended", 50, bare=True)),
            shown("Initializing", 101, 2),
            ["OthersStatusObserved", "JobResumed*", "AttemptStarted*"],
            "Initializing",
        ),
        (
            "ValidationFailed",
            WORKING,
            shown("ValidationFailed", 40, reason="ValidationFailed", message="backoffLimit"),
            ["OthersStatusObserved", "ManifestRejected*"],
            "ValidationFailed",
        ),
        (
            "and out of it again",
            (*WORKING, shown("ValidationFailed", 40, reason="ValidationFailed", message="no")),
            shown("Running", 50, job_status="RUNNING"),
            ["OthersStatusObserved", "ManifestAccepted*"],
            "Running",
        ),
        (
            "a gap: how the first attempt ended is not known",
            WORKING,
            shown("Running", 130, 2, failed=1, job_status="RUNNING"),
            [
                *("OthersStatusObserved", "TransitionsMissed", "AttemptStarted*"),
                *("AttemptReachedRunning*", "EntrypointObserved*"),
            ],
            "Running",
        ),
        (
            "a job that was New and is Complete went through everything between",
            (NEW,),
            shown("Complete", 40, job_status="SUCCEEDED", succeeded=1, ended_at=after(39)),
            [
                *("OthersStatusObserved", "AttemptStarted*", "AttemptReachedRunning*"),
                *("EntrypointObserved*", "JobCompleted*"),
            ],
            "Complete",
        ),
        (
            "a status that is behind is no step back",
            WORKING,
            shown("Initializing", 31),
            ["OthersStatusObserved"],
            "Running",
        ),
        (
            "an end of an attempt that never ran",
            BEGUN,
            shown("Failed", 40, failed=1, reason="PreRunningDeadlineExceeded"),
            ["OthersStatusObserved", "AttemptFailed*", "RetryRefused*", "JobFailed*"],
            "Failed",
        ),
        ("the head is not asked, so an answer is none", WORKING, poll("FAILED", 40), [], "Running"),
        (
            "the submitter goes on being seen",
            WORKING,
            submitter("Failed", 40),
            ["SubmitterFinished"],
            "Running",
        ),
        (
            "a RayCluster that nothing names is left alone",
            WORKING,
            cluster(uid="x", attempt=7),
            [],
            "Running",
        ),
        (
            "the end of the object is the end of the stream",
            WORKING,
            manifest_gone(50),
            ["JobDeleted"],
            "Running",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_another_controller_does_is_inferred(
    rule: str, given: Sequence[Step], when: Step, then: list[str], phase: str
) -> None:
    played = said((*given, when))
    assert names_of(played.news) == then, rule
    assert played.state.phase.value == phase


def test_a_job_that_is_found_running_is_taken_down_from_its_status() -> None:
    played = said((shown("Running", 30, job_status="RUNNING"), cluster("ready", 31)))
    assert names_of(played.history) == [
        *("JobDiscovered", "ManifestReceived", "ControlReleased", "JobAdopted"),
        "ClusterObserved",
    ]
    assert played.state.phase is Phase.RUNNING


def test_a_failed_attempt_has_the_reason_that_was_shown() -> None:
    played = said((*WORKING, shown("Retrying", 40, failed=1, **FAILED)))
    failed = next(event for event in played.news if isinstance(event, AttemptFailed))
    assert (failed.reason, failed.message, failed.failed) == ("AppFailed", "ValueError", 1)
    assert played.state.failed == 1


def test_what_was_missed_is_said_and_not_made_up() -> None:
    played = said((*WORKING, shown("Running", 330, 4, failed=3, job_status="RUNNING")))
    missed = next(event for event in played.news if isinstance(event, TransitionsMissed))
    assert (missed.attempt, missed.before, missed.after) == (1, "Running", "Running")
    assert (missed.failed_before, missed.failed) == (0, 3)
    assert played.state.attempt is not None
    assert played.state.attempt.number == 4, "three have failed"
    assert not any(isinstance(event, AttemptFailed) for event in played.history)


def test_why_a_raycluster_went_after_the_end_is_inferred_from_the_manifest() -> None:
    def told(phase: str, at: float, **said: object) -> ManifestSeen:
        seen = SeenStatus(phase=phase, address=ADDRESS, **_names(1), **said)  # type: ignore[arg-type] # by name
        return manifest(at, recorded=WHY, status=seen, shutdown_after_job_finishes=True)

    played = said(
        (
            told("Running", 30),
            cluster("ready", 31),
            told("Complete", 40, job_status="SUCCEEDED", succeeded=1),
            cluster_gone(60),
        )
    )
    (gone,) = played.news
    assert isinstance(gone, ClusterVanished)
    assert (gone.asked, gone.inferred) == (True, "shutdownAfterJobFinishes")


def test_control_that_is_given_up_drops_what_was_under_way_and_pending() -> None:
    story = stories.initializing(active_deadline_seconds=600)
    before = play(RAYJOB, story).state
    assert before.decisions
    released = manifest(
        20,
        recorded=WHY,
        finalizer=True,
        status=SeenStatus(phase="Initializing", **_names(1)),  # type: ignore[arg-type] # by name
        active_deadline_seconds=600,
    )
    played = said((*story, released))
    assert names_of(played.news) == [
        *("ControlReleased", "OthersStatusObserved"),
        "DecisionCancelled",
    ]
    assert played.state.phase is Phase.INITIALIZING


def test_control_that_is_taken_goes_on_where_the_other_stood() -> None:
    mine = manifest(50, generation=2, backoff_limit=2, active_deadline_seconds=600)
    story = (*WORKING, mine)
    played = play(RAYJOB, story)
    check_laws(RAYJOB, played.history, 0)
    taken = next(event for event in played.news if isinstance(event, ControlTaken))
    assert taken.recorded_because == WHY
    state = played.state
    assert state.attempt is not None
    assert (state.phase, state.attempt.number) == (Phase.RUNNING, 1)
    assert state.attempt.cluster_name == cluster_of(1)
    assert [item.kind.value for item in state.decisions] == ["active_deadline"]
    assert {item.desired.kind.value for item in state.effects} == {
        "add_finalizer",
        "create_service",
    }, "nothing is started again"
    assert status(state)["jobDeploymentStatus"] == "Running"


def test_a_retry_that_the_other_had_begun_is_carried_on() -> None:
    mine = manifest(50, generation=2, backoff_limit=2)
    story = (*WORKING, shown("Retrying", 40, failed=1, **FAILED), mine)
    state = play(RAYJOB, story).state
    assert [item.kind.value for item in state.decisions] == ["retry"]
    assert {item.desired.kind.value for item in state.effects} == {
        *("add_finalizer", "delete_cluster", "delete_submitter")
    }


def test_what_is_left_to_do_after_the_end_is_done_by_whom_the_job_is_handed_to() -> None:
    shut = {"shutdown_after_job_finishes": True, "ttl_seconds_after_finished": 600}
    done = shown("Complete", 40, job_status="SUCCEEDED", succeeded=1, ended_at=after(39))
    mine = manifest(50, backoff_limit=2, generation=2, **shut)  # type: ignore[arg-type] # a spec
    state = play(RAYJOB, (*WORKING, done, mine)).state
    assert state.phase is Phase.COMPLETE
    assert [item.kind.value for item in state.decisions] == ["ttl_shutdown"]
    assert state.effects == (), "what has ended gets no finalizer any more"


def test_back_and_forth_is_told_each_time() -> None:
    mine = manifest(50, generation=2, backoff_limit=2)
    back = replace(shown("Running", 60, job_status="RUNNING"), generation=3, digest="digest-3")
    story = (*WORKING, mine, back, submitter_gone(61))
    played = said(story)
    control = [e for e in played.history if isinstance(e, ControlReleased | ControlTaken)]
    assert [type(event) for event in control] == [ControlReleased, ControlTaken, ControlReleased]
    assert kind_of(played.state).is_open(played.state)
