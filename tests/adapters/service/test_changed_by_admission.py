"""Admission webhooks and policies of somebody else change what is sent, and the answer shows it."""

from collections.abc import Callable
from typing import Any

import pytest

from jobledger.core.errors import ClusterUnreachable
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, RAYCLUSTERS, Resource
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.support.job_world import JobWorld, a_job
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld

Document = dict[str, Any]


class Policy:
    """Changes objects of a kind that have an owner, in whichever way they are written."""

    def __init__(
        self, world: ServiceWorld, resource: Resource, change: Callable[[Document], None]
    ) -> None:
        self.is_on = True
        self._resource, self._change = resource, change
        cluster = world.cluster
        self._before = {verb: getattr(cluster, verb) for verb in ("create", "apply", "merge_patch")}
        for verb in self._before:
            setattr(cluster, verb, self._changing(verb))

    def _changing(self, verb: str) -> Callable[..., Manifest]:
        def write(resource: Resource, *words: Any, **options: Any) -> Manifest:  # noqa: ANN401 as the verb takes them
            *first, body = words
            if resource == self._resource and self.is_on and not options.get("subresource"):
                body = _copied(body)
                if verb == "merge_patch" or child(body, "metadata").get("ownerReferences"):
                    self._change(body)
            written: Manifest = self._before[verb](resource, *first, body, **options)
            return written

        return write


def _copied(body: Manifest) -> Document:
    return {**body, "metadata": {**child(body, "metadata")}, "spec": {**child(body, "spec")}}


def suspend(body: Document) -> None:
    body["spec"]["suspend"] = True


def disown(body: Document) -> None:
    body["metadata"].pop("ownerReferences", None)


def refusals(world: ServiceWorld, stream: StreamId) -> list[str]:
    """Return what is told of effects that were refused."""
    told = [item.record for item in world.store.read_stream(stream)]
    return [text(one.data, "trouble") for one in told if one.type == "EffectFailed"]


def test_a_job_that_a_policy_keeps_suspended_says_so_and_goes_on_once_it_is_lifted() -> None:
    world = JobWorld()
    policy = Policy(world, BATCH_JOBS, suspend)
    stream = world.give(a_job())
    world.run(lambda: bool(refusals(world, stream)), "it is told")
    assert "spec.suspend stays true: an admission webhook or policy" in refusals(world, stream)[0]
    policy.is_on = False
    world.run(lambda: world.condition("Complete") != "", "the job is complete")
    assert len(world.made) == 1


def test_the_job_of_an_attempt_that_is_made_without_its_owner_goes_again_and_is_told() -> None:
    world = JobWorld()
    policy = Policy(world, BATCH_JOBS, disown)
    stream = world.give(a_job())
    world.run(lambda: bool(refusals(world, stream)), "it is told")
    assert "was made without its owner, this Job" in refusals(world, stream)[0]
    assert world.attempts() == []
    policy.is_on = False
    world.run(lambda: world.condition("Complete") != "", "the job is complete")


def test_a_raycluster_that_is_made_without_its_owner_goes_again_and_is_told() -> None:
    world = ServiceWorld()
    policy = Policy(world, RAYCLUSTERS, disown)
    stream = world.create(a_rayjob())
    world.run(lambda: bool(refusals(world, stream)), "it is told")
    assert "was made without its owner, this RayJob" in refusals(world, stream)[0]
    assert world.cluster.peek(RAYCLUSTERS) == []
    policy.is_on = False
    world.run(lambda: world.phase("train") == "Complete", "the job is complete")


@pytest.mark.parametrize(
    "labels", [{}, {"app.kubernetes.io/created-by": "jane"}], ids=["taken away", "set otherwise"]
)
def test_a_submitter_that_is_made_without_the_label_by_which_it_is_seen_goes_again_and_is_told(
    labels: Document,
) -> None:
    def relabel(body: Document) -> None:
        body["metadata"]["labels"] = labels

    world = ServiceWorld()
    policy = Policy(world, BATCH_JOBS, relabel)
    stream = world.create(a_rayjob(submissionMode="K8sJobMode"))
    world.run(lambda: bool(refusals(world, stream)), "it is told")
    assert "without its label app.kubernetes.io/created-by=" in refusals(world, stream)[0]
    assert world.cluster.peek(BATCH_JOBS) == []
    policy.is_on = False
    world.run(lambda: world.phase("train") == "Complete", "the job is complete")


def test_a_submitter_without_its_label_that_could_not_be_deleted_is_not_taken_for_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next try finds it there: nobody would ever hear how it fares."""

    def relabel(body: Document) -> None:
        body["metadata"]["labels"] = {}

    world = ServiceWorld()
    policy, delete = Policy(world, BATCH_JOBS, relabel), world.cluster.delete
    fails = [True]

    def fails_once(resource: Resource, *words: str, **more: Any) -> None:  # noqa: ANN401 as they came
        if resource == BATCH_JOBS and fails:
            fails.pop()
            raise ClusterUnreachable("no answer")
        delete(resource, *words, **more)

    monkeypatch.setattr(world.cluster, "delete", fails_once)
    stream = world.create(a_rayjob(submissionMode="K8sJobMode"))
    world.run(lambda: len(refusals(world, stream)) > 1, "it is told again")
    assert "could not be deleted (no answer)" in refusals(world, stream)[0]
    assert "and was deleted again" in refusals(world, stream)[1]
    policy.is_on = False
    world.run(lambda: world.phase("train") == "Complete", "the job is complete")


def test_a_jobset_that_is_made_without_its_owner_goes_again_and_is_told() -> None:
    world = TrainWorld()
    world.install_runtime()
    policy = Policy(world, JOBSETS, disown)
    world.train()
    world.run(world.is_so("Created", "False"), "it is told")
    (told,) = items(world.trainjob, "status", "conditions")
    assert "was made without its owner, this TrainJob" in text(told, "message")
    assert world.jobset == {}
    policy.is_on = False
    world.run(world.is_so("Complete"), "the job is complete")


def test_a_jobset_that_a_policy_keeps_suspended_says_so_and_goes_on_once_it_is_lifted() -> None:
    world = TrainWorld()
    world.install_runtime()
    policy = Policy(world, JOBSETS, suspend)
    world.train()
    world.run(world.is_so("Created", "False"), "it is told")
    (told,) = items(world.trainjob, "status", "conditions")
    assert "JobSet ml/train: spec.suspend stays true" in text(told, "message")
    policy.is_on = False
    world.run(world.is_so("Complete"), "the job is complete")
