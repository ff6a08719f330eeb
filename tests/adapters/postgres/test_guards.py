"""What guards the log inside the database is held against what the migrations make."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Engine, make_url

from jobledger.adapters.postgres.checks.guards import CHECKS
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.schema.version import downgrade, upgrade
from jobledger.adapters.postgres.verifying.condition import condition
from jobledger.core.forensics.findings import Finding, Severity
from tests.adapters.postgres.make_as_migrated import PLACE, made_by_migrations
from tests.support.ledgers import app_engine, tampering
from tests.support.postgres import plain_url

pytestmark = pytest.mark.postgres

BODY = "LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"

SWALLOW = (
    f"CREATE FUNCTION swallow() RETURNS trigger {BODY}; CREATE TRIGGER a BEFORE INSERT ON event "
    "FOR EACH ROW EXECUTE FUNCTION swallow()"
)


@pytest.fixture
def engine(ledger_url: str) -> Iterator[Engine]:
    """The connections of the service."""
    with tampering(ledger_url) as superuser:
        superuser.execute("SELECT ensure_partitions_v1('2026-11-05Z', '2026-11-05Z')")
    with app_engine(ledger_url) as made:
        yield made


def findings(engine: Engine) -> list[Finding]:
    return [finding for check in CHECKS for finding in check.run(engine)]


def test_the_file_is_what_the_migrations_make(ledger_url: str) -> None:
    """If not: `python -m tests.adapters.postgres.make_as_migrated`."""
    assert PLACE.read_text(encoding="utf-8") == made_by_migrations(ledger_url)


def test_a_ledger_as_it_was_migrated_has_no_finding(engine: Engine) -> None:
    assert findings(engine) == []


def test_nor_has_one_in_a_schema_of_another_name_and_owner(
    database_url: str, ledger_template: str
) -> None:
    assert ledger_template, "its migration has made the roles on this server"
    name = f'odd " {make_url(database_url).database}'
    with psycopg.connect(plain_url(database_url), autocommit=True) as admin:
        role = sql.Identifier(name)
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'x'").format(role))
        admin.execute(sql.SQL("GRANT jobledger_app TO {}").format(role))
        database = sql.Identifier(make_url(database_url).database or "")
        admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, role))
        admin.execute(sql.SQL("CREATE SCHEMA {0} AUTHORIZATION {0}").format(role))
        of_all = sql.SQL("ALTER DATABASE {} SET search_path = {}").format(database, role)
        admin.execute(of_all)
    theirs = make_url(database_url).set(username=name, password="x").render_as_string(False)
    try:
        upgrade(theirs)
        with app_engine(theirs) as made:
            assert findings(made) == []
            found = condition(made)
        assert (found.rights_lacking, found.rights_beyond) == ((), ())
    finally:
        with psycopg.connect(plain_url(database_url), autocommit=True) as admin:
            admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(database))
            admin.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(role))
            admin.execute(sql.SQL("DROP ROLE {}").format(role))


OF_OTHERS = """
    CREATE TABLE theirs (a int) PARTITION BY RANGE (a);
    CREATE TABLE theirs_1 PARTITION OF theirs FOR VALUES FROM (0) TO (1);
    CREATE FUNCTION theirs_v1() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
    CREATE TRIGGER theirs BEFORE INSERT ON theirs FOR EACH ROW EXECUTE FUNCTION theirs_v1();
    CREATE TABLE anybodys (a int);
    GRANT SELECT, INSERT ON anybodys TO PUBLIC
