"""Created: what building and applying the objects makes of it (2 and 3.1 of the semantics)."""

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.trainjob.events import (
    BuilderChanged,
    DependentVanished,
    RuntimeObserved,
    TrainJobDiscovered,
)
from jobledger.core.trainjob.observations import TrainJobSeen
from jobledger.core.trainjob.policy import ConditionStyle, TrainPolicy
from jobledger.core.trainjob.spec import RuntimeRef
from tests.rules.trainjob.rows import Row, check, table
from tests.support import trainjob_events as told
from tests.support.rows import WHEN
from tests.support.trainjobs import (
    COMPLETED_MESSAGE,
    IDENTITY,
    Step,
    after,
    applied,
    completed_end,
    counts,
    created,
    due,
    faltered,
    jobset,
    jobset_gone,
    manifest,
    message,
    named,
    not_built,
    not_created,
    play,
    running,
    runtime,
    seen,
    snapshot_gone,
    superseded,
)

TRUE = "Created=True/JobsCreationSucceeded"
BUILD = "Created=False/JobsBuildFailed"
CREATION = "Created=False/JobsCreationFailed"
UNKNOWN = RuntimeRef(name="x", kind="Runtime", group="example.org")
UPSTREAM = TrainPolicy(conditions=ConditionStyle.UPSTREAM)
BOTH = TrainPolicy(conditions=ConditionStyle.UNLESS_RUNNING)
BROKEN = "invalid runtime snapshot: its content is not readable as YAML"
RUNNING = counts(active=1, ready=1)
RETRY = DecisionKind.EFFECT_RETRY


def edited_and_applied(times: int) -> list[Step]:
    """Return a running job that was edited so often, each time with its objects applied."""
    steps: list[Step] = [*running()]
    for number in range(times):
        at = 30.0 + number
        steps += [manifest(at, generation=2 + number), applied(at)]
    return steps


