"""What every implementation of the port `core.ports.cluster.Watches` tells."""

from collections.abc import Iterator
from typing import Any

import pytest

from jobledger.core.ports.cluster import CONFIGMAPS, RAYJOBS, Cluster
from jobledger.core.values.documents import Manifest, child, text
from tests.contracts.cluster_listener import RecordingListener, Told
from tests.contracts.cluster_worlds import WORLDS, ClusterWorld


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> Iterator[ClusterWorld]:
    with request.param(request) as running:
        yield running


@pytest.fixture
def cluster(world: ClusterWorld) -> Cluster:
    return world.cluster


@pytest.fixture
def listener(world: ClusterWorld) -> Iterator[RecordingListener]:
    """Return what listens to the namespace's ConfigMaps, after the first list."""
    recording = world.listener()
    watch = world.watches.watch(CONFIGMAPS, recording, namespace=world.namespace, selector="part")
    recording.wait_for("synced")
    yield recording
    watch.stop()


def config_map(world: ClusterWorld, name: str, **data: str) -> dict[str, Any]:
    return {
        "metadata": {"namespace": world.namespace, "name": name, "labels": {"part": "a"}},
        "data": data,
    }


def story_of(told: list[Told], name: str) -> list[str]:
    return [entry.what for entry in told if entry.name == name]


def without_managers(manifest: Manifest) -> dict[str, object]:
    metadata = dict(child(manifest, "metadata"))
    metadata.pop("managedFields", None)
    return {**manifest, "metadata": metadata}


def test_what_exists_is_told_first(world: ClusterWorld, cluster: Cluster) -> None:
    names = [f"m{number}" for number in range(5)]
    made = [cluster.create(CONFIGMAPS, config_map(world, name)) for name in names]
    recording = world.listener()
    watch = world.watches.watch(CONFIGMAPS, recording, namespace=world.namespace, selector="part")
    told = recording.wait_for("synced")
    watch.stop()
    assert sorted(entry.short for entry in told[:-1]) == [f"seen {name}" for name in names]
    first = next(entry.manifest for entry in told if entry.name == "m0")
    assert without_managers(first) == without_managers(made[0]), "kind and all"


def test_each_change_is_told_in_order(
    world: ClusterWorld, cluster: Cluster, listener: RecordingListener
) -> None:
    made = cluster.create(CONFIGMAPS, config_map(world, "a", key="0"))
    for number in range(1, 5):
        patch: Manifest = {"data": {"key": str(number)}}
        cluster.merge_patch(CONFIGMAPS, world.namespace, "a", patch)
    cluster.delete(CONFIGMAPS, world.namespace, "a")
    told = listener.wait_for("gone a")
    assert story_of(told, "a") == ["seen"] * 5 + ["gone"]
    keys = [text(entry.manifest, "data", "key") for entry in told if entry.name == "a"]
    assert keys == ["0", "1", "2", "3", "4", "4"]
    assert told[-1].uid == text(made, "metadata", "uid")


def test_a_namesake_is_another_object(
    world: ClusterWorld, cluster: Cluster, listener: RecordingListener
) -> None:
    for _ in range(2):
        cluster.create(CONFIGMAPS, config_map(world, "a"))
        cluster.delete(CONFIGMAPS, world.namespace, "a")
    told = [entry for entry in listener.wait_for("gone a", "gone a") if entry.name]
    assert [entry.what for entry in told] == ["seen", "gone", "seen", "gone"]
    assert told[0].uid == told[1].uid != told[2].uid == told[3].uid


def test_a_finalizer_lets_the_end_be_seen_coming(
    world: ClusterWorld, cluster: Cluster, listener: RecordingListener
) -> None:
    manifest = config_map(world, "a")
    manifest["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create(CONFIGMAPS, manifest)
    cluster.delete(CONFIGMAPS, world.namespace, "a")
    told = listener.wait_for("seen a", "seen a")
    assert text(told[-1].manifest, "metadata", "deletionTimestamp")
    cluster.merge_patch(CONFIGMAPS, world.namespace, "a", {"metadata": {"finalizers": None}})
    listener.wait_for("gone a")


def test_an_object_that_is_no_longer_selected_is_gone(
    world: ClusterWorld, cluster: Cluster, listener: RecordingListener
) -> None:
    cluster.create(CONFIGMAPS, config_map(world, "a"))
    unlabel: Manifest = {"metadata": {"labels": {"part": None}}}
    cluster.merge_patch(CONFIGMAPS, world.namespace, "a", unlabel)
    listener.wait_for("gone a")
    label: Manifest = {"metadata": {"labels": {"part": "b"}}}
    cluster.merge_patch(CONFIGMAPS, world.namespace, "a", label)
    listener.wait_for("gone a", "seen a")


def test_only_what_is_watched_is_told(
    world: ClusterWorld, cluster: Cluster, listener: RecordingListener
) -> None:
    elsewhere = config_map(world, "elsewhere")
    elsewhere["metadata"]["namespace"] = "default"
    unlabelled = config_map(world, "unlabelled")
    del unlabelled["metadata"]["labels"]
    cluster.delete(CONFIGMAPS, "default", "elsewhere")
    cluster.create(CONFIGMAPS, elsewhere)
    cluster.create(CONFIGMAPS, unlabelled)
    cluster.create(CONFIGMAPS, config_map(world, "ours"))
    listener.wait_for("seen ours")
    cluster.delete(CONFIGMAPS, "default", "elsewhere")
    assert {entry.name for entry in listener.told} == {"", "ours"}


def test_the_status_of_a_custom_object_is_told(world: ClusterWorld, cluster: Cluster) -> None:
    recording = world.listener()
    watch = world.watches.watch(RAYJOBS, recording, namespace=world.namespace)
    metadata = {"namespace": world.namespace, "name": "job"}
    cluster.create(RAYJOBS, {"metadata": metadata, "spec": {"entrypoint": "python train.py"}})
    patch: Manifest = {"status": {"jobStatus": "PENDING"}}
    cluster.merge_patch(RAYJOBS, world.namespace, "job", patch, subresource="status")
    told = recording.wait_until(
        lambda all_told: any(
            text(entry.manifest, "status", "jobStatus") == "PENDING" for entry in all_told
        ),
        "the status",
    )
    watch.stop()
    assert "synced" in [entry.what for entry in told]


def test_after_a_stop_nothing_is_told(world: ClusterWorld, cluster: Cluster) -> None:
    stopped, running = world.listener(), world.listener()
    first = world.watches.watch(CONFIGMAPS, stopped, namespace=world.namespace)
    second = world.watches.watch(CONFIGMAPS, running, namespace=world.namespace)
    stopped.wait_for("synced")
    running.wait_for("synced")
    first.stop()
    before = stopped.story
    cluster.create(CONFIGMAPS, config_map(world, "late"))
    running.wait_for("seen late")
    first.stop()
    second.stop()
    assert stopped.story == before
