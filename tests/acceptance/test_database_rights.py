"""What commands say to a user or a database that will not do: one line, exit code 4, what to do."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.postgres import fresh_database, plain_url
from tests.support.processes import Terminal
from tests.support.records import StreamWriter, a_stream

pytestmark = pytest.mark.postgres

PASSWORD = "s3cret-and-long"
GRANT_APP = "GRANT jobledger_app TO <the user of DATABASE_URL>;"
AS_OWNER = "as the owner of the tables, the user of `jobledger db upgrade`"


def url_of(url: str, **parts: str) -> str:
    return make_url(url).set(**parts).render_as_string(hide_password=False)  # type: ignore[arg-type]  # its stubs know the names only


@pytest.fixture
def logins(ledger_url: str) -> Iterator[dict[str, str]]:
    """Users of a ledger with one job, by what was granted to them."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        ledger.store.append([StreamWriter(a_stream("one")).next({}, {})])
    users = {"nothing": None, "reader": "jobledger_report", "service": "jobledger_app"}
    names = {right: f"login_{right}" for right in users}
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        for right, role in users.items():
            user = sql.Identifier(names[right])
            made = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(user, sql.Literal(PASSWORD))
            admin.execute(made)
            if role is not None:
                admin.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), user))
    try:
        yield {
            right: url_of(ledger_url, username=name, password=PASSWORD)
            for right, name in names.items()
        }
    finally:
        with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
            for name in names.values():
                admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def refusal(terminal: Terminal, url: str, *command: str) -> str:
    """Return the one line that a command ends with."""
    ended = terminal.with_environment(DATABASE_URL=url).jobledger(
        *command, code=ExitCode.MISCONFIGURED
    )
    (line,) = ended.err.strip().splitlines()
    assert PASSWORD not in line
    return line


NEEDS_THE_SERVICES_ROLE = (
    ("get",),
    ("verify",),
    ("seal", "add"),
    ("rebuild",),
    ("serve", "--port", "0"),
    ("run",),
)


@pytest.mark.parametrize("command", NEEDS_THE_SERVICES_ROLE, ids=" ".join)
@pytest.mark.parametrize("right", ["nothing", "reader"])
def test_who_may_not_take_on_the_services_role_is_told_what_to_grant(
    terminal: Terminal, logins: dict[str, str], right: str, command: tuple[str, ...]
) -> None:
    assert GRANT_APP in refusal(terminal, logins[right], *command)


def test_a_reader_may_report_and_nobody_else_may_not(
    terminal: Terminal, logins: dict[str, str]
) -> None:
    terminal.with_environment(DATABASE_URL=logins["reader"]).jobledger("report", "waste")
    assert "jobledger_report is enough" in refusal(terminal, logins["nothing"], "report", "waste")


@pytest.mark.parametrize("right", ["reader", "service"])
def test_what_only_the_owner_may_do_is_refused_to_others(
    terminal: Terminal, logins: dict[str, str], right: str
) -> None:
    downgrade = ("db", "downgrade", "0102", "--yes")
    assert AS_OWNER in refusal(terminal, logins[right], *downgrade)
    create = ("archive", "create", "--to", "archives", "--older-than", "90d")
    assert "by the owner of its tables" in refusal(terminal, logins[right], *create)


@pytest.mark.parametrize("command", [("get",), ("db", "status"), ("run",)], ids=" ".join)
def test_a_wrong_password_and_a_missing_database_are_told(
    terminal: Terminal, logins: dict[str, str], command: tuple[str, ...]
) -> None:
    wrong = url_of(logins["service"], password="another")
    assert "the password is wrong; correct DATABASE_URL" in refusal(terminal, wrong, *command)
    nowhere = url_of(logins["service"], database="nowhere")
    assert "there is no such database" in refusal(terminal, nowhere, *command)


@pytest.mark.parametrize("revision", ["abc123def456", "9999"])
def test_a_database_of_another_program_is_told(
    terminal: Terminal, postgres_server: EmbeddedPostgres, revision: str
) -> None:
    with fresh_database(postgres_server) as url:
        with psycopg.connect(plain_url(url), autocommit=True) as other:
            other.execute("CREATE TABLE alembic_version (version_num text PRIMARY KEY)")
            other.execute("INSERT INTO alembic_version VALUES (%s)", (revision,))
        said = f"is no ledger: its schema '{revision}' is another program's"
        for command in (("get",), ("db", "upgrade"), ("run",)):
            assert said in refusal(terminal, url, *command)


def test_a_ledger_of_a_newer_program_is_told(
    terminal: Terminal, postgres_server: EmbeddedPostgres
) -> None:
    with fresh_database(postgres_server) as url:
        upgrade(url)
        with psycopg.connect(plain_url(url), autocommit=True) as newer:
            newer.execute("UPDATE alembic_version SET version_num = '9999'")
            newer.execute("COMMENT ON TABLE alembic_version IS NULL")
        for command in (("get",), ("db", "upgrade"), ("run",)):
            assert "which is newer than this program" in refusal(terminal, url, *command)


def test_an_older_schema_is_told(terminal: Terminal, postgres_server: EmbeddedPostgres) -> None:
    with fresh_database(postgres_server) as url:
        upgrade(url, "0102")
        for command in (("get",), ("serve", "--port", "0"), ("run",)):
            assert "has schema 0102" in refusal(terminal, url, *command)
