"""Maps errors of Postgres, its driver and the network to the core's errors.

The SQLSTATE decides. Where a connection never came about libpq has none, and the driver's text must
do; what it does not tell is asked (`refusals`). Nothing of a URL but host, port and database name
enters a message.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from jobledger.core.errors import BrokenChain, LedgerError, LedgerMisconfigured, LedgerUnavailable

_LONGEST_FOREIGN_TEXT = 300
"""Characters of a server's message that are passed on."""

_SHORTEST_PASSWORD = 4
"""Characters from which on a password is struck out of messages (libpq names none anyway)."""

_EVENT_REFUSED = "JL001"
_UPGRADE = "run `jobledger db upgrade`"

_PASSING_CLASSES = ("08", "40", "53", "57", "58")
"""Connection, transaction rolled back, resources, operator intervention, system error."""

_PASSING_STATES = frozenset({"25006", "55P03", "25P03"})
"""Read-only (a standby after a failover), lock not available, idle in transaction."""

_SCHEMA_STATES = frozenset({"42P01", "42703", "42883", "3F000"})
"""No such table, column, function, schema."""

_UNSTORABLE_STATES = frozenset({"22P05", "22021"})
"""A NUL character or a broken encoding in a text."""

_REFUSED_STATES = {
    "28000": "Postgres refuses this user; correct DATABASE_URL or pg_hba.conf",
    "28P01": "the password is wrong; correct DATABASE_URL",
    "3D000": "there is no such database; create it or correct DATABASE_URL",
}

_LOGIN_STATES = {
    **_REFUSED_STATES,
    "42501": (
        "this user may not connect to that database; an administrator must run: "
        "GRANT CONNECT ON DATABASE <the database> TO <the user of DATABASE_URL>;"
    ),
    "42704": "an option in DATABASE_URL is none of this Postgres; correct it",
    "22023": "an option in DATABASE_URL has a value that it cannot have; correct it",
}
"""What somebody has to change where a login is refused so; all else passes."""

_CONNECTION_TEXTS = {
    "password authentication failed|no password supplied": _REFUSED_STATES["28P01"],
    "database .* does not exist|no such database": _REFUSED_STATES["3D000"],
    "SSL error: .*(protocol version|unsupported protocol|no protocols available)": (
        "it and this program share no version of TLS; correct ssl_min_protocol_version and "
        "ssl_max_protocol_version"
    ),
    "requires a valid client certificate": (
        "it wants a client certificate, and none was sent; name files that are there as sslcert "
        "and sslkey in DATABASE_URL"
    ),
    "alert (unknown ca|(bad |no )?certificate)|certificate authentication failed": (
        "it refuses the client certificate; renew the one that sslcert in DATABASE_URL names, or "
        "correct ssl_ca_file or pg_hba.conf there"
    ),
    "role .* does not exist|pg_hba|authentication failed|not permitted to log": _REFUSED_STATES[
        "28000"
    ],
    "Name or service not known|could not translate host name|No address associated": (
        "there is no such host; correct DATABASE_URL"
    ),
    "invalid response to|unsupported protocol|received unexpected|expected authentication": (
        "what answers there is not Postgres; correct DATABASE_URL"
    ),
    "does not match host name": (
        "its certificate is another host's; correct DATABASE_URL, or the certificate"
    ),
    "certificate verify failed|certificate has expired": (
        "its certificate has expired, or is not valid yet by the clock of this machine, or nothing "
        "in sslrootcert vouches for it; renew it, correct sslrootcert, or set the clock"
    ),
    "does not support SSL": "it speaks no TLS; turn `ssl` on there, or correct sslmode",
    "(certificate|private key) file": (
        "a file of sslrootcert, sslcert or sslkey cannot be used; correct DATABASE_URL"
    ),
    "GSSAPI encryption required": "there are no credentials of GSSAPI; correct gssencmode",
    'invalid (connection option|URI|port|integer|SSL protocol|"?\\w+"? value)|weak sslmode': (
        "DATABASE_URL cannot be used as it is"
    ),
    "unsupported startup parameter": (
        "the pooler at this address takes no `options`; correct DATABASE_URL"
    ),
}
"""What the driver writes when a connection did not come about, and what that means."""

RUN_AS_OWNER = "Run it as the owner of the tables, the user of `jobledger db upgrade`."

_TEMPORARY = re.compile(
    r"Temporary failure in name resolution|the database system is", re.IGNORECASE
)

_NO_ROOM = re.compile(
    "too many connections|too many clients|remaining connection slots|no more connections allowed",
    re.IGNORECASE,
)
"""A server or pooler has as many connections as it, or this login, may have."""

_OUR_ROLES = re.compile("jobledger_(app|report)")

_BY_STATEMENT = re.compile("in statement pooling mode")
"""What pgBouncer says of transactions where it does not have any."""


def describe(url: URL) -> str:
    """Return hosts, port and database of a URL for messages; never user or password."""
    told = url.host or url.query.get("host", "the local socket")
    if not isinstance(told, str):
        return f"Postgres at {' or '.join(told)}/{url.database or ''}"
    return f"Postgres at {told}:{url.port or url.query.get('port', 5432)}/{url.database or ''}"


@contextmanager
def ledger_errors(url: URL) -> Iterator[None]:
    """Turn whatever the driver raises inside into a `LedgerError`."""
    try:
        yield
    except PoolTimeout as error:
        raise LedgerUnavailable(f"{describe(url)}: all connections are busy") from error
    except DBAPIError as error:
        raise ledger_error(error.orig, url) from error
    except (SQLAlchemyError, psycopg.Error) as error:
        raise ledger_error(error, url) from error


