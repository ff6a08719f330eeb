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

pytestmark = [pytest.mark.faults, pytest.mark.apiserver]


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ApiServerProcesses]:
    """A server for this test alone, which may be stopped and killed; nothing waits for Jobs."""
    server = ApiServerProcesses(programs(), tmp_path / "server", USERS, install, controllers=())
    server.start()
    try:
        yield server
    finally:
        server.stop()


def test_a_watch_tells_of_an_etcd_that_was_restored_under_it(
    own_server: ApiServerProcesses, tmp_path: Path
) -> None:
    """And goes on after both were killed. Once restored, versions count from an earlier one on."""
    transport = connect(ConnectionSettings(kubeconfig=str(own_server.kubeconfig("controller"))))
    watches = KubernetesWatches(transport, pace=WatchPace(silence_seconds=10))
    admin = connect(ConnectionSettings(kubeconfig=str(own_server.kubeconfig("admin"))))
    cluster = KubernetesCluster(admin)

    def create(name: str) -> None:
        manifest = rayjob(name)
        manifest["metadata"]["namespace"] = "default"
        cluster.create(RAYJOBS, manifest)

    def kill() -> None:
        own_server.kill("kube-apiserver")
        own_server.kill("etcd")

    listener = RecordingListener()
    watch = watches.watch(RAYJOBS, listener)
    listener.wait_for("synced")
    create("kept")
    listener.wait_for("seen kept")
    kill()
    data = own_server.directory / "etcd"
    shutil.copytree(data, tmp_path / "backup")
    own_server.start()
    create("after")
    listener.wait_for("seen after")
    assert "gone kept" not in [told.short for told in listener.told]
    for number in range(40):
        create(f"lost-{number}")
    listener.wait_for("seen lost-39")
    kill()
    shutil.rmtree(data)
    shutil.copytree(tmp_path / "backup", data)
    own_server.start()
    create("last")
    listener.wait_for("gone lost-39")
    listener.wait_for("gone after")
    listener.wait_for("seen last")
    assert "gone kept" not in [told.short for told in listener.told]
    watch.stop()
