"""A TrainJob that another controller drives: what is recorded, and what is inferred."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from jobledger.core.forensics.replay.replay import replay
from jobledger.core.jobs.events import ControlReleased, ControlTaken
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.kinds import is_open, status
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.events import (
    JobSetVanished,
    OthersTrainStatusObserved,
    TrainJobDeleted,
    TrainJobDiscovered,
    TrainJobEvent,
    TrainJobResumed,
    TrainJobSuspended,
)
from jobledger.core.trainjob.observations import SeenTrainStatus, TrainJobSeen
from jobledger.core.trainjob.phases import Phase
from tests.support import train_lives
from tests.support import trainjob_events as told
from tests.support.rows import WHEN, resolved
from tests.support.trainjobs import (
    IDENTITY,
    Played,
    Step,
    after,
    applied,
    completed_end,
    counts,
    failed_end,
    jobset,
    jobset_gone,
    manifest,
    manifest_gone,
    play,
    runtime,
    snapshot_gone,
)

WHY = "this installation only records"


def condition(kind: str, at: float, *, holds: bool = True, reason: str = "") -> Condition:
    return Condition(
        type=kind, is_true=holds, reason=reason or kind, message="said so", since=after(at)
    )


def shown(at: float, *conditions: Condition) -> TrainJobSeen:
    return manifest(at, recorded=WHY, status=SeenTrainStatus(conditions=conditions))


NEW = manifest(recorded=WHY)
BEGAN = condition("Created", 1)
BEGUN: tuple[Step, ...] = (NEW, jobset(5))
RUNNING: tuple[Step, ...] = (*BEGUN, jobset(10, counts(active=1, ready=1)))
SUSPENDED: tuple[Step, ...] = (*RUNNING, shown(20, condition("Suspended", 20)))


def said(story: Sequence[Step], monkeypatch: pytest.MonkeyPatch) -> Played:
    """Play a story, and decide it again from its record."""
    played = play(story)
    monkeypatch.setattr(train_lives, "TRAIN_LIVES", {"recorded": lambda: story})
    records = train_lives.recorded_training("recorded")
    replayed = replay(records)
    assert (replayed.divergences, replayed.unknown) == ((), ())
    assert played.state.effects == (), "nothing is asked for"
    assert played.state.decisions == (), "nothing is pending"
    assert status(played.state) == {}, "no status is published"
    return played


def others(*conditions: Condition) -> OthersTrainStatusObserved:
    return OthersTrainStatusObserved(at=WHEN, status=SeenTrainStatus(conditions=conditions))


def names_of(events: Sequence[object]) -> list[str]:
    return [type(event).__name__ + "*" * bool(getattr(event, "inferred", "")) for event in events]


@pytest.mark.parametrize(
    ("rule", "given", "when", "then", "phase"),
    [
        (
            "a job that is not begun is only seen",
            (),
            NEW,
            [
                TrainJobDiscovered(at=WHEN, identity=IDENTITY),
                told.received(NEW),
                ControlReleased(at=WHEN, why=WHY),
            ],
            Phase.NEW,
        ),
        (
            "a JobSet that is not suspended is an execution",
            (NEW,),
            jobset(5),
            [told.observed(), told.started(inferred=True)],
            Phase.CREATED,
        ),
        (
            "its Jobs are facts as of any job",
            BEGUN,
            jobset(10, counts(active=1)),
            [told.observed(counts(active=1))],
            Phase.RUNNING,
        ),
        ("nothing is built, so the runtime is no news", BEGUN, runtime("other"), [], Phase.CREATED),
        ("nor is a snapshot that went", BEGUN, snapshot_gone(20), [], Phase.CREATED),
        (
            "Suspended is told by the condition",
            RUNNING,
            shown(20, condition("Suspended", 20)),
            [others(condition("Suspended", 20)), TrainJobSuspended(at=WHEN, inferred=True)],
            Phase.SUSPENDED,
        ),
        (
            "a suspended JobSet ends the execution",
            SUSPENDED,
            jobset(21, counts(suspended=1), generation=2, suspend=True),
            [
                told.observed(counts(suspended=1), generation=2, suspend=True),
                told.ended("suspended", inferred=True),
            ],
            Phase.SUSPENDED,
        ),
        (
            "Resumed",
            SUSPENDED,
            shown(30, condition("Suspended", 30, holds=False, reason="Resumed")),
            [
                others(condition("Suspended", 30, holds=False, reason="Resumed")),
                TrainJobResumed(at=WHEN, inferred=True),
            ],
            Phase.RUNNING,
        ),
        (
            "a restart is the end of one execution and the beginning of the next",
            RUNNING,
            jobset(30, counts(active=1), restarts=1),
            [
                told.observed(counts(active=1), restarts=1),
                told.ended(
                    "failed",
                    reason="JobSetRestarted",
                    message="the JobSet was restarted (1 times so far)",
                    inferred=True,
                ),
                told.started(2, cause="restarted", restarts=1, inferred=True),
            ],
            Phase.RUNNING,
        ),
        (
            "that the JobSet has ended is not yet the job's end",
            RUNNING,
            jobset(60, counts(succeeded=1), end=completed_end()),
            [told.observed(counts(succeeded=1), end=completed_end())],
            Phase.CREATED,
        ),
        (
            "Complete",
            (*RUNNING, jobset(60, counts(succeeded=1), end=completed_end())),
            shown(61, condition("Complete", 60, reason="AllJobsCompleted")),
            [
                others(condition("Complete", 60, reason="AllJobsCompleted")),
                told.ended(
                    "succeeded", reason="AllJobsCompleted", message="said so", inferred=True
                ),
                told.complete(message="said so", inferred=True),
            ],
            Phase.COMPLETE,
        ),
        (
            "Failed",
            (*RUNNING, jobset(60, counts(failed=1), end=failed_end())),
            shown(61, condition("Failed", 60, reason="FailedJobs")),
            [
                others(condition("Failed", 60, reason="FailedJobs")),
                told.ended("failed", reason="FailedJobs", message="said so", inferred=True),
                told.failed("FailedJobs", message="said so", ended_at=after(60), inferred=True),
            ],
            Phase.FAILED,
        ),
        (
            "a suspension and its end of which only the end is shown are told both",
            (*SUSPENDED, shown(30, condition("Suspended", 30, holds=False))),
            shown(60, condition("Suspended", 50, holds=False)),
            [
                others(condition("Suspended", 50, holds=False)),
                TrainJobSuspended(at=after(50), inferred=True),
                TrainJobResumed(at=after(50), inferred=True),
            ],
            Phase.RUNNING,
        ),
        (
            "why a JobSet goes after its job was complete is not known",
            (*RUNNING, shown(60, condition("Complete", 60))),
            jobset_gone(61),
            [told.vanished()],
            Phase.COMPLETE,
        ),
        (
            "a JobSet that is gone tells nothing yet",
            RUNNING,
            jobset_gone(60),
            [told.vanished()],
            Phase.RUNNING,
        ),
        (
            "the deadline, which deletes the JobSet first",
            (*RUNNING, jobset_gone(60)),
            shown(61, condition("Failed", 60, reason="DeadlineExceeded")),
            [
                others(condition("Failed", 60, reason="DeadlineExceeded")),
                told.ended("failed", reason="DeadlineExceeded", message="said so", inferred=True),
                told.failed(
                    "DeadlineExceeded", message="said so", ended_at=after(60), inferred=True
                ),
            ],
            Phase.FAILED,
        ),
        (
            "another JobSet: the first execution was lost",
            (*RUNNING, jobset_gone(60)),
            jobset(70, uid="jobset-2"),
            [
                told.observed(uid="jobset-2"),
                told.ended(
                    "lost",
                    reason="JobSetDeleted",
                    message="the JobSet was deleted by somebody",
                    inferred=True,
                ),
                told.started(2, cause="recreated", jobset_uid="jobset-2", inferred=True),
            ],
            Phase.CREATED,
        ),
        (
            "the end of the object is the end of the stream",
            RUNNING,
            manifest_gone(50),
            [TrainJobDeleted(at=WHEN)],
            Phase.RUNNING,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_another_controller_does_is_inferred(
    rule: str,
    given: Sequence[Step],
    when: Step,
    then: list[TrainJobEvent],
    phase: Phase,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = play(given).state
    seen = when(before) if callable(when) else when
    played = said((*given, when), monkeypatch)
    assert list(played.news) == [resolved(one, before, seen.id, seen.at) for one in then], rule
    assert played.state.phase is phase


def test_a_jobset_that_goes_after_the_deadline_was_deleted_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = shown(60, condition("Failed", 60, reason="DeadlineExceeded"))
    (gone,) = said((*RUNNING, failed, jobset_gone(61)), monkeypatch).news
    assert isinstance(gone, JobSetVanished)
    assert (gone.asked, gone.inferred) == (True, "DeadlineExceeded")


def test_what_was_shown_while_a_job_was_held_is_no_news_once_another_controls_it() -> None:
    held = replace(manifest(status=SeenTrainStatus(conditions=(BEGAN,))), written_here=True)
    assert play((held,)).state.recorded is not None
    theirs = shown(5, BEGAN)
    assert names_of(play((held, theirs)).news) == ["ControlReleased"]
    assert play((held, theirs, replace(theirs, at=after(6)))).news == ()


def test_a_status_that_others_emptied_is_told_and_one_that_was_lost_with_control_is_not() -> None:
    assert names_of(play((NEW, shown(5, BEGAN), shown(6))).news) == ["OthersTrainStatusObserved"]
    taken = play((NEW, shown(5, BEGAN), manifest(30)))
    assert names_of(taken.news)[0] == "ControlTaken"


def test_a_jobset_that_goes_with_its_job_was_deleted_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leaving = replace(manifest(40, recorded=WHY), deleting_at=after(40))
    (gone,) = said((*RUNNING, leaving, jobset_gone(41)), monkeypatch).news
    assert isinstance(gone, JobSetVanished)
    assert (gone.asked, gone.inferred) == (True, "the TrainJob is being deleted")


@pytest.mark.parametrize(
    ("story", "counts_shown"),
    [
        ((NEW, shown(61, condition("Complete", 60))), (1, 0)),
        ((NEW, shown(61, condition("Failed", 60))), (0, 1)),
        (
            (
                *SUSPENDED,
                jobset(21, counts(suspended=1), generation=2, suspend=True),
                shown(90, condition("Complete", 89)),
            ),
            (1, 0),
        ),
        ((NEW, shown(61, condition("Failed", 60, reason="DeadlineExceeded"))), (0, 1)),
        (
            (
                *RUNNING,
                jobset_gone(60),
                shown(61, condition("Failed", 60, reason="DeadlineExceeded")),
            ),
            (0, 1),
        ),
    ],
    ids=["complete", "failed", "complete after a gap", "deadline", "JobSet gone before"],
)
def test_an_end_of_which_no_execution_was_seen_is_counted_and_closes_the_stream(
    story: Sequence[Step], counts_shown: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = said(story, monkeypatch).state
    assert (state.succeeded, state.failed) == counts_shown
    assert not is_open(state)


def _suspend(at: float, *, holds: bool) -> Condition:
    return condition("Suspended", at, holds=holds, reason="Suspended" if holds else "Resumed")


@pytest.mark.parametrize(
    ("seen", "resumed"),
    [
        ((), 3600),
        ((shown(5, _suspend(1, holds=True)),), 3600),
        (
            (
                shown(5, _suspend(1, holds=True)),
                shown(3601, _suspend(3600, holds=False)),
            ),
            9000,
        ),
    ],
    ids=["the suspension was not seen", "it was", "a second one was not"],
)
def test_a_deadline_is_counted_from_the_resumption_that_a_status_tells_of(
    seen: Sequence[Step], resumed: float
) -> None:
    left = SeenTrainStatus(conditions=(_suspend(resumed, holds=False),))
    last = shown(resumed + 5, *left.conditions)
    mine = manifest(resumed + 100, status=left, active_deadline_seconds=600)
    story = (NEW, *seen, last, jobset(resumed + 5), jobset(resumed + 10, counts(active=1)), mine)
    (due,) = play(story).state.decisions
    assert due.due_at == after(resumed + 600)


@pytest.mark.parametrize(
    ("left", "phase"),
    [
        (condition("Complete", 60), Phase.COMPLETE),
        (condition("Failed", 60, reason="DeadlineExceeded"), Phase.FAILED),
    ],
    ids=["complete", "failed"],
)
@pytest.mark.parametrize("is_recorded", [True, False], ids=["recorded", "while nobody was here"])
def test_an_end_that_another_controller_left_is_not_begun_anew_under_control(
    left: Condition, phase: Phase, *, is_recorded: bool
) -> None:
    status_left = SeenTrainStatus(conditions=(left,))
    mine = manifest(70, status=status_left)
    between = replace(shown(70, left), in_between=True)
    before = (*RUNNING, jobset_gone(65))
    controlled = (manifest(), runtime(), applied(), jobset_gone(65), between)
    state = play((*(before if is_recorded else controlled), mine)).state
    assert (state.phase, state.recorded) == (phase, None)
    assert not [
        effect for effect in state.effects if effect.desired.kind is EffectKind.APPLY_OBJECTS
    ]


def test_of_a_job_that_the_log_does_not_know_a_start_is_told_nothing_beforehand() -> None:
    between = replace(shown(70, condition("Complete", 60)), in_between=True)
    assert list(play((between,)).history) == []


def test_a_recorded_job_that_another_cluster_works_on_is_not_taken() -> None:
    theirs = "kueue.x-k8s.io/multikueue"
    played = play((manifest(recorded=WHY, managed_by=theirs), manifest(30, managed_by=theirs)))
    assert played.state.recorded is not None


def test_control_that_is_given_up_drops_what_was_under_way_and_pending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    controlled = (manifest(active_deadline_seconds=600), runtime(), applied())
    released = manifest(20, recorded=WHY, active_deadline_seconds=600)
    assert play(controlled).state.decisions
    played = said((*controlled, released), monkeypatch)
    assert names_of(played.news) == ["ControlReleased", "DecisionCancelled"]


def test_control_that_is_taken_applies_what_is_there_and_starts_nothing_anew() -> None:
    played = play((*RUNNING, manifest(30, active_deadline_seconds=600)))
    assert any(isinstance(event, ControlTaken) for event in played.news)
    state = played.state
    assert state.attempt is not None
    assert (state.attempt.number, state.attempt.is_over) == (1, False)
    assert [item.kind.value for item in state.decisions] == ["active_deadline"]
    again = play((*RUNNING, manifest(30), manifest(40, recorded=WHY)))
    assert names_of(again.news) == ["ControlReleased", "EffectSuperseded"]
