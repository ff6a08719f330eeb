"""The deadline of a whole TrainJob, over all its attempts: an annotation, as for RayJobs."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.events import AnnotationsRejected
from jobledger.core.jobs.pending.decisions import LOOK_FIRST, DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.job_deadline import JOB_DEADLINE_ANNOTATION, read_job_deadline
from jobledger.core.trainjob.events import RuntimeObserved, TrainJobDiscovered, TrainJobResumed
from jobledger.core.trainjob.observations import TrainJobSeen
from jobledger.core.trainjob.spec import read_spec
from jobledger.core.trainjob.status.kubernetes_events import kubernetes_events
from tests.rules.trainjob.rows import Row, check, table
from tests.support import trainjob_events as told
from tests.support.rows import WHEN
from tests.support.trainjobs import (
    IDENTITY,
    after,
    counts,
    created,
    due,
    jobset,
    manifest,
    named,
    play,
    running,
    seen,
)

DEADLINE = DecisionKind.JOB_DEADLINE
PASSED = (
    f"The TrainJob has passed its {JOB_DEADLINE_ANNOTATION} over all attempts. "
    "StartTime: 2026-11-21 12:00:01 +0000 UTC. Seconds: 100"
)
SLIP = f"annotation {JOB_DEADLINE_ANNOTATION} is left out: 'x': write something else"


def slipped(at: float = 0, **spec: Any) -> TrainJobSeen:  # noqa: ANN401 as `manifest` takes it
    """Return a look at a TrainJob with an annotation that cannot be understood."""
    return named(replace(manifest(at, **spec), option_problems=(SLIP,)))


BOUNDED = slipped(5, active_deadline_seconds=9)


@table(
    Row(
        rule="it counts from the start of the first attempt",
        story=running(job_deadline_seconds=100),
        then=[told.observed(counts(ready=1, active=1))],
        pending={"job_deadline": 101},
    ),
    Row(
        rule="one second is the shortest",
        story=running(job_deadline_seconds=1),
        then=[told.observed(counts(ready=1, active=1))],
        pending={"job_deadline": 2},
    ),
    Row(
        rule="what has no attempt yet has none",
        story=seen(job_deadline_seconds=100),
        then=[RuntimeObserved(at=WHEN, digest="runtime-1")],
        pending={},
    ),
    Row(
        rule="when it passes the job has failed and the JobSet goes",
        story=[*running(job_deadline_seconds=100), due(DEADLINE)],
        then=[
            told.fired(DEADLINE, after(101)),
            told.ended("failed", reason="DeadlineExceeded", message=PASSED),
            told.failed("DeadlineExceeded", message=PASSED, ended_at=after(101)),
            told.requested(EffectKind.DELETE_JOBSET, attempt=1, uid="jobset-1"),
        ],
        phase="Failed",
        under_way=["delete_jobset"],
        pending={},
    ),
    Row(
        rule="restarts of the JobSet do not begin it anew",
        story=[*running(job_deadline_seconds=100), jobset(50, restarts=1)],
        then=[
            told.observed(restarts=1),
            told.ended(
                "failed",
                reason="JobSetRestarted",
                message="the JobSet was restarted (1 times so far)",
            ),
            told.started(2, cause="restarted", restarts=1),
        ],
        pending={"job_deadline": 101},
    ),
    Row(
        rule="a suspended job has none",
        story=created(suspend=True, job_deadline_seconds=100),
        then=[told.done(), told.in_place(jobset_suspend=True)],
        pending={},
    ),
    Row(
        rule="nor has a resumed one before its next attempt",
        story=[
            *created(suspend=True, job_deadline_seconds=100),
            manifest(50, generation=2, job_deadline_seconds=100),
        ],
        then=[
            told.received(manifest(50, generation=2, job_deadline_seconds=100)),
            TrainJobResumed(at=WHEN),
            told.requested(generation=2),
        ],
        pending={},
    ),
    Row(
        rule="an annotation that cannot be understood is told",
        story=[slipped()],
        then=[
            TrainJobDiscovered(at=WHEN, identity=IDENTITY),
            replace(told.received(slipped()), option_problems=(SLIP,)),
            AnnotationsRejected(at=WHEN, problems=(SLIP,)),
            told.requested(),
        ],
    ),
    Row(
        rule="and told once",
        story=[slipped(), BOUNDED],
        then=[
            replace(told.received(BOUNDED, document=False), option_problems=(SLIP,)),
            told.scheduled(DecisionKind.ACTIVE_DEADLINE, after(9), cause="activeDeadlineSeconds 9"),
        ],
    ),
)
def test_whole_deadline(row: Row) -> None:
    check(row)


def test_it_is_looked_at_first_and_told_to_users() -> None:
    assert DEADLINE in LOOK_FIRST
    (said,) = kubernetes_events(IDENTITY, AnnotationsRejected(at=after(0), problems=(SLIP,)))
    assert (said.type, said.reason) == ("Warning", "InvalidAnnotation")
    assert SLIP in said.note


def test_the_annotation_is_read() -> None:
    annotations: dict[str, Any] = {JOB_DEADLINE_ANNOTATION: "1h"}
    assert read_spec({"metadata": {"annotations": annotations}}).job_deadline_seconds == 3600


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5h", "x" * 200])
def test_one_that_cannot_be_understood_is_left_out_and_named(text: str) -> None:
    job: dict[str, Any] = {"metadata": {"annotations": {JOB_DEADLINE_ANNOTATION: text}}}
    found = read_job_deadline(job)
    assert found.seconds == read_spec(job).job_deadline_seconds == 0
    (problem,) = found.problems
    assert problem == (
        f"annotation {JOB_DEADLINE_ANNOTATION} is left out: {text[:80]!a}: "
        "write a duration from 1 to 2147483647 seconds, as in 90, 90s or 1h30m"
    )


@pytest.mark.parametrize("annotations", [None, [], {JOB_DEADLINE_ANNOTATION: 3}])
def test_one_of_a_wrong_type_counts_as_absent(annotations: Any) -> None:  # noqa: ANN401
    assert read_job_deadline({"metadata": {"annotations": annotations}}).problems == ()


@pytest.mark.parametrize(
    "name",
    [
        "job-deadline-second",
        "deadline-seconds",
        "Job-Deadline-Seconds",
        "active-deadline-seconds",
        "retry-policy",
        "retry-delay-seconds",
    ],
)
def test_one_under_a_name_that_is_not_known_is_left_out_and_named(name: str) -> None:
    annotations: dict[str, Any] = {f"jobledger.dev/{name}": "6h"}
    found = read_job_deadline({"metadata": {"annotations": annotations}})
    said = (
        f"annotation jobledger.dev/{name} is left out: '6h': "
        "there is no such annotation of this kind of job; known is job-deadline-seconds"
    )
    assert (found.seconds, found.problems) == (0, (said,))


@pytest.mark.parametrize("name", ["recover", "user", "team", "controller", "recover-lost-head"])
def test_other_names_under_our_prefix_are_no_slips(name: str) -> None:
    annotations: dict[str, Any] = {f"jobledger.dev/{name}": "x", "example.com/retry-policy": "y"}
    assert read_job_deadline({"metadata": {"annotations": annotations}}).problems == ()


def test_of_very_many_slips_a_few_are_named_and_the_deadline_holds_all_the_same() -> None:
    annotations: dict[str, Any] = {f"jobledger.dev/retry-{number}": "x" for number in range(50)}
    annotations[JOB_DEADLINE_ANNOTATION] = "60"
    found = read_job_deadline({"metadata": {"annotations": annotations}})
    assert (found.seconds, len(found.problems)) == (60, 9)
    assert found.problems[-1] == "42 more annotations under jobledger.dev/ are not known"


def test_the_count_ends_with_a_suspension() -> None:
    story = [
        *running(job_deadline_seconds=100),
        manifest(40, generation=2, suspend=True, job_deadline_seconds=100),
    ]
    assert play(story).state.deadline_from is None
    assert play(story).state.decisions == ()
