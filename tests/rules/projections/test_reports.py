"""The facts behind the reports: stays, attempts, failures, decisions, gaps and hours of stories."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from msgspec.structs import asdict, replace

from jobledger.core.catalogue import NAMES, read_event
from jobledger.core.forensics.attempts import facts as story_facts
from jobledger.core.forensics.story.causes import ExplainedCauses
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.options import RetryOptions
from jobledger.core.kinds import KINDS
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import NamedEvent, Tail, Writer, record
from jobledger.core.projections.reporting.dimensions import dimension_id, dimension_of
from jobledger.core.projections.reporting.facts import Dimension, PhaseFact
from jobledger.core.projections.reporting.fold import Folded, Rows, Rules, fold, rows_of
from jobledger.core.projections.reporting.phases import enter, leave, time_in
from jobledger.core.projections.reporting.user_labels import USER_LABELS
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.trainjob.history.report_news import built_image
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import observation_id
from tests.support import trainjobs as train
from tests.support.rayjob_builders import (
    IDENTITY,
    after,
    cluster_gone,
    cluster_of,
    due,
    interrupted,
    manifest,
    manifest_gone,
    nothing_new,
    poll,
    submitter,
    written,
)
from tests.support.rayjob_stories import (
    Story,
    built,
    failed_attempts,
    failing,
    on_the_same,
    readied,
    running,
    selecting,
    succeeded,
    suspended,
    working,
)
from tests.support.recorded import recorded
from tests.support.rows import play

RULES = Rules(causes=ExplainedCauses())


def rows(records: Iterable[EventRecord], rules: Rules = RULES) -> Rows:
    """Return the facts that follow from records."""
    folded = Folded()
    for one in records:
        folded = fold(folded, one, read_event(one), rules)
    return rows_of(folded)


def train_records(story: Iterable[train.Step]) -> tuple[EventRecord, ...]:
    """Return the records of a TrainJob's story, each event of an observation of its own."""
    tail = Tail(stream_id=train.STREAM, version=0, chain=GENESIS)
    records: tuple[EventRecord, ...] = ()
    for number, event in enumerate(train.play(story).history):
        named = NamedEvent(name=NAMES[type(event)], schema_version=1, at=event.at, event=event)
        writer = Writer(actor="jobledger-0", epoch=1, now=event.at)
        made, tail = record(tail, writer, observation_id(train.STREAM, str(number)), [named])
        records += made
    return records


def facts(story: Story, table: str) -> list[dict[str, object]]:
    """Return the rows of a table after a RayJob's story."""
    return [asdict(fact) for fact in rows(recorded(story)).facts[f"report_{table}"]]


def picked(found: list[dict[str, object]], *names: str) -> list[tuple[object, ...]]:
    """Return some columns of each row."""
    return [tuple(row[name] for name in names) for row in found]


RETRIED: Story = (
    *failed_attempts(1, backoff_limit=1),
    *built(2),
    *readied(2),
    poll("RUNNING", 120, attempt=2),
)


def stay(
    number: int, phase: str, since: float, until: float | None = None, then: str = ""
) -> PhaseFact:
    """Return a stay of attempt 1."""
    left = None if until is None else after(until)
    return PhaseFact(number, 1, phase, then, after(since), left)


def test_a_deadline_over_all_attempts_that_passes_in_a_pause_is_a_failure_of_its_own() -> None:
    deadline, pause = RetryOptions(job_deadline_seconds=150), Policy(retry_delay_seconds=600)
    pausing = (*working(options=deadline, backoff_limit=5, policy=pause), *failing())
    found = facts((*pausing, due(DecisionKind.JOB_DEADLINE)), "failure")
    told = picked(found, "number", "attempt", "reason", "retried", "final")
    assert told == [(1, 1, "AppFailed", True, False), (2, 1, "DeadlineExceeded", False, True)]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("A", 0)], [stay(1, "A", 0)]),
        ([("A", 0), ("A", 5)], [stay(1, "A", 0)]),
        ([("A", 0), ("B", 5)], [stay(1, "A", 0, 5, "B"), stay(2, "B", 5)]),
        ([("A", 0), ("B", 0)], [stay(1, "B", 0)]),
        ([("A", 0), ("B", 5), ("C", 5)], [stay(1, "A", 0, 5, "C"), stay(2, "C", 5)]),
        ([("A", 5), ("B", 3), ("C", 9)], [stay(1, "B", 5, 9, "C"), stay(2, "C", 9)]),
    ],
    ids=["first", "same", "next", "left at once", "empty between", "an earlier instant"],
)
def test_stays_are_half_open_and_touch(
    steps: list[tuple[str, float]], expected: list[PhaseFact]
) -> None:
    stays: tuple[PhaseFact, ...] = ()
    for phase, at in steps:
        stays = enter(stays, phase, 1, after(at))
    assert list(stays) == expected


