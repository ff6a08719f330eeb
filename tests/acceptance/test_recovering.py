"""`jobledger recover`: a held job in doubt waits for somebody who has looked."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from adapters.cli.exit_codes import ExitCode
from adapters.postgres.embedded import EmbeddedPostgres
from tests.acceptance.jobs import rayjob, waiting_for
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, Witness
from tests.support.postgres import fresh_database
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres


@pytest.fixture
def emptied(site: Site, postgres_server: EmbeddedPostgres, ledger_template: str) -> Iterator[Site]:
    """The same site with a ledger that has lost everything."""
    with fresh_database(postgres_server, ledger_template) as url:
        terminal = site.terminal.with_environment(DATABASE_URL=url)
        yield replace(site, terminal=terminal, database_url=url)


def held(site: Site, *arguments: str) -> list[dict[str, Any]]:
    answer = site.terminal.jobledger("recover", *arguments, "-o", "json")
    found: list[dict[str, Any]] = json.loads(answer.out)
    return [{key: row[key] for key in ("name", "result")} for row in found]


def test_what_is_in_doubt_is_listed_and_taken_over_when_somebody_asks(
    site: Site, emptied: Site, witness: Witness
) -> None:
    gate = site.directory / "gate"
    with site.controller():
        site.submit(rayjob("lost", waiting_for(gate)))
        site.submit(rayjob("sound", waiting_for(gate)))
        for name in ("lost", "sound"):
            witness.wait_for_status(name, jobDeploymentStatus="Running")
    (alive,) = [life for life in witness.clusters_of("lost") if life.ended is None]
    assert site.api.delete(RAYCLUSTERS, alive.name).code == 200  # OK
    witness.wait_until(lambda: all(life.ended for life in witness.clusters_of("lost")), "it goes")
    with emptied.controller("successor") as controller:
        wait_until(
            lambda: [row["name"] for row in held(emptied)] == ["lost"], "only one is in doubt", 60
        )
        assert controller.get("/readyz")[0] == 200  # OK
        (row,) = json.loads(emptied.terminal.jobledger("recover", "-o", "json").out)
        assert row["signs"] == ("the log knows nothing of the job, and its status was written here")
        assert held(emptied, "--all", "--dry-run") == [
            {"name": "lost", "result": "would be asked for"}
        ]
        missing = emptied.terminal.jobledger("recover", "sound", code=ExitCode.NOT_FOUND)
        assert "RayJob" in missing.err
        assert "is not held" in missing.err
        assert witness.status("lost")["jobDeploymentStatus"] == "Running"
        assert held(emptied, "lost") == [
            {"name": "lost", "result": "asked for; the running service takes it over"}
        ]
        emptied.wait_for_true(
            "it is taken over, and who asked is known",
            "SELECT count(*) = 1 FROM event WHERE type = 'RecoveredFromCluster'"
            " AND data->>'asked' <> ''",
        )
        gate.touch()
        witness.wait_for_phase("sound", "Complete")
        assert held(emptied) == []
    emptied.terminal.jobledger("recover", "lost", "--all", code=ExitCode.USAGE)
