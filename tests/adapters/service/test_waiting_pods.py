"""Pods of TrainJobs and Jobs that wait say why, in time, and well ones are let be."""

from dataclasses import replace

import pytest

from jobledger.adapters.service.effects.waiting_pods import (
    PAUSES_SECONDS,
    WaitingLook,
    waiting_look,
)
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.ports.cluster import PODS
from jobledger.core.rayjob.events.lifecycle import AttemptStarted
from jobledger.core.trainjob.events import TrainAttemptEnded, TrainAttemptStarted
from jobledger.core.values.documents import Manifest
from tests.adapters.service.evidence_scene import Scene, scene
from tests.adapters.service.test_capturing import NODE, train_state, training
from tests.support.records import NOON

__all__ = ["scene", "training"]  # fixtures

BEGUN = TrainAttemptStarted(at=NOON, attempt=1, generation=1, jobset_uid="u", restarts=0, cause="")


def shown(training: Scene, state: Manifest) -> None:
    """Let the container of the Pod be in a state."""
    container: Manifest = {"name": "node", "restartCount": 0, "state": state}
    status: Manifest = {"phase": "Pending", "containerStatuses": [container]}
    training.bench.cluster.edit(PODS, "ml", NODE, status=status)


def look(training: Scene) -> WaitingLook:
    """Return the look at the Pods of an attempt that has begun; its first call only waits."""
    context = replace(training.bench.context(), evidence=training.capturer)
    stream = training.job.identity.stream_id
    found = waiting_look(context, stream, train_state(training), [BEGUN])
    assert found is not None
    assert found() == PAUSES_SECONDS[0]
    assert training.bench.said() == []
    return found


PULLING: Manifest = {"waiting": {"reason": "ImagePullBackOff", "message": "manifest unknown"}}


def test_a_pod_that_waits_is_kept_with_why(training: Scene) -> None:
    shown(training, PULLING)
    assert look(training)() is None
    (seen,) = training.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert (seen.occasion, seen.attempt) == ("waiting/1", 1)
    (pod,) = seen.pods
    assert (pod.name, pod.containers[0].reason) == (NODE, "ImagePullBackOff")


def test_well_pods_are_looked_at_a_few_times_and_nothing_is_kept(training: Scene) -> None:
    shown(training, {"running": {}})
    looking = look(training)
    assert [looking() for _ in PAUSES_SECONDS] == [*PAUSES_SECONDS[1:], None]
    assert training.bench.said() == []
    assert training.store.contents == {}


def test_a_pod_that_comes_to_wait_later_is_kept_then(training: Scene) -> None:
    shown(training, {"waiting": {"reason": "ContainerCreating"}})
    looking = look(training)
    assert looking() == PAUSES_SECONDS[1]
    shown(training, PULLING)
    assert looking() is None
    assert len(training.bench.said()) == 1


def test_an_attempt_that_is_over_is_not_looked_at(training: Scene) -> None:
    shown(training, PULLING)
    looking = look(training)
    looking.is_dropped = True
    assert looking() is None
    assert training.bench.said() == []


@pytest.mark.parametrize("ended", [True, False])
def test_only_an_attempt_that_has_begun_and_goes_on_is_looked_at(
    training: Scene, *, ended: bool
) -> None:
    context = replace(training.bench.context(), evidence=training.capturer)
    stream, state = training.job.identity.stream_id, train_state(training)
    over = TrainAttemptEnded(at=NOON, attempt=1, outcome="failed", reason="x", message="")
    assert waiting_look(context, stream, state, [BEGUN, over] if ended else []) is None


def test_a_raycluster_says_itself_why_its_pods_wait(scene: Scene) -> None:
    context = replace(scene.bench.context(), evidence=scene.capturer)
    begun = AttemptStarted(at=NOON, attempt=1, generation=1, cluster_name="c", job_id="j")
    stream = scene.job.identity.stream_id
    assert waiting_look(context, stream, scene.state(), [begun]) is None