def test_the_last_stay_ends_with_the_object() -> None:
    gone = leave((stay(1, "A", 0),), after(7))
    assert gone == (stay(1, "A", 0, 7),)
    assert leave(gone, after(9)) == gone == enter(gone, "B", 1, after(9))
    assert leave((), after(9)) == ()


@pytest.mark.parametrize(
    ("since", "until", "seconds"),
    [(None, None, 10.0), (4, None, 6.0), (None, 4, 4.0), (2, 5, 3.0), (20, 30, 0.0), (5, 2, 0.0)],
)
def test_the_time_in_a_phase_is_cut_at_both_ends(
    since: float | None, until: float | None, seconds: float
) -> None:
    stays = (stay(1, "A", 0, 10, "B"), stay(2, "B", 10, 15, "A"), stay(3, "A", 15))
    begin = None if since is None else after(since)
    end = None if until is None else after(until)
    assert time_in(stays, frozenset({"A"}), begin, end) == seconds


def test_the_stays_of_a_retried_job() -> None:
    assert picked(facts(RETRIED, "phase"), "phase", "attempt", "entered_at", "left_at") == [
        ("Initializing", 1, after(0), after(11)),
        ("Running", 1, after(11), after(42)),
        ("Retrying", 1, after(42), after(100)),
        ("Initializing", 2, after(100), after(111)),
        ("Running", 2, after(111), None),
    ]


def test_the_attempts_of_a_retried_job_and_what_they_cost() -> None:
    first, second = facts(RETRIED, "attempt")
    assert first["cluster_name"] == cluster_of(1)
    assert picked([first], "started_at", "running_at", "ended_at") == [
        (after(0), after(11), after(39))
    ]
    created = ("cluster_created_at", "cluster_ready_at", "cluster_gone_at", "cluster_seconds")
    assert picked([first, second], *created) == [
        (after(1), after(10), after(100), 99.0),
        (after(101), after(110), None, 19.0),
    ]
    told = ("outcome", "reason", "failure_class", "retried", "counted", "granted_at")
    assert picked([first], *told) == [("failed", "AppFailed", "application", True, True, after(42))]
    waits = ("waiting_since", "seen_seconds", "queue_seconds")
    assert picked([first, second], *waits) == [(after(0), 0.0, 0.0), (after(39), None, 0.0)]


def test_a_raycluster_of_two_attempts_is_counted_once() -> None:
    story = on_the_same(backoff_limit=1)
    first, second = facts(story, "attempt")
    created = ("cluster_name", "cluster_created_at", "cluster_gone_at", "cluster_seconds")
    assert picked([first, second], *created) == [
        (cluster_of(1), after(1), after(50), 49.0),
        (cluster_of(1), after(50), None, 6.0),
    ]
    (job,) = facts((*story, cluster_gone(90)), "job")
    assert job["cluster_seconds"] == 89.0
    told = story_facts(play(RAYJOB, story).history).attempts
    assert [one.cluster_time.total_seconds() for one in told] == [49.0, 6.0]


def test_what_is_there_of_a_job_sums_up_its_attempts() -> None:
    (job,) = facts(RETRIED, "job")
    told = ("phase", "outcome", "open", "attempts", "failed_attempts", "retries")
    assert picked([job], *told) == [("Running", "", True, 2, 1, 1)]
    assert (job["cluster_seconds"], job["wasted_cluster_seconds"]) == (118.0, 99.0)
    assert (job["running_at"], job["running_seconds"]) == (after(11), 31.0)
    assert job["events"] == len(recorded(RETRIED))


@pytest.mark.parametrize(
    ("story", "outcome"),
    [
        (succeeded(), "succeeded"),
        ((*working(), poll("STOPPED", 40)), ""),
        (failed_attempts(0), ""),
        ((*working(), manifest_gone()), "deleted"),
    ],
    ids=["succeeded", "not ended", "going on", "deleted"],
)
def test_the_outcome_of_a_job(story: Story, outcome: str) -> None:
    (job,) = facts(story, "job")
    assert job["outcome"] == outcome


