"""No RayJob gets at an object that is not its own, on a real API server."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from jobledger.adapters.kinds.rayjob.watching.listeners import ChildKind, ChildListener
from jobledger.adapters.service.effects.context import SomebodyElses
from jobledger.core.errors import ObjectChanged
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    RAYCLUSTERS,
    RAYJOBS,
    SERVICES,
    VOLCANO_POD_GROUPS,
    Resource,
)
from jobledger.core.rayjob.manifests.gang_scheduling import pod_group_name
from jobledger.core.values.documents import Manifest, text
from tests.adapters.real_api.desk import Desk, desk_in
from tests.adapters.real_api.strangers import SECRET, StrangersWorld, accepted, path_of, tenants_of
from tests.adapters.real_api.whose import WHOSE, owners_of
from tests.support.api import Api, eventually, own_namespace, rayjob
from tests.support.apiserver import ApiServer

pytestmark = pytest.mark.apiserver

Document = dict[str, Any]
ADDRESS = "train-x2x2x-head-svc.ml.svc.cluster.local:8265"
CONTAINER: Document = {
    "name": "theirs",
    "image": "busybox",
    "env": [{"name": "PASSWORD", "value": SECRET}],
}
POD: Document = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
FOREIGN: dict[str, tuple[Resource, str, Document]] = {
    "RayCluster": (RAYCLUSTERS, "train-x2x2x", {"headGroupSpec": {"template": POD}}),
    "Job": (BATCH_JOBS, "train", {"managedBy": "example.com/nobody", "template": POD}),
    "Service": (SERVICES, "train-head-svc", {"selector": {"of": SECRET}, "ports": [{"port": 1}]}),
    "PodGroup": (VOLCANO_POD_GROUPS, pod_group_name("train"), {"minMember": 77}),
}
"""Every object that is made for a RayJob: kind, name, and what somebody else put there."""
CREATING = {
    "RayCluster": (EffectKind.CREATE_CLUSTER,),
    "Job": (EffectKind.CREATE_SUBMITTER,),
    "Service": (EffectKind.CREATE_SERVICE, EffectKind.UPDATE_SERVICE),
    "PodGroup": (EffectKind.APPLY_POD_GROUP,),
}
REMOVING = {
    "RayCluster": (EffectKind.DELETE_CLUSTER, EffectKind.SUSPEND_WORKERS),
    "Job": (EffectKind.DELETE_SUBMITTER,),
    "PodGroup": (EffectKind.CLEAR_POD_GROUP,),
}


@dataclass
class Place:
    """A namespace: the service's hands, and a stranger."""

    desk: Desk
    stranger: Api

    def foreign(self, kind: str, owners: list[Document] | None = None) -> Manifest:
        """Have the stranger create an object of a name that the RayJob needs."""
        resource, name, spec = FOREIGN[kind]
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        metadata = {"name": name, "ownerReferences": owners or []}
        made = {**head, "metadata": metadata, "spec": spec}
        return accepted(self.stranger.create(path_of(resource), made))

    def now(self, kind: str) -> Document:
        """Return the object as it is, empty if there is none."""
        resource, name, _ = FOREIGN[kind]
        reply = self.desk.api.get(path_of(resource), name)
        return dict(reply.body) if reply.code == 200 else {}

    def replace(self, kind: str) -> Manifest:
        """Have the object deleted and made again by the stranger."""
        resource, name, _ = FOREIGN[kind]
        assert self.desk.api.delete(path_of(resource), name).code in (200, 202)
        eventually(lambda: not self.now(kind), "it is gone")
        return self.foreign(kind)


@pytest.fixture
def place(api_server: ApiServer) -> Iterator[Place]:
    """The service's hands, with the rights of `ops/rbac.yaml`."""
    admin = api_server.api()
    with own_namespace(admin) as api:
        _, stranger = tenants_of(api)
        yield Place(desk_in(api_server, api), stranger)
    admin.pool.clear()


@pytest.mark.parametrize("case", WHOSE)
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_not_its_own_is_neither_adopted_nor_changed(
    place: Place, kind: str, case: str
) -> None:
    desk, (resource, name, _) = place.desk, FOREIGN[kind]
    job = desk.job()
    before = place.foreign(kind, owners_of(case, desk.api, job.manifest))
    for effect in CREATING[kind]:
        with pytest.raises(SomebodyElses) as refusal:
            desk.do(job, effect, name, address=ADDRESS)
        in_the_way = f"{resource.kind} {desk.api.namespace}/{name} is in the way: {WHOSE[case]}"
        assert str(refusal.value).startswith(in_the_way)
        assert SECRET not in str(refusal.value)
    assert place.now(kind) == before


