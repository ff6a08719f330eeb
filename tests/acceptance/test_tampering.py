"""Nobody changes the log by accident, and whoever does it on purpose is found out."""

import shutil
from pathlib import Path

import psycopg
import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.sandbox.postgres.binaries import find_binaries
from tests.acceptance.jobs import rayjob
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness
from tests.support.ledgers import tampering
from tests.support.postgres import plain_url
from tests.support.processes import Terminal

pytestmark = pytest.mark.postgres

CHANGES = {
    "update": "UPDATE {table} SET type = 'Nothing'",
    "update of nothing": "UPDATE {table} SET type = type WHERE false",
    "delete": "DELETE FROM {table} WHERE version = 1",
    "truncate": "TRUNCATE {table}",
    "truncate with all that hangs on it": "TRUNCATE {table} CASCADE",
}
ROW_CHANGES = frozenset({"update", "delete"})
"""Changes that concern rows: of an empty partition there is nothing to refuse."""


@pytest.fixture
def ended(site: Site, witness: Witness) -> Site:
    """A site with a finished job in its ledger."""
    with site.controller():
        site.submit(rayjob("done", "true"))
        witness.wait_for_phase("done", "Complete")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    return site


def psql() -> str:
    """Return the psql of this machine or of the wheel, if there is one."""
    beside = Path(find_binaries(None).command("psql"))
    found = shutil.which("psql") or (str(beside) if beside.exists() else "")
    if not found:
        pytest.skip("no psql: install the client of Postgres")
    return found


def log_tables(url: str) -> list[str]:
    """Return the log and its partitions; whoever asks must be their owner."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        rows = connection.execute(
            "SELECT tablename, tableowner = current_user FROM pg_tables "
            "WHERE tablename = 'event' OR tablename LIKE 'event\\_%'"
        ).fetchall()
    assert rows
    assert all(is_owner for _, is_owner in rows), "the owner is asked"
    return sorted(name for name, _ in rows)


def test_psql_shows_every_change_of_the_log_refused_to_its_owner(ended: Site) -> None:
    client = psql()
    before = ended.rows("SELECT * FROM event ORDER BY position")
    with_rows = ("event", ended.value("SELECT tableoid::regclass::text FROM event LIMIT 1"))
    for table in log_tables(ended.database_url):
        for what, statement in CHANGES.items():
            said = ask(ended.terminal, client, ended.database_url, statement.format(table=table))
            touches = what.startswith("truncate") or (table in with_rows and what in ROW_CHANGES)
            assert ("the log is append-only" in said) or not touches, (table, what, said)
    assert ended.rows("SELECT * FROM event ORDER BY position") == before
    assert "ROLLBACK" in ask(ended.terminal, client, ended.database_url, "BEGIN; ROLLBACK")


def ask(terminal: Terminal, client: str, url: str, statement: str) -> str:
    """Return what psql says to a statement."""
    words = [client, "--no-psqlrc", "--dbname", plain_url(url), "--command", statement]
    return terminal.run(words, code=None).everything


@pytest.mark.parametrize("column", ["data", "chain", "actor"])
def test_one_changed_byte_is_found_and_named(ended: Site, column: str) -> None:
    ended.terminal.jobledger("verify")
    flipped = {
        "data": "(data::text || ' ')::json",
        "chain": "set_byte(chain, 5, get_byte(chain, 5) # 1)",
        "actor": "overlay(actor placing 'X' from 1)",
    }[column]
    with tampering(ended.database_url) as connection:
        connection.execute(f"UPDATE event SET {column} = {flipped} WHERE position = 3")
    told = ended.terminal.jobledger("verify", code=ExitCode.FOUND_WRONG)
    stream = ended.value("SELECT stream_id FROM event WHERE position = 3")
    assert f"at position 3, stream {stream}, version 3" in told.out


def test_a_changed_projection_is_found_and_named(ended: Site) -> None:
    with tampering(ended.database_url) as connection:
        connection.execute("UPDATE job SET failed = 7")
    told = ended.terminal.jobledger("rebuild", "--check", code=ExitCode.FOUND_WRONG)
    assert "failed" in told.out
    assert "7" in told.out
    ended.terminal.jobledger("rebuild")
    ended.terminal.jobledger("rebuild", "--check")
    assert ended.value("SELECT failed FROM job") == 0
