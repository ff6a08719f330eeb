"""The schema goes up, down and up again, and is what `tables.py` says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from psycopg import sql

from jobledger.adapters.postgres.schema.tables import metadata
from jobledger.adapters.postgres.schema.version import (
    WORKS_FROM,
    config,
    downgrade,
    require_current,
    revisions,
    status,
    upgrade,
)
from jobledger.core.errors import JobledgerError, LedgerMisconfigured
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.postgres import plain_url
from tests.support.records import StreamWriter, a_stream, an_attempt_row

pytestmark = pytest.mark.postgres

CHECKOUT = Path(__file__).parents[3]

REVISIONS = (
    "0101",
    "0102",
    "0103",
    "0104",
    "0105",
    "0106",
    "0107",
    "0108",
    "0109",
    "0110",
    "0111",
    "0113",
    "0114",
    "0115",
    "0116",
    "0117",
    "0118",
    "0119",
    "0120",
)
"""All migrations, in their order."""


def append_something(url: str) -> None:
    with app_engine(url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        stream = a_stream()
        part = StreamWriter(stream).next(None, attempts=[an_attempt_row(stream)])
        (result,) = ledger.store.append([part])
        assert result.version == 1


def left_behind(url: str) -> list[str]:
    """Return tables, functions and types of the schema `public`."""
    with psycopg.connect(plain_url(url)) as connection:
        found = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
            "UNION SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        ).fetchall()
    return sorted(name for (name,) in found if not name.startswith("alembic_version"))


def alembic(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "alembic", *arguments],
        cwd=CHECKOUT,
        env={**os.environ, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_up_down_up_on_an_empty_database(database_url: str) -> None:
    upgrade(database_url)
    downgrade(database_url, "base")
    assert left_behind(database_url) == []
    assert status(database_url).current is None
    upgrade(database_url)
    append_something(database_url)


def test_up_down_up_on_a_filled_database(ledger_url: str) -> None:
    append_something(ledger_url)
    downgrade(ledger_url, "base")
    assert left_behind(ledger_url) == []
    upgrade(ledger_url)
    append_something(ledger_url)


def test_every_step_can_be_taken_alone(database_url: str) -> None:
    steps = status(database_url).pending
    for revision in steps:
        upgrade(database_url, revision)
        assert status(database_url).current == revision
    for revision in [*reversed(steps[:-1]), "base"]:
        downgrade(database_url, revision)
    assert left_behind(database_url) == []


def test_a_schema_and_the_note_of_who_works_with_it_come_together(database_url: str) -> None:
    """A death between the two left a schema that every older program refuses, for ever."""
    with psycopg.connect(plain_url(database_url), autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands()"
            " WHERE object_identity LIKE '%.alembic_version')"
            " THEN RAISE 'no note'; END IF; END $$"
        )
        connection.execute(
            "CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('COMMENT')"
            " EXECUTE FUNCTION refuse()"
        )
        with pytest.raises(JobledgerError):
            upgrade(database_url)
        assert status(database_url).current is None
        connection.execute("DROP EVENT TRIGGER refuse")
    upgrade(database_url)
    assert status(database_url).works_from == WORKS_FROM


def test_an_upgrade_of_what_is_current_changes_nothing(ledger_url: str) -> None:
    before = left_behind(ledger_url)
    upgrade(ledger_url)
    assert left_behind(ledger_url) == before
    require_current(ledger_url)


def test_alembic_finds_no_difference_to_the_metadata(ledger_url: str) -> None:
    """With partitions made, and from the command line as a developer runs it."""
    append_something(ledger_url)
    checked = alembic(ledger_url, "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "No new upgrade operations detected" in checked.stdout


def test_alembic_would_find_a_difference(ledger_url: str) -> None:
    with psycopg.connect(plain_url(ledger_url)) as connection:
        connection.execute("COMMENT ON COLUMN job.phase IS 'something else'")
    assert alembic(ledger_url, "check").returncode != 0


def test_the_database_has_every_index_and_fill_factor_of_the_metadata(ledger_url: str) -> None:
    """What `alembic check` does not compare: predicates of indexes and storage parameters."""
    with psycopg.connect(plain_url(ledger_url)) as connection:
        indexes: dict[str, str] = dict(
            connection.execute(
                "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
            ).fetchall()
        )
        options: dict[str, str] = dict(
            connection.execute(
                "SELECT relname, array_to_string(reloptions, ',') FROM pg_class "
                "WHERE relnamespace = 'public'::regnamespace AND reloptions IS NOT NULL"
            ).fetchall()
        )
    for table in metadata.tables.values():
        for index in table.indexes:
            where = index.dialect_options["postgresql"]["where"]
            assert (where is not None) == (" WHERE " in indexes[str(index.name)]), index.name
        with_ = table.dialect_options["postgresql"]["with"]
        if with_:
            assert f"fillfactor={with_['fillfactor']}" in options[table.name].split(",")


def test_every_table_and_column_is_explained_in_the_database(ledger_url: str) -> None:
    with psycopg.connect(plain_url(ledger_url)) as connection:
        silent = connection.execute(
            "SELECT c.relname, a.attname FROM pg_class c "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum >= 0 AND NOT attisdropped "
            "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') "
            "AND NOT c.relispartition AND c.relname <> 'alembic_version' "
            "AND (col_description(c.oid, a.attnum) IS NULL "
            "     OR obj_description(c.oid, 'pg_class') IS NULL)"
        ).fetchall()
    assert silent == []


def test_two_migrators_at_once_do_the_work_once(database_url: str) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "alembic", "upgrade", "head"],
            cwd=CHECKOUT,
            env={**os.environ, "DATABASE_URL": database_url},
        )
        for _ in range(2)
    ]
    assert [process.wait(60) for process in both] == [0, 0]
    require_current(database_url)


def test_the_ledger_may_live_in_any_schema(database_url: str) -> None:
    with psycopg.connect(plain_url(database_url)) as connection:
        connection.execute('CREATE SCHEMA "odd ""name"')
        connection.execute(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = %I', "
            "current_database(), 'odd \"name'); END $$"
        )
    upgrade(database_url)
    append_something(database_url)
    assert left_behind(database_url) == []


@pytest.mark.parametrize("path", ["private", "private, public"])
def test_a_ledger_in_another_schema_is_named_and_none_is_made_beside_it(
    ledger_url: str, path: str
) -> None:
    """A login that has a schema of its own would begin a second, empty ledger there."""
    with psycopg.connect(plain_url(ledger_url)) as connection:
        connection.execute("CREATE SCHEMA private")
        connection.execute(
            f"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = {path}', "
            "current_database()); END $$"
        )
    for act in (require_current, upgrade):
        with pytest.raises(LedgerMisconfigured, match=r"schema public, .*search_path = public"):
            act(ledger_url)


def test_status_tells_what_is_pending(database_url: str) -> None:
    upgrade(database_url, "0102")
    found = status(database_url)
    assert (found.current, found.newer) == ("0102", False)
    assert found.pending == REVISIONS[2:]
    with pytest.raises(LedgerMisconfigured, match=r"schema 0102 .*run `jobledger db upgrade`"):
        require_current(database_url)


def test_a_newer_schema_is_told_apart_and_left_alone(ledger_url: str) -> None:
    with psycopg.connect(plain_url(ledger_url)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.execute("COMMENT ON TABLE alembic_version IS NULL")
    found = status(ledger_url)
    assert (found.current, found.pending, found.newer) == ("9999", (), True)
    for act in (require_current, upgrade):
        with pytest.raises(LedgerMisconfigured, match=r"schema 9999, which is newer"):
            act(ledger_url)


def test_a_schema_from_before_the_first_release_is_told_apart_and_left_alone(
    ledger_url: str,
) -> None:
    """Its revision was squashed away: a ledger that has it can neither go up nor down."""
    append_something(ledger_url)
    with psycopg.connect(plain_url(ledger_url)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0018'")
    before = content_of(ledger_url)
    found = status(ledger_url)
    assert (found.current, found.pending, found.newer) == ("0018", (), False)
    assert found.is_unreleased
    assert not found.usable
    for act in (
        require_current,
        upgrade,
        lambda url: upgrade(url, beside_others=True),
        lambda url: downgrade(url, "base"),
    ):
        with pytest.raises(LedgerMisconfigured, match=r"schema 0018, .*before the first release"):
            act(ledger_url)
    assert content_of(ledger_url) == before


def content_of(url: str) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table."""
    with psycopg.connect(plain_url(url)) as connection:
        names = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
            "AND relkind IN ('r', 'p') ORDER BY relname"
        ).fetchall()
        return {
            name: connection.execute(sql.SQL("TABLE {}").format(sql.Identifier(name))).fetchall()
            for (name,) in names
        }