@pytest.mark.parametrize("case", WHOSE)
@pytest.mark.parametrize("kind", REMOVING)
@pytest.mark.parametrize("knows_uid", [True, False])
def test_what_is_not_its_own_is_not_deleted(
    place: Place, kind: str, case: str, *, knows_uid: bool
) -> None:
    desk, job = place.desk, place.desk.job()
    before = place.foreign(kind, owners_of(case, desk.api, job.manifest))
    uid = text(before, "metadata", "uid") if knows_uid else ""
    for effect in REMOVING[kind]:
        assert desk.do(job, effect, FOREIGN[kind][1], uid=uid).gone
    assert place.now(kind) == before


@pytest.mark.parametrize("kind", ["RayCluster", "Job"])
def test_what_took_its_childs_place_between_look_and_act_is_not_deleted(
    place: Place, kind: str
) -> None:
    desk, job = place.desk, place.desk.job()
    name = FOREIGN[kind][1]
    made = desk.do(job, CREATING[kind][0], name, address=ADDRESS)
    watched: ChildKind = "RayCluster" if kind == "RayCluster" else "Job"
    ChildListener(desk.jobs._around, watched).seen(place.now(kind), desk.clock.now())  # noqa: SLF001 what a watch told
    before = place.replace(kind)
    assert desk.do(job, REMOVING[kind][0], name, uid=made.uid).gone
    assert place.now(kind) == before


@pytest.mark.parametrize(
    ("kind", "effect"),
    [
        ("RayCluster", EffectKind.SUSPEND_WORKERS),
        ("PodGroup", EffectKind.CLEAR_POD_GROUP),
        ("PodGroup", EffectKind.APPLY_POD_GROUP),
    ],
)
def test_what_took_its_childs_place_between_look_and_act_is_not_patched(
    place: Place, kind: str, effect: EffectKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    pods = {"groupName": "w", "replicas": 1, "minReplicas": 1, "maxReplicas": 1, "template": POD}
    spec = rayjob("train")["spec"]["rayClusterSpec"] | {"workerGroupSpecs": [pods]}
    desk, job = place.desk, place.desk.job(rayClusterSpec=spec)
    resource, name, _ = FOREIGN[kind]
    desk.do(job, CREATING[kind][0], name, address=ADDRESS)
    if kind == "PodGroup":  # somebody changes it, so that it is to be written
        accepted(desk.api.merge(path_of(resource), name, {"spec": {"minMember": 5}}))
    patch = desk.cluster.merge_patch
    placed: list[Manifest] = []

    def late(*given: Any, **more: Any) -> Manifest:  # noqa: ANN401 as the port
        placed.append(place.replace(kind))
        return patch(*given, **more)

    monkeypatch.setattr(desk.cluster, "merge_patch", late)
    with pytest.raises(ObjectChanged) as refusal:
        desk.do(job, effect, name)
    assert SECRET not in str(refusal.value)
    assert place.now(kind) == placed[0]


def test_the_job_says_whose_name_is_in_the_way_and_goes_on_once_it_is_free(
    api_server: ApiServer,
) -> None:
    admin = api_server.api()
    with own_namespace(admin) as api:
        world = StrangersWorld(server=api_server, api=api)
        spec = {"metadata": {"name": "train"}, "spec": FOREIGN["Job"][2]}
        before = world.place(BATCH_JOBS, spec)
        job, stream = world.submit(RAYJOBS, rayjob("train"))
        clusters = path_of(RAYCLUSTERS)
        world.run(lambda: bool(api.list(clusters).body["items"]), "the RayCluster")
        (made,) = api.list(clusters).body["items"]
        ready = {"status": {"state": "ready"}}
        accepted(api.merge(clusters, made["metadata"]["name"], ready, "status"))
        world.polled.is_stale = True
        in_the_way = f"Job {api.namespace}/train is in the way: nobody owns it. Delete it if"
        world.run(lambda: in_the_way in world.explained(stream), "the refusal")
        world.run(lambda: in_the_way in repr(world.now(RAYJOBS, "train")["status"]), "the status")
        told = "events.k8s.io/v1/events"
        world.run(lambda: in_the_way in repr(api.list(told).body), "the Kubernetes Event")
        assert world.now(BATCH_JOBS, "train") == before
        assert SECRET not in world.everything_told(job, stream)
        world.remove(BATCH_JOBS, "train")
        world.pass_time(400)
        uid = text(job, "metadata", "uid")
        world.run(lambda: uid in repr(world.now(BATCH_JOBS, "train")), "the submitter")
    admin.pool.clear()
