"""Acts besides those of an attempt: the head's Service, looking for a RayCluster, what goes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from jobledger.adapters.kinds.rayjob.acting.attempt_names import AttemptNames
from jobledger.adapters.kinds.rayjob.acting.effects import act
from jobledger.adapters.service.effects.context import Done, SomebodyElses, World
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.errors import ClusterUnreachable, ObjectChanged, ObjectNotFound
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect
from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS, SERVICES, VOLCANO_POD_GROUPS
from jobledger.core.rayjob.names import LEADS_TO, cluster_name
from jobledger.core.values.documents import Manifest, child, items, text
from tests.adapters.service.parts import JOB_ID, NAMES, Bench, a_rayjob
from tests.adapters.service.test_acts import make, uid_of
from tests.rules.rayjob.jobs import CLUSTER_SPEC

SERVICE = "train-head-svc"
CREATE, UPDATE = EffectKind.CREATE_SERVICE, EffectKind.UPDATE_SERVICE


def do(bench: Bench, job: CachedJob, effect: OpenEffect, names: AttemptNames = NAMES) -> Done:
    return act(bench.context().world, job, effect, names)


def leads_to(service: Manifest | None) -> str:
    return text(service, "spec", "selector", "ray.io/cluster")


def attempt_of(bench: Bench, job: CachedJob, kind: EffectKind, number: int) -> OpenEffect:
    effect = bench.effect(job, kind, SERVICE)
    return OpenEffect(
        effect_id=effect.effect_id, attempt=number, desired=effect.desired, digest=effect.digest
    )


def name_of(job: CachedJob, attempt: int) -> str:
    return cluster_name("train", job.identity.uid, attempt)


def test_the_service_is_made_once_and_found_the_second_time() -> None:
    bench = Bench()
    job = bench.job()
    first = do(bench, job, attempt_of(bench, job, CREATE, 1))
    again = do(bench, job, attempt_of(bench, job, CREATE, 1))
    made = bench.cluster.get(SERVICES, "ml", SERVICE)
    assert made is not None
    assert leads_to(made) == name_of(job, 1)
    assert (first.already, again.already, again.uid) == (False, True, uid_of(made))
    assert items(made, "metadata", "ownerReferences")


@pytest.mark.parametrize("kind", [CREATE, UPDATE])
def test_the_service_leads_to_the_next_attempts_head_and_keeps_its_address(
    kind: EffectKind,
) -> None:
    """CREATE meets an older one where the answer to its making was lost."""
    bench = Bench()
    job = bench.job()
    do(bench, job, attempt_of(bench, job, CREATE, 1))
    address = text(bench.cluster.get(SERVICES, "ml", SERVICE), "spec", "clusterIP")
    done = do(bench, job, attempt_of(bench, job, kind, 2))
    found = bench.cluster.get(SERVICES, "ml", SERVICE)
    assert (done.already, leads_to(found)) == (False, name_of(job, 2))
    assert text(found, "spec", "clusterIP") == address != ""


@pytest.mark.parametrize("since", ["nothing", "changed", "deleted", "another's"])
def test_a_service_of_this_process_is_led_on_unseen_unless_it_is_another_since(since: str) -> None:
    bench = Bench()
    job = bench.job()
    world = bench.context().world
    act(world, job, attempt_of(bench, job, CREATE, 1), NAMES)
    if since == "changed":
        bench.cluster.edit(SERVICES, "ml", SERVICE, status={"loadBalancer": {}})
    elif since != "nothing":
        bench.cluster.delete(SERVICES, "ml", SERVICE)
    if since == "another's":
        make(bench, SERVICES, SERVICE, owner="of a RayCluster")
        with pytest.raises(SomebodyElses):
            act(world, job, attempt_of(bench, job, UPDATE, 2), NAMES)
        return
    done = act(world, job, attempt_of(bench, job, UPDATE, 2), NAMES)
    if since == "deleted":  # to make it is another effect
        assert (done.gone, done.already) == (True, True)
        done = act(world, job, attempt_of(bench, job, CREATE, 2), NAMES)
    found = bench.cluster.get(SERVICES, "ml", SERVICE)
    assert (leads_to(found), done.uid) == (name_of(job, 2), uid_of(found or {}))


@dataclass
class Line:
    """A line to the API server on which requests are lost to who sent them, and arrive late."""

    cluster: Any
    silent: str = ""
    """The method whose requests are on their way."""
    late: list[Callable[[], Manifest]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 any method
        method = getattr(self.cluster, name)
        if name != self.silent:
            return method

        def held(*said: Any) -> Manifest:  # noqa: ANN401 any request
            self.late.append(lambda: method(*said))
            raise ClusterUnreachable("no answer in time")

        return held


def two_worlds(bench: Bench) -> tuple[Line, World, World]:
    """Return a line, a replica behind it, and one with a good line."""
    good = bench.context().world
    line = Line(bench.cluster)
    return line, World(line, good.ray, good.live, good.mapper, good.kinds), good


def test_a_service_is_led_on_again_and_again_without_a_look() -> None:
    bench = Bench()
    job = bench.job()
    line, world, _ = two_worlds(bench)
    act(world, job, attempt_of(bench, job, CREATE, 1), NAMES)
    line.silent = "get"
    for attempt in (2, 3, 4):
        act(world, job, attempt_of(bench, job, UPDATE, attempt), NAMES)
    assert line.late == []
    assert leads_to(bench.cluster.get(SERVICES, "ml", SERVICE)) == name_of(job, 4)


@pytest.mark.parametrize("meanwhile", ["another replica", "its sender"])
def test_a_request_that_arrives_late_does_not_lead_a_service_back(meanwhile: str) -> None:
    bench = Bench()
    job = bench.job()
    line, zombie, other = two_worlds(bench)
    act(zombie, job, attempt_of(bench, job, CREATE, 1), NAMES)
    line.silent = "merge_patch"
    with pytest.raises(ClusterUnreachable):
        act(zombie, job, attempt_of(bench, job, UPDATE, 2), NAMES)
    line.silent = ""
    world = other if meanwhile == "another replica" else zombie
    act(world, job, attempt_of(bench, job, UPDATE, 2), NAMES)
    act(world, job, attempt_of(bench, job, UPDATE, 3), NAMES)
    with pytest.raises(ObjectChanged):
        line.late[0]()
    assert leads_to(bench.cluster.get(SERVICES, "ml", SERVICE)) == name_of(job, 3)


@pytest.mark.parametrize("knows", [True, False])
@pytest.mark.parametrize("kind", [CREATE, UPDATE])
def test_who_wakes_up_does_not_lead_a_service_back(kind: EffectKind, *, knows: bool) -> None:
    """Not in the try in which it slept: the next is for the lease to forbid."""
    bench = Bench()
    job = bench.job()
    _, zombie, successor = two_worlds(bench)
    if knows:
        act(zombie, job, attempt_of(bench, job, CREATE, 1), NAMES)
    act(successor, job, attempt_of(bench, job, CREATE, 1), NAMES)
    act(successor, job, attempt_of(bench, job, UPDATE, 3), NAMES)
    found = act(zombie, job, attempt_of(bench, job, kind, 2), NAMES)
    assert (found.already, found.sent) == (True, {LEADS_TO: name_of(job, 3)})
    assert leads_to(bench.cluster.get(SERVICES, "ml", SERVICE)) == name_of(job, 3)


def test_a_service_that_leads_elsewhere_is_led_back_at_the_next_try() -> None:
    """As one that somebody has edited."""
    bench = Bench()
    job = bench.job()
    world = bench.context().world
    act(world, job, attempt_of(bench, job, CREATE, 1), NAMES)
    elsewhere: dict[str, Any] = {"spec": {"selector": {"ray.io/cluster": "elsewhere"}}}
    bench.cluster.merge_patch(SERVICES, "ml", SERVICE, elsewhere)
    effect = attempt_of(bench, job, UPDATE, 2)
    assert act(world, job, effect, NAMES).sent == {LEADS_TO: "elsewhere"}
    assert not act(world, job, effect, NAMES).already
    assert leads_to(bench.cluster.get(SERVICES, "ml", SERVICE)) == name_of(job, 2)


def test_a_service_that_somebody_deleted_is_found_gone_and_made_by_another_effect() -> None:
    bench = Bench()
    job = bench.job()
    done = do(bench, job, attempt_of(bench, job, UPDATE, 2))
    assert (done.gone, bench.cluster.get(SERVICES, "ml", SERVICE)) == (True, None)
    do(bench, job, attempt_of(bench, job, CREATE, 2))
    assert leads_to(bench.cluster.get(SERVICES, "ml", SERVICE)) == name_of(job, 2)


@pytest.mark.parametrize("kind", [CREATE, UPDATE])
def test_a_service_of_somebody_else_is_left_alone(kind: EffectKind) -> None:
    """As that of a RayCluster that is called as the RayJob is."""
    bench = Bench()
    job = bench.job()
    there = make(bench, SERVICES, SERVICE, owner="of a RayCluster")
    with pytest.raises(SomebodyElses):
        do(bench, job, attempt_of(bench, job, kind, 1))
    assert bench.cluster.get(SERVICES, "ml", SERVICE) == there


def test_a_job_that_was_taken_over_has_its_service_lead_to_the_raycluster_it_came_with() -> None:
    """By the state: what the object's status names may be older, or somebody else's."""
    bench = Bench()
    made = bench.cluster.create(RAYJOBS, a_rayjob())
    job = bench.see({**made, "status": {"rayClusterName": "train-of-the-status"}})
    theirs = AttemptNames(number=1, cluster="train-theirs", job_id=JOB_ID)
    act(bench.context().world, job, attempt_of(bench, job, CREATE, 1), theirs)
    assert leads_to(bench.cluster.get(SERVICES, "ml", SERVICE)) == "train-theirs"


def test_a_selected_raycluster_is_looked_for_by_name() -> None:
    bench = Bench()
    job = bench.job()
    effect = bench.effect(job, EffectKind.FIND_CLUSTER, "shared")
    with pytest.raises(ObjectNotFound, match="RayCluster ml/shared is not found"):
        do(bench, job, effect)
    there = make(bench, RAYCLUSTERS, "shared")
    assert do(bench, job, effect) == Done(uid=uid_of(there), already=True)


def a_cluster(bench: Bench, owner: str) -> Manifest:
    made = make(bench, RAYCLUSTERS, "train-x2x2x", owner=owner)
    patch: dict[str, Any] = {"spec": CLUSTER_SPEC}
    return bench.cluster.merge_patch(RAYCLUSTERS, "ml", text(made, "metadata", "name"), patch)


def suspended(bench: Bench) -> list[object]:
    found = bench.cluster.get(RAYCLUSTERS, "ml", "train-x2x2x")
    return [child(group).get("suspend") for group in items(found, "spec", "workerGroupSpecs")]


def test_worker_groups_are_suspended_once() -> None:
    bench = Bench()
    job = bench.job()
    made = a_cluster(bench, job.identity.uid)
    effect = bench.effect(job, EffectKind.SUSPEND_WORKERS, uid=uid_of(made))
    first = do(bench, job, effect)
    assert (first.already, suspended(bench)) == (False, [True])
    writes = len(bench.cluster.writes)
    assert do(bench, job, effect).already
    assert len(bench.cluster.writes) == writes
    found = bench.cluster.get(RAYCLUSTERS, "ml", "train-x2x2x")
    assert items(found, "spec", "workerGroupSpecs")[0] == {
        **CLUSTER_SPEC["workerGroupSpecs"][0],
        "suspend": True,
    }


@pytest.mark.parametrize("owner", ["", "of another"])
def test_worker_groups_of_a_raycluster_that_is_not_ours_are_left_alone(owner: str) -> None:
    bench = Bench()
    job = bench.job()
    a_cluster(bench, owner)
    effect = bench.effect(job, EffectKind.SUSPEND_WORKERS, uid="gone")
    assert do(bench, job, effect) == Done(uid="gone", gone=True, already=True)
    assert suspended(bench) == [None]


def test_the_rayjob_itself_is_deleted_and_no_other_of_its_name() -> None:
    bench = Bench()
    job = bench.job()
    effect = bench.effect(job, EffectKind.DELETE_JOB, "train", uid=job.identity.uid)
    assert do(bench, job, effect) == Done(uid=job.identity.uid)
    assert bench.cluster.get(RAYJOBS, "ml", "train") is None
    another = make(bench, RAYJOBS, "train")
    assert do(bench, job, effect).gone
    assert bench.cluster.get(RAYJOBS, "ml", "train") == another


def test_a_rayjob_whose_deletion_met_some_other_conflict_is_not_taken_for_gone() -> None:
    """An admission webhook may answer 409 as well: then it is there, and is deleted later."""
    bench = Bench()
    job = bench.job()

    def refused(*_: object, **__: object) -> None:
        raise ObjectChanged("a webhook says so")

    bench.cluster.delete = refused  # type: ignore[method-assign]  # a refusal
    with pytest.raises(ObjectChanged):
        do(bench, job, bench.effect(job, EffectKind.DELETE_JOB, "train", uid=job.identity.uid))


POD_GROUP = "ray-train-pg"
APPLY, CLEAR = EffectKind.APPLY_POD_GROUP, EffectKind.CLEAR_POD_GROUP


def members(bench: Bench) -> object:
    return child(bench.cluster.get(VOLCANO_POD_GROUPS, "ml", POD_GROUP), "spec").get("minMember")


def test_a_pod_group_is_made_once_and_emptied_in_the_end() -> None:
    bench = Bench()
    job = bench.job()
    first = do(bench, job, bench.effect(job, APPLY, POD_GROUP))
    assert (first.already, members(bench)) == (False, 2)
    assert do(bench, job, bench.effect(job, APPLY, POD_GROUP)).already
    do(bench, job, bench.effect(job, CLEAR, POD_GROUP))
    assert members(bench) == 0
    do(bench, job, bench.effect(job, APPLY, POD_GROUP))
    assert members(bench) == 2, "for the next attempt"


def test_a_pod_group_asks_for_what_is_left_of_the_raycluster() -> None:
    bench = Bench()
    job = bench.job()
    left_name = "train-x2x2x"
    names = AttemptNames(number=1, cluster=left_name)
    left = make(bench, RAYCLUSTERS, left_name, owner=job.identity.uid)
    workers = {"groupName": "w", "replicas": 3, "maxReplicas": 3, "template": {"spec": {}}}
    bench.cluster.edit(RAYCLUSTERS, "ml", left_name, spec={"workerGroupSpecs": [workers]})
    do(bench, job, bench.effect(job, APPLY, POD_GROUP))
    reduced = bench.effect(job, CLEAR, POD_GROUP, uid=text(left, "metadata", "uid"))
    do(bench, job, reduced, names)
    assert members(bench) == 4
    workers["suspend"] = True
    bench.cluster.edit(RAYCLUSTERS, "ml", left_name, spec={"workerGroupSpecs": [workers]})
    do(bench, job, reduced, names)
    assert members(bench) == 1
    bench.cluster.delete(RAYCLUSTERS, "ml", left_name, uid=reduced.desired.uid)
    do(bench, job, reduced, names)
    assert members(bench) == 0


def test_a_pod_group_that_is_gone_needs_no_emptying() -> None:
    bench = Bench()
    job = bench.job()
    assert do(bench, job, bench.effect(job, CLEAR, POD_GROUP)) == Done(gone=True, already=True)


def test_a_pod_group_of_somebody_else_is_left_alone() -> None:
    bench = Bench()
    job = bench.job()
    make(bench, VOLCANO_POD_GROUPS, POD_GROUP, owner="of another")
    with pytest.raises(SomebodyElses):
        do(bench, job, bench.effect(job, APPLY, POD_GROUP))
    assert members(bench) is None
