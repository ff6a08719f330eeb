"""A real API server and its etcd are killed and started again under running jobs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.sandbox.data_plane import DataPlane
from tests.acceptance.jobs import counting, rayjob, runs
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, LIMIT_SECONDS, RAYCLUSTERS, RAYJOBS
from tests.faults.inside import inside
from tests.faults.retry_story import MODES, assert_nothing_broke, readiness
from tests.support.api import api_of_kubeconfig, own_namespace
from tests.support.apiserver import programs
from tests.support.apiserver_content import USERS, install
from tests.support.apiserver_processes import ApiServerProcesses
from tests.support.postgres import open_directory
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres, pytest.mark.apiserver]

AWAY = "the API server is not available"

KILLS = ((14, ("kube-apiserver",)), (50, ("kube-apiserver", "etcd")))
"""After so many events of the log, what is killed. Both jobs together have some 100."""


@pytest.fixture
def servers() -> Iterator[ApiServerProcesses]:
    """A cluster that the test may kill."""
    with open_directory() as directory:
        made = ApiServerProcesses(programs(), directory / "server", USERS, install)
        try:
            made.start()
            yield made
        finally:
            made.stop()


@pytest.fixture
def data_plane(servers: ApiServerProcesses, tmp_path: Path) -> Iterator[DataPlane]:
    """KubeRay's part and the node's; the batch Jobs are the real controller manager's."""
    transport = connect(ConnectionSettings(kubeconfig=str(servers.kubeconfig("admin"))), {})
    plane = DataPlane(
        KubernetesCluster(transport, field_manager="sandbox"),
        KubernetesWatches(transport),
        work_dir=tmp_path / "pods",
        batch_jobs=False,
        jobsets=False,
    )
    plane.start()
    yield plane
    plane.stop()


@pytest.fixture
def site(
    servers: ApiServerProcesses, data_plane: DataPlane, terminal: Terminal, ledger_url: str
) -> Iterator[Site]:
    """A namespace there."""
    told = terminal.with_environment(
        KUBECONFIG=str(servers.kubeconfig("controller")),
        HTTP_PROXY=data_plane.proxy_url,
        NO_PROXY="127.0.0.1,localhost",
        DATABASE_URL=ledger_url,
        JOBLEDGER_DATA_DIR=str(terminal.directory / "data"),
    )
    admin = api_of_kubeconfig(servers.kubeconfig("admin"))
    with own_namespace(admin) as api:
        yield Site(api=api, terminal=told, database_url=ledger_url, proxy_url=data_plane.proxy_url)
    admin.pool.clear()


def shown(site: Site, name: str) -> dict[str, Any]:
    """Return the status of a RayJob; empty while nobody answers."""
    try:
        reply = site.api.get(RAYJOBS, name)
    except urllib3.exceptions.HTTPError:
        return {}
    return dict(reply.body.get("status", {})) if reply.code == 200 else {}


def test_both_are_killed_and_started_again(site: Site, servers: ApiServerProcesses) -> None:
    counters = {name: site.directory / f"counter-{name}" for name in MODES}
    with inside(site) as controller:
        for name, mode in MODES.items():
            entrypoint = counting(counters[name], fails=1)
            more = {"backoffLimit": 1, "shutdownAfterJobFinishes": True}
            site.submit(rayjob(name, entrypoint, mode=mode, **more))
        for events, victims in KILLS:
            reached = "SELECT position >= %s FROM log_head"
            site.wait_for_true(f"{events} events", reached, events)
            for victim in victims:
                servers.kill(victim)
            wait_until(lambda: AWAY in readiness(controller)[0], "it says what it waits for")
            assert controller.get("/healthz")[0] == 200
            servers.start()
        for name in MODES:
            wait_until(
                lambda name=name: shown(site, name).get("jobDeploymentStatus") == "Complete",  # type: ignore[misc]  # mypy knows no defaults of lambdas
                f"{name} is complete",
                LIMIT_SECONDS,
            )
        closed = "SELECT count(*) = 2 FROM job WHERE NOT open"
        site.wait_for_true("nothing is left to do", closed)
        wait_until(lambda: readiness(controller) == ([], ""), "it is ready again", LIMIT_SECONDS)
        assert_nothing_broke(controller)
    for name, counter in counters.items():
        assert runs(counter) == 2, name
        assert (shown(site, name)["succeeded"], shown(site, name)["failed"]) == (1, 1), name
    assert site.value("SELECT count(*) FROM attempt") == 4
    # Not the outcomes of the creations: the answer to one may have died with the server, and the
    # cluster is then known by its observation alone.
    seen = site.rows(
        "SELECT DISTINCT data->>'uid' FROM event "
        "WHERE type IN ('ClusterObserved', 'OrphanClusterFound')"
    )
    assert len(seen) == 4
    assert site.api.list(RAYCLUSTERS).body["items"] == []
    assert [item["metadata"]["name"] for item in site.api.list(BATCH_JOBS).body["items"]] == [
        "lucky"
    ]
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")
