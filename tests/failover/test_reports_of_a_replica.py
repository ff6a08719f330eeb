"""Reports are asked of a read replica, and the ledger's own server is left in peace."""

import json
from datetime import timedelta

import psycopg
import pytest

from jobledger.adapters.postgres.connection import standby
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.core.values.instants import Instant
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


def stale_since(url: str) -> Instant | None:
    """Return what is told of the news of a server."""
    engine = open_engine(url)
    try:
        with engine.connect() as connection:
            return standby.stale_since(connection)
    finally:
        engine.dispose()


def test_a_replica_that_was_cut_off_says_how_old_its_news_are(
    sample_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it answers as if nothing had happened since."""
    with standby_of(sample_url) as replica, psycopg.connect(plain_url(sample_url)) as primary:
        primary.execute("SELECT pg_logical_emit_message(true, 'test', '')")
        primary.commit()
        replica.wait_until_caught_up()
        assert stale_since(replica.url) is None, "it follows"
        replica.cut_off()
        monkeypatch.setattr(standby, "LATE", timedelta(0))
        since = stale_since(replica.url)
        assert since is not None
        primary.execute("SELECT pg_logical_emit_message(true, 'test', '')")
        primary.commit()
        assert stale_since(replica.url) == since
        assert stale_since(sample_url) is None, "it is no standby"
