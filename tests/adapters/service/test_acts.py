"""Each effect, done for the first time, found done, and met by somebody else's object."""

from typing import Any

import pytest

from jobledger.adapters.kinds.rayjob.acting.effects import act
from jobledger.adapters.service.effects.context import Done, SomebodyElses, SupersededEffect
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.errors import ObjectChanged, ObjectExists, ObjectNotFound, RayJobRefused
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS, Resource
from jobledger.core.rayjob.names import FINALIZER
from jobledger.core.values.documents import Manifest, child, items, text
from tests.adapters.service.parts import JOB_ID, NAMES, SECRET, Bench
from tests.rules.rayjob.jobs import HEAD_ENV

ADDRESS = "train-head-svc.ml.svc.cluster.local:8265"
CREATIONS = [
    (EffectKind.CREATE_CLUSTER, RAYCLUSTERS, "train-x2x2x"),
    (EffectKind.CREATE_SUBMITTER, BATCH_JOBS, "train"),
]
DELETIONS = [
    (EffectKind.DELETE_CLUSTER, RAYCLUSTERS, "train-x2x2x"),
    (EffectKind.DELETE_SUBMITTER, BATCH_JOBS, "train"),
]


def do(bench: Bench, job: CachedJob, effect: OpenEffect) -> Done:
    return act(bench.context().world, job, effect, NAMES)


def finalizers(bench: Bench) -> list[object]:
    return list(items(bench.cluster.get(RAYJOBS, "ml", "train"), "metadata", "finalizers"))


def make(bench: Bench, resource: Resource, name: str, owner: str = "", **metadata: Any) -> Manifest:  # noqa: ANN401 any JSON
    reference = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "name": "another" if owner.startswith("of ") else "train",
        "controller": True,
        "uid": owner,
    }
    owners: dict[str, Any] = {"ownerReferences": [reference]} if owner else {}
    return bench.cluster.plant(
        resource, {"metadata": {"name": name, "namespace": "ml", **owners, **metadata}}
    )


def uid_of(manifest: Manifest) -> str:
    return text(manifest, "metadata", "uid")


@pytest.mark.parametrize(("kind", "resource", "name"), CREATIONS)
def test_an_object_is_created_once_and_found_the_second_time(
    kind: EffectKind, resource: Resource, name: str
) -> None:
    bench = Bench()
    job = bench.job()
    effect = bench.effect(job, kind, name, address=ADDRESS)
    first, again = do(bench, job, effect), do(bench, job, effect)
    made = bench.cluster.get(resource, "ml", name)
    assert made is not None
    assert (first.uid, first.already) == (uid_of(made), False)
    assert (again.uid, again.already) == (uid_of(made), True)
    assert len(bench.cluster.list(resource).items) == 1


@pytest.mark.parametrize(("kind", "resource", "name"), CREATIONS)
def test_an_object_of_that_name_that_is_not_ours_is_left_alone(
    kind: EffectKind, resource: Resource, name: str
) -> None:
    bench = Bench()
    job = bench.job()
    there = make(bench, resource, name, owner="of another")
    with pytest.raises(SomebodyElses):
        do(bench, job, bench.effect(job, kind, name, address=ADDRESS))
    assert bench.cluster.get(resource, "ml", name) == there


@pytest.mark.parametrize(("kind", "resource", "name"), CREATIONS)
def test_what_an_earlier_job_of_the_same_name_left_is_waited_for(
    kind: EffectKind, resource: Resource, name: str
) -> None:
    """The garbage collector is about to delete it, so nobody has to do anything."""
    bench = Bench()
    job = bench.job()
    there = make(bench, resource, name, owner="uid-of-an-earlier-one")
    with pytest.raises(ObjectExists, match="belongs to another RayJob train, which is gone"):
        do(bench, job, bench.effect(job, kind, name, address=ADDRESS))
    assert bench.cluster.get(resource, "ml", name) == there


@pytest.mark.parametrize(("kind", "resource", "name"), CREATIONS)
def test_our_own_object_on_its_way_out_is_waited_for(
    kind: EffectKind, resource: Resource, name: str
) -> None:
    bench = Bench()
    job = bench.job()
    make(bench, resource, name, owner=job.identity.uid, finalizers=["x/y"])
    bench.cluster.delete(resource, "ml", name)
    with pytest.raises(ObjectExists):
        do(bench, job, bench.effect(job, kind, name, address=ADDRESS))


@pytest.mark.parametrize(("kind", "resource", "name"), CREATIONS)
def test_what_was_sent_is_told_without_secrets(
    kind: EffectKind, resource: Resource, name: str
) -> None:
    bench = Bench()
    job = bench.job(
        {HEAD_ENV: [{"name": "TOKEN", "value": SECRET}]},
        runtimeEnvYAML=f"env_vars: {{TOKEN: {SECRET}}}",
    )
    done = do(bench, job, bench.effect(job, kind, name, address=ADDRESS))
    assert SECRET in repr(bench.cluster.get(resource, "ml", name))
    assert text(done.sent, "metadata", "name") == name
    assert SECRET not in repr(done)


