"""Watches outlive the API server and its etcd."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.timing import WatchPace
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.ports.cluster import RAYJOBS
from tests.contracts.cluster_listener import RecordingListener
from tests.support.api import rayjob
from tests.support.apiserver import programs
from tests.support.apiserver_content import USERS, install
from tests.support.apiserver_processes import ApiServerProcesses

pytestmark = pytest.mark.apiserver


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ApiServerProcesses]:
    """A server for this test alone, which may be stopped and killed."""
    server = ApiServerProcesses(programs(), tmp_path / "server", USERS, install)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def test_a_watch_goes_on_after_the_api_server_and_etcd_were_killed(
    own_server: ApiServerProcesses,
) -> None:
    transport = connect(ConnectionSettings(kubeconfig=str(own_server.kubeconfig("controller"))))
    watches = KubernetesWatches(transport)
    admin = connect(ConnectionSettings(kubeconfig=str(own_server.kubeconfig("admin"))))
    cluster = KubernetesCluster(admin)

    def create(name: str) -> None:
        manifest = rayjob(name)
        manifest["metadata"]["namespace"] = "default"
        cluster.create(RAYJOBS, manifest)

    listener = RecordingListener()
    watch = watches.watch(RAYJOBS, listener)
    listener.wait_for("synced")
    create("before")
    listener.wait_for("seen before")
    own_server.kill("kube-apiserver")
    own_server.kill("etcd")
    own_server.start()
    create("after")
    listener.wait_for("seen after")
    watch.stop()
    assert "gone before" not in [told.short for told in listener.told]


def test_a_watch_tells_of_an_etcd_that_was_restored_under_it(
    own_server: ApiServerProcesses, tmp_path: Path
) -> None:
    """Its versions count from an earlier one on: what is shown has gone back, or was never made."""
    transport = connect(ConnectionSettings(kubeconfig=str(own_server.kubeconfig("controller"))))
    watches = KubernetesWatches(transport, pace=WatchPace(silence_seconds=10))
    admin = connect(ConnectionSettings(kubeconfig=str(own_server.kubeconfig("admin"))))
    cluster = KubernetesCluster(admin)

    def create(name: str) -> None:
        manifest = rayjob(name)
        manifest["metadata"]["namespace"] = "default"
        cluster.create(RAYJOBS, manifest)

    create("kept")
    own_server.kill("kube-apiserver")
    own_server.kill("etcd")
    data = own_server.directory / "etcd"
    shutil.copytree(data, tmp_path / "backup")
    own_server.start()
    listener = RecordingListener()
    watch = watches.watch(RAYJOBS, listener)
    listener.wait_for("synced")
    for number in range(40):
        create(f"lost-{number}")
    listener.wait_for("seen lost-39")
    own_server.kill("kube-apiserver")
    own_server.kill("etcd")
    shutil.rmtree(data)
    shutil.copytree(tmp_path / "backup", data)
    own_server.start()
    create("after")
    listener.wait_for("gone lost-39")
    listener.wait_for("seen after")
    watch.stop()
