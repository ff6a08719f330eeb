"""Compares the database's schema version with the program's, and says how to migrate.

Works from a checkout (migrations at its top) and from an installed wheel (migrations beside this
file).
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from jobledger.adapters.postgres.connection.engine import EngineOptions, open_engine
from jobledger.adapters.postgres.connection.errors import RUN_AS_OWNER, describe, ledger_errors
from jobledger.adapters.postgres.schema.rights import give_missing
from jobledger.core.errors import JobledgerError, LedgerMisconfigured

if TYPE_CHECKING:
    from alembic.config import Config

WORKS_FROM = "0107"
"""Programs that need this revision, or a later one, work on the newest schema too.

Raised by a release that takes away what these programs use (`tests/adapters/postgres/test_expand`).
It is written into the database, where an older program that meets a newer schema reads it.
"""

_IS_THERE = "SELECT to_regclass('alembic_version') IS NOT NULL"
_REVISIONS = "SELECT version_num FROM alembic_version ORDER BY version_num"
_TOLD = "SELECT obj_description('alembic_version'::regclass, 'pg_class')"
_IS_OWNER = """
    SELECT pg_has_role(relowner, 'MEMBER') FROM pg_class WHERE oid = to_regclass('alembic_version')
"""
_SAID = re.compile(r"(\w+) or a later one")

_OTHERS = """
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
        AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND c.relname <> 'alembic_version'
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    ORDER BY c.relkind <> 'r', c.relname
"""
"""What is in the schema and of no extension."""

_FIRST_TABLES = """
    SELECT count(*) = 3 FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
        AND c.relname IN ('event', 'stream', 'log_head')