@pytest.mark.parametrize(
    "kind",
    [EffectKind.CREATE_CLUSTER, EffectKind.CREATE_SUBMITTER, EffectKind.SUBMIT_ENTRYPOINT],
)
def test_what_was_decided_on_another_specification_is_not_sent(kind: EffectKind) -> None:
    bench = Bench()
    effect = bench.effect(bench.job(), kind, "train", address=ADDRESS)
    bench.ray.start_head(ADDRESS)
    spec = child(bench.cluster.get(RAYJOBS, "ml", "train"), "spec")
    changed = bench.see(
        bench.cluster.edit(RAYJOBS, "ml", "train", spec={**spec, "entrypoint": "python other.py"})
    )
    with pytest.raises(SupersededEffect):
        do(bench, changed, effect)
    written = [plural for verb, plural, _ in bench.cluster.writes if verb == "create"]
    assert written == ["rayjobs"]


@pytest.mark.parametrize(("kind", "resource", "name"), DELETIONS)
def test_the_very_object_is_deleted(kind: EffectKind, resource: Resource, name: str) -> None:
    bench = Bench()
    job = bench.job()
    uid = uid_of(make(bench, resource, name, owner=job.identity.uid))
    done = do(bench, job, bench.effect(job, kind, name, uid=uid))
    assert bench.cluster.get(resource, "ml", name) is None
    assert (done.uid, done.gone) == (uid, False)
    again = do(bench, job, bench.effect(job, kind, name, uid=uid))
    assert (again.uid, again.gone, again.already) == (uid, True, True)


@pytest.mark.parametrize(("kind", "resource", "name"), DELETIONS)
def test_another_object_of_the_same_name_is_never_deleted(
    kind: EffectKind, resource: Resource, name: str
) -> None:
    bench = Bench()
    job = bench.job()
    there = make(bench, resource, name, owner=job.identity.uid)
    done = do(bench, job, bench.effect(job, kind, name, uid="of the first"))
    assert (done.gone, done.already) == (True, True)
    assert bench.cluster.get(resource, "ml", name) == there


@pytest.mark.parametrize(("kind", "resource", "name"), DELETIONS)
def test_an_object_that_changed_under_its_name_since_the_watch_told_is_not_deleted(
    kind: EffectKind, resource: Resource, name: str
) -> None:
    bench = Bench()
    job = bench.job()
    old = make(bench, resource, name, owner=job.identity.uid)
    listener = bench.clusters if resource is RAYCLUSTERS else bench.submitters
    listener.seen(old, bench.clock.now())
    bench.cluster.delete(resource, "ml", name)
    there = make(bench, resource, name, owner=job.identity.uid)
    done = do(bench, job, bench.effect(job, kind, name, uid=uid_of(old)))
    assert (done.uid, done.gone) == (uid_of(old), True)
    assert bench.cluster.get(resource, "ml", name) == there


@pytest.mark.parametrize(("kind", "resource", "name"), DELETIONS)
def test_an_object_that_is_not_ours_is_not_deleted_by_its_uid_either(
    kind: EffectKind, resource: Resource, name: str
) -> None:
    bench = Bench()
    job = bench.job()
    there = make(bench, resource, name, owner="another")
    done = do(bench, job, bench.effect(job, kind, name, uid=uid_of(there)))
    assert (done.uid, done.gone) == (uid_of(there), True)
    assert bench.cluster.get(resource, "ml", name) == there


@pytest.mark.parametrize(("kind", "resource", "name"), DELETIONS)
@pytest.mark.parametrize("owner", ["nobody", "another", "us"])
def test_an_object_whose_uid_nobody_knows_is_deleted_only_if_it_is_ours(
    kind: EffectKind, resource: Resource, name: str, owner: str
) -> None:
    bench = Bench()
    job = bench.job()
    if owner != "nobody":
        make(bench, resource, name, owner=job.identity.uid if owner == "us" else owner)
    done = do(bench, job, bench.effect(job, kind, name))
    assert done.gone is (owner != "us")
    assert (bench.cluster.get(resource, "ml", name) is not None) is (owner == "another")


def test_the_finalizer_is_added_and_taken_away_beside_those_of_others() -> None:
    bench = Bench()
    job = bench.job({"metadata.finalizers": ["x/y"]})
    add = bench.effect(job, EffectKind.ADD_FINALIZER, "rayjob")
    assert not do(bench, job, add).already
    assert finalizers(bench) == ["x/y", FINALIZER]
    job = bench.see(bench.cluster.get(RAYJOBS, "ml", "train") or {})
    assert do(bench, job, add).already
    remove = bench.effect(job, EffectKind.REMOVE_FINALIZER, "rayjob")
    assert not do(bench, job, remove).already
    assert finalizers(bench) == ["x/y"]
    job = bench.see(bench.cluster.get(RAYJOBS, "ml", "train") or {})
    assert do(bench, job, remove).already


