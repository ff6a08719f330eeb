"""The rows that are written with the events: field by field along a retried job."""

from msgspec.structs import replace

from jobledger.core.jobs.events import StatusPublished
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow
from jobledger.core.projections.view import View, advance
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.values.ids import shard_of
from tests.support.rayjob_builders import (
    ADDRESS,
    HTTP,
    INTERACTIVE,
    UID,
    after,
    cluster,
    cluster_of,
    done,
    due,
    faltered,
    manifest,
    manifest_gone,
    outdated,
    poll,
    refused,
    submission_of,
    submitter,
)
from tests.support.rayjob_stories import (
    Story,
    built,
    failed_attempts,
    failing,
    initializing,
    readied,
    running,
    seen,
    succeeded,
    suspending,
    working,
)
from tests.support.records import NOON
from tests.support.rows import STREAM, play

SHARD = shard_of(STREAM)


def rows_of(story: Story) -> tuple[View, dict[int, AttemptRow], list[EffectRow]]:
    """Return the view, the attempts by number, and the effects after a story."""
    view, changes = advance(View(), play(RAYJOB, story).history)
    return view, {row.number: row for row in changes.attempts}, list(changes.effects)


def job_of(story: Story) -> JobRow:
    """Return the row of the job after a story."""
    job = rows_of(story)[0].job
    assert job is not None
    return job


def test_the_row_of_a_running_job() -> None:
    assert job_of(working()) == JobRow(
        stream_id=STREAM,
        shard=SHARD,
        version=14,
        cluster="kind",
        kind="RayJob",
        namespace="ml",
        name="train",
        uid=UID,
        generation=1,
        phase="Running",
        job_status="RUNNING",
        reason="",
        message="",
        attempt=1,
        retries=0,
        succeeded=0,
        failed=0,
        ray_cluster_name=cluster_of(),
        ray_job_id=submission_of(),
        created_at=NOON,
        first_seen_at=after(0),
        started_at=after(0),
        ended_at=None,
        deleted_at=None,
        open=True,
        last_event_at=after(30),
    )


def test_the_row_of_a_job_that_was_retried_and_completed() -> None:
    story = (
        *failed_attempts(1, backoff_limit=1),
        *built(2),
        *readied(2),
        poll("SUCCEEDED", 140, attempt=2),
        submitter("Complete", 142, attempt=2),
    )
    job = job_of(story)
    found = (job.phase, job.attempt, job.retries, job.failed, job.succeeded, job.open)
    assert found == ("Complete", 2, 1, 1, 1, False)
    assert (job.started_at, job.ended_at) == (after(100), after(142))
    assert (job.ray_cluster_name, job.ray_job_id) == (cluster_of(2), submission_of(2))


def test_the_row_of_a_job_that_is_gone() -> None:
    job = job_of((*working(), manifest_gone()))
    assert (job.deleted_at, job.open) == (after(900), False)


def test_an_event_of_an_earlier_instant_does_not_turn_the_row_back() -> None:
    """`deletionTimestamp` is by the API server's clock."""
    leaving = manifest(60, generation=2, finalizer=True, deleting=True)
    story = (*working(), replace(leaving, deleting_at=after(20)))
    assert job_of(story).last_event_at == after(60)


def test_the_rows_of_attempts_tell_each_by_itself() -> None:
    _, attempts, _ = rows_of(
        (*failed_attempts(1, backoff_limit=1), *built(2), *readied(2), *failing(2))
    )
    first = AttemptRow(
        stream_id=STREAM,
        number=1,
        generation=1,
        ray_cluster_name=cluster_of(1),
        ray_job_id=submission_of(1),
        started_at=after(0),
        running_at=after(11),
        ended_at=after(39),
        outcome="failed",
        reason="AppFailed",
        message="ValueError: 42",
        job_status="FAILED",
        retried=True,
    )
    second = replace(
        first,
        number=2,
        ray_cluster_name=cluster_of(2),
        ray_job_id=submission_of(2),
        started_at=after(100),
        running_at=after(111),
        ended_at=after(139),
        retried=False,
    )
    assert attempts == {1: first, 2: second}


def test_how_attempts_can_end() -> None:
    ends = {
        "": working(),
        "succeeded": succeeded(),
        "stopped": (*working(), poll("STOPPED", 40), submitter("Complete", 42)),
        "failed": (*working(), *failing()),
        "suspended": suspending(),
        "deleted": (*working(), manifest_gone()),
    }
    assert {rows_of(story)[1][1].outcome: outcome for outcome, story in ends.items()} == {
        outcome: outcome for outcome in ends
    }