@table(
    Row(
        rule="a new job's objects are built and applied at once",
        story=[manifest()],
        then=[
            TrainJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest()),
            told.requested(),
        ],
        conditions=[],
        phase="",
        under_way=["apply_objects"],
    ),
    Row(
        rule="a job that is managed elsewhere is not taken up",
        story=[manifest(managed_by="kueue.x-k8s.io/multikueue")],
        then=[],
    ),
    Row(
        rule="with all objects in place Created is True",
        story=created(),
        then=[told.done(), told.in_place(), told.started()],
        conditions=[TRUE],
        phase="Created",
        under_way=[],
        pending={},
    ),
    Row(
        rule="what fails while the objects are built is JobsBuildFailed, and waits for a change",
        story=[*seen(), not_built(1)],
        then=[told.refused(trouble="plugin torch: no"), told.not_built("plugin torch: no")],
        conditions=[BUILD],
        phase="JobsBuildFailed",
        under_way=[],
        pending={},
    ),
    Row(
        rule="what fails when an object is applied is JobsCreationFailed; it is tried again",
        story=[*seen(), not_created(1)],
        then=[
            told.refused(trouble="JobSet ml/train: exceeded quota"),
            told.not_created("JobSet ml/train: exceeded quota"),
            told.scheduled(
                DecisionKind.EFFECT_RETRY,
                after(11),
                cause="apply_objects was refused: JobSet ml/train: exceeded quota",
                subject="apply_objects/train",
            ),
        ],
        conditions=[CREATION],
        phase="JobsCreationFailed",
        facts={
            "reason": "JobsCreationFailed",
            "message": "Failed to create Jobs: JobSet ml/train: exceeded quota",
        },
        under_way=[],
        pending={"effect_retry": 11},
    ),
    Row(
        rule="an object that is not valid too: what makes it so may change, and nobody tells",
        story=[*seen(), not_created(1, may_pass=False)],
        then=[
            told.refused(trouble="JobSet ml/train: exceeded quota"),
            told.not_created("JobSet ml/train: exceeded quota", may_pass=False),
            told.scheduled(
                DecisionKind.EFFECT_RETRY,
                after(11),
                cause="apply_objects was refused: JobSet ml/train: exceeded quota",
                subject="apply_objects/train",
            ),
        ],
        conditions=[CREATION],
        pending={"effect_retry": 11},
    ),
    Row(
        rule="a build whose cause may pass is tried again too",
        story=[manifest(), not_built(1, "no runtime", runtime_digest="", may_pass=True)],
        then=[
            told.refused(trouble="no runtime"),
            told.not_built("no runtime", runtime="", may_pass=True),
            told.scheduled(
                DecisionKind.EFFECT_RETRY,
                after(11),
                cause="apply_objects was refused: no runtime",
                subject="apply_objects/train",
            ),
        ],
        conditions=[BUILD],
        pending={"effect_retry": 11},
    ),
    Row(
        rule="the pause before the next try doubles",
        story=[*seen(), not_created(1), due(RETRY), not_created(12), due(RETRY), not_created(33)],
        then=[
            told.refused(trouble="JobSet ml/train: exceeded quota"),
            told.not_created("JobSet ml/train: exceeded quota"),
            told.scheduled(
                DecisionKind.EFFECT_RETRY,
                after(73),
                cause="apply_objects was refused: JobSet ml/train: exceeded quota",
                subject="apply_objects/train",
            ),
        ],
        pending={"effect_retry": 73},
    ),
    Row(
        rule="after the pause it is tried again, and Created follows",
        story=[*seen(), not_created(1), due(RETRY), applied(12)],
        then=[told.done(), told.in_place(), told.started()],
        conditions=[TRUE],
        phase="Created",
        pending={},
    ),
    Row(
        rule="a trouble that passes at once is not told",
        story=[*seen(), faltered(1)],
        then=[told.stumbled()],
        conditions=[],
        under_way=["apply_objects"],
    ),
    Row(
        rule="a new generation is tried at once, whatever it waited for",
        story=[*seen(), not_built(1), manifest(5, generation=2)],
        then=[told.received(manifest(5, generation=2)), told.requested(generation=2)],
        conditions=[BUILD],
        under_way=["apply_objects"],
    ),
    Row(
        rule="a new generation cancels the pause",
        story=[*seen(), not_created(1), manifest(5, generation=2)],
        then=[
            told.received(manifest(5, generation=2)),
            told.requested(generation=2),
            told.cancelled(DecisionKind.EFFECT_RETRY, cause="the job is JobsCreationFailed"),
        ],
        under_way=["apply_objects"],
        pending={},
    ),
    Row(
        rule="an edit of the runtime is tried at once",
        story=[*seen(), not_built(1), runtime("runtime-2", 5)],
        then=[RuntimeObserved(at=WHEN, digest="runtime-2"), told.requested()],
        under_way=["apply_objects"],
    ),
    Row(
        rule="a runtime that comes after its job is noticed at once",
        story=[
            manifest(),
            not_built(1, "not found", runtime_digest="", may_pass=True),
            runtime("runtime-1", 5),
        ],
        then=[
            RuntimeObserved(at=WHEN, digest="runtime-1"),
            told.requested(),
            told.cancelled(DecisionKind.EFFECT_RETRY, cause="the job is JobsBuildFailed"),
        ],
        under_way=["apply_objects"],
        pending={},
    ),
    Row(
        rule="a runtime that comes while the build fails for want of it is not missed",
        story=[manifest(), runtime("runtime-1", 1), not_built(2, "not found", runtime_digest="")],
        then=[
            told.refused(trouble="not found"),
            told.not_built("not found", runtime=""),
            told.requested(),
        ],
        under_way=["apply_objects"],
    ),
    Row(
        rule="a build that finds an older runtime than the watch shows is tried at once",
        story=[*seen(), runtime("runtime-2", 1), not_built(2)],
        then=[
            told.refused(trouble="plugin torch: no"),
            told.not_built("plugin torch: no"),
            told.requested(),
        ],
        under_way=["apply_objects"],
        pending={},
    ),
    Row(
        rule="and once more after a pause: the change that it waits for has come already",
        story=[*seen(), runtime("runtime-2", 1), not_built(2), not_built(3)],
        then=[
            told.refused(trouble="plugin torch: no"),
            told.not_built("plugin torch: no"),
            told.scheduled(
                DecisionKind.EFFECT_RETRY,
                after(23),
                cause="apply_objects was refused: plugin torch: no",
                subject="apply_objects/train",
            ),
        ],
        under_way=[],
        pending={"effect_retry": 23},
    ),
    Row(
        rule="what was not sent for a specification that has changed goes on with it at once",
        story=[*seen(), superseded(1), manifest(5, generation=2)],
        then=[
            told.received(manifest(5, generation=2)),
            told.requested(generation=2),
            told.cancelled(DecisionKind.EFFECT_RETRY, cause="the job is new"),
        ],
        under_way=["apply_objects"],
        pending={},
    ),
    Row(
        rule="but a runtime that is known and cannot be found waits for its pause",
        story=[
            manifest(),
            runtime("runtime-1", 1),
            not_built(2, "not found", runtime_digest="", may_pass=True),
            not_built(3, "not found", runtime_digest="", may_pass=True),
        ],
        then=[
            told.refused(trouble="not found"),
            told.not_built("not found", runtime="", may_pass=True),
            told.scheduled(
                DecisionKind.EFFECT_RETRY,
                after(23),
                cause="apply_objects was refused: not found",
                subject="apply_objects/train",
            ),
        ],
        under_way=[],
        pending={"effect_retry": 23},  # its second pause: nothing new is wanted
    ),
    Row(
        rule="the deletion of the snapshot is tried at once",
        story=[*seen(), not_built(1, "invalid runtime snapshot: no key"), snapshot_gone(5)],
        then=[
            DependentVanished(at=WHEN, name="train-runtime-snapshot", uid="snapshot-1"),
            told.requested(),
        ],
        under_way=["apply_objects"],
    ),
    Row(
        rule="so is that of one with which a JobSet that went could not be built again",
        story=[*running(), jobset_gone(50), not_built(51, BROKEN), snapshot_gone(60)],
        then=[
            DependentVanished(at=WHEN, name="train-runtime-snapshot", uid="snapshot-1"),
            told.requested(attempt=1),
        ],
        under_way=["apply_objects"],
    ),
    Row(
        rule="and that of one which the build under way has read before, once it has failed",
        story=[*running(), jobset_gone(50), snapshot_gone(51), not_built(52, BROKEN)],
        then=[
            told.refused(trouble=BROKEN),
            told.not_built(BROKEN),
            told.requested(attempt=1),
        ],
        under_way=["apply_objects"],
    ),
    Row(
        rule="the deletion of another part mends no snapshot",
        story=[
            *running(),
            jobset_gone(50),
            not_built(51, BROKEN),
            replace(snapshot_gone(60), name="train-mpi-hostfile"),
        ],
        then=[],
        under_way=[],
    ),
    Row(
        rule="once everything was created an edit of the runtime changes nothing",
        story=[*created(), runtime("runtime-2", 5)],
        then=[],
    ),
    Row(
        rule="a snapshot that is deleted from a running job is made again",
        story=[*running(), snapshot_gone(30)],
        then=[
            DependentVanished(at=WHEN, name="train-runtime-snapshot", uid="snapshot-1"),
            told.requested(attempt=1),
        ],
        under_way=["apply_objects"],
    ),
    Row(
        rule="a JobSet that somebody deletes is made again",
        story=[*running(), jobset_gone(50)],
        then=[
            told.vanished(),
            told.ended(
                "lost", reason="JobSetDeleted", message="the JobSet was deleted by somebody"
            ),
            told.requested(attempt=1),
        ],
        under_way=["apply_objects"],
        conditions=[TRUE],
    ),
    Row(
        rule="a JobSet that was made again is a new attempt",
        story=[*running(), jobset_gone(50), applied(51, uid="jobset-2")],
        then=[
            told.done(uid="jobset-2"),
            told.in_place(jobset_uid="jobset-2"),
            told.started(2, cause="recreated", jobset_uid="jobset-2"),
        ],
        facts={"retries": 1, "failed": 1},
    ),
    Row(
        rule="edits in between do not make it wait: what was done for them was something else",
        story=[*edited_and_applied(4), jobset_gone(50)],
        then=[
            told.vanished(),
            told.ended(
                "lost", reason="JobSetDeleted", message="the JobSet was deleted by somebody"
            ),
            told.requested(attempt=1, generation=5),
        ],
        under_way=["apply_objects"],
        pending={},
    ),
    Row(
        rule="what a JobSet is refused is tried at once when it is gone, however often that was",
        story=[
            *running(),
            jobset(30, deleting=True),
            manifest(31, generation=2, suspend=True),
            *(
                step
                for at in (32.0, 43.0, 64.0, 105.0)
                for step in (not_created(at, "it is being deleted"), due(RETRY))
            ),
            not_created(186, "it is being deleted"),
            jobset_gone(190),
        ],
        then=[
            told.vanished(),
            told.ended(
                "lost", reason="JobSetDeleted", message="the JobSet was deleted by somebody"
            ),
            told.requested(attempt=1, generation=2),
            told.cancelled(RETRY, cause="the job is suspended"),
        ],
        under_way=["apply_objects"],
        pending={},
    ),
    Row(
        rule="a resume that cannot be applied turns Created False",
        story=[
            *seen(suspend=True),
            applied(1, suspend=True),
            jobset(2, suspend=True),
            manifest(10, generation=2),
            not_created(11, "JobSet ml/train: field is immutable", may_pass=False),
        ],
        then=[
            told.refused(trouble="JobSet ml/train: field is immutable"),
            told.not_created("JobSet ml/train: field is immutable", generation=2, may_pass=False),
            told.scheduled(
                DecisionKind.EFFECT_RETRY,
                after(21),
                cause="apply_objects was refused: JobSet ml/train: field is immutable",
                subject="apply_objects/train",
            ),
        ],
        conditions=[CREATION, "Suspended=False/Resumed"],
        phase="JobsCreationFailed",
        pending={"effect_retry": 21},
    ),
    Row(
        rule="a specification that changes before anything was sent is decided anew",
        story=[*seen(), manifest(1, generation=2), superseded(2)],
        then=[
            told.dropped(cause="the specification has changed since", sent=False),
            told.requested(generation=2),
        ],
        under_way=["apply_objects"],
    ),
    Row(
        rule="an apply of an older specification is followed by one of the newer",
        story=[*seen(), manifest(1, generation=2), applied(2)],
        then=[
            told.done(),
            told.in_place(),
            told.started(),
            told.requested(attempt=1, generation=2),
        ],
        under_way=["apply_objects"],
        conditions=[TRUE],
    ),
    Row(
        rule="an edit of a running job is built and applied: a running JobSet is left alone there",
        story=[*running(), manifest(30, generation=2)],
        then=[told.received(manifest(30, generation=2)), told.requested(attempt=1, generation=2)],
    ),
    Row(
        rule="a JobSet that is not the job's is none of its business",
        story=[*seen(), jobset(5, uid="other", owned=False)],
        then=[],
    ),
    Row(
        rule="an unknown kind of runtime is a failed build; nothing is tried",
        story=[manifest(runtime=UNKNOWN)],
        then=[
            TrainJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(runtime=UNKNOWN)),
            told.not_built("unsupported runtime: Runtime.example.org", runtime=""),
        ],
        conditions=[BUILD],
        under_way=[],
        pending={},
    ),
    Row(
        rule="in the setting upstream an unknown kind of runtime is the end",
        story=[manifest(runtime=UNKNOWN, policy=UPSTREAM)],
        then=[
            TrainJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(runtime=UNKNOWN, policy=UPSTREAM)),
            told.failed(
                "TrainingRuntimeNotSupported",
                message="unsupported runtime: Runtime.example.org",
                ended_at=after(0),
            ),
        ],
        conditions=["Failed=True/TrainingRuntimeNotSupported"],
        phase="Failed",
    ),
    Row(
        rule="in the setting upstream Created is not shown",
        story=[*seen(policy=UPSTREAM), applied(1)],
        then=[told.done(), told.in_place(), told.started()],
        conditions=[],
        phase="Created",
    ),
    Row(
        rule="in the setting upstream a failed build is not shown either",
        story=[*seen(policy=UPSTREAM), not_built(1)],
        then=[told.refused(trouble="plugin torch: no"), told.not_built("plugin torch: no")],
        conditions=[],
        phase="JobsBuildFailed",
    ),
)
def test_created(row: Row) -> None:
    check(row)