"""


def test_what_others_have_in_the_schema_is_not_looked_at(engine: Engine, ledger_url: str) -> None:
    """The service starts, and its role needs no right on their tables, nor has it one too many."""
    before = condition(engine)
    with tampering(ledger_url) as superuser:
        superuser.execute(OF_OTHERS)
    assert findings(engine) == []
    found = condition(engine)
    assert (found.rights_lacking, found.rights_beyond) == ((), ())
    assert [one.table for one in found.tables] == [one.table for one in before.tables]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "ALTER TABLE event DISABLE TRIGGER refuse_change",
            ["the trigger event refuse_change is not as it was made: off", "event_y2026m11"],
        ),
        (
            "ALTER TABLE event_y2026m11 DISABLE TRIGGER refuse_truncate",
            ["of event_y2026m11 the trigger refuse_truncate is not as it was made: off"],
        ),
        (
            "ALTER TABLE seal ENABLE REPLICA TRIGGER refuse_change",
            ["the trigger seal refuse_change is not as it was made: on for replicas"],
        ),
        ("DROP TRIGGER refuse_removal ON stream", ["the trigger stream refuse_removal is missing"]),
        (
            SWALLOW,
            ["the trigger event a is none of the ledger's"],
        ),
        (
            f"CREATE OR REPLACE FUNCTION refuse_change_v1() RETURNS trigger {BODY}",
            ["the function refuse_change_v1() is not as it was made: ", "source"],
        ),
        (
            "ALTER FUNCTION append_v1 SET search_path = public",
            ["the function append_v1(", "is not as it was made: settings"],
        ),
        (
            "ALTER FUNCTION append_v1 SECURITY INVOKER",
            ["the function append_v1(", "is not as it was made: rights"],
        ),
        ("DROP FUNCTION analyze_grown_v1", ["the function analyze_grown_v1(", "is missing"]),
        (
            "CREATE FUNCTION beat_v1(text) RETURNS int LANGUAGE sql AS 'SELECT 1'",
            ["the function beat_v1(text) is none of the ledger's, though it has the name of one"],
        ),
        (
            "CREATE FUNCTION back_door() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'",
            ["back_door() is none of the ledger's and runs with the rights of its owner"],
        ),
        (
            "CREATE RULE keep AS ON DELETE TO event DO INSTEAD NOTHING",
            ["event has a rule: keep"],
        ),
        ("ALTER TABLE job ENABLE ROW LEVEL SECURITY", ["job has row level security"]),
        (
            "GRANT UPDATE ON event_y2026m11 TO PUBLIC",
            ["was not granted by a migration: UPDATE ON event_y2026m11 TO PUBLIC"],
        ),
        (
            "GRANT UPDATE (actor) ON event TO jobledger_report",
            ["was not granted by a migration: UPDATE ON event.actor TO jobledger_report"],
        ),
        (
            "GRANT EXECUTE ON FUNCTION append_v1 TO jobledger_report",
            ["was not granted by a migration: EXECUTE ON FUNCTION append_v1 TO jobledger_report"],
        ),
        (
            "GRANT EXECUTE ON FUNCTION forget_jobs_v1 TO jobledger_app",
            ["was not granted by a migration: EXECUTE ON FUNCTION forget_jobs_v1"],
        ),
        (
            "REVOKE SELECT ON job FROM jobledger_report",
            ["this right is missing: SELECT ON job TO jobledger_report"],
        ),
        (
            "GRANT CREATE ON SCHEMA public TO jobledger_report",
            ["was not granted by a migration: CREATE ON SCHEMA TO jobledger_report"],
        ),
    ],
)
def test_whatever_was_changed_is_named(
    engine: Engine, ledger_url: str, change: str, said: list[str]
) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute(change)
    found = findings(engine)
    assert {item.severity for item in found} == {Severity.ERROR}
    told = "\n".join(item.what for item in found)
    assert [part for part in said if part not in told] == [], told


def test_a_reader_that_somebody_let_in_is_a_note(engine: Engine, ledger_url: str) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("GRANT SELECT ON job TO PUBLIC")
    (found,) = findings(engine)
    assert (found.severity, found.what) == (
        Severity.NOTE,
        "somebody else may read: SELECT ON job TO PUBLIC",
    )


def test_a_role_that_may_more_on_the_server_is_named(engine: Engine, ledger_url: str) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("ALTER ROLE jobledger_report CREATEROLE")
    try:
        (found,) = findings(engine)
    finally:
        with tampering(ledger_url) as superuser:
            superuser.execute("ALTER ROLE jobledger_report NOCREATEROLE")
    assert found.what == "jobledger_report may create roles"


def test_of_another_schema_it_is_said_that_nothing_is_known(ledger_url: str) -> None:
    downgrade(ledger_url, "-1")
    made = open_engine(ledger_url)
    (found,) = findings(made)
    made.dispose()
    assert found.severity is Severity.NOTE
    assert "is known of" in found.what