def test_an_attempt_that_ended_before_the_object_went_was_not_deleted() -> None:
    _, attempts, _ = rows_of((*succeeded(), manifest_gone()))
    assert (attempts[1].outcome, attempts[1].ended_at) == ("succeeded", after(39))


def test_the_submission_that_a_user_named_is_the_attempts() -> None:
    named = manifest(40, generation=2, submission_mode=INTERACTIVE, job_id="mine")
    _, attempts, _ = rows_of((*running(submission_mode=INTERACTIVE), named))
    assert attempts[1].ray_job_id == "mine"


def adoption(phase: str, **fields: object) -> Story:
    """Return the take-over of a job in a phase."""
    status = SeenStatus(
        phase=phase,
        job_id="theirs",
        cluster_name="train-theirs",
        started_at=after(-60),
        **fields,  # type: ignore[arg-type] # fields by name
    )
    return (manifest(status=status),)


def test_an_attempt_that_had_ended_before_it_was_taken_over_has_its_end() -> None:
    _, attempts, _ = rows_of(adoption("Complete", job_status="SUCCEEDED", ended_at=after(-5)))
    row = attempts[1]
    assert (row.outcome, row.ended_at, row.job_status) == ("succeeded", after(-5), "SUCCEEDED")
    _, attempts, _ = rows_of(
        adoption("Failed", job_status="FAILED", reason="AppFailed", failed=2, ended_at=after(-5))
    )
    row = attempts[2]
    assert (row.outcome, row.ended_at, row.reason) == ("failed", after(-5), "AppFailed")
    assert not row.retried


def test_the_row_of_a_decision_from_its_schedule_to_its_end() -> None:
    pending = DecisionRow(
        decision_id=play(RAYJOB, working(active_deadline_seconds=60))
        .state.decisions[0]
        .decision_id,
        stream_id=STREAM,
        shard=SHARD,
        attempt=1,
        kind="active_deadline",
        state="pending",
        due_at=after(60),
        scheduled_at=after(0),
        resolved_at=None,
        cause="activeDeadlineSeconds 60 of this attempt",
        resolution="",
    )
    story = working(active_deadline_seconds=60)
    assert rows_of(story)[0].decisions == (pending,)
    fired = (*story, due(DecisionKind.ACTIVE_DEADLINE, 61))
    _, changes = advance(View(), play(RAYJOB, fired).history)
    assert changes.decisions == (
        replace(pending, state="fired", resolved_at=after(61), resolution="carried out"),
    )
    ended = (*working(active_deadline_seconds=60), manifest_gone())
    _, changes = advance(View(), play(RAYJOB, ended).history)
    (row,) = changes.decisions
    assert (row.state, row.resolution) == ("cancelled", "the RayJob is being deleted")
    assert rows_of(ended)[0].decisions == ()


def test_the_row_of_an_effect_through_everything_that_can_happen_to_it() -> None:
    create = EffectKind.CREATE_CLUSTER
    stories: dict[str, Story] = {
        "requested": seen(),
        "requested after trouble": (*seen(), faltered(create, 1)),
        "succeeded": (*seen(), done(create, 1, uid="c")),
        "failed": (*seen(), refused(create, 1, "no quota")),
        "superseded": (*seen(), manifest(1, generation=2), outdated(create, 2)),
    }
    found = {}
    for name, story in stories.items():
        row = next(row for row in rows_of(story)[2] if row.kind == "create_cluster")
        found[name] = (row.state, row.trouble, row.ended_at)
        assert (row.target, row.attempt, row.requested_at) == (cluster_of(), 1, after(0))
    assert found == {
        "requested": ("requested", "", None),
        "requested after trouble": ("requested", "503 try later", None),
        "succeeded": ("succeeded", "", after(1)),
        "failed": ("failed", "no quota", after(1)),
        "superseded": ("superseded", "the specification has changed since", after(2)),
    }


def test_an_effect_on_a_head_names_its_address() -> None:
    _, _, effects = rows_of((*initializing(submission_mode=HTTP), cluster("ready")))
    targets = {row.kind: row.target for row in effects}
    assert targets["submit_entrypoint"] == f"{submission_of()} at {ADDRESS}"


def test_only_rows_that_an_event_changed_are_put() -> None:
    """Each row that is put costs an update, so what stays as it was is left alone."""
    history = play(RAYJOB, working()).history
    view, _ = advance(View(), history)
    assert view.attempt is not None
    written = StatusPublished(at=NOON, phase="Running", resource_version="7", status_sha="")
    _, changes = advance(view, [written])
    assert (changes.attempts, changes.decisions, changes.effects) == ((), (), ())
    assert changes.job.version == view.version + 1