def test_a_finalizer_that_somebody_added_meanwhile_is_kept() -> None:
    bench = Bench()
    job = bench.job()
    metadata: dict[str, Any] = {**child(bench.cluster.get(RAYJOBS, "ml", "train"), "metadata")}
    bench.cluster.edit(RAYJOBS, "ml", "train", metadata={**metadata, "finalizers": ["x/y"]})
    do(bench, job, bench.effect(job, EffectKind.ADD_FINALIZER, "rayjob"))
    assert finalizers(bench) == ["x/y", FINALIZER]


def test_a_finalizer_that_was_added_to_a_version_not_seen_yet_lets_no_status_be_written() -> None:
    """Else what somebody has shown meanwhile would be overwritten by who has not seen it."""
    bench = Bench()
    job = bench.job()
    ended: dict[str, Any] = {"jobDeploymentStatus": "Failed"}
    bench.cluster.edit(RAYJOBS, "ml", "train", status=ended)
    do(bench, job, bench.effect(job, EffectKind.ADD_FINALIZER, "rayjob"))
    assert finalizers(bench) == [FINALIZER]
    known = bench.live.job(job.identity.uid)
    assert known is not None
    assert known.version == job.version


def test_the_finalizer_of_an_object_that_is_gone_is_gone_with_it() -> None:
    bench = Bench()
    job = bench.job({"metadata.finalizers": [FINALIZER]})
    remove = bench.effect(job, EffectKind.REMOVE_FINALIZER, "rayjob")
    do(bench, job, remove)
    bench.cluster.delete(RAYJOBS, "ml", "train")
    assert do(bench, job, remove).gone
    with pytest.raises(ObjectNotFound):
        do(bench, bench_without_finalizer(bench, job), bench.effect(job, EffectKind.ADD_FINALIZER))


def bench_without_finalizer(bench: Bench, job: CachedJob) -> CachedJob:
    metadata: dict[str, Any] = {**child(job.manifest, "metadata"), "resourceVersion": "999"}
    metadata.pop("finalizers")
    return bench.see({**job.manifest, "metadata": metadata})


def test_the_finalizers_of_another_object_of_that_name_are_not_touched() -> None:
    bench = Bench()
    job = bench.job()
    bench.cluster.delete(RAYJOBS, "ml", "train")
    bench.job()
    assert do(bench, job, bench.effect(job, EffectKind.ADD_FINALIZER)).gone
    assert finalizers(bench) == []


def test_a_finalizer_that_changes_all_the_time_is_tried_again_later() -> None:
    bench = Bench()
    job = bench.job()
    get = bench.cluster.get

    def restless(resource: Resource, namespace: str, name: str) -> Manifest | None:
        found = get(resource, namespace, name)
        bench.cluster.edit(RAYJOBS, "ml", "train", extra=len(bench.cluster.writes))
        return found

    bench.cluster.get = restless  # type: ignore[method-assign]  # somebody always writes in between
    restless(RAYJOBS, "ml", "train")
    with pytest.raises(ObjectChanged):
        do(bench, job, bench.effect(job, EffectKind.ADD_FINALIZER))


def test_an_entrypoint_is_submitted_once_and_stopped_once() -> None:
    bench = Bench()
    bench.ray.start_head(ADDRESS)
    job = bench.job(submissionMode="HTTPMode", runtimeEnvYAML=f"env_vars: {{T: {SECRET}}}")
    submit = bench.effect(job, EffectKind.SUBMIT_ENTRYPOINT, JOB_ID, address=ADDRESS)
    stop = bench.effect(job, EffectKind.STOP_ENTRYPOINT, JOB_ID, address=ADDRESS)
    assert do(bench, job, stop).already, "the head does not know it"
    done = do(bench, job, submit)
    do(bench, job, submit)
    assert bench.ray.submission(ADDRESS, JOB_ID).runtime_env == {"env_vars": {"T": SECRET}}
    assert (text(done.sent, "submission_id"), SECRET in repr(done)) == (JOB_ID, False)
    do(bench, job, stop)
    assert bench.ray.info(ADDRESS, JOB_ID).status == "STOPPED"


def test_what_the_head_refuses_is_refused() -> None:
    bench = Bench()
    bench.ray.start_head(ADDRESS)
    job = bench.job(submissionMode="HTTPMode")
    with pytest.raises(RayJobRefused):
        do(bench, job, bench.effect(job, EffectKind.SUBMIT_ENTRYPOINT, "a/b", address=ADDRESS))
