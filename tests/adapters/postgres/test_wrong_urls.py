"""A wrong DATABASE_URL is told in one line that says what to correct and repeats no password."""

import socket
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import make_url

from jobledger.adapters.postgres.connection.engine import open_engine, parse_url, require_supported
from jobledger.adapters.postgres.connection.errors import describe, ledger_error
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.schema.version import status
from jobledger.core.errors import BrokenChain, LedgerError, LedgerMisconfigured, LedgerUnavailable
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.support.answering import answering, speak_http
from tests.support.postgres import plain_url
from tests.support.records import NOON

SECRET = "s3cret"


def refusal(url: str) -> LedgerError:
    """Return what both the commands and the service say to a URL; they say the same."""
    with pytest.raises(LedgerError) as of_status:
        status(url)
    engine = open_engine(url)
    try:
        with pytest.raises(LedgerError) as of_service:
            PostgresEventStore(engine, lambda: NOON).last_position()
    finally:
        engine.dispose()
    assert type(of_status.value) is type(of_service.value)
    message = str(of_status.value)
    assert SECRET not in message
    assert "\n" not in message
    assert len(message) < 500
    return of_status.value


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        f"postgresql://user:{SECRET}@host:port/x",
        "postgresql://[::1/x",
        "host=x dbname=y",
    ],
)
def test_what_is_no_url_is_not_repeated(url: str) -> None:
    with pytest.raises(LedgerMisconfigured, match="postgresql://user:password@host") as refused:
        parse_url(url)
    assert SECRET not in str(refused.value)
    assert refused.value.__suppress_context__ or SECRET not in repr(refused.value.__cause__)


@pytest.mark.parametrize(
    "password", [f"p@{SECRET}", f"p@x/{SECRET}", f"1/{SECRET}", f"p@/{SECRET}"]
)
def test_of_a_password_that_was_not_quoted_nothing_is_told(password: str) -> None:
    """Its rest was taken for host and database, which every message names."""
    with pytest.raises(LedgerMisconfigured, match=r"@ is written %40, / %2F") as refused:
        parse_url(f"postgresql://user:{password}@host:5432/x")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://u:p%40%2F@h/d?user=a@b", "h:5432/d"),
        ("postgresql://u@server:p@h:1/d%40", "h:1/d@"),
        ("postgresql:///d?host=/run/pg&port=5433", "/run/pg:5433/d"),
        ("postgresql:///d?host=one:1&host=two:2", "one:1 or two:2/d"),
    ],
)
def test_where_the_server_is_said_to_be(url: str, told: str) -> None:
    assert describe(parse_url(url)) == f"Postgres at {told}"


@pytest.mark.parametrize("scheme", ["mysql", "sqlite", "mysql+pymysql"])
def test_another_database_is_named(scheme: str) -> None:
    with pytest.raises(LedgerMisconfigured, match=f"names {scheme.partition('+')[0]}; .*Postgres"):
        parse_url(f"{scheme}://user:{SECRET}@host/x")


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2"])
def test_the_usual_spellings_are_understood(scheme: str) -> None:
    assert parse_url(f"{scheme}://u:p@h:1/d").drivername == "postgresql+psycopg"


@pytest.mark.postgres
def test_a_wrong_password(database_url: str) -> None:
    wrong = make_url(database_url).set(password=SECRET).render_as_string(hide_password=False)
    error = refusal(wrong)
    assert isinstance(error, LedgerMisconfigured)
    assert "the password is wrong" in str(error)


@pytest.mark.postgres
def test_a_missing_database(database_url: str) -> None:
    wrong = make_url(database_url).set(database="missing").render_as_string(hide_password=False)
    error = refusal(wrong)
    assert isinstance(error, LedgerMisconfigured)
    assert "there is no such database" in str(error)


def test_an_unknown_host() -> None:
    error = refusal(f"postgresql://user:{SECRET}@no-such-host.invalid/x")
    assert "no-such-host.invalid:5432/x" in str(error)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = refusal(f"postgresql://user:{SECRET}@127.0.0.1:{port}/x")
    assert isinstance(error, LedgerUnavailable)
    assert f"127.0.0.1:{port}/x cannot be reached" in str(error)


