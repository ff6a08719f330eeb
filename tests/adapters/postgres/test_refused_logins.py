"""A login that is refused tells what to correct, whatever language the server speaks."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import psycopg
import pytest
from sqlalchemy import Dialect, make_url

from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.connection.refusals import Refusals
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.core.errors import LedgerError, LedgerMisconfigured, LedgerUnavailable
from tests.support.answering import answering
from tests.support.postgres import plain_url
from tests.support.records import NOON

SSL_REQUEST, PLAIN = 80877103, b"N"


def refusals(url: str, times: int = 1) -> list[LedgerError]:
    """Return what one engine says to as many questions."""
    engine = open_engine(url)
    store = PostgresEventStore(engine, lambda: NOON)
    told = []
    try:
        for _ in range(times):
            with pytest.raises(LedgerError) as refused:
                store.last_position()
            told.append(refused.value)
    finally:
        engine.dispose()
    return told


def _words(connection: socket.socket) -> int:
    """Read what a client says first; return its code."""
    head = connection.recv(8, socket.MSG_WAITALL)
    length, code = struct.unpack("!ii", head)
    connection.recv(length - 8, socket.MSG_WAITALL)
    return int(code)


@contextmanager
def server_that_refuses(severity: str, state: str, told: str) -> Iterator[tuple[str, list[int]]]:
    """Run a server that refuses each login; give its URL, and a list with one for each login."""
    fields = "".join(f"{k}{v}\0" for k, v in [("S", severity), ("C", state), ("M", told)])
    body = fields.encode() + b"\0"
    refusal = b"E" + struct.pack("!i", len(body) + 4) + body
    logins: list[int] = []

    def refuse(connection: socket.socket) -> None:
        if _words(connection) == SSL_REQUEST:
            connection.sendall(PLAIN)
            _words(connection)
        logins.append(1)
        connection.sendall(refusal)

    with answering(refuse) as port:
        yield f"postgresql://u:p@127.0.0.1:{port}/x", logins


@pytest.mark.parametrize(
    ("severity", "state", "told", "meaning"),
    [
        ("FATAL", "28P01", "Passwort-Authentifizierung fehlgeschlagen", "the password is wrong"),
        ("FATAL", "3D000", "la base de données « x » n'existe pas", "there is no such database"),
        ("FATAL", "28000", 'ロール"u"は存在しません', "Postgres refuses this user"),
        (
            "ВАЖНО",
            "28P01",
            "пользователь u не прошёл проверку подлинности",
            "the password is wrong",
        ),
        ("FATAL", "42704", "unbekannter Konfigurationsparameter »x«", "an option in DATABASE_URL"),
    ],
)
def test_a_refusal_in_another_language(severity: str, state: str, told: str, meaning: str) -> None:
    """It passed for an outage: commands ended with 5, and a service tried again for ever."""
    with server_that_refuses(severity, state, told) as (url, logins):
        first, *others = refusals(url, 3)
    assert isinstance(first, LedgerMisconfigured)
    assert meaning in str(first)
    assert told in str(first)
    assert [str(error) for error in others] == [str(first)] * 2
    assert len(logins) == (2 if state.startswith("28") else 4), "what a text means is asked once"


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("53300", "tut mir leid, schon zu viele Verbindungen"),
        ("57P03", "das Datenbanksystem startet"),
        ("55000", "Datenbank »x« akzeptiert gegenwärtig keine Verbindungen"),
    ],
)
def test_what_passes_in_another_language(state: str, told: str) -> None:
    with server_that_refuses("FATAL", state, told) as (url, _):
        (error,) = refusals(url)
    assert isinstance(error, LedgerUnavailable)
    assert told in str(error)


@pytest.mark.parametrize(
    ("state", "told", "kind"),
    [
        ("28P01", 'password authentication failed for user "u"', LedgerMisconfigured),
        ("57P03", "the database system is starting up", LedgerUnavailable),
    ],
)
def test_what_is_understood_is_asked_once(state: str, told: str, kind: type[LedgerError]) -> None:
    """A second login with a wrong password would count as another where accounts are locked."""
    with server_that_refuses("FATAL", state, told) as (url, logins):
        (error,) = refusals(url)
    assert isinstance(error, kind)
    assert len(logins) == 1


class Server:
    """Refuses each login while it is to; takes the place of SQLAlchemy's dialect."""

    def __init__(self, told: str) -> None:
        self.told, self.logins = told, 0

    def connect(self, **_how: object) -> object:
        self.logins += 1
        if self.told:
            raise psycopg.OperationalError(self.told)
        return object()


class Login:
    """Logs in at instants that are given."""

    def __init__(self, told: str) -> None:
        self.server, self.now, self.told = Server(told), 0.0, ""
        self._refusals = Refusals(lambda: self.now)

    def at(self, now: float, password: str = "wrong") -> bool:
        """Return whether the server was asked."""
        self.now, before = now, self.server.logins
        how = {"password": password, "connect_timeout": 5}
        try:
            self._refusals.connect(cast("Dialect", self.server), cast("Any", None), (), how)
        except psycopg.OperationalError as error:
            self.told = str(error)
        return self.server.logins > before


WRONG = 'FATAL:  password authentication failed for user "u"'


def test_a_user_who_is_refused_is_tried_less_and_less_often() -> None:
    """A service whose password no longer held tried 18 times a second, and locked the account."""
    login = Login(WRONG)
    tried = [second / 2 for second in range(300) if login.at(second / 2)]
    assert tried == [0, 1, 3, 7, 15, 31, 61, 91, 121]
    assert login.told == WRONG


def test_another_password_is_tried_at_once_and_the_right_one_ends_the_pauses() -> None:
    login = Login(WRONG)
    assert [login.at(0), login.at(0), login.at(0, "another")] == [True, False, True]
    login.server.told = ""
    assert [login.at(0, "right"), login.at(0, "right"), login.at(0)] == [True] * 3


@pytest.mark.parametrize("told", ["connection refused", "FATAL:  the database system is starting"])
def test_a_server_that_is_away_is_tried_each_time(told: str) -> None:
    login = Login(told)
    assert all(login.at(0) for _ in range(5))


@pytest.mark.postgres
def test_a_user_who_may_not_connect(database_url: str) -> None:
    name = make_url(database_url).database
    with psycopg.connect(plain_url(database_url), autocommit=True) as admin:
        admin.execute(f'REVOKE CONNECT ON DATABASE "{name}" FROM public')
        admin.execute("CREATE ROLE not_let_in LOGIN PASSWORD 'secret'")
        other = make_url(database_url).set(username="not_let_in", password="secret")
        try:
            (error,) = refusals(other.render_as_string(hide_password=False))
        finally:
            admin.execute("DROP ROLE not_let_in")
    assert isinstance(error, LedgerMisconfigured)
    assert "GRANT CONNECT ON DATABASE" in str(error)
