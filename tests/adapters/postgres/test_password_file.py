"""A password that stands in a file is read for each connection, and never repeated."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.connection.password_file import BYTES_MAX, read
from jobledger.adapters.postgres.log.leases import PostgresLeases
from jobledger.adapters.postgres.schema.version import status
from jobledger.core.errors import LedgerError, LedgerMisconfigured
from jobledger.core.values.ids import SHARDS
from tests.support.postgres import plain_url

pytestmark = pytest.mark.postgres

USER = sql.Identifier("keyed")
END_ALL = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'keyed'"


@dataclass(frozen=True)
class Keyed:
    """A user of a ledger who has to give a password."""

    admin: psycopg.Connection[tuple[object, ...]]
    url: str
    file: Path

    def takes(self, password: str) -> None:
        """Let the server take another password from now on, on all that is new."""
        take = sql.SQL("ALTER ROLE {} PASSWORD {}")
        self.admin.execute(take.format(USER, sql.Literal(password)))
        self.admin.execute(END_ALL)


@pytest.fixture
def keyed(ledger_url: str, tmp_path: Path) -> Iterator[Keyed]:
    file = tmp_path / "password"
    without = make_url(ledger_url)._replace(username="keyed", password=None)
    url = without.update_query_dict({"password_file": str(file)})
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN IN ROLE jobledger_app").format(USER))
        try:
            yield Keyed(admin, url.render_as_string(hide_password=False), file)
        finally:
            admin.execute(END_ALL)
            admin.execute(sql.SQL("DROP ROLE {}").format(USER))


def works(leases: PostgresLeases) -> bool:
    """Return whether there is an answer; the first one after a loss is none."""
    try:
        leases.acquire("one", timedelta(seconds=30), SHARDS)
    except LedgerError:
        return False
    return True


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_password_that_changes_is_read_anew(keyed: Keyed, end: str) -> None:
    keyed.takes("first")
    keyed.file.write_text(f"first{end}", newline="")
    engine = open_engine(keyed.url)
    try:
        leases = PostgresLeases(engine)
        assert works(leases)
        keyed.takes("secönd one")
        assert [works(leases), works(leases)] == [False, False], "the file has the first yet"
        keyed.file.write_text(f"secönd one{end}", newline="")
        assert works(leases)
        keyed.file.unlink()
        assert works(leases), "an open connection goes on"
    finally:
        engine.dispose()
    assert "secönd" not in repr(engine.url)


def test_a_wrong_password_is_told_as_ever(keyed: Keyed) -> None:
    keyed.takes("right")
    keyed.file.write_text("wrong")
    with pytest.raises(LedgerMisconfigured, match="the password is wrong") as refused:
        status(keyed.url)
    assert "right" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(keyed: Keyed) -> None:
    with pytest.raises(LedgerMisconfigured, match=r"password cannot be read: No such file"):
        status(keyed.url)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (b"", "must hold one line"),
        (b"\n", "must hold one line"),
        (b"one\ntwo", "must hold one line"),
        (b"one\0", "must hold one line"),
        (b"x" * (BYTES_MAX + 1), "must hold one line"),
        (b"\xff", "it is not UTF-8"),
    ],
)
def test_what_is_no_password_is_refused_and_not_repeated(
    tmp_path: Path, held: bytes, said: str
) -> None:
    file = tmp_path / "password"
    file.write_bytes(held)
    with pytest.raises(LedgerMisconfigured, match=said) as refused:
        read(file)
    assert "two" not in str(refused.value)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "password")
    with pytest.raises(LedgerMisconfigured, match=r"cannot be read: it is no regular file"):
        read(tmp_path / "password")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://u:p@h/d?password_file=/x", "a password and a password_file"),
        ("postgresql://u@h/d?password_file=/x&password_file=/y", "must name one file"),
    ],
)
def test_one_place_for_a_password(url: str, said: str) -> None:
    with pytest.raises(LedgerMisconfigured, match=said):
        open_engine(url)