def test_a_failure_that_was_retried_and_one_that_was_the_end() -> None:
    story = (*failed_attempts(1, backoff_limit=1), *built(2), *readied(2))
    last = poll("FAILED", 140, attempt=2, message="ModuleNotFoundError: no module named 'x'")
    told = ("number", "attempt", "failed_at", "failure_class", "cause", "ran", "retried", "final")
    found = facts((*story, last, submitter("Complete", 142, attempt=2)), "failure")
    assert picked(found, *told) == [
        (1, 1, after(39), "application", "application", True, True, False),
        (2, 2, after(140), "application", "missing-module", True, False, True),
    ]
    assert (found[0]["exit_code"], found[0]["reason"]) == (1, "AppFailed")


@pytest.mark.parametrize(
    ("said", "kept"),
    [(-(2**31), -(2**31)), (2**31 - 1, 2**31 - 1), (2**31, None), (3221225786, None)],
)
def test_an_exit_code_that_no_column_holds_is_not_known(said: int, kept: int | None) -> None:
    last = poll("FAILED", 40, started_at=25, ended_at=39, exit_code=said)
    (found,) = facts((*working(backoff_limit=0), last, submitter("Complete", 42)), "failure")
    assert found["exit_code"] == kept


def test_time_suspended_before_an_attempt_is_queueing() -> None:
    again = manifest(200, generation=3, finalizer=True)
    story = (*suspended(), again)
    first, second = facts(story, "attempt")
    assert first["outcome"] == "suspended"
    assert second["waiting_since"] == after(60)
    assert second["queue_seconds"] == 140.0
    (job,) = facts(story, "job")
    assert job["suspended_seconds"] == 140.0


def test_a_shared_cluster_is_paid_for_as_long_as_it_is_used() -> None:
    story = (*selecting(),)
    (attempt,) = facts(story, "attempt")
    assert attempt["cluster_shared"] is True
    assert attempt["cluster_created_at"] is None


def test_decisions_with_their_lateness() -> None:
    story = (*failed_attempts(1, backoff_limit=1),)
    found = facts(story, "decision")
    (retry,) = [row for row in found if row["decision"] == DecisionKind.RETRY.value]
    assert (retry["state"], retry["due_at"]) == ("fired", after(42))
    assert retry["lateness_ms"] == pytest.approx(2_020)  # due at 42, fired at 44, written 20 ms on
    pending = facts(running(active_deadline_seconds=600), "decision")
    states = {row["decision"]: row["state"] for row in pending}
    assert states[DecisionKind.ACTIVE_DEADLINE.value] == "pending"
    assert all(row["lateness_ms"] is None for row in pending)


def test_a_gap_is_an_interval() -> None:
    (gap,) = facts((*working(), interrupted(40, 55)), "gap")
    assert picked([gap], "number", "source", "since_at", "until_at") == [
        (1, "RayCluster", after(40), after(55))
    ]


def test_what_was_written_down_is_counted_by_the_hour() -> None:
    later = (*working(), written("Running", 31), nothing_new(3_700), interrupted(3_800, 3_900))
    first, second = facts(later, "activity")
    assert (first["hour"], second["hour"]) == (after(0), after(3_600))
    assert (first["status_writes"], second["gaps"]) == (1, 1)
    assert first["effects_requested"] == first["effects_succeeded"] == 4
    assert first["observations"] < first["events"]  # type: ignore[operator] # both are numbers
    assert second["observations"] == second["events"] == 2


def test_the_facts_of_a_trainjob() -> None:
    made = rows(train_records(train.completed()))
    (job,) = made.facts["report_job"]
    (attempt,) = made.facts["report_attempt"]
    told = asdict(job)
    assert (told["outcome"], told["phase"], told["attempts"]) == ("succeeded", "Complete", 1)
    paid = asdict(attempt)
    assert paid["cluster_name"] == ""
    assert paid["cluster_seconds"] == (train.after(60) - paid["started_at"]).total_seconds()
    assert made.dimension.kind == "TrainJob"


def test_a_restart_of_a_jobset_is_a_failure_that_was_retried() -> None:
    story = (*train.running(), train.jobset(30, restarts=1))
    made = rows(train_records(story))
    (failure,) = made.facts["report_failure"]
    said = asdict(failure)
    assert (said["reason"], said["retried"], said["final"]) == ("JobSetRestarted", True, False)
    first = asdict(made.facts["report_attempt"][0])
    assert (first["retried"], first["granted_at"]) == (True, train.after(30))


def test_the_end_of_a_jobset_is_one_failure_and_not_two() -> None:
    story = (*train.running(), train.jobset(60, end=train.failed_end()))
    made = rows(train_records(story))
    (failure,) = made.facts["report_failure"]
    said = asdict(failure)
    assert (said["attempt"], said["final"], said["failed_at"]) == (1, True, train.after(60))


