"""The oldest Postgres of this machine: a schema comes about on it, holds a log, and goes again.

The wheel that the other tests run on has the newest ones alone, so what only these understand went
unnoticed. Debian 12's `postgresql` is older; where none is installed this is skipped.
"""

from collections.abc import Iterator
from datetime import timedelta
from unittest.mock import patch

import pytest

from jobledger.adapters.postgres.connection.engine import OLDEST_POSTGRES, open_engine
from jobledger.adapters.postgres.schema import version
from jobledger.adapters.postgres.verifying.verify import verify
from jobledger.core.values.ids import SHARDS
from jobledger.sandbox.postgres import binaries
from tests.support import rayjob_stories as stories
from tests.support.ledgers import postgres_ledger
from tests.support.postgres import fresh_database, running_server
from tests.support.recorded import append_lives

pytestmark = pytest.mark.postgres

NEWEST_OF_SYNTAX = 15
"""A server up to this one tells what only later ones understand; ours were tried on 16 and on."""


@pytest.fixture(scope="module")
def old_url() -> Iterator[str]:
    """An empty database on the oldest server that is installed."""
    installed = sorted(
        (int(directory.parent.name), directory)
        for directory in binaries.SYSTEM_INSTALLS.glob("*/bin")
        if directory.parent.name.isdigit() and (directory / "initdb").exists()
    )
    fitting = [
        directory
        for major, directory in installed
        if OLDEST_POSTGRES // 10000 <= major <= NEWEST_OF_SYNTAX
    ]
    if not fitting:
        pytest.skip("no Postgres 14 or 15 is installed (Debian 12: apt-get install postgresql)")
    with (
        patch.object(binaries, "_candidates", lambda: iter(fitting[:1])),
        running_server() as server,
        fresh_database(server) as url,
    ):
        yield url


def test_a_ledger_comes_about_holds_a_log_and_goes_again(old_url: str) -> None:
    version.upgrade(old_url)
    assert version.status(old_url).is_current
    engine = open_engine(old_url)
    try:
        ledger = postgres_ledger(engine)
        ledger.leases.acquire(ledger.writer, timedelta(hours=1), SHARDS)
        append_lives(ledger, {"over": stories.succeeded}.items())
        report = verify(engine, lambda *_: None)
        assert report.fault is None
        assert report.events > 0
    finally:
        engine.dispose()
    version.downgrade(old_url, "base")
    version.upgrade(old_url)