def test_without_a_ledger_the_message_says_what_to_run(database_url: str) -> None:
    with pytest.raises(LedgerMisconfigured, match="run `jobledger db upgrade`"):
        require_current(database_url)
    with (
        app_engine(database_url) as engine,
        pytest.raises(LedgerMisconfigured, match="run `jobledger db upgrade`"),
    ):
        postgres_ledger(engine).store.last_position()


def test_alembic_needs_to_be_told_where() -> None:
    environment = {name: v for name, v in os.environ.items() if name != "DATABASE_URL"}
    run = subprocess.run(
        [sys.executable, "-m", "alembic", "upgrade", "head"],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode != 0
    assert "DATABASE_URL is not set" in run.stderr


def test_there_is_one_line_of_migrations() -> None:
    command.heads(config())
    found = sorted((CHECKOUT / "migrations/versions").glob("0*.py"))
    assert tuple(path.name[:4] for path in found) == REVISIONS
    scripts = ScriptDirectory.from_config(config()).walk_revisions()
    assert tuple(script.revision for script in scripts)[::-1] == revisions()


def test_a_table_of_versions_with_several_lines_is_another_programs(database_url: str) -> None:
    with psycopg.connect(plain_url(database_url), autocommit=True) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num text PRIMARY KEY)")
        assert status(database_url).current is None
        connection.execute("INSERT INTO alembic_version VALUES ('0101'), ('0102')")
    found = status(database_url)
    assert (found.current, found.is_foreign, found.has_migrations) == ("0101, 0102", True, False)


def test_the_migrations_are_found_below_a_folder_of_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "it's 100% %(here)s ünï"
    shutil.copytree(CHECKOUT / "migrations", checkout / "migrations")
    monkeypatch.setattr("jobledger.adapters.postgres.schema.version._checkout", lambda: checkout)
    found = ScriptDirectory.from_config(config())
    assert Path(found.dir) == checkout / "migrations"
    assert (
        found.get_current_head() == ScriptDirectory(str(CHECKOUT / "migrations")).get_current_head()
    )
