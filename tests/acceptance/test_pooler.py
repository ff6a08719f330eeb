"""The whole service through a real pgBouncer in transaction mode."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from tests.acceptance.jobs import counting, rayjob
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness
from tests.support.pooler import bring_role, pooled

pytestmark = pytest.mark.postgres


@pytest.fixture
def ready(site: Site, ledger_url: str) -> Iterator[Site]:
    """The same for a login that brings its role."""
    with pooled(ledger_url) as address:
        bring_role(ledger_url, address)
        told = address.render_as_string(hide_password=False)
        yield replace(site, terminal=site.terminal.with_environment(DATABASE_URL=told))


@pytest.fixture
def through(site: Site, ledger_url: str) -> Iterator[Site]:
    """The site, whose terminal reaches the ledger through pgBouncer alone."""
    with pooled(ledger_url) as address:
        told = address.render_as_string(hide_password=False)
        yield replace(site, terminal=site.terminal.with_environment(DATABASE_URL=told))


def test_it_does_not_start_with_a_login_that_brings_no_role(through: Site) -> None:
    told = through.terminal.jobledger("run", "--port", "0", code=int(ExitCode.MISCONFIGURED))
    assert "a pooler is before this address" in told.everything
    assert 'SET role = "jobledger_app"' in told.everything


def test_jobs_are_controlled_retried_reported_sealed_and_verified(
    ready: Site, witness: Witness, tmp_path: Path
) -> None:
    with ready.controller(JOBLEDGER_SEAL_EVERY_SECONDS="1") as controller:
        names = ["one", "two", "three"]
        for name in names:
            counter = tmp_path / f"{name}-runs"
            ready.submit(rayjob(name, counting(counter, fails=1), backoffLimit=1))
        for name in names:
            witness.wait_for_phase(name, "Complete")
        ready.wait_for_true(
            "all is reported",
            "SELECT bool_and(phase = 'Complete') AND count(*) = 3 FROM report_job",
        )
        ready.wait_for_true("a seal was made", "SELECT count(*) > 0 FROM seal")
        code, page = controller.get("/page/reports")
        assert (code, "Reports" in page) == (200, True)
        assert controller.metric("jobledger_ledger_up") == 1
    terminal = ready.terminal
    assert json.loads(terminal.jobledger("get", "-o", "json").out)[0]["phase"] == "Complete"
    assert "two" in terminal.jobledger("history", "two").out
    terminal.jobledger("verify")
    terminal.jobledger("rebuild", "--check")
    terminal.jobledger("report", "retries")
    terminal.jobledger("doctor", "--only", "ledger", code=None)
    told = terminal.jobledger("rebuild", "--reports", code=int(ExitCode.MISCONFIGURED))
    assert "it needs a session of its own" in told.everything
