"""Looking at Pods: only while something waits for it, by label, scrubbed, and again until done."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.adapters.kinds.rayjob.acting.pod_looks import (
    PAUSE_FIRST_SECONDS,
    PAUSE_MAX_SECONDS,
    TOLD_AGAIN_AFTER,
    PodLooks,
)
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.work.workers import Task
from jobledger.core.errors import ClusterUnreachable, RequestForbidden
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import RetryOptions
from jobledger.core.ports.cluster import PODS
from jobledger.core.rayjob.observations.observations import PodsSeen
from jobledger.core.rayjob.observations.pods import PodLook
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.spec.spec import RayJobSpec
from jobledger.core.rayjob.state import Attempt, Failing, KnownManifest, RayJobState
from jobledger.core.values.documents import Json, Manifest
from tests.adapters.service.parts import SECRET, Bench, hold
from tests.rules.rayjob.jobs import HEAD_ENV
from tests.support.records import NOON

CLUSTER = "train-x2x2x"
FAILING = Failing(
    reason="AppFailed",
    message="boom",
    job_status=JobStatus.FAILED,
    failure=FailureClass.APPLICATION,
    since=NOON,
)


OWNERS = {"ray.io/cluster": "uid-of-cluster", "batch.kubernetes.io/job-name": "uid-of-submitter"}
"""Label of a Pod -> UID of what controls it."""


class LookedAt(Bench):
    """A job whose Pods are looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.train: CachedJob = self.job({HEAD_ENV: [{"name": "TOKEN", "value": SECRET}]})
        self.looks = PodLooks(self.context())

    def waits(self, *, failing: bool = True, wait_for_pods: bool = False) -> None:
        """Let the log say what the job waits for."""
        attempt = Attempt(number=2, cluster_name=CLUSTER, job_id="j", generation=1, started_at=NOON)
        manifest = KnownManifest(
            generation=1,
            digest="",
            spec=RayJobSpec(),
            policy=Policy(),
            finalizer=True,
            problem=None,
            deleting_at=None,
            options=RetryOptions(wait_for_pods=wait_for_pods),
        )
        self.state = RayJobState(
            identity=self.train.identity,
            manifest=manifest,
            phase=Phase.RETRYING if wait_for_pods else Phase.RUNNING,
            attempt=replace(attempt, failing=FAILING) if failing else attempt,
            gone=tuple(OWNERS.values()),
        )
        hold(self.slots, self.train.identity.stream_id, self.state)

    def offer(self) -> Task | None:
        return self.looks.offer(self.train.identity.stream_id, self.state)

    def pod(self, name: str, labels: dict[str, str], owner: str = "", **status: Any) -> None:  # noqa: ANN401 any JSON
        namespace = self.train.identity.namespace
        uid = owner or next(OWNERS[label] for label in labels if label in OWNERS)
        owners: Json = [{"uid": uid, "controller": True}]
        metadata: Manifest = {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "ownerReferences": owners,
        }
        self.cluster.plant(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
        self.cluster.edit(PODS, namespace, name, status=status)

    def seen(self) -> list[PodsSeen]:
        return [item for item in self.said() if isinstance(item, PodsSeen)]


@pytest.fixture
def bench() -> LookedAt:
    return LookedAt()


def test_a_job_that_waits_for_nothing_is_not_looked_at(bench: LookedAt) -> None:
    bench.waits(failing=False)
    assert bench.offer() is None


def test_the_pods_of_the_attempt_are_told(bench: LookedAt) -> None:
    bench.waits()
    bench.pod("w", {"ray.io/cluster": CLUSTER, "ray.io/node-type": "worker"}, reason="Evicted")
    bench.pod("s", {"batch.kubernetes.io/job-name": "train"}, phase="Failed")
    bench.pod("x", {"ray.io/cluster": "another"}, reason="Evicted")
    look = bench.offer()
    assert look is not None
    assert look() == PAUSE_FIRST_SECONDS
    (told,) = bench.seen()
    assert (told.attempt, told.purpose, told.total, told.trouble) == (2, PodLook.EVIDENCE, 2, "")
    assert [(fact.name, fact.role, fact.disrupted) for fact in told.pods] == [
        ("w", "worker", True),
        ("s", "submitter", False),
    ]


def test_pods_of_others_are_not_told_and_not_waited_for(bench: LookedAt) -> None:
    """Else whoever may create Pods could hold up every retry by a label."""
    bench.waits(failing=False, wait_for_pods=True)
    bench.pod("x", {"ray.io/cluster": CLUSTER}, owner="uid-of-another", message="hunter2")
    look = bench.offer()
    assert look is not None
    look()
    (told,) = bench.seen()
    assert (told.total, told.pods) == (0, ())


def test_while_one_look_is_under_way_no_other_is_offered(bench: LookedAt) -> None:
    bench.waits()
    assert bench.offer() is not None
    assert bench.offer() is None


def test_a_look_ends_when_nothing_waits_for_it_and_may_begin_again(bench: LookedAt) -> None:
    bench.waits()
    look = bench.offer()
    assert look is not None
    bench.waits(failing=False)
    assert look() is None
    assert bench.seen() == []
    bench.waits()
    assert bench.offer() is not None


def test_what_is_left_is_looked_at_less_and_less_often(bench: LookedAt) -> None:
    bench.waits(failing=False, wait_for_pods=True)
    look = bench.offer()
    assert look is not None
    assert [look() for _ in range(6)] == [0.5, 1.0, 2.0, 4.0, PAUSE_MAX_SECONDS, PAUSE_MAX_SECONDS]
    assert {told.purpose for told in bench.seen()} == {PodLook.CLEARING}


def test_what_is_found_again_in_the_same_state_is_told_now_and_then(bench: LookedAt) -> None:
    bench.waits(failing=False, wait_for_pods=True)
    bench.pod("w", {"ray.io/cluster": CLUSTER})
    look = bench.offer()
    assert look is not None
    told = []
    for _ in range(2 * TOLD_AGAIN_AFTER):
        bench.clock.advance(look() or 0)
        told += bench.seen()
    assert len({one.id for one in told}) == 2


def test_what_is_found_again_is_not_told_while_it_waits(bench: LookedAt) -> None:
    bench.waits(failing=False, wait_for_pods=True)
    bench.pod("w", {"ray.io/cluster": CLUSTER})
    look = bench.offer()
    assert look is not None
    for _ in range(10 * TOLD_AGAIN_AFTER):
        bench.clock.advance(look() or 0)
    assert len(bench.seen()) == 1


def test_what_is_found_is_told_if_it_is_something_else_or_the_state_has_changed(
    bench: LookedAt,
) -> None:
    bench.waits(failing=False, wait_for_pods=True)
    bench.pod("w", {"ray.io/cluster": CLUSTER})
    look = bench.offer()
    assert look is not None
    look()
    bench.waits(failing=False, wait_for_pods=True)
    look()
    bench.cluster.delete(PODS, bench.train.identity.namespace, "w")
    look()
    assert [told.total for told in bench.seen()] == [1, 1, 0]


@pytest.mark.parametrize("error", [RequestForbidden, ClusterUnreachable])
def test_pods_that_cannot_be_listed_are_told_with_the_reason_and_asked_for_again(
    bench: LookedAt, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.waits()

    def refuse(*_: object) -> None:
        raise error(f"pods: no, {SECRET}")

    monkeypatch.setattr(bench.cluster, "list", refuse)
    look = bench.offer()
    assert look is not None
    assert look() == PAUSE_FIRST_SECONDS
    (told,) = bench.seen()
    assert (told.total, told.pods) == (0, ())
    assert told.trouble.startswith("pods: no, ")
    assert SECRET not in told.trouble


def test_what_pods_say_is_scrubbed(bench: LookedAt) -> None:
    bench.waits()
    labels = {"ray.io/cluster": CLUSTER}
    bench.pod("w", labels, phase="Failed", reason="Evicted", message=f"token {SECRET}")
    look = bench.offer()
    assert look is not None
    look()
    (told,) = bench.seen()
    assert SECRET not in repr(told)
    assert told.pods[0].message.startswith("token ")


def test_a_job_of_another_replica_is_dropped(bench: LookedAt) -> None:
    bench.waits()
    look = bench.offer()
    assert look is not None
    bench.looks.forget(bench.train.identity.stream_id)
    assert look() is None
    assert bench.seen() == []


def test_a_shard_that_comes_back_brings_one_look_and_the_old_one_ends(bench: LookedAt) -> None:
    bench.waits()
    old = bench.offer()
    assert old is not None
    bench.looks.forget(bench.train.identity.stream_id)
    new = bench.offer()
    assert new is not None
    assert old() is None
    assert new() == PAUSE_FIRST_SECONDS
    assert len(bench.seen()) == 1
    assert bench.offer() is None, "the new one is still under way"
