"""Reports are asked of a read replica, and the ledger's own server is left in peace."""

import json

import pytest

from tests.failover.standby import standby_of
from tests.support.postgres import plain_url
from tests.support.processes import Terminal

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

FAILURES = ("report", "failures", "--since", "2026-10-19", "--until", "2026-11-16", "-o", "json")
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"


def test_a_report_comes_from_the_replica_and_is_the_same(
    terminal: Terminal, sample_url: str
) -> None:
    here = terminal.with_environment(DATABASE_URL=sample_url)
    asked = json.loads(here.jobledger(*FAILURES).out)
    assert asked["rows"]
    with standby_of(sample_url) as replica:
        replica.wait_until_caught_up()
        there = terminal.with_environment(
            DATABASE_URL=NOWHERE, REPORTS_DATABASE_URL=plain_url(replica.url)
        )
        assert json.loads(there.jobledger(*FAILURES).out)["rows"] == asked["rows"]
        lost = terminal.with_environment(DATABASE_URL=sample_url, REPORTS_DATABASE_URL=NOWHERE)
        assert lost.jobledger(*FAILURES, code=None).code != 0
        said = lost.jobledger(*FAILURES, "--database-url", sample_url).out
        assert json.loads(said)["rows"] == asked["rows"], "who says where is heard"
