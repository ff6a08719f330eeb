"""What every implementation of the port `core.ports.cluster.Cluster` does."""

from collections.abc import Iterator
from typing import Any

import pytest

from jobledger.core.errors import ObjectChanged, ObjectExists, ObjectNotFound, RequestInvalid
from jobledger.core.ports.cluster import CONFIGMAPS, NAMESPACES, RAYJOBS, Cluster
from jobledger.core.values.documents import Manifest, child, items, text
from tests.contracts.cluster_worlds import WORLDS, ClusterWorld

OTHER_UID = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> Iterator[ClusterWorld]:
    with request.param(request) as running:
        yield running


@pytest.fixture
def cluster(world: ClusterWorld) -> Cluster:
    return world.cluster


def config_map(world: ClusterWorld, name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": world.namespace, "name": name, "labels": {"part": name[0]}},
        "data": data,
    }


def rayjob(world: ClusterWorld, name: str = "job") -> dict[str, Any]:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"namespace": world.namespace, "name": name},
        "spec": {"entrypoint": "python train.py"},
    }


def version_of(manifest: Manifest | None) -> str:
    return text(manifest, "metadata", "resourceVersion")


def test_a_created_object_can_be_read(world: ClusterWorld, cluster: Cluster) -> None:
    made = cluster.create(CONFIGMAPS, config_map(world, "a", key="value"))
    found = cluster.get(CONFIGMAPS, world.namespace, "a")
    assert found == made
    assert (text(made, "kind"), text(made, "apiVersion")) == ("ConfigMap", "v1")
    assert child(made, "data") == {"key": "value"}
    assert text(made, "metadata", "uid")
    assert version_of(made)


def test_a_custom_object_can_be_created(world: ClusterWorld, cluster: Cluster) -> None:
    made = cluster.create(RAYJOBS, rayjob(world))
    assert text(made, "spec", "entrypoint") == "python train.py"
    assert cluster.get(RAYJOBS, world.namespace, "job") == made


def test_a_name_is_given_once(world: ClusterWorld, cluster: Cluster) -> None:
    cluster.create(CONFIGMAPS, config_map(world, "a", first="1"))
    with pytest.raises(ObjectExists):
        cluster.create(CONFIGMAPS, config_map(world, "a", second="2"))
    found = cluster.get(CONFIGMAPS, world.namespace, "a")
    assert child(found, "data") == {"first": "1"}


def test_what_is_not_there_is_none(world: ClusterWorld, cluster: Cluster) -> None:
    assert cluster.get(CONFIGMAPS, world.namespace, "a") is None
    assert cluster.get(RAYJOBS, "no-such-namespace", "a") is None
    assert cluster.get(NAMESPACES, "", "no-such-namespace") is None


def test_nothing_is_created_in_a_namespace_that_is_not_there(
    world: ClusterWorld, cluster: Cluster
) -> None:
    manifest = config_map(world, "a")
    manifest["metadata"]["namespace"] = "no-such-namespace"
    with pytest.raises(ObjectNotFound):
        cluster.create(CONFIGMAPS, manifest)


def test_an_invalid_object_is_refused(world: ClusterWorld, cluster: Cluster) -> None:
    with pytest.raises(RequestInvalid, match="Not A Name"):
        cluster.create(CONFIGMAPS, config_map(world, "Not A Name"))
    wrong = rayjob(world)
    wrong["spec"]["backoffLimit"] = "many"
    with pytest.raises(RequestInvalid, match="backoffLimit"):
        cluster.create(RAYJOBS, wrong)


def test_a_replacement_needs_the_newest_version(world: ClusterWorld, cluster: Cluster) -> None:
    old = cluster.create(CONFIGMAPS, config_map(world, "a", key="1"))
    new = cluster.replace(CONFIGMAPS, {**old, "data": {"key": "2"}})
    assert version_of(new) != version_of(old)
    with pytest.raises(ObjectChanged):
        cluster.replace(CONFIGMAPS, {**old, "data": {"key": "3"}})
    assert child(cluster.get(CONFIGMAPS, world.namespace, "a"), "data") == {"key": "2"}


def test_what_is_not_there_cannot_be_replaced_or_patched(
    world: ClusterWorld, cluster: Cluster
) -> None:
    with pytest.raises(ObjectNotFound):
        cluster.replace(RAYJOBS, {**rayjob(world), "status": {}}, subresource="status")
    with pytest.raises(ObjectNotFound):
        cluster.merge_patch(CONFIGMAPS, world.namespace, "a", {"data": {"x": "y"}})


def test_the_status_is_written_by_itself(world: ClusterWorld, cluster: Cluster) -> None:
    made = cluster.create(RAYJOBS, {**rayjob(world), "status": {"jobStatus": "RUNNING"}})
    assert not child(made, "status").get("jobStatus")
    changed: dict[str, Any] = {
        **made,
        "spec": {"entrypoint": "another"},
        "status": {"jobStatus": "PENDING"},
    }
    written = cluster.replace(RAYJOBS, changed, subresource="status")
    assert text(written, "status", "jobStatus") == "PENDING"
    assert text(written, "spec", "entrypoint") == "python train.py"


