"""No TrainJob gets at an object that is not its own, on a real API server, by the whole service."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from jobledger.core.ports.cluster import (
    CONFIGMAPS,
    JOBSETS,
    POD_GROUPS,
    SECRETS,
    TRAINING_RUNTIMES,
    TRAINJOBS,
    VOLCANO_POD_GROUPS,
    Resource,
)
from jobledger.core.values.documents import Manifest, items, text
from tests.adapters.real_api.strangers import SECRET, StrangersWorld, accepted, path_of
from tests.adapters.real_api.whose import WHOSE, owners_of
from tests.support.api import eventually, own_namespace
from tests.support.apiserver import ApiServer

pytestmark = pytest.mark.apiserver

Document = dict[str, Any]
ENCODED = base64.b64encode(SECRET.encode()).decode()


def _pods(name: str) -> Document:
    container = {"name": name, "image": "busybox", "env": [{"name": "PASSWORD", "value": SECRET}]}
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


JOBSET: Document = {
    "managedBy": "kueue.x-k8s.io/multikueue",  # so that the JobSet controller leaves it alone
    "suspend": True,
    "replicatedJobs": [{"name": "theirs", "template": {"spec": {"template": _pods("theirs")}}}],
}
FOREIGN: dict[str, tuple[Resource, str, Document]] = {
    "JobSet": (JOBSETS, "train", {"spec": JOBSET}),
    "PodGroup": (POD_GROUPS, "train", {"spec": {"minMember": 77}}),
    "Volcano's PodGroup": (VOLCANO_POD_GROUPS, "train", {"spec": {"minMember": 77}}),
    "snapshot": (CONFIGMAPS, "train-runtime-snapshot", {"data": {"runtime": SECRET}}),
    "hosts": (CONFIGMAPS, "train-mpi-hostfile", {"data": {"theirs": SECRET}}),
    "keys": (SECRETS, "train-mpi-ssh-auth", {"stringData": {"theirs": SECRET}}),
}
"""Every object that is made for a TrainJob: kind, name, and what somebody else put there."""


def foreign(
    world: StrangersWorld, kind: str, owners: list[Document] | None = None
) -> tuple[Resource, str, Manifest]:
    """Have the stranger create an object of a name that the TrainJob needs."""
    resource, name, content = FOREIGN[kind]
    metadata = {"name": name, "ownerReferences": owners or []}
    return resource, name, world.place(resource, {"metadata": metadata, **content})


def runtime(name: str, scheduler: str) -> Document:
    """Return a runtime of an MPI job that is placed as a whole: every kind of object is made."""
    trainer = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    launcher = {"metadata": {"labels": trainer}, "spec": {"template": _mpi_pods()}}
    node = {"spec": {"template": _mpi_pods()}}
    jobs = [{"name": "launcher", "template": launcher}, {"name": "node", "template": node}]
    return {
        "apiVersion": TRAINING_RUNTIMES.api_version,
        "kind": TRAINING_RUNTIMES.kind,
        "metadata": {"name": name},
        "spec": {
            "mlPolicy": {"numNodes": 2, "mpi": {"mpiImplementation": "OpenMPI"}},
            "podGroupPolicy": {scheduler: {}},
            "template": {"spec": {"replicatedJobs": jobs}},
        },
    }


def _mpi_pods() -> Document:
    return {"spec": {"containers": [{"name": "node", "image": "busybox"}]}}


def trainjob(kind: str = "", **spec: object) -> Document:
    """Return a TrainJob as the tenant writes it, of a runtime for which objects of `kind` are made.

    No job has PodGroups of both groups.
    """
    name = "volcano" if kind.startswith("Volcano") else "mpi"
    return {
        "apiVersion": TRAINJOBS.api_version,
        "kind": TRAINJOBS.kind,
        "metadata": {"name": "train"},
        "spec": {"runtimeRef": {"kind": TRAINING_RUNTIMES.kind, "name": name}, **spec},
    }


@pytest.fixture
def world(api_server: ApiServer) -> Iterator[StrangersWorld]:
    """A namespace with a runtime, and the service."""
    admin = api_server.api()
    with own_namespace(admin) as api:
        for name, scheduler in (("mpi", "coscheduling"), ("volcano", "volcano")):
            accepted(api.create(path_of(TRAINING_RUNTIMES), runtime(name, scheduler)))
        yield StrangersWorld(server=api_server, api=api)
    admin.pool.clear()


def created(world: StrangersWorld, job: Manifest) -> str:
    """Return the status of the condition Created."""
    return text(world.condition_of(job, "Created"), "status")


def assert_refused(world: StrangersWorld, job: Manifest, kind: str, whose: str) -> None:
    """Assert that the condition says whose name is in the way, and how."""
    world.run(lambda: created(world, job) == "False", "the refusal")
    resource, name, _ = FOREIGN[kind]
    condition = world.condition_of(job, "Created")
    reason = "JobsBuildFailed" if kind == "snapshot" else "JobsCreationFailed"
    in_the_way = f"{resource.kind} {world.api.namespace}/{name} is in the way: {whose}"
    assert condition["reason"] == reason
    assert in_the_way in condition["message"]


def assert_untouched(
    world: StrangersWorld, resource: Resource, name: str, before: Manifest
) -> None:
    """Assert that an object is what it was, to the last byte."""
    assert world.now(resource, name) == before


@pytest.mark.parametrize("case", WHOSE)
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_not_its_own_is_left_alone_until_after_the_deadline(
    world: StrangersWorld, kind: str, case: str
) -> None:
    job, stream = world.submit(TRAINJOBS, trainjob(kind, activeDeadlineSeconds=30))
    resource, name, before = foreign(world, kind, owners_of(case, world.api, job))
    assert_refused(world, job, kind, WHOSE[case])
    told = world.explained(stream)
    assert f"{resource.kind} {world.api.namespace}/{name} is in the way: {WHOSE[case]}" in told
    world.pass_time(60)
    assert world.condition_of(job, "Failed")["reason"] == "DeadlineExceeded"
    world.run(lambda: world.is_over(stream), "everything to be done")
    assert_untouched(world, resource, name, before)
    everything = world.everything_told(job, stream)
    assert SECRET not in everything
    assert ENCODED not in everything


@pytest.mark.parametrize("kind", FOREIGN)
def test_the_job_goes_on_by_itself_once_the_name_is_free(world: StrangersWorld, kind: str) -> None:
    job, stream = world.submit(TRAINJOBS, trainjob(kind))
    resource, name, _ = foreign(world, kind)
    assert_refused(world, job, kind, "nobody owns it")
    events = len(world.store.read_stream(stream))
    world.pass_time(3600)
    assert len(world.store.read_stream(stream)) - events < 60, "each try waits longer"
    world.remove(resource, name)
    world.pass_time(400)
    world.run(lambda: created(world, job) == "True", "the objects")
    (owner,) = items(world.now(resource, name), "metadata", "ownerReferences")
    assert text(owner, "uid") == text(job, "metadata", "uid")


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_made_between_look_and_act_is_left_alone(world: StrangersWorld, kind: str) -> None:
    job, stream = world.submit(TRAINJOBS, trainjob(kind, activeDeadlineSeconds=30))
    resource, name, _ = FOREIGN[kind]
    made: list[Manifest] = []

    def before(verb: str, of: Resource, called: str) -> None:
        if (verb, of, called) == ("apply", resource, name) and not made:
            made.append(foreign(world, kind)[2])

    world.polled.before = before
    assert_refused(world, job, kind, "nobody owns it")
    world.pass_time(60)
    world.run(lambda: world.is_over(stream), "everything to be done")
    assert_untouched(world, resource, name, made[0])
    assert SECRET not in world.everything_told(job, stream)


def replaced(world: StrangersWorld, verb: str) -> list[Manifest]:
    """Have the JobSet deleted and made again by the stranger, right before the next such write."""
    made: list[Manifest] = []

    def before(sent: str, of: Resource, name: str) -> None:
        if (sent, of) == (verb, JOBSETS) and not made:
            assert world.api.delete(path_of(JOBSETS), name).code == 200
            eventually(lambda: not world.now(JOBSETS, name), "it is gone")
            made.append(foreign(world, "JobSet")[2])

    world.polled.before = before
    return made


def test_what_took_the_place_of_its_jobset_is_not_deleted(world: StrangersWorld) -> None:
    job, stream = world.submit(TRAINJOBS, trainjob(activeDeadlineSeconds=30))
    world.run(lambda: created(world, job) == "True", "the objects")
    made = replaced(world, "delete")
    world.pass_time(60)
    world.run(lambda: world.is_over(stream), "everything to be done")
    assert_untouched(world, JOBSETS, "train", made[0])
    assert SECRET not in world.everything_told(job, stream)


def test_what_took_the_place_of_its_jobset_is_not_applied_over(world: StrangersWorld) -> None:
    job, stream = world.submit(TRAINJOBS, trainjob(suspend=True))
    world.run(lambda: created(world, job) == "True", "the objects")
    made = replaced(world, "apply")
    world.api.merge(path_of(TRAINJOBS), "train", {"spec": {"suspend": False}})
    world.polled.is_stale = True
    assert_refused(world, job, "JobSet", "nobody owns it")
    assert_untouched(world, JOBSETS, "train", made[0])
    assert SECRET not in world.everything_told(job, stream)


def test_its_own_suspended_jobset_is_applied_again_over_what_others_put(
    world: StrangersWorld,
) -> None:
    """As upstream; by force, but only in the version that was just seen to be its own."""
    job, _ = world.submit(TRAINJOBS, trainjob(suspend=True))
    world.run(lambda: created(world, job) == "True", "the objects")
    world.api.merge(path_of(JOBSETS), "train", {"spec": {"suspend": False}})
    world.polled.is_stale = True
    world.run(lambda: world.now(JOBSETS, "train")["spec"]["suspend"] is True, "the suspension")
    assert created(world, job) == "True"


def test_a_jobset_left_behind_by_an_orphaning_deletion_is_refused_in_words(
    world: StrangersWorld,
) -> None:
    world.submit(TRAINJOBS, trainjob())
    world.run(lambda: bool(world.now(JOBSETS, "train")), "the objects")
    for kind in ("PodGroup", "snapshot", "hosts", "keys"):
        world.api.delete(path_of(FOREIGN[kind][0]), FOREIGN[kind][1])
    world.tenant.delete(path_of(TRAINJOBS), "train", propagationPolicy="Orphan")
    eventually(lambda: not items(world.now(JOBSETS, "train"), "metadata", "ownerReferences"), "it")
    eventually(lambda: not world.now(TRAINJOBS, "train"), "the TrainJob is gone")
    before = world.now(JOBSETS, "train")
    world.polled.is_stale = True
    job, _ = world.submit(TRAINJOBS, trainjob())
    whose = "nobody owns it, a job left it behind, as --cascade=orphan does. Delete it"
    assert_refused(world, job, "JobSet", whose)
    assert_untouched(world, JOBSETS, "train", before)
