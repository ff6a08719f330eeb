"""A ledger that cannot be used is told by every command: one line, an exit code, no password."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.log.replicas import PostgresReplicas
from jobledger.adapters.postgres.schema.version import downgrade
from jobledger.core.errors import LedgerMisconfigured
from tests.support.answering import answering, speak_http
from tests.support.postgres import plain_url
from tests.support.processes import Finished, Terminal

pytestmark = pytest.mark.postgres

PASSWORD = "s3cret-and-long"

READING = {
    "run": ("run", "--port", "0"),
    "get": ("get",),
    "history": ("history", "some-job"),
    "decisions": ("decisions",),
    "verify": ("verify",),
    "rebuild": ("rebuild", "--check"),
}
DATABASE = {"upgrade": ("db", "upgrade"), "status": ("db", "status")}
ALL = {**READING, **DATABASE}

MISCONFIGURED, UNAVAILABLE = ExitCode.MISCONFIGURED, ExitCode.UNAVAILABLE


def all_of(
    terminal: Terminal, url: str, commands: Mapping[str, tuple[str, ...]]
) -> dict[str, Finished]:
    """Run the commands against a ledger and return what became of each."""
    told = terminal.with_environment(
        DATABASE_URL=url, JOBLEDGER_DATA_DIR=str(terminal.directory / "data")
    )
    return {name: told.jobledger(*words, code=None) for name, words in commands.items()}


def assert_all_tell(
    terminal: Terminal,
    url: str,
    said: str,
    code: ExitCode = MISCONFIGURED,
    commands: Mapping[str, tuple[str, ...]] = ALL,
) -> None:
    """Every command ends with `code` and one line that holds `said`, and no secret."""
    for name, ended in all_of(terminal, url, commands).items():
        assert ended.code == code, (name, ended)
        assert ended.err.startswith("jobledger: "), (name, ended)
        assert ended.err.count("\n") == 1, (name, ended)
        assert said in ended.err, (name, ended)
        assert PASSWORD not in ended.everything, name
        assert ended.out == "", (name, ended)


def changed(url: str, **parts: str | int) -> str:
    return make_url(url).set(**parts).render_as_string(hide_password=False)  # type: ignore[arg-type]  # parts of a URL


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """The port of something that speaks another language."""
    with answering(speak_http) as port:
        yield port


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"user:{PASSWORD}@host/ledger", "it must look like postgresql://user:password@host"),
        (f"mysql://user:{PASSWORD}@host/ledger", "names mysql; the ledger needs Postgres"),
    ],
)
def test_what_is_no_address_of_a_postgres(terminal: Terminal, url: str, said: str) -> None:
    assert_all_tell(terminal, url, said)


def test_nobody_listens(terminal: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"postgresql://user:{PASSWORD}@127.0.0.1:{port}/ledger"
    assert_all_tell(terminal, url, f"127.0.0.1:{port}/ledger cannot be reached", UNAVAILABLE)


def test_what_answers_is_not_postgres(terminal: Terminal, elsewhere: int) -> None:
    url = f"postgresql://user:{PASSWORD}@127.0.0.1:{elsewhere}/ledger"
    assert_all_tell(terminal, url, "what answers there is not Postgres")


def test_a_wrong_password(terminal: Terminal, database_url: str) -> None:
    wrong = changed(database_url, password=PASSWORD)
    assert_all_tell(terminal, wrong, "the password is wrong")


def test_a_missing_database(terminal: Terminal, database_url: str) -> None:
    wrong = changed(database_url, database="missing")
    assert_all_tell(terminal, wrong, "there is no such database")


def test_a_database_without_a_ledger(terminal: Terminal, database_url: str) -> None:
    said = "has schema none and"
    assert_all_tell(terminal, database_url, said, commands=READING)
    upgraded = all_of(terminal, database_url, {"upgrade": ("db", "upgrade")})["upgrade"]
    assert upgraded.code == 0, upgraded
    assert all_of(terminal, database_url, {"get": ("get",)})["get"].code == 0


def test_an_old_schema(terminal: Terminal, ledger_url: str) -> None:
    downgrade(ledger_url, "-1")
    assert_all_tell(terminal, ledger_url, "run `jobledger db upgrade`", commands=READING)
    status = all_of(terminal, ledger_url, {"status": ("db", "status")})["status"]
    assert status.code == 0
    assert "PENDING" in status.out
    assert "run `jobledger db upgrade`" in status.out


def test_no_schema_goes_back_under_a_service(terminal: Terminal, ledger_url: str) -> None:
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as connection:
        connection.execute("SELECT beat_v1('r1/a', 'default', interval '1 hour', true)")
    back = {word: ("db", "downgrade", word, "--yes") for word in ("base", "0107")}
    said = "a service works on this ledger: r1/a; nothing was changed; stop it first"
    assert_all_tell(terminal, ledger_url, said, commands=back)
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as connection:
        connection.execute("SELECT leave_v1('r1/a')")
    ended = all_of(terminal, ledger_url, {word: back[word] for word in ("0107", "base")})
    assert [one.code for one in ended.values()] == [0, 0], ended


def test_what_an_old_schema_forbids_is_no_missing_grant(ledger_url: str) -> None:
    downgrade(ledger_url, "0105")
    engine = open_engine(ledger_url, EngineOptions(role=APP_ROLE))
    try:
        with pytest.raises(
            LedgerMisconfigured, match=r"the schema is an old one, .*run `jobledger db"
        ):
            PostgresReplicas(engine, "default").beat("r", timedelta(seconds=9), hears=True)
    finally:
        engine.dispose()


def test_a_newer_schema(terminal: Terminal, ledger_url: str) -> None:
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.execute("COMMENT ON TABLE alembic_version IS NULL")
    commands = {**READING, "upgrade": ("db", "upgrade")}
    said = "has schema 9999, which is newer than this program"
    assert_all_tell(terminal, ledger_url, said, commands=commands)


def test_a_schema_from_before_the_first_release(terminal: Terminal, ledger_url: str) -> None:
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0018'")
    commands = {
        **READING,
        "upgrade": ("db", "upgrade"),
        "downgrade": ("db", "downgrade", "base", "--yes"),
    }
    said = "has schema 0018, of a program from before the first release: no migration leads on"
    assert_all_tell(terminal, ledger_url, said, commands=commands)
    status = all_of(terminal, ledger_url, {"status": ("db", "status")})["status"]
    assert (status.code, said in status.out) == (0, True)


def test_a_database_of_others_is_not_made_a_ledger_by_mistake(
    terminal: Terminal, database_url: str
) -> None:
    with psycopg.connect(plain_url(database_url), autocommit=True) as connection:
        for table in ("customer", "invoice", "refund", "account"):
            connection.execute(sql.SQL("CREATE TABLE {} (n int)").format(sql.Identifier(table)))
    said = "is no ledger and not empty: there are account, customer, invoice and 1 more"
    assert_all_tell(terminal, database_url, said, commands={"upgrade": ("db", "upgrade")})
    with psycopg.connect(plain_url(database_url)) as connection:
        made = "SELECT count(*) FROM pg_class WHERE relname IN ('event', 'alembic_version')"
        assert connection.execute(made).fetchone() == (0,)
    meant = {"upgrade": ("db", "upgrade", "--beside-others"), "get": ("get",)}
    assert [ended.code for ended in all_of(terminal, database_url, meant).values()] == [0, 0]


@pytest.mark.parametrize("revision", ["0003", "0042", "9f8a7c"])
def test_a_revision_of_another_program_is_not_taken_for_a_ledgers(
    terminal: Terminal, database_url: str, revision: str
) -> None:
    with psycopg.connect(plain_url(database_url), autocommit=True) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)")
        connection.execute("INSERT INTO alembic_version VALUES (%s)", (revision,))
    commands = {
        **READING,
        "upgrade": ("db", "upgrade"),
        "beside": ("db", "upgrade", "--beside-others"),
        "downgrade": ("db", "downgrade", "base", "--yes"),
    }
    said = f"is no ledger: its schema '{revision}' is another program's"
    assert_all_tell(terminal, database_url, said, commands=commands)
    status = all_of(terminal, database_url, {"status": ("db", "status")})["status"]
    assert (status.code, said in status.out) == (0, True)


def test_a_user_who_looks_into_another_schema(terminal: Terminal, ledger_url: str) -> None:
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA other")
        database = sql.Identifier(make_url(ledger_url).database or "")
        change = sql.SQL("ALTER DATABASE {} SET search_path = other").format(database)
        connection.execute(change)
    said = "has its ledger in the schema public, and this user looks into another"
    commands = {**READING, "upgrade": ("db", "upgrade")}
    assert_all_tell(terminal, ledger_url, said, commands=commands)
    status = all_of(terminal, ledger_url, {"status": ("db", "status")})["status"]
    assert (status.code, said in status.out) == (0, True)


@contextmanager
def guest(url: str) -> Iterator[str]:
    """Make a user who may log in and nothing else; give its URL."""
    name = sql.Identifier(f"guest_{make_url(url).database}")
    with psycopg.connect(plain_url(url), autocommit=True) as admin:
        make = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, sql.Literal(PASSWORD))
        admin.execute(make)
    try:
        yield changed(url, username=f"guest_{make_url(url).database}", password=PASSWORD)
    finally:
        with psycopg.connect(plain_url(url), autocommit=True) as admin:
            admin.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(name))
            admin.execute(sql.SQL("DROP ROLE {}").format(name))


def test_a_user_without_permission(terminal: Terminal, ledger_url: str) -> None:
    with guest(ledger_url) as url:
        assert_all_tell(terminal, url, "this user may not do that", commands=READING)


def test_a_directory_that_cannot_hold_the_private_postgres(
    terminal: Terminal, tmp_path: Path
) -> None:
    """Without DATABASE_URL there is a private server, and its directory must be one."""
    (tmp_path / "file").write_text("no directory")
    told = terminal.with_environment(JOBLEDGER_DATA_DIR=str(tmp_path / "file"))
    ended = told.jobledger("get", code=ExitCode.MISCONFIGURED)
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err