HEAD: Manifest = {"template": {"spec": {"containers": [{"image": "ray:1"}, {"image": "side:2"}]}}}
SPEC: Manifest = {"submissionMode": "HTTPMode", "rayClusterSpec": {"headGroupSpec": HEAD}}


@pytest.mark.parametrize(
    ("kind", "document", "expected"),
    [
        ("RayJob", {}, {"framework": "ray", "runtime": "K8sJobMode"}),
        ("RayJob", {"spec": SPEC}, {"runtime": "HTTPMode", "image": "ray:1"}),
        ("RayJob", {"labels": {"kueue.x-k8s.io/queue-name": "gpu"}}, {"queue": "gpu"}),
        ("RayJob", {"labels": {"jobledger.dev/user": "a", "owner": "b"}}, {"user_name": "a"}),
        ("RayJob", {"labels": {"owner": "b"}}, {"user_name": "b"}),
        ("RayJob", {"annotations": {"owner": "c"}}, {"user_name": "c"}),
        (
            "TrainJob",
            {"spec": {"runtimeRef": {"name": "torchtune-llama"}, "trainer": {"image": "t:1"}}},
            {"framework": "torchtune", "runtime": "torchtune-llama", "image": "t:1"},
        ),
        ("TrainJob", {"spec": {"runtimeRef": {"name": "ours"}}}, {"framework": ""}),
    ],
)
def test_dimensions_are_read_from_the_manifest(
    kind: str, document: Manifest, expected: dict[str, str]
) -> None:
    found = dimension_of(IDENTITY, KINDS[kind], document, USER_LABELS)
    assert {name: getattr(found, name) for name in expected} == expected
    assert (found.cluster, found.namespace, found.kind) == ("kind", "ml", kind)


def _applied(*replicated: Manifest) -> Manifest:
    return {"ConfigMap/x": {}, "JobSet/train": {"spec": {"replicatedJobs": list(replicated)}}}


def _replicated(step: str, image: str) -> Manifest:
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": step}
    pods = {"spec": {"template": {"spec": {"containers": [{"image": image}]}}}}
    return {"template": {"metadata": {"labels": labels}, **pods}}


@pytest.mark.parametrize(
    ("sent", "image"),
    [
        (_applied(_replicated("dataset-initializer", "i:1"), _replicated("trainer", "t:2")), "t:2"),
        (_applied(_replicated("model-initializer", "i:1")), ""),
        (_applied(), ""),
        ({}, ""),
    ],
)
def test_the_image_of_a_runtime_is_read_from_the_jobset(sent: Manifest, image: str) -> None:
    assert built_image(sent) == image
    folded = Folded()
    for one in train_records(train.completed()):
        folded = fold(folded, one, read_event(one), RULES)
    assert rows_of(replace(folded, built_image=image)).dimension.image == image
    own = replace(folded, built_image=image, dimension=replace(folded.dimension, image="own:1"))
    assert rows_of(own).dimension.image == "own:1"


def test_the_key_of_a_dimension_follows_from_all_its_parts() -> None:
    base = Dimension(*"abcdefgh")
    others = [replace(base, **{name: "z"}) for name in Dimension.__struct_fields__]
    keys = {dimension_id(one) for one in (base, *others)}
    assert len(keys) == 1 + len(Dimension.__struct_fields__)
    assert dimension_id(Dimension("ab", "c")) != dimension_id(Dimension("a", "bc"))
    assert all(-(2**63) <= key < 2**63 for key in keys)


def test_the_labels_of_users_are_a_setting() -> None:
    document: Manifest = {"labels": {"owner": "b", "cost-centre": "c"}}
    assert dimension_of(IDENTITY, KINDS["RayJob"], document, ("cost-centre",)).user_name == "c"
    assert dimension_of(IDENTITY, KINDS["RayJob"], document, ()).user_name == ""


def test_rows_that_did_not_change_are_not_written_again() -> None:
    records = recorded(RETRIED)
    before, now = rows(records[:-1]), rows(records)
    changed = now.changed_since(before)
    assert changed.facts["report_phase"] == ()
    assert len(changed.facts["report_job"]) == 1
    moved = replace(now, dimension=replace(now.dimension, queue="other"))
    assert moved.changed_since(before).facts == now.facts
    assert now.changed_since(None) == now


def test_lateness_is_never_below_zero() -> None:
    early = [
        replace(one, recorded_at=one.recorded_at - timedelta(minutes=1))
        for one in recorded(failed_attempts(1, backoff_limit=1))
    ]
    late = [asdict(fact)["lateness_ms"] for fact in rows(early).facts["report_decision"]]
    assert 0.0 in late
