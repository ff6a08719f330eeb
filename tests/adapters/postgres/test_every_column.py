"""Change a value in any table: `verify` or `rebuild --check` finds it, or the docs say why not."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Engine,
    Integer,
    LargeBinary,
    SmallInteger,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP

from bench.population.life import RULES
from bench.population.loading import load
from jobledger.adapters.forensics.sealed import SealOptions, check_seals, seal_new
from jobledger.adapters.ledger_wiring import Ledger, open_ledger
from jobledger.adapters.postgres.refolding.all_jobs import rebuild_all
from jobledger.adapters.postgres.reports.projecting.rebuild import check_reports
from jobledger.adapters.postgres.schema.tables import metadata
from jobledger.adapters.postgres.verifying.orphans import orphans
from jobledger.adapters.postgres.verifying.tables import beside_the_log
from jobledger.adapters.postgres.verifying.verify import verify
from jobledger.core.forensics.bundles.bundle import Bundle
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.house.test_docs import ROOT
from tests.support.ledgers import app_engine, tampering
from tests.support.postgres import fresh_database
from tests.support.records import NOON
from tests.support.reported import SMALL

pytestmark = pytest.mark.postgres

NOT_COVERED = {
    "append_lock": {"held"},
    "archived_evidence": {"digest", "marked_at"},
    "evidence": {"stored_at"},
    "imported_job": {"imported_at"},
    "ledger_cluster": {"cluster"},
    "notification": {column.name for column in metadata.tables["notification"].columns},
    "notification_cursor": {"single", "position"},
    "replica": {"owner", "cluster", "since", "until", "hears", "heard_at", "well_since"},
    "resource_price": {"resource", "accelerator", "valid_from", "price_per_hour"},
    "shard_lease": {"shard", "epoch", "owner", "until"},
    "snapshot": {"stream_id", "version", "chain", "folded_by", "content", "seal"},
    "upkeep_lock": {"held"},
}
"""Columns of which no check speaks; docs/howto/prove-the-log.md gives the reasons."""

ELSEWHERE = {"archive", "archived_stream", "event", "stream"}
"""Tables whose columns `test_archive_forgeries` and `test_verify` change."""

FOLDED = {name for name in metadata.tables if name in {"job", "attempt", "decision", "effect"}} | {
    name for name in metadata.tables if name.startswith("report_")
}
"""Tables that `rebuild --check` folds anew, whole rows at a time."""

WITH_A_GAP = replace(SMALL, seed=39)
"""So few jobs that not every seed has one that was not watched for a while."""


@dataclass
class Kept:
    """A filled ledger, and what finds fault with it."""

    url: str
    engine: Engine
    ledger: Ledger

    def found(self) -> list[str]:
        """Return what `verify` finds."""
        walked = verify(self.engine, lambda *_: None).faults
        sealed = check_seals(self.ledger.seals, None, None, lambda _: None).faults
        return [str(one) for one in (*walked, *sealed, *beside_the_log(self.engine))]


@pytest.fixture(scope="module")
def kept(postgres_server: EmbeddedPostgres, ledger_template: str) -> Iterator[Kept]:
    """A small platform with a seal, a piece of evidence, an imported job and a cluster."""
    with fresh_database(postgres_server, ledger_template) as url, app_engine(url) as engine:
        load(url, WITH_A_GAP)
        ledger = open_ledger(url, engine)
        seal_new(ledger.seals, lambda: NOON, lambda *_: None, SealOptions())
        ledger.evidence.put(b"the end of a log", NOON)
        stream = next(iter(ledger.history.streams()))
        bundle = Bundle(exported_at=NOON, events=tuple(ledger.store.read_stream(stream)))
        ledger.imports.keep(bundle, NOON)
        with engine.connect() as connection:
            connection.exec_driver_sql("SELECT slot_of_v1('somewhere')")
        made = Kept(url, engine, ledger)
        assert made.found() == [], "nothing is wrong before"
        assert [differing(made, name) for name in FOLDED] == [set()] * len(FOLDED)
        yield made


TABLES = sorted(set(metadata.tables) - ELSEWHERE - FOLDED)

CHECKED = [
    name for name in TABLES if NOT_COVERED.get(name) != set(metadata.tables[name].columns.keys())
]

OTHERWISE = (
    (Boolean, "NOT {0}"),
    (Integer | SmallInteger | BigInteger, "coalesce({0}, 0) + 1000"),
    (Double, "coalesce({0}, 0) + 1"),
    (Uuid, "gen_random_uuid()"),
    (LargeBinary, "sha256({0} || 'x')"),
    (JSONB, """'{{"another": 1}}'"""),
    (TIMESTAMP, "coalesce({0}, now()) + interval '1 s'"),
    (Text, "coalesce({0}, '') || 'x'"),
)
"""Another value for a column, by its type."""


JSON_IN_TEXT = {"labels": """((labels)::jsonb || '{"another":"1"}')::text"""}
"""Columns of texts that an index reads as JSON."""


def another(column: Column[object]) -> str:
    if column.name in JSON_IN_TEXT:
        return JSON_IN_TEXT[column.name]
    for kind, expression in OTHERWISE:
        if isinstance(column.type, kind):
            return expression.format(column.name)
    pytest.fail(f"how is {column} changed?")


@pytest.mark.parametrize("name", CHECKED)
def test_a_changed_value_in_any_column_is_named(kept: Kept, name: str) -> None:
    table = metadata.tables[name]
    unseen = set()
    for column in table.columns:
        with changed(kept.url, name, column):
            if not kept.found():
                unseen.add(column.name)
    assert unseen == NOT_COVERED.get(name, set())
    assert kept.found() == [], "all is as it was"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (r"UPDATE evidence SET packed = packed || '\\x00'", "evidence"),
        ("UPDATE evidence SET digest = ''", "evidence"),
        ("UPDATE imported_job SET imported_at = 'infinity'", "import"),
    ],
)
def test_a_value_that_nothing_writes_is_named(kept: Kept, change: str, kind: str) -> None:
    table = metadata.tables[change.split()[1]]
    with changed(kept.url, table.name, statement=change):
        assert [one.split("'")[1] for one in kept.found()] == [kind]
    assert kept.found() == [], "all is as it was"


@pytest.mark.parametrize(
    ("logs", "kinds"),
    [
        ("5", {"payload"}),
        (r'[5, {"digest_of_content": "\u0000"}]', {"payload"}),
        (r'[{"digest_of_content": "\ud800"}]', {"unreadable"}),
        (r'[{"end": "\uDFFF"}]', {"unreadable"}),
        (rf'[{{"digest_of_content": "{"a" * 64}", "end": "\\u0000"}}]', {"payload", "evidence"}),
    ],
)
def test_a_payload_that_none_can_have_hides_nothing(kept: Kept, logs: str, kinds: set[str]) -> None:
    of_evidence = "SELECT tableoid, ctid FROM event WHERE type = 'EvidenceCaptured' LIMIT 1"
    change = f"""UPDATE event SET data = '{{"logs": {logs}}}' WHERE (tableoid, ctid) ="""
    with changed(kept.url, "event", statement=f"{change} ({of_evidence})"):
        assert {one.split("'")[1] for one in kept.found()} == kinds
    assert kept.found() == [], "all is as it was"


def differing(kept: Kept, name: str) -> set[str]:
    """Return the columns of a table that `rebuild --check`, or with `--reports` that, names."""
    if name.startswith("report_"):
        found = list(check_reports(kept.engine, RULES))
    else:
        found = list(rebuild_all(kept.engine, lambda *_: None, check=True))
        found += orphans(kept.engine)
    return {item.column for item in found if item.table == name}


@pytest.mark.parametrize("name", sorted(FOLDED))
def test_a_changed_value_in_any_column_of_a_projection_differs_from_the_fold(
    kept: Kept, name: str
) -> None:
    """All at once but the key; what is not named then has to be found by itself."""
    table = metadata.tables[name]
    others = [column for column in table.columns if not column.primary_key]
    with changed(kept.url, name, *others):
        named = differing(kept, name)
    unseen = set()
    for column in table.columns:
        if column.name not in named:
            with changed(kept.url, name, column):
                if not differing(kept, name):
                    unseen.add(column.name)
    assert unseen == set()
    assert differing(kept, name) == set(), "all is as it was"


@contextmanager
def changed(url: str, table: str, *columns: Column[object], statement: str = "") -> Iterator[None]:
    """Change values of one row, or as a statement does, while the block runs."""
    with tampering(url) as superuser:
        superuser.execute(f"CREATE TABLE as_it_was AS SELECT * FROM {table}".encode())
        try:
            values = ", ".join(f"{column.name} = {another(column)}" for column in columns)
            update = f"UPDATE {table} SET {values} "
            where = f"(SELECT tableoid, ctid FROM {table} ORDER BY 1, 2 LIMIT 1)"
            change = statement or f"{update} WHERE (tableoid, ctid) = {where}"
            done = superuser.execute(change.encode())
            assert done.rowcount == 1, f"{table} is empty"
            yield
        finally:
            superuser.execute(f"DELETE FROM {table}".encode())
            superuser.execute(f"INSERT INTO {table} SELECT * FROM as_it_was".encode())
            superuser.execute("DROP TABLE as_it_was")


@pytest.mark.parametrize("name", sorted(NOT_COVERED))
def test_what_is_not_covered_is_in_the_docs_with_the_reason(name: str) -> None:
    page = (ROOT / "docs" / "howto" / "prove-the-log.md").read_text(encoding="utf-8")
    (_, section) = page.split("## What covers what")
    (row,) = (line for line in section.splitlines() if line.startswith(f"| `{name}`"))
    _, _, columns, reason, _ = row.split("|")
    whole = NOT_COVERED[name] == set(metadata.tables[name].columns.keys())
    named = set(re.findall(r"`(\w+)`", columns))
    assert named == NOT_COVERED[name] or (whole and columns.strip() == "all")
    assert reason.strip()


def test_no_table_is_forgotten() -> None:
    """A table that is new is checked here, unless it is named above."""
    assert set(metadata.tables) == set(TABLES) | ELSEWHERE | FOLDED
    assert set(NOT_COVERED) <= set(TABLES)
