"""A replica is promoted behind one address, and the service goes on: it knows what is lost."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.acceptance.jobs import rayjob, runs
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, RAYJOBS, Witness
from tests.failover.standby import Standby, standby_of
from tests.failover.test_lost_transactions import once
from tests.support.fault_proxy import FaultProxy
from tests.support.postgres import plain_url

pytestmark = pytest.mark.postgres


@pytest.fixture
def standby(site: Site) -> Iterator[Standby]:
    """A replica of the site's ledger."""
    with standby_of(site.database_url) as replica:
        yield replica


@pytest.fixture
def line(site: Site) -> Iterator[FaultProxy]:
    """The address under which the service knows its ledger."""
    told = conninfo_to_dict(plain_url(site.database_url))
    with FaultProxy(str(told["host"]), int(str(told["port"]))) as proxy:
        yield proxy


def port_of(url: str) -> int:
    return int(str(conninfo_to_dict(plain_url(url))["port"]))


def test_what_it_remembers_and_the_log_has_lost_is_taken_over(
    site: Site, standby: Standby, line: FaultProxy, tmp_path: Path
) -> None:
    address = site.database_url.replace(f":{port_of(site.database_url)}/", f":{line.port}/")
    here = replace(site, terminal=site.terminal.with_environment(DATABASE_URL=address))
    files = {name: tmp_path / name for name in ("done", "long")}
    gates = {name: tmp_path / f"{name}.gate" for name in files}
    with Witness(site.api, (RAYJOBS, RAYCLUSTERS)) as watched, here.controller() as controller:
        for name, file in files.items():
            script = once(file, gates[name])
            site.submit(rayjob(name, script, shutdownAfterJobFinishes=True))
        for name in files:
            watched.wait_for_status(name, jobDeploymentStatus="Running")
        standby.wait_until_caught_up()
        standby.cut_off()
        gates["done"].touch()
        watched.wait_for_phase("done", "Complete")
        site.wait_for_true("nothing is left of it", "SELECT NOT open FROM job WHERE name = 'done'")
        line.refuse()
        standby.promote()
        line.lead_to("127.0.0.1", port_of(standby.url))
        line.restore()
        there = replace(site, database_url=standby.url)
        there.wait_for_true(
            "the job that was over, and of which nothing more is heard, is taken over",
            "SELECT count(*) = 1 FROM event JOIN job USING (stream_id)"
            " WHERE type = 'RecoveredFromCluster' AND name = 'done'",
        )
        assert "ledger_set_back_while_running" in controller.log
        gates["long"].touch()
        watched.wait_for_phase("long", "Complete")
        there.wait_for_true("all have come to rest", "SELECT count(*) = 0 FROM job WHERE open")
        assert controller.terminate() == 0
        assert watched.status("done")["jobDeploymentStatus"] == "Complete"
        assert len(watched.lives(RAYCLUSTERS)) == len(files)
    assert [runs(file) for file in files.values()] == [1, 1]
    terminal = site.terminal.with_environment(DATABASE_URL=standby.url)
    terminal.jobledger("verify")
    terminal.jobledger("rebuild", "--check")