def test_a_merge_patch_sets_and_removes(world: ClusterWorld, cluster: Cluster) -> None:
    cluster.create(CONFIGMAPS, config_map(world, "a", keep="1", drop="2"))
    patch: Manifest = {"data": {"drop": None, "new": "3"}}
    patched = cluster.merge_patch(CONFIGMAPS, world.namespace, "a", patch)
    assert child(patched, "data") == {"keep": "1", "new": "3"}


def test_a_merge_patch_can_write_the_status(world: ClusterWorld, cluster: Cluster) -> None:
    cluster.create(RAYJOBS, rayjob(world))
    patch: Manifest = {"status": {"jobStatus": "PENDING"}}
    patched = cluster.merge_patch(RAYJOBS, world.namespace, "job", patch, subresource="status")
    assert text(patched, "status", "jobStatus") == "PENDING"


def test_a_merge_patch_may_have_preconditions(world: ClusterWorld, cluster: Cluster) -> None:
    old = cluster.create(CONFIGMAPS, config_map(world, "a", key="1"))
    fresh: Manifest = {"metadata": {"resourceVersion": version_of(old)}, "data": {"key": "2"}}
    cluster.merge_patch(CONFIGMAPS, world.namespace, "a", fresh)
    with pytest.raises(ObjectChanged):
        cluster.merge_patch(CONFIGMAPS, world.namespace, "a", fresh)
    another: Manifest = {"metadata": {"uid": OTHER_UID}, "data": {"key": "3"}}
    with pytest.raises(ObjectChanged):
        cluster.merge_patch(CONFIGMAPS, world.namespace, "a", another)
    assert child(cluster.get(CONFIGMAPS, world.namespace, "a"), "data") == {"key": "2"}


def test_a_patch_that_changes_nothing_makes_no_new_version(
    world: ClusterWorld, cluster: Cluster
) -> None:
    made = cluster.create(CONFIGMAPS, config_map(world, "a", key="1"))
    patched = cluster.merge_patch(CONFIGMAPS, world.namespace, "a", {"data": {"key": "1"}})
    assert version_of(patched) == version_of(made)


def test_an_apply_creates_and_changes(world: ClusterWorld, cluster: Cluster) -> None:
    first = config_map(world, "a", ours="1", dropped="1")
    made = cluster.apply(CONFIGMAPS, first, field_manager="us")
    again = cluster.apply(CONFIGMAPS, first, field_manager="us")
    assert version_of(again) == version_of(made)
    changed = cluster.apply(CONFIGMAPS, config_map(world, "a", ours="2"), field_manager="us")
    assert child(changed, "data") == {"ours": "2"}, "what is no longer applied is removed"


def test_an_apply_takes_the_fields_of_others_and_leaves_the_rest(
    world: ClusterWorld, cluster: Cluster
) -> None:
    cluster.create(CONFIGMAPS, config_map(world, "a", contested="theirs", kept="theirs"))
    applied = cluster.apply(
        CONFIGMAPS, config_map(world, "a", contested="ours"), field_manager="us", force=True
    )
    assert child(applied, "data") == {"contested": "ours", "kept": "theirs"}


def test_an_apply_at_a_version_that_no_object_has_only_creates(
    world: ClusterWorld, cluster: Cluster
) -> None:
    """What the acts of TrainJobs rest on: the look and the act cannot be split."""
    new = config_map(world, "a", key="1")
    nowhere: Manifest = {**new, "metadata": {**child(new, "metadata"), "resourceVersion": "1"}}
    made = cluster.apply(CONFIGMAPS, nowhere, field_manager="us")
    for force in (False, True):
        with pytest.raises(ObjectChanged):
            cluster.apply(CONFIGMAPS, nowhere, field_manager="us", force=force)
    assert version_of(cluster.get(CONFIGMAPS, world.namespace, "a") or {}) == version_of(made)


def test_an_apply_holds_for_the_very_object_and_version_it_names(
    world: ClusterWorld, cluster: Cluster
) -> None:
    first = cluster.create(CONFIGMAPS, config_map(world, "a", key="1"))
    cluster.delete(CONFIGMAPS, world.namespace, "a")

    def at(manifest: Manifest, *fields: str) -> Manifest:
        named = {field: text(manifest, "metadata", field) for field in fields}
        new = config_map(world, "a", key="2")
        return {**new, "metadata": {**child(new, "metadata"), **named}}

    with pytest.raises(ObjectChanged):
        cluster.apply(CONFIGMAPS, at(first, "uid"), field_manager="us", force=True)
    second = cluster.create(CONFIGMAPS, config_map(world, "a", key="1"))
    for fields in (("uid",), ("resourceVersion",), ("uid", "resourceVersion")):
        with pytest.raises(ObjectChanged):
            cluster.apply(CONFIGMAPS, at(first, *fields), field_manager="us", force=True)
    both = at(second, "uid", "resourceVersion")
    applied = cluster.apply(CONFIGMAPS, both, field_manager="us", force=True)
    assert child(applied, "data") == {"key": "2"}