@pytest.fixture
def web_server() -> Iterator[int]:
    """Something that answers in another language; its port."""
    with answering(speak_http) as port:
        yield port


def test_what_answers_is_not_postgres(web_server: int) -> None:
    error = refusal(f"postgresql://user:{SECRET}@127.0.0.1:{web_server}/x")
    assert isinstance(error, LedgerMisconfigured)
    assert "not Postgres" in str(error)


@pytest.mark.parametrize(
    ("told", "meaning"),
    [
        (
            'server certificate for "elsewhere.example" does not match host name "127.0.0.1"',
            "its certificate is another host's",
        ),
        (
            "SSL error: certificate verify failed",
            "its certificate has expired, or is not valid yet by the clock of this machine",
        ),
        ("FATAL: connection requires a valid client certificate", "it wants a client certificate"),
        ("SSL error: tlsv1 alert unknown ca", "it refuses the client certificate"),
        ("SSL error: ssl/tls alert certificate expired", "it refuses the client certificate"),
        ("SSL error: unsupported protocol version", "it and this program share no version of TLS"),
        (
            'FATAL: pg_hba.conf rejects connection for host "127.0.0.1", no encryption',
            "Postgres refuses this user; correct DATABASE_URL or pg_hba.conf",
        ),
        ('weak sslmode "verify-ca" may not be used with sslrootcert=system', "DATABASE_URL cannot"),
        ('invalid "ssl_min_protocol_version" value: "TLSv1.4"', "DATABASE_URL cannot be used"),
        ("FATAL: no such database: x", "there is no such database"),
        ("FATAL: unsupported startup parameter: options", "the pooler at this address takes no"),
        ("server does not support SSL, but SSL was required", "it speaks no TLS"),
        (
            'root certificate file "/nonexistent" does not exist Either provide the file, or',
            "a file of sslrootcert, sslcert or sslkey cannot be used",
        ),
        (
            'private key file "/key" has group or world access; file must have permissions',
            "a file of sslrootcert, sslcert or sslkey cannot be used",
        ),
    ],
)
def test_what_is_wrong_with_tls_does_not_go_by(told: str, meaning: str) -> None:
    """As libpq tells it: no server answered with a state."""
    text = f'connection failed: connection to server at "127.0.0.1", port 5432 failed: {told}'
    error = ledger_error(psycopg.OperationalError(text), parse_url("postgresql://u@127.0.0.1/x"))
    assert isinstance(error, LedgerMisconfigured)
    assert f": {meaning}" in str(error)
    assert told[:40] in str(error)


def test_a_connection_that_broke_off_in_its_handshake_may_come_about_later() -> None:
    text = "connection failed: SSL connection has been closed unexpectedly"
    error = ledger_error(psycopg.OperationalError(text), parse_url("postgresql://u@h/x"))
    assert isinstance(error, LedgerUnavailable)


def test_a_text_that_the_driver_does_not_send_is_no_trouble_of_the_server() -> None:
    refused = psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    error = ledger_error(refused, parse_url("postgresql://u@h/x"))
    assert isinstance(error, BrokenChain)
    assert "a text cannot be stored in Postgres" in str(error)


def test_an_option_that_libpq_does_not_know() -> None:
    error = refusal(f"postgresql://user:{SECRET}@127.0.0.1/x?nonsense=1")
    assert isinstance(error, LedgerMisconfigured)
    assert "cannot be used" in str(error)


@pytest.mark.postgres
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_keep_every_text(
    postgres_server: EmbeddedPostgres, encoding: str
) -> None:
    """What `initdb` makes where no locale is set; a traceback of the driver told nobody that."""
    name = f"encoded_{encoding.lower()}"
    with psycopg.connect(plain_url(postgres_server.url), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0")
        try:
            error = refusal(f"{postgres_server.url.rsplit('/', 1)[0]}/{name}")
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert isinstance(error, LedgerMisconfigured)
    assert f"the encoding of this database is {encoding}, and the ledger needs UTF8" in str(error)


def test_a_server_that_is_too_old() -> None:
    require_supported(140000)
    with pytest.raises(LedgerMisconfigured, match="this is Postgres 13; the ledger needs 14"):
        require_supported(130022)