"""
"""Whether the tables of the first revision are there, which every ledger has."""

_ELSEWHERE = """
    SELECT quote_ident(n.nspname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname IN ('event', 'stream', 'log_head', 'append_lock')
        AND n.nspname IS DISTINCT FROM current_schema()
    GROUP BY n.nspname HAVING count(*) = 4 ORDER BY n.nspname LIMIT 1
"""
"""In which other schema of the database a ledger is."""

_NAMED_MAX = 3
"""So many tables of others are named."""

_MIGRATION_SECONDS = 0
"""Statement timeout of migrations: none; an index on a large log takes its time."""


class NoSuchRevision(JobledgerError):
    """There is no way to the revision that was named."""

    def __init__(self, revision: str, known: Sequence[str], why: str) -> None:
        self.revision, self.known = revision, known
        super().__init__(
            f"no way to revision {revision!r}: {why}; there are base, {', '.join(known)}, head"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaStatus:
    """How the schema of a database compares with what this program needs."""

    current: str | None
    """Revision of the database; None if it has no ledger."""
    head: str
    """Revision that this program needs."""
    pending: tuple[str, ...]
    """Revisions yet to be applied, in order."""
    newer: bool
    """Whether a newer program has migrated the database: this one does not know its revision."""
    is_unreleased: bool = False
    """Whether a program from before the first release made the ledger; no migration leads on."""
    is_foreign: bool = False
    """Whether the revision is another program's: the tables of a ledger are not there."""
    elsewhere: str | None = None
    """Another schema of the database, which has a ledger, where this one has none."""
    works_from: str | None = None
    """Programs from this revision on work with the schema, by what the database says of itself."""

    @property
    def usable(self) -> bool:
        """Return whether this program works with the schema as it is."""
        if self.newer and not self.is_foreign:
            return self.works_from is not None and self.works_from <= self.head
        return self.is_current

    @property
    def is_current(self) -> bool:
        """Return whether the schema is the very one that this program needs."""
        return self.current == self.head and not self.is_foreign

    @property
    def has_migrations(self) -> bool:
        """Return whether this program has migrations that lead on from here, and back."""
        return not (self.newer or self.is_unreleased or self.is_foreign)


def config() -> "Config":
    """Return alembic's configuration, wherever the program is installed."""
    from alembic.config import Config  # noqa: PLC0415 a tenth of the start of who only reads

    made = Config()
    made.set_main_option("script_location", str(_place()).replace("%", "%%"))  # it interpolates
    made.set_main_option("path_separator", "os")
    return made


def upgrade(url: str, revision: str = "head", *, beside_others: bool = False) -> None:
    """Bring the database up to `revision`; nothing happens if it is there and has its roles.

    Roles and rights that a dump did not bring are given back once it is at the newest. A first
    ledger is made in an empty schema only, unless it may stand `beside_others`.

    Raises `LedgerMisconfigured` if the user may not do that, the schema is newer or another
    program's, and `NoSuchRevision`.
    """
    from alembic import command  # noqa: PLC0415 as in `config`

    found = status(url)
    if not found.has_migrations or (found.elsewhere and not beside_others):
        raise refusal(url, found)
    with _connected(url) as connection:
        alembic = _migrating(connection)
        if found.current is None and not beside_others:
            _require_empty(url, connection)
        with connection.begin(), _on_the_way_to(revision):  # a schema without its note is none
            command.upgrade(alembic, revision)
            if found.pending:
                said = works_with(WORKS_FROM)
                connection.exec_driver_sql(f"COMMENT ON TABLE alembic_version IS '{said}'")
            if revision in {"head", head()}:
                give_missing(connection)


def _require_empty(url: str, connection: Connection) -> None:
    """Raise `LedgerMisconfigured` if others have tables where the ledger would be made."""
    with connection.begin():
        others = connection.exec_driver_sql(_OTHERS).scalars().all()
    if not others:
        return
    named = ", ".join(others[:_NAMED_MAX])
    more = f" and {len(others) - _NAMED_MAX} more" if len(others) > _NAMED_MAX else ""
    raise LedgerMisconfigured(
        f"{describe(open_engine(url).url)} is no ledger and not empty: there are {named}{more}; "
        "correct DATABASE_URL, give the ledger a database of its own, or, if it is to stand beside "
        "them, run `jobledger db upgrade --beside-others`"
    )


def works_with(revision: str) -> str:
    """Return how a database says from which revision on programs work with its schema."""
    return f"programs that need revision {revision} or a later one work with this schema"


def downgrade(url: str, revision: str) -> None:
    """Take the database back to `revision` (`base` removes the ledger and all it holds).

    Raises `LedgerMisconfigured` if the user may not do that, or the schema is newer, and
    `NoSuchRevision`.
    """
    from alembic import command  # noqa: PLC0415 as in `config`

    found = status(url)
    if not found.has_migrations:
        raise refusal(url, found)
    with _connected(url) as connection, _on_the_way_to(revision):
        _require_owner(url, connection)
        command.downgrade(_migrating(connection), revision)


def _require_owner(url: str, connection: Connection) -> None:
    """Raise `LedgerMisconfigured` if others own the tables: a step back may change none of them."""
    with connection.begin():
        is_owner = connection.exec_driver_sql(_IS_OWNER).scalar()
    if is_owner is False:
        where = describe(open_engine(url).url)
        raise LedgerMisconfigured(f"{where}: this user may not do that. {RUN_AS_OWNER}")


@contextmanager
def _on_the_way_to(revision: str) -> Iterator[None]:
    from alembic.util import CommandError  # noqa: PLC0415 as in `config`

    try:
        yield
    except (CommandError, AssertionError) as error:  # the latter of an empty name
        why = str(error).partition("\n")[0].rstrip(".") or "it has no name"
        raise NoSuchRevision(revision, revisions(), why) from error


def head() -> str:
    """Return the revision that this program needs."""
    return revisions()[-1]


@cache
def revisions() -> tuple[str, ...]:
    """Return the revisions that this program knows, from the oldest on.

    The names of their files begin with them, so that nobody has to run these files to know.
    """
    files = (_place() / "versions").glob("[0-9]*_*.py")
    return tuple(sorted(file.name.partition("_")[0] for file in files))


def status(url: str) -> SchemaStatus:
    """Return how the schema stands; changes nothing."""
    with _connected(url) as connection:
        is_there = connection.exec_driver_sql(_IS_THERE).scalar_one()
        found = connection.exec_driver_sql(_REVISIONS).scalars().all() if is_there else ()
        current = ", ".join(found) or None  # several: no ledger
        told = None if current is None else connection.exec_driver_sql(_TOLD).scalar_one()
        is_foreign = current is not None and not connection.exec_driver_sql(_FIRST_TABLES).scalar()
        lacks = current is None or is_foreign
        elsewhere = connection.exec_driver_sql(_ELSEWHERE).scalar() if lacks else None
    known = revisions()
    is_unreleased = _UNRELEASED.fullmatch(current or "") is not None
    newer = current is not None and current not in known and not is_unreleased
    done = known.index(current) + 1 if current in known else 0
    said = _SAID.search(told or "")
    return SchemaStatus(
        current=current,
        head=known[-1],
        pending=() if newer or is_unreleased else known[done:],
        newer=newer,
        is_unreleased=is_unreleased,
        is_foreign=is_foreign,
        elsewhere=elsewhere,
        works_from=said[1] if said is not None else None,
    )


def require_current(url: str) -> None:
    """Raise `LedgerMisconfigured` unless this program works with the schema.

    It does with a newer one that says so: while a release is rolled out, and after it was taken
    back.
    """
    found = status(url)
    if found.usable:
        return
    raise refusal(url, found)


_OURS = re.compile(r"\d{4}")
"""What revisions of ledgers look like."""


_UNRELEASED = re.compile(r"00\d{2}")
"""Revisions of programs from before the first release: they are given to no other schema."""


def refusal(url: str, found: SchemaStatus) -> LedgerMisconfigured:
    """Return why this program does not work with a schema that is not `usable`, and what to do."""
    where = describe(open_engine(url).url)
    if found.elsewhere:
        return LedgerMisconfigured(
            f"{where} has its ledger in the schema {found.elsewhere}, and this user looks into "
            "another; as an administrator: ALTER ROLE <the user of DATABASE_URL> SET search_path = "
            f"{found.elsewhere}"
        )
    if found.is_foreign or not _OURS.fullmatch(found.current or found.head):
        return LedgerMisconfigured(
            f"{where} is no ledger: its schema {found.current!r} is another program's; "
            "give the ledger a database of its own"
        )
    if found.is_unreleased:
        return LedgerMisconfigured(
            f"{where} has schema {found.current}, of a program from before the first release: no "
            "migration leads on from it, and nothing was changed; make the ledger in an empty "
            "database, or a new --data-dir, and run `jobledger db upgrade` there"
        )
    if found.newer:
        return LedgerMisconfigured(
            f"{where} has schema {found.current}, which is newer than this program "
            f"({found.head}); upgrade jobledger"
        )
    return LedgerMisconfigured(
        f"{where} has schema {found.current or 'none'} and {found.head} is needed; "
        "run `jobledger db upgrade`"
    )


def _place() -> Path:
    """Return the folder of the migrations: beside this program, or at the top of its checkout."""
    beside = Path(__file__).parents[1] / "migrations"
    return beside if beside.is_dir() else _checkout() / "migrations"


def _checkout() -> Path:
    return Path(__file__).resolve().parents[3]


def _migrating(connection: Connection) -> "Config":
    """Return alembic's configuration for a connection that is there."""
    alembic = config()
    alembic.attributes["connection"] = connection
    return alembic


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    engine = open_engine(
        url,
        EngineOptions(
            pool_size=1,
            statement_timeout_seconds=_MIGRATION_SECONDS,
            application_name="jobledger db",
        ),
    )
    try:
        with (
            ledger_errors(engine.url),
            engine.connect().execution_options(isolation_level="READ COMMITTED") as connection,
        ):
            yield connection
    finally:
        engine.dispose()
