"""What the service's own login may not do to the database beside its tables: a line per attack."""

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import make_url

from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.postgres import plain_url
from tests.support.records import StreamWriter, a_stream

pytestmark = pytest.mark.postgres

ROLES = ("jobledger_app", "jobledger_report")


@pytest.fixture(params=ROLES)
def login(ledger_url: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a login with one of the roles."""
    url = make_url(ledger_url)
    name = f"hardened_{url.database}"
    with tampering(ledger_url) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
        admin.execute(f"GRANT {request.param} TO {name}")
    yield url.set(username=name, password="x").render_as_string(hide_password=False)
    with tampering(ledger_url) as admin:
        admin.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


ATTACKS = {
    "switch triggers off for the session": "SET session_replication_role = replica",
    "switch a trigger off": "ALTER TABLE event DISABLE TRIGGER ALL",
    "take a trigger away": "DROP TRIGGER refuse_removal ON log_head",
    "empty the log": "TRUNCATE event",
    "write the log": "INSERT INTO event SELECT * FROM event",
    "change the log": "UPDATE event SET actor = 'x'",
    "delete of the log": "DELETE FROM event",
    "copy into the log": "COPY event FROM STDIN",
    "move the end of the log": "UPDATE log_head SET position = 0",
    "hang a rule on the log": "CREATE RULE r AS ON INSERT TO event DO INSTEAD NOTHING",
    "hide rows": "ALTER TABLE event ENABLE ROW LEVEL SECURITY",
    "attach a partition": "CREATE TABLE {schema}.p PARTITION OF event DEFAULT",
    "make a trigger": "CREATE TRIGGER t BEFORE INSERT ON event "
    "EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "replace a function": "CREATE OR REPLACE FUNCTION {schema}.shard_of_v1(stream_id uuid) "
    "RETURNS integer LANGUAGE sql AS 'SELECT 0'",
    "change a function's path": "ALTER FUNCTION append_v1 RESET search_path",
    "run a program on the server": "COPY (SELECT 1) TO PROGRAM 'true'",
    "read a file of the server": "SELECT pg_read_file('PG_VERSION')",
    "become the owner": "SET ROLE {owner}",
    "make a role": "CREATE ROLE another",
    "make a schema": "CREATE SCHEMA another",
    "set a limit for others": "ALTER SYSTEM SET statement_timeout = 1",
    "change the owner's settings": "ALTER ROLE {owner} SET search_path = pg_temp",
    "keep large objects": "SELECT lo_import('/etc/hostname')",
}
"""What is tried -> how. Each is refused for want of a right."""


def test_what_it_may_not(login: str, ledger_url: str) -> None:
    with tampering(ledger_url) as admin:
        found = admin.execute(
            "SELECT quote_ident(current_schema()), quote_ident(tableowner) FROM pg_tables "
            "WHERE tablename = 'event' AND schemaname = current_schema()"
        ).fetchone()
    assert found is not None
    allowed = []
    with psycopg.connect(plain_url(login), autocommit=True) as connection:
        for attack, statement in ATTACKS.items():
            meant = statement.replace("{schema}", found[0]).replace("{owner}", found[1])
            try:
                connection.execute(meant)
            except psycopg.errors.InsufficientPrivilege:
                continue
            allowed.append(attack)
    assert allowed == []


def test_every_function_that_runs_as_the_owner_has_a_path_of_its_own(ledger_url: str) -> None:
    with tampering(ledger_url) as admin:
        rows = admin.execute(
            "SELECT proname, proconfig FROM pg_proc WHERE prosecdef "
            "AND pronamespace = current_schema()::regnamespace"
        ).fetchall()
    assert len(rows) > 20, "the functions of the ledger"
    path = "search_path=pg_catalog, pg_temp"
    assert [name for name, settings in rows if path not in (settings or ())] == []


def test_temporary_tables_of_the_session_stand_in_no_functions_way(ledger_url: str) -> None:
    """Whoever may make temporary objects gives them the names of the ledger's own."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        with engine.connect() as connection:
            tables = ("event", "stream", "log_head", "job", "shard_lease", "append_lock")
            for table in tables:
                connection.exec_driver_sql(f"CREATE TEMP TABLE {table} (x integer)")
            connection.exec_driver_sql("SET search_path = pg_temp, public")
            stream = a_stream()
            part = StreamWriter(stream).next()
        ledger.store.append([part])
    with tampering(ledger_url) as admin:
        asked = "SELECT count(*) FROM event WHERE stream_id = %s"
        assert admin.execute(asked, (stream,)).fetchone() == (1,)
