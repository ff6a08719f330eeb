"""`jobledger recover`: a held job in doubt waits for somebody who has looked."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.ledger.doctor import slowed_jobs
from jobledger.adapters.cli.ledger.doctor_world import Patient
from jobledger.adapters.ledger_wiring import ledger
from jobledger.adapters.settings import Settings
from jobledger.core.forensics.findings import Severity
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.acceptance.jobs import rayjob, waiting_for
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, Witness
from tests.support.postgres import fresh_database
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]


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


def named_by_get_and_doctor(site: Site, signs: str) -> None:
    """See that both say which job is held, why, and what to do, in every form."""
    rows = {
        row["name"]: row for row in json.loads(site.terminal.jobledger("get", "-o", "json").out)
    }
    assert rows["sound"]["held"] is None
    told = rows["lost"]["held"]
    assert told.keys() == {"since", "signs", "remedy"}
    assert "; ".join(told["signs"]) == signs
    command = f"`jobledger recover {site.api.namespace}/lost`"
    assert command in told["remedy"]
    shown = site.terminal.jobledger("get").out
    assert f"held RayJob {site.api.namespace}/lost: {signs}" in shown
    assert command in shown
    asked = ("doctor", "--only", "database")
    answer = site.terminal.jobledger(*asked, "-o", "json", code=ExitCode.FOUND_WRONG)
    checks = {one["check"]: one for one in json.loads(answer.out)}
    assert checks["slowed-jobs"]["state"] == "ok"
    (finding,) = checks["held-jobs"]["findings"]
    assert f"RayJob {site.api.namespace}/lost of cluster" in finding["what"]
    assert signs in finding["what"]
    assert command in finding["remedy"]
    assert command in site.terminal.jobledger(*asked, code=ExitCode.FOUND_WRONG).out


def test_a_job_that_has_used_up_its_budget_of_events_is_named(site: Site, witness: Witness) -> None:
    with site.controller():
        site.submit(rayjob("busy", "true"))
        witness.wait_for_phase("busy", "Complete")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    events = site.value("SELECT count(*) FROM event")
    settings = Settings(database_url=SecretStr(site.database_url))
    with ledger(settings) as opened:
        assert list(slowed_jobs(Patient(settings, opened))) == []
        small = settings.model_copy(update={"job_events_per_hour": 2 * events})
        (found,) = slowed_jobs(Patient(small, opened))
    assert found.severity is Severity.WARNING
    assert f"RayJob {site.api.namespace}/busy has had {events} events within an hour" in found.what
    assert f"jobledger history {site.api.namespace}/busy" in found.remedy


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
        named_by_get_and_doctor(emptied, row["signs"])
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
