"""A program of an earlier schema works on a later one: nothing it uses goes, or asks for more.

`python -m tests.upgrade` shows the same with a real earlier program; this is what is cheap of it.
"""

from dataclasses import dataclass

import psycopg
import pytest

from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.schema.version import (
    WORKS_FROM,
    downgrade,
    require_current,
    status,
    upgrade,
    works_with,
)
from jobledger.adapters.postgres.verifying.verify import verify
from jobledger.core.errors import LedgerError, LedgerMisconfigured
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.postgres import plain_url
from tests.support.recorded import append_lives

pytestmark = pytest.mark.postgres

FIRST_RELEASED = "0107"
"""From here on a schema has been run by somebody; what it offers stays."""

TYPE_CHANGED = {("0117", table, "data"): "json" for table in ("event", "event_default")}
"""Read as text by every program, and written by `append_v1` alone."""

FUNCTIONS = """
    SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ') -> '
        || pg_get_function_result(p.oid)
        || CASE WHEN has_function_privilege('jobledger_app', p.oid, 'EXECUTE')
           THEN ' for the service' ELSE '' END
    FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace AND p.prorettype <> 'trigger'::regtype
"""
COLUMNS = """
    SELECT table_name, column_name, data_type, is_nullable = 'YES' OR column_default IS NOT NULL
    FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name <> 'alembic_version'
"""


@dataclass(frozen=True)
class Offered:
    """What a schema offers to programs."""

    functions: frozenset[str]
    columns: dict[tuple[str, str], tuple[str, bool]]
    """(table, column) -> type, and whether it may be left out."""

    @property
    def tables(self) -> set[str]:
        return {table for table, _ in self.columns}


def offered(url: str) -> Offered:
    with psycopg.connect(plain_url(url)) as connection:
        functions = frozenset(row[0] for row in connection.execute(FUNCTIONS).fetchall())
        rows = connection.execute(COLUMNS).fetchall()
    return Offered(functions, {(row[0], row[1]): (row[2], row[3]) for row in rows})


def test_whatever_a_released_schema_offers_every_later_one_offers_too(database_url: str) -> None:
    """Expand, then contract: what is to go is taken out by a release after all programs left it."""
    upgrade(database_url, FIRST_RELEASED)
    steps = status(database_url).pending
    before = offered(database_url)
    for revision in steps:
        upgrade(database_url, revision)
        after = offered(database_url)
        assert before.functions <= after.functions, f"{revision} takes a function away"
        for column, (kind, _) in before.columns.items():
            assert column in after.columns, f"{revision} takes {column} away"
            now = TYPE_CHANGED.get((revision, *column), kind)
            assert after.columns[column][0] == now, f"{revision} changes {column}"
        for column in after.columns.keys() - before.columns.keys():
            if column[0] in before.tables:
                assert after.columns[column][1], f"{revision} asks old programs for {column}"
        before = after


def newer(url: str, works_from: str) -> None:
    """Let the database have a schema that this program does not know."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.execute(f"COMMENT ON TABLE alembic_version IS '{works_from}'")


def test_a_program_starts_on_a_newer_schema_that_says_it_works_there(ledger_url: str) -> None:
    newer(ledger_url, works_with(status(ledger_url).head))
    require_current(ledger_url)
    with pytest.raises(LedgerMisconfigured, match="newer than this program"):
        upgrade(ledger_url)


def test_a_program_does_not_start_on_a_newer_schema_that_does_not(ledger_url: str) -> None:
    for said in (works_with("zzzy"), ""):
        newer(ledger_url, said)
        with pytest.raises(LedgerMisconfigured, match="newer than this program"):
            require_current(ledger_url)


def test_every_schema_says_which_programs_work_with_it(ledger_url: str) -> None:
    assert status(ledger_url).works_from == WORKS_FROM == FIRST_RELEASED


def test_a_log_goes_down_to_the_first_released_schema_and_up_again_unharmed(
    ledger_url: str,
) -> None:
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        append_lives(ledger, [("train", stories.succeeded)])
        events = ledger.store.last_position()
    downgrade(ledger_url, FIRST_RELEASED)
    upgrade(ledger_url)
    engine = open_engine(ledger_url)
    try:
        report = verify(engine, lambda *_: None)
    finally:
        engine.dispose()
    assert (report.events, report.faults) == (events, ())


def test_a_schema_with_archive_records_cannot_be_gone_back_from(ledger_url: str) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("INSERT INTO archive VALUES (1, '', now(), '', 0, 0, '{}', '')")
    with pytest.raises(LedgerError, match="jobs have been archived"):
        downgrade(ledger_url, "base")
    assert status(ledger_url).pending == ()