def ends_unknown(url: URL) -> LedgerMisconfigured:
    """Return what to say where nothing tells where the log ends, or how far the tables are."""
    what = "the one row of log_head or report_checkpoint is gone, or not the only one"
    named = "`jobledger verify` and `jobledger rebuild --reports --check` name it"
    return LedgerMisconfigured(f"{describe(url)}: {what}; {named}")


def is_understood(text: str) -> bool:
    """Return whether the words of a connection that did not come about say what they mean."""
    return bool(_TEMPORARY.search(text) or _NO_ROOM.search(text) or _meaning(text))


def is_refused_user(error: psycopg.Error) -> bool:
    """Return whether a login was refused because of its user or password."""
    meaning = _meaning(str(error)) or _LOGIN_STATES.get(error.sqlstate or "", "")
    return meaning in (_REFUSED_STATES["28P01"], _REFUSED_STATES["28000"])


def lacks_room(error: psycopg.Error) -> bool:
    """Return whether a server takes no further connection, and may take one later."""
    return error.sqlstate == "53300" or bool(_NO_ROOM.search(str(error)))


def ledger_error(error: BaseException | None, url: URL) -> LedgerError:
    """Return what `error` means."""
    where = describe(url)
    if not isinstance(error, psycopg.Error):
        return LedgerError(f"{where}: {_cut(str(error), url)}")
    state = error.sqlstate
    text = _cut(error.diag.message_primary or str(error), url)
    if state is None or error.pgconn is not None:  # the connection did not come about
        return _without_connection(error, text, where)
    if state == _EVENT_REFUSED:
        return BrokenChain(*_place_and_problem(text))
    if state == "23505":
        return BrokenChain("append", f"an event is there already: {error.diag.message_detail}")
    if state in _UNSTORABLE_STATES:
        return BrokenChain("append", f"a text cannot be stored in Postgres: {text}")
    is_passing = state[:2] in _PASSING_CLASSES or state in _PASSING_STATES
    if is_passing and not _BY_STATEMENT.search(text):
        return LedgerUnavailable(f"{where} refuses for now: {text}")
    remedy = _remedy(error, state)
    if remedy:
        return LedgerMisconfigured(f"{where}: {remedy} ({text})")
    return LedgerError(f"{where} answered {state}: {text}")


def _remedy(error: psycopg.Error, state: str) -> str:
    if state == "08P01":  # it is pgBouncer that says so, as of all that it refuses
        return "the pooler at this address pools by statement; set pool_mode = transaction there"
    lacking = _OUR_ROLES.search(error.diag.message_primary or "")
    if state == "22023" and lacking:
        return f"this server has no role {lacking[0]}, which no dump brings along; {_UPGRADE}"
    if state in _SCHEMA_STATES:
        return f"there is no ledger, or an old one; {_UPGRADE}"
    if state == "42501" and error.diag.source_file == "rls.c":
        return (
            "row level security would hide a part of the ledger from this user, and a part of it "
            "is a wrong answer; as the owner of the tables: "
            "ALTER TABLE <the table> DISABLE ROW LEVEL SECURITY"
        )
    if state == "42501":
        told = error.diag.message_hint or _what_to_grant(error.diag.message_primary or "")
        return f"this user may not do that. {told}"
    return _REFUSED_STATES.get(state, "")


def _what_to_grant(text: str) -> str:
    """Return what is to be done about a right that is missing, by what Postgres says of it."""
    if re.search("must be owner|permission denied for (schema|database)", text):
        return RUN_AS_OWNER
    return (
        "If `jobledger db status` tells of pending migrations or of rights, the schema is an old "
        "one, or was restored from a dump: run `jobledger db upgrade`. Else an administrator must "
        "run: GRANT jobledger_app TO <the user of DATABASE_URL>; (jobledger_report is enough for "
        "`jobledger report` and the views)"
    )


def _without_connection(error: psycopg.Error, text: str, where: str) -> LedgerError:
    # Judged by the whole text: what is passed on was cut, and a password in it struck out.
    meaning = _meaning(str(error)) or _LOGIN_STATES.get(error.sqlstate or "", "")
    if meaning:
        return LedgerMisconfigured(f"{where}: {meaning} ({text})")
    if isinstance(error, psycopg.DataError) and text.startswith("timestamp too"):
        what = f"a row holds what no instant can be ({text}); `jobledger verify` names it"
        return BrokenChain(where, f"{what}, or `jobledger rebuild --check`")
    if isinstance(error, psycopg.DataError):  # the driver sends no such text, a NUL say
        return BrokenChain(where, f"a text cannot be stored in Postgres: {text}")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return LedgerUnavailable(f"{where} cannot be reached: {text}")
    if isinstance(error, psycopg.ProgrammingError):
        return LedgerMisconfigured(f"{where}: DATABASE_URL cannot be used as it is ({text})")
    return LedgerError(f"{where}: {text}")


def _meaning(text: str) -> str:
    """Return what somebody has to change, by the driver's words; empty if they do not say so."""
    if _TEMPORARY.search(text):
        return ""
    told = (
        meaning
        for pattern, meaning in _CONNECTION_TEXTS.items()
        if re.search(pattern, text, re.IGNORECASE)
    )
    return next(told, "")


def _place_and_problem(text: str) -> tuple[str, str]:
    place, _, problem = text.partition(": ")
    return place, problem


def _cut(text: str, url: URL) -> str:
    line = " ".join(text.split())
    # Striking out a short one would show it: "e***ist".
    if url.password and len(str(url.password)) >= _SHORTEST_PASSWORD:
        line = line.replace(str(url.password), "***")
    return line[:_LONGEST_FOREIGN_TEXT]
