"""Postgres goes and comes back: the controller stays, says what it waits for, and goes on."""

import json
import os
import signal
from collections.abc import Iterator

import pytest

from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.wiring import Sandbox
from tests.acceptance.conftest import at_sandbox
from tests.acceptance.jobs import counting, rayjob, runs, waiting_for
from tests.acceptance.site import Site, namespace_of
from tests.acceptance.witness import Witness
from tests.support.postgres import running_server
from tests.support.processes import Controller, Terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]


@pytest.fixture
def own_server() -> Iterator[EmbeddedPostgres]:
    """A server that the test may kill."""
    with running_server() as server:
        upgrade(server.url)
        yield server


@pytest.fixture
def site(sandbox: Sandbox, terminal: Terminal, own_server: EmbeddedPostgres) -> Iterator[Site]:
    """A site whose ledger lies on that server."""
    with namespace_of(sandbox) as api:
        yield Site(
            api=api,
            terminal=at_sandbox(terminal, sandbox, own_server.url),
            database_url=own_server.url,
            proxy_url=sandbox.data_plane.proxy_url,
        )


def reasons(controller: Controller) -> list[str]:
    """Return what /readyz says is missing."""
    found: list[str] = json.loads(controller.get("/readyz")[1])["waits_for"]
    return found


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(signal.SIGKILL, id="a crash"),
        pytest.param(signal.SIGINT, id="a restart by an administrator"),
    ],
)
def test_work_goes_on_by_itself(
    site: Site, witness: Witness, own_server: EmbeddedPostgres, way: signal.Signals
) -> None:
    counter, gate = site.directory / "counter", site.directory / "gate"
    with site.controller() as controller:
        site.submit(rayjob("long", waiting_for(gate), mode="K8sJobMode"))
        site.submit(rayjob("failing", counting(counter, fails=1), backoffLimit=1))
        witness.wait_for_status("long", jobDeploymentStatus="Running", jobStatus="RUNNING")
        os.kill(own_server.server_pid, way)
        gate.touch()
        site.api.merge("ray.io/v1/rayjobs", "long", {"metadata": {"labels": {"seen": "later"}}})
        wait_until(lambda: reasons(controller) != [], "it says what it waits for")
        assert reasons(controller) == ["the ledger is not available"]
        assert controller.get("/healthz")[0] == 200
        assert own_server.ensure_running() == site.database_url
        witness.wait_for_phase("long", "Complete")
        witness.wait_for_phase("failing", "Complete")
        wait_until(lambda: reasons(controller) == [], "it is ready again")
        assert controller.terminate() == 0
    assert "Traceback" not in controller.log
    assert runs(counter) == 2
    assert [len(witness.clusters_of(name)) for name in ("long", "failing")] == [1, 2]
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")