def test_an_apply_can_write_the_status(world: ClusterWorld, cluster: Cluster) -> None:
    cluster.create(RAYJOBS, rayjob(world))
    status: Manifest = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"namespace": world.namespace, "name": "job"},
        "status": {"jobStatus": "PENDING"},
    }
    applied = cluster.apply(RAYJOBS, status, field_manager="us", subresource="status")
    assert text(applied, "status", "jobStatus") == "PENDING"
    assert text(applied, "spec", "entrypoint") == "python train.py"


def test_a_deleted_object_is_gone_and_deleting_again_is_success(
    world: ClusterWorld, cluster: Cluster
) -> None:
    cluster.create(CONFIGMAPS, config_map(world, "a"))
    cluster.delete(CONFIGMAPS, world.namespace, "a")
    assert cluster.get(CONFIGMAPS, world.namespace, "a") is None
    cluster.delete(CONFIGMAPS, world.namespace, "a")
    cluster.delete(CONFIGMAPS, world.namespace, "a", uid=OTHER_UID)


def test_only_the_object_that_is_meant_is_deleted(world: ClusterWorld, cluster: Cluster) -> None:
    made = cluster.create(CONFIGMAPS, config_map(world, "a"))
    with pytest.raises(ObjectChanged):
        cluster.delete(CONFIGMAPS, world.namespace, "a", uid=OTHER_UID)
    assert cluster.get(CONFIGMAPS, world.namespace, "a") == made
    cluster.delete(CONFIGMAPS, world.namespace, "a", uid=text(made, "metadata", "uid"))
    assert cluster.get(CONFIGMAPS, world.namespace, "a") is None


def test_a_finalizer_holds_an_object(world: ClusterWorld, cluster: Cluster) -> None:
    manifest = config_map(world, "a")
    manifest["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create(CONFIGMAPS, manifest)
    cluster.delete(CONFIGMAPS, world.namespace, "a")
    held = cluster.get(CONFIGMAPS, world.namespace, "a")
    assert text(held, "metadata", "deletionTimestamp")
    cluster.merge_patch(CONFIGMAPS, world.namespace, "a", {"metadata": {"finalizers": None}})
    assert cluster.get(CONFIGMAPS, world.namespace, "a") is None


def test_a_list_is_complete_however_many_pages_it_has(
    world: ClusterWorld, cluster: Cluster
) -> None:
    names = [f"a{number}" for number in range(5)]
    for name in names:
        cluster.create(CONFIGMAPS, config_map(world, name))
    found = cluster.list(CONFIGMAPS, world.namespace, "part=a")
    assert sorted(text(item, "metadata", "name") for item in found.items) == names
    assert {text(item, "kind") for item in found.items} == {"ConfigMap"}
    assert found.resource_version
    assert (
        sorted(
            text(item, "metadata", "name")
            for item in cluster.each(CONFIGMAPS, world.namespace)
            if text(item, "metadata", "labels", "part") == "a" and text(item, "kind") == "ConfigMap"
        )
        == names
    )
    assert list(cluster.each(CONFIGMAPS, "no-such-namespace")) == []


def test_a_list_can_be_of_a_namespace_or_of_some_labels(
    world: ClusterWorld, cluster: Cluster
) -> None:
    for name in ("a1", "a2", "b1"):
        cluster.create(CONFIGMAPS, config_map(world, name))
    listed = cluster.list(CONFIGMAPS, world.namespace, "part in (b)")
    assert [text(item, "metadata", "name") for item in listed.items] == ["b1"]
    assert list(cluster.list(CONFIGMAPS, "no-such-namespace").items) == []
    everywhere = cluster.list(CONFIGMAPS, label_selector="part=a")
    ours = [
        text(item, "metadata", "name")
        for item in everywhere.items
        if text(item, "metadata", "namespace") == world.namespace
    ]
    assert sorted(ours) == ["a1", "a2"]


def test_who_wrote_what_is_recorded(world: ClusterWorld, cluster: Cluster) -> None:
    cluster.create(CONFIGMAPS, config_map(world, "a", contested="theirs", kept="theirs"))
    ours = config_map(world, "a", contested="ours")
    with pytest.raises(ObjectChanged):
        cluster.apply(CONFIGMAPS, ours, field_manager="us")
    cluster.apply(CONFIGMAPS, ours, field_manager="us", force=True)
    found = cluster.get(CONFIGMAPS, world.namespace, "a")
    managers = [text(entry, "manager") for entry in items(found, "metadata", "managedFields")]
    assert sorted(managers) == ["jobledger", "us"]