def by(builder: str, at: float = 30) -> TrainJobSeen:
    """Return a look at the TrainJob by another version of the program."""
    return named(replace(manifest(at), builder=builder))


@table(
    Row(
        rule="what could not be built is built again by another version",
        story=[*seen(), not_built(1), by("jobledger 2")],
        then=[BuilderChanged(at=WHEN, builder="jobledger 2"), told.requested()],
        conditions=[BUILD],
    ),
    Row(
        rule="but once by each",
        story=[*seen(), not_built(1), by("jobledger 2"), by("jobledger 2", 40)],
        then=[],
    ),
    Row(
        rule="of what was built the version is no news",
        story=[*created(), by("jobledger 2")],
        then=[],
    ),
    Row(
        rule="nor of what is tried again by itself",
        story=[*seen(), not_built(1, may_pass=True), by("jobledger 2")],
        then=[],
    ),
    Row(
        rule="a kind of runtime that nobody knows is not built by another version either",
        story=[
            manifest(runtime=UNKNOWN),
            named(replace(manifest(30, runtime=UNKNOWN), builder="jobledger 2")),
        ],
        then=[],
    ),
)
def test_another_version(row: Row) -> None:
    check(row)


@table(
    Row(
        rule="Created is shown while nodes are waited for",
        story=[*created(policy=BOTH), jobset(10, counts(active=1))],
        then=[told.observed(counts(active=1))],
        conditions=[TRUE],
    ),
    Row(
        rule="it steps back while a Job is ready",
        story=[*created(policy=BOTH), jobset(10, RUNNING)],
        then=[told.observed(RUNNING)],
        conditions=[],
        phase="Running",
    ),
    Row(
        rule="it is there again when none is",
        story=[*created(policy=BOTH), jobset(10, RUNNING), jobset(20, counts(active=1))],
        then=[told.observed(counts(active=1))],
        conditions=[TRUE],
    ),
    Row(
        rule="it is there again with the end of the job",
        story=[
            *created(policy=BOTH),
            jobset(10, RUNNING),
            jobset(60, counts(succeeded=1), end=completed_end()),
        ],
        then=[
            told.observed(counts(succeeded=1), end=completed_end()),
            told.ended("succeeded", reason="AllJobsCompleted", message=COMPLETED_MESSAGE),
            told.complete(),
        ],
        conditions=[TRUE, "Complete=True/AllJobsCompleted"],
    ),
    Row(
        rule="that the objects cannot be created is shown though the job runs",
        story=[
            *created(policy=BOTH),
            jobset(10, RUNNING),
            manifest(20, generation=2, policy=BOTH),
            not_created(21, "503"),
        ],
        then=[
            told.refused(trouble="503"),
            told.not_created("503", generation=2),
            told.scheduled(
                DecisionKind.EFFECT_RETRY,
                after(31),
                cause="apply_objects was refused: 503",
                attempt=1,
                subject="apply_objects/train",
            ),
        ],
        conditions=["Created=False/JobsCreationFailed"],
    ),
    Row(
        rule="a job that shows another condition shows Created as well",
        story=[
            manifest(suspend=True, policy=BOTH),
            runtime(),
            applied(1, suspend=True),
            manifest(20, generation=2, policy=BOTH),
            applied(21, generation=2),
            jobset(30, RUNNING, generation=2),
        ],
        then=[told.observed(RUNNING, generation=2)],
        conditions=[TRUE, "Suspended=False/Resumed"],
    ),
    Row(
        rule="in the setting seed it is always shown",
        story=[*created(), jobset(10, RUNNING)],
        then=[told.observed(RUNNING)],
        conditions=[TRUE],
    ),
)
def test_created_while_the_job_runs(row: Row) -> None:
    check(row)


@pytest.mark.parametrize(
    ("story", "text"),
    [
        (created(), "Succeeded to create Jobs"),
        ([*seen(), not_built(1, "plugin x: no")], "Failed to build Jobs: plugin x: no"),
        ([*seen(), not_created(1, "JobSet a/b: no")], "Failed to create Jobs: JobSet a/b: no"),
        (
            [manifest(runtime=UNKNOWN)],
            "Failed to build Jobs: unsupported runtime: Runtime.example.org",
        ),
    ],
)
def test_the_message_is_upstreams_a_colon_and_the_cause(story: list[object], text: str) -> None:
    assert message(play(story), "Created") == text  # type: ignore[arg-type] # stories
