"""What an observation means before anything is decided on it, for every kind of job."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from jobledger.core.batchjob.observations import SeenBatchStatus
from jobledger.core.batchjob.state import AttemptJob, UnknownJob
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.kinds import (
    TURNING_POINTS,
    JobObservation,
    JobState,
    altered,
    decide,
    job_seen,
    kept,
    known_marks,
    marks_of,
    reopens,
    subject,
)
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.rayjob.spec.spec import SubmissionMode
from jobledger.core.rayjob.state import KnownSubmitter
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.observations import SeenTrainStatus
from jobledger.core.trainjob.policy import TrainPolicy
from tests.support import batchjobs as batch
from tests.support import rayjob_builders as ray
from tests.support import rayjob_stories
from tests.support import trainjobs as train
from tests.support.contributions import POD_GROUP, plugin_told, pod_group_gone
from tests.support.rayjob_heads import head_pod, head_pod_gone
from tests.support.rows import play

RECORDED = "another controls it"
OTHER_GROUP = replace(POD_GROUP, uid="another")


def held_true(kind: str, *, holds: bool = True) -> SeenTrainStatus:
    shown = Condition(type=kind, is_true=holds, reason="R", message="", since=train.after(9))
    return SeenTrainStatus(conditions=(shown,))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (ray.manifest(1), ray.manifest(2, generation=2)),
        (ray.cluster("", 1), ray.cluster("ready", 2)),
        (ray.submitter("", 1), ray.submitter("Failed", 2)),
        (head_pod(1), head_pod(2, deleting=True)),
        (train.manifest(1), train.manifest(2, generation=2)),
        (train.jobset(1), train.jobset(2, restarts=1)),
        (train.runtime("1", 1), train.runtime("2", 2)),
        (train.progress(1), train.progress(2, 80)),
        (plugin_told(at=1), plugin_told(at=2, source=replace(POD_GROUP, version="11"))),
        (batch.manifest(1), batch.manifest(2, generation=2)),
        (batch.job(1), batch.job(2, active=1)),
    ],
)
def test_of_two_looks_at_the_same_the_later_is_enough(
    earlier: JobObservation, later: JobObservation
) -> None:
    assert subject(earlier) is not None
    assert subject(earlier) == subject(later)


@pytest.mark.parametrize("seen", [ray.manifest(1), train.manifest(1), batch.manifest(1)])
def test_a_look_at_a_job_is_none_at_who_controls_it_or_at_what_was_before(
    seen: JobObservation,
) -> None:
    others = [altered(seen, recorded=RECORDED), altered(seen, in_between=True)]
    assert len({subject(one) for one in (seen, *others)}) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ray.cluster(uid="a"), ray.cluster(uid="b")),
        (ray.submitter(uid="a"), ray.submitter(uid="b")),
        (head_pod(uid="a"), head_pod(uid="b")),
        (ray.cluster(uid="a"), ray.submitter(uid="a")),
        (train.jobset(uid="a"), train.jobset(uid="b")),
        (train.runtime(), train.progress()),
        (plugin_told(), plugin_told(source=OTHER_GROUP)),
        (plugin_told(), plugin_told(plugin="another")),
        (batch.job(uid="a"), batch.job(uid="b")),
    ],
)
def test_looks_at_two_objects_are_worth_something_each(
    one: JobObservation, other: JobObservation
) -> None:
    assert subject(one) != subject(other)


@pytest.mark.parametrize(
    "seen",
    [
        *(ray.manifest_gone(), ray.cluster_gone(), ray.submitter_gone(), head_pod_gone()),
        *(ray.poll(), ray.not_found(), ray.silence(), ray.pods(1)),
        *(train.manifest_gone(), train.jobset_gone(), train.snapshot_gone()),
        *(batch.manifest_gone(), batch.job_gone()),
    ],
)
def test_what_happened_once_is_never_replaced(seen: JobObservation) -> None:
    assert subject(seen) is None


@pytest.mark.parametrize(
    ("seen", "marks"),
    [
        (ray.manifest(), set()),
        (ray.manifest_gone(), set()),
        (ray.poll(), set()),
        (ray.cluster(uid="u", name="n"), {"u", "n"}),
        (ray.cluster_gone(uid="u", name="n"), {"u", "n"}),
        (ray.submitter(uid="u"), {"u", "train"}),
        (ray.submitter_gone(), {"submitter-1", "train"}),
        (head_pod(uid="u", cluster="n"), {"u", "n"}),
        (head_pod_gone(uid="u"), {"u", "head"}),
        (train.manifest(), set()),
        (train.manifest_gone(), set()),
        (train.runtime(), set()),
        (train.progress(), set()),
        (train.jobset(uid="u", name="n"), {"u", "n"}),
        (train.jobset_gone(uid="u"), {"u", "train"}),
        (train.snapshot_gone(), {"snapshot-1"}),
        (plugin_told(), {POD_GROUP.uid}),
        (batch.manifest(), set()),
        (batch.manifest_gone(), set()),
        (batch.job(uid="u", name="n"), {"u", "n"}),
        (batch.job_gone(uid="u"), {"u", batch.name_of(1)}),
    ],
)
def test_an_object_of_a_job_is_told_by_its_name_and_its_uid(
    seen: JobObservation, marks: set[str]
) -> None:
    assert marks_of(seen) == marks


SECOND = (*batch.retried(backoff_limit=3), batch.created(63, 2))
SIDECAR = rayjob_stories.running(submission_mode=SubmissionMode.SIDECAR)
CONDITION = Condition(type="P", is_true=True, reason="R", message="", since=train.after(9))
SHOWN_BY_PLUGINS = train.created(policy=TrainPolicy(propagates=True))


@pytest.mark.parametrize(
    ("state", "marks"),
    [
        (RAYJOB.initial, set()),
        (play(RAYJOB, [ray.manifest()]).state, {"train", ray.cluster_of(1)}),
        (
            play(RAYJOB, rayjob_stories.running()).state,
            {"train", ray.cluster_of(1), "cluster-1", "submitter-1"},
        ),
        (
            replace(
                play(RAYJOB, rayjob_stories.running()).state,
                orphan_submitter=KnownSubmitter(name="train", uid="orphan"),
            ),
            {"train", ray.cluster_of(1), "cluster-1", "submitter-1", "orphan"},
        ),
        (
            play(RAYJOB, [*SIDECAR, head_pod(40)]).state,
            {"train", ray.cluster_of(1), "cluster-1", "head-1"},
        ),
        (
            play(RAYJOB, [ray.manifest(cluster_selector="shared", suspend=True)]).state,
            {"train", "shared"},
        ),
        (train.NOTHING_YET.state, set()),
        (train.play(train.seen()).state, {"train"}),
        (train.play(train.running()).state, {"train", "jobset-1"}),
        (
            train.play([*SHOWN_BY_PLUGINS, plugin_told(CONDITION)]).state,
            {"train", "jobset-1", POD_GROUP.uid},
        ),
        (batch.NOTHING_YET.state, set()),
        (batch.play([batch.manifest(suspend=True)]).state, set()),
        (batch.play([batch.manifest()]).state, {batch.name_of(1)}),
        (batch.play(SECOND).state, {batch.name_of(2), "job-2"}),
        (
            batch.play([*SECOND, batch.job(80, uid="late")]).state,
            {batch.name_of(2), "job-2", "late"},
        ),
        (
            replace(
                batch.play(batch.running()).state,
                unknown_job=UnknownJob(3, AttemptJob(uid="unknown")),
            ),
            {batch.name_of(1), "job-1", "unknown"},
        ),
    ],
)
def test_what_a_job_knows_or_waits_for_is_kept_before_what_others_made(
    state: JobState, marks: set[str]
) -> None:
    assert known_marks(state) == marks


@pytest.mark.parametrize(
    ("seen", "meaning"),
    [
        (ray.manifest_gone(), True),
        (ray.cluster("ready"), True),
        (ray.cluster_gone(), True),
        (ray.submitter(), False),
        (ray.submitter_gone(), False),
        (ray.poll(), False),
        (ray.pods(1), False),
        (head_pod(), False),
        (train.manifest_gone(), True),
        (train.progress(), True),
        (train.jobset(), True),
        (train.jobset(deleting=True), False),
        (train.jobset(end=train.completed_end()), False),
        (train.jobset_gone(), False),
        (train.runtime(), False),
        (pod_group_gone(), False),
        (batch.manifest_gone(), True),
        (batch.job(), True),
        (batch.job(deleting=True), False),
        (batch.job(end=batch.failed_end()), False),
        (batch.job_gone(), False),
        (ray.written("Complete", 60), True),
        (ray.nothing_new(60), False),
    ],
)
def test_after_the_end_few_things_mean_something(seen: JobObservation, *, meaning: bool) -> None:
    assert reopens(seen) is meaning


ON_A_SHARED_ONE = (
    *rayjob_stories.seen(cluster_selector=rayjob_stories.SELECTED),
    ray.cluster("ready", 10, name=rayjob_stories.SELECTED, uid="shared", owned=False),
    ray.done(EffectKind.CREATE_SUBMITTER, 11, uid="submitter-1"),
    ray.poll("SUCCEEDED", 60, started_at=25, ended_at=50),
    ray.submitter("Complete", 61),
)


@pytest.mark.parametrize(
    ("story", "uid", "owned"),
    [(rayjob_stories.succeeded(), "cluster-1", True), (ON_A_SHARED_ONE, "shared", False)],
)
def test_of_a_raycluster_that_stays_after_the_end_only_its_deletion_is_news(
    story: rayjob_stories.Story, uid: str, *, owned: bool
) -> None:
    state = play(RAYJOB, story).state
    assert kept(state) == uid
    name = state.cluster.name if state.cluster is not None else ""
    for shown in ("ready", "failed", "suspended", ""):
        fares = ray.cluster(
            shown, 99, name=name, uid=uid, owned=owned, address="elsewhere:8265", status={"a": 1}
        )
        assert not reopens(fares, kept(state))
        assert not decide(state, fares).events
    for news in (
        ray.cluster("ready", 99, name=name, uid=uid, owned=owned, deleting=True),
        ray.cluster("ready", 99, name=name, uid="another", owned=owned),
        ray.cluster_gone(99, uid=uid, name=name),
    ):
        assert reopens(news, kept(state))


@pytest.mark.parametrize(
    "more",
    [
        (ray.cluster("ready", 99, deleting=True),),
        (ray.cluster_gone(99),),
    ],
)
def test_what_goes_after_the_end_is_kept_no_more(more: rayjob_stories.Story) -> None:
    assert kept(play(RAYJOB, (*rayjob_stories.succeeded(), *more)).state) == ""


def rayjob_shows(phase: str) -> JobObservation:
    return ray.manifest(status=SeenStatus(phase=phase))


@pytest.mark.parametrize(
    ("seen", "ended"),
    [
        (rayjob_shows("Complete"), True),
        (rayjob_shows("Failed"), True),
        (rayjob_shows("Running"), False),
        (rayjob_shows(""), False),
        (train.manifest(status=held_true("Complete")), True),
        (train.manifest(status=held_true("Failed")), True),
        (train.manifest(status=held_true("Complete", holds=False)), False),
        (train.manifest(status=held_true("Suspended")), False),
        (train.manifest(), False),
        (batch.manifest(status=SeenBatchStatus(end=batch.failed_end())), True),
        (batch.manifest(status=SeenBatchStatus(failing=batch.failed_end())), False),
        (batch.manifest(), False),
    ],
)
def test_an_end_is_what_the_status_of_the_job_itself_shows(
    seen: JobObservation, *, ended: bool
) -> None:
    found = job_seen(seen)
    assert found is not None
    assert found[0].observing.shows_end(seen) is ended


@pytest.mark.parametrize("seen", [ray.cluster(), train.jobset(), batch.job()])
def test_an_object_of_a_job_shows_no_end_of_it_and_no_age(seen: JobObservation) -> None:
    kinds = [job_seen(one) for one in (ray.manifest(), train.manifest(), batch.manifest())]
    rules = [kind[0].observing for kind in kinds if kind is not None]
    assert not any(one.shows_end(seen) or one.may_be_old(seen) for one in rules)


BEGUN: Sequence[JobObservation] = (
    rayjob_shows("Running"),
    train.manifest(status=held_true("Created")),
    batch.manifest(status=SeenBatchStatus(started_at=batch.after(0))),
)


@pytest.mark.parametrize("seen", [ray.manifest(), train.manifest(), batch.manifest()])
def test_a_job_that_shows_nothing_may_have_gone_on_since(seen: JobObservation) -> None:
    assert is_maybe_old(seen)
    assert not is_maybe_old(altered(seen, recorded=RECORDED)), "others decide about it"


@pytest.mark.parametrize("seen", BEGUN)
def test_so_may_one_that_shows_what_was_written_here_and_none_that_others_wrote(
    seen: JobObservation,
) -> None:
    assert not is_maybe_old(seen)
    assert is_maybe_old(altered(seen, written_here=True))
    assert not is_maybe_old(altered(seen, written_here=True, recorded=RECORDED))


@pytest.mark.parametrize(
    "seen",
    [
        ray.manifest(managed_by="kueue.x-k8s.io/multikueue"),
        train.manifest(managed_by="kueue.x-k8s.io/multikueue"),
        batch.manifest(managed_by="kueue.x-k8s.io/multikueue"),
    ],
)
def test_a_job_of_another_controller_is_as_it_shows(seen: JobObservation) -> None:
    assert not is_maybe_old(seen)
    assert not is_maybe_old(altered(seen, written_here=True))


def is_maybe_old(seen: JobObservation) -> bool:
    found = job_seen(seen)
    assert found is not None
    return found[0].observing.may_be_old(seen)


@pytest.mark.parametrize(
    "seen",
    [
        *(ray.poll(), ray.submitter("Failed"), ray.manifest_gone()),
        *(train.manifest_gone(), batch.job(), batch.manifest_gone()),
    ],
)
def test_the_sum_of_what_was_seen_unchanged_is_told_before_what_may_end_it(
    seen: JobObservation,
) -> None:
    assert isinstance(seen, TURNING_POINTS)
