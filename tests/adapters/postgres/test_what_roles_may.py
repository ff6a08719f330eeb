"""What each role of the database can forge, undo and read; docs/explanation/security.md says it.

Each test shows a line of the table there: what is possible, and who notices it.
"""

import hashlib
import zlib
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import Engine, make_url

from jobledger.adapters.postgres.checks.guards import CHECKS
from jobledger.adapters.postgres.log.evidence import PostgresEvidence
from jobledger.adapters.postgres.verifying.verify import verify
from jobledger.core.errors import BrokenChain
from jobledger.core.ports.event_store import AppendOutcome
from jobledger.core.values.ids import SHARDS
from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.postgres import plain_url
from tests.support.records import NOON, WRITER, StreamWriter, a_stream, an_attempt_row

pytestmark = pytest.mark.postgres

ROLES = {"jobledger_app": "may_call", "jobledger_report": "may_read", "": "may_log_in"}


@pytest.fixture
def logins(ledger_url: str) -> Iterator[dict[str, str]]:
    """A login for each role, and one of none; the log has a job."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        ledger.store.append([StreamWriter(a_stream()).next()])
        PostgresEvidence(engine).put(b"what the Pod wrote", NOON)
    made = {}
    database = make_url(ledger_url).database
    with tampering(ledger_url) as admin:
        for role, name in ROLES.items():
            login = f"{name}_{database}"
            admin.execute(f"CREATE ROLE {login} LOGIN PASSWORD 'x'")
            if role:
                admin.execute(f"GRANT {role} TO {login}")
            made[role] = make_url(ledger_url).set(username=login, password="x")
    yield {role: url.render_as_string(hide_password=False) for role, url in made.items()}
    with tampering(ledger_url) as admin:
        for url in made.values():
            admin.execute(f"DROP OWNED BY {url.username}; DROP ROLE {url.username}")


def refused(url: str, statement: str) -> bool:
    with psycopg.connect(plain_url(url)) as connection:
        try:
            connection.execute(statement)
        except psycopg.errors.InsufficientPrivilege:
            return True
        return False


READ = ("event", "stream", "job", "attempt", "evidence", "imported_job", "seal", "archive")


@pytest.mark.parametrize("role", ROLES)
def test_who_may_read_what(logins: dict[str, str], role: str) -> None:
    unreadable = [table for table in READ if refused(logins[role], f"SELECT FROM {table}")]
    assert unreadable == ([] if role else list(READ))


@pytest.mark.parametrize("role", ROLES)
def test_nobody_but_the_owner_may_write_a_table(logins: dict[str, str], role: str) -> None:
    for table in READ:
        for statement in ("DELETE FROM {}", "TRUNCATE {}", "ALTER TABLE {} DISABLE TRIGGER ALL"):
            assert refused(logins[role], statement.format(table)), (table, statement)


@pytest.mark.parametrize("role", ROLES)
def test_no_table_is_anybodys_to_write(logins: dict[str, str], ledger_url: str, role: str) -> None:
    """Nor a column of one: rows come and go by the functions of the ledger alone."""
    with tampering(ledger_url) as admin:
        rows = admin.execute(
            "SELECT c.relname, w.what FROM pg_class c, pg_roles r, unnest(ARRAY['INSERT', "
            "'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS w (what) "
            "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') "
            "AND r.rolname = %s AND (has_table_privilege(r.oid, c.oid, w.what) OR "
            "(w.what IN ('INSERT', 'UPDATE', 'REFERENCES') "
            "AND has_any_column_privilege(r.oid, c.oid, w.what)))",
            (make_url(logins[role]).username,),
        ).fetchall()
    assert rows == []


@pytest.mark.parametrize("role", ["jobledger_report", ""])
def test_who_is_not_the_service_calls_no_function_that_writes(
    logins: dict[str, str], ledger_url: str, role: str
) -> None:
    with tampering(ledger_url) as admin:
        rows = admin.execute(
            "SELECT p.oid::regprocedure::text, has_function_privilege(%s, p.oid, 'EXECUTE') "
            "FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef",
            (make_url(logins[role]).username,),
        ).fetchall()
    assert len(rows) > 20, "the functions of the ledger"
    assert [name for name, may in rows if may] == []


@pytest.mark.parametrize("function", ["remove_archived_v1", "forget_jobs_v1", "sweep_evidence_v1"])
def test_the_service_takes_nothing_out_of_the_log(
    logins: dict[str, str], ledger_url: str, function: str
) -> None:
    with tampering(ledger_url) as admin:
        asked = "SELECT has_function_privilege(%s, oid, 'EXECUTE') FROM pg_proc WHERE proname = %s"
        login = make_url(logins["jobledger_app"]).username
        assert admin.execute(asked, (login, function)).fetchone() == (False,)


def test_the_service_s_login_can_forge_what_comes_next_and_nothing_shows_it(
    logins: dict[str, str], ledger_url: str
) -> None:
    """The log knows who may append, not whether what is appended happened."""
    with app_engine(logins["jobledger_app"]) as thief:
        ledger = postgres_ledger(thief)
        ledger.leases.release(WRITER)
        taken = ledger.leases.acquire("thief", timedelta(minutes=1), SHARDS)
        forged = StreamWriter(a_stream("forged"), epoch=taken[0].epoch, actor="thief").next(
            {"phase": "Complete"}
        )
        (result,) = ledger.store.append([forged])
        assert result.outcome is AppendOutcome.APPENDED
    with app_engine(ledger_url) as engine:
        assert verify(engine, lambda *_: None).faults == ()


def test_it_can_write_rows_that_do_not_follow_from_the_events(
    logins: dict[str, str], ledger_url: str
) -> None:
    """`rebuild --check` and the doctor tell: tests/acceptance/test_tampering.py."""
    stream = a_stream("told otherwise")
    with app_engine(logins["jobledger_app"]) as thief:
        part = StreamWriter(stream).next(attempts=[an_attempt_row(stream, 7)])
        (result,) = postgres_ledger(thief).store.append([part])
        assert result.outcome is AppendOutcome.APPENDED
    with tampering(ledger_url) as admin:
        asked = "SELECT number FROM attempt WHERE stream_id = %s"
        assert admin.execute(asked, (stream,)).fetchall() == [(7,)]


def test_it_can_put_wrong_evidence_under_a_name_first_and_it_is_named(
    logins: dict[str, str], ledger_url: str
) -> None:
    genuine = b"what another Pod will write"
    digest = hashlib.sha256(genuine).digest()
    with psycopg.connect(plain_url(logins["jobledger_app"]), autocommit=True) as thief:
        forged = zlib.compress(b"something else")
        thief.execute("SELECT put_evidence_v1(%s, 14, %s, now())", (digest, forged))
    with app_engine(ledger_url) as engine:
        evidence = PostgresEvidence(engine)
        evidence.put(genuine, NOON)
        with pytest.raises(BrokenChain, match="not have the content it was named by"):
            evidence.get(digest.hex())
        assert [name for name, _ in evidence.changed()] == [digest.hex()]


def test_the_owner_can_switch_the_guards_off_and_the_doctor_and_verify_show_it(
    ledger_url: str, logins: dict[str, str]
) -> None:
    assert logins
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as owner:
        owner.execute("ALTER TABLE event DISABLE TRIGGER ALL")
        owner.execute("UPDATE event SET actor = 'nobody'")
    with app_engine(ledger_url) as engine:
        assert _guards(engine) != []
        assert verify(engine, lambda *_: None).faults != ()
        with psycopg.connect(plain_url(ledger_url), autocommit=True) as owner:
            owner.execute("ALTER TABLE event ENABLE TRIGGER ALL")
        assert _guards(engine) == [], "that they were off does not show afterwards"
        assert verify(engine, lambda *_: None).faults != (), "what was changed does"


def _guards(engine: Engine) -> list[str]:
    return [item.what for check in CHECKS for item in check.run(engine)]
