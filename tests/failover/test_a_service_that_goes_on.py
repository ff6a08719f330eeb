"""A replica is promoted behind one address, and the service goes on: it knows what is lost."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict

from tests.acceptance.jobs import rayjob, runs
from tests.acceptance.site import Site
from tests.acceptance.trainjobs import RUNTIMES, trainjob
from tests.acceptance.witness import JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS, Witness
from tests.failover.standby import Standby, standby_of
from tests.failover.test_lost_transactions import RUNTIME, conditions, once
from tests.support.fault_proxy import FaultProxy
from tests.support.postgres import plain_url

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

RAN, TRAINED = ("done", "long"), ("trained", "training")
"""RayJobs and TrainJobs: of each the first is over when the ledger is set back."""


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
    files = {name: tmp_path / name for name in ("done", "long", *TRAINED)}
    gates = {name: tmp_path / f"{name}.gate" for name in files}
    kinds = (RAYJOBS, RAYCLUSTERS, TRAINJOBS, JOBSETS)
    with Witness(site.api, kinds) as watched, here.controller() as controller:
        begin(site, files, gates)
        for name in RAN:
            watched.wait_for_status(name, jobDeploymentStatus="Running")
        watched.wait_until(lambda: all(runs(files[name]) == 1 for name in TRAINED), "they train")
        standby.wait_until_caught_up()
        standby.cut_off()
        gates["done"].touch()
        gates["trained"].touch()
        watched.wait_for_phase("done", "Complete")
        watched.wait_until(lambda: is_complete(watched, "trained"), "the training is complete")
        over = "SELECT count(*) = 2 FROM job WHERE NOT open AND name IN ('done', 'trained')"
        site.wait_for_true("nothing is left of them", over)
        line.refuse()
        standby.promote()
        line.lead_to("127.0.0.1", port_of(standby.url))
        line.restore()
        there = replace(site, database_url=standby.url)
        there.wait_for_true(
            "the jobs that were over, and of which nothing more is heard, are taken over",
            "SELECT count(DISTINCT name) = 2 FROM event JOIN job USING (stream_id)"
            " WHERE type = 'RecoveredFromCluster' AND name IN ('done', 'trained')",
        )
        assert "ledger_set_back_while_running" in controller.log
        gates["long"].touch()
        gates["training"].touch()
        watched.wait_for_phase("long", "Complete")
        watched.wait_until(lambda: is_complete(watched, "training"), "the other is complete")
        there.wait_for_true("all have come to rest", "SELECT count(*) = 0 FROM job WHERE open")
        assert controller.terminate() == 0
        assert watched.status("done")["jobDeploymentStatus"] == "Complete"
        assert conditions(watched, "trained").get("Failed") is None
        assert len(watched.lives(RAYCLUSTERS)) == len(RAN)
        assert len(watched.lives(JOBSETS)) == len(TRAINED)
    assert {name: runs(file) for name, file in files.items()} == dict.fromkeys(files, 1)
    terminal = site.terminal.with_environment(DATABASE_URL=standby.url)
    terminal.jobledger("verify")
    terminal.jobledger("rebuild", "--check")


def begin(site: Site, files: dict[str, Path], gates: dict[str, Path]) -> None:
    """Create jobs of both kinds that count their runs, and end once a file is there."""
    runtime = yaml.safe_load(RUNTIME.read_text()) | {"kind": "TrainingRuntime"}
    assert site.api.create(RUNTIMES, runtime).code == 201  # Created
    for name in RAN:
        script = once(files[name], gates[name])
        site.submit(rayjob(name, script, shutdownAfterJobFinishes=True))
    for name in TRAINED:
        script = f"echo run >> {files[name]}; until [ -e {gates[name]} ]; do sleep 0.2; done"
        manifest = trainjob(name, "sh", "-c", script, runtime="two-nodes")
        assert site.api.create(TRAINJOBS, manifest).code == 201  # Created


def is_complete(watched: Witness, name: str) -> bool:
    """Return whether users see that a TrainJob is complete."""
    return conditions(watched, name).get("Complete") == "True"
