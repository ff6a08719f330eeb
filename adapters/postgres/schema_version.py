"""Which schema a database has, which one this program needs, and how to get from one to the other.

Works from a checkout (migrations at its top) and from an installed wheel (migrations beside this
file).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from adapters.postgres.engine import EngineOptions, open_engine
from adapters.postgres.errors import describe, ledger_errors
from core.errors import LedgerMisconfigured

_MIGRATION_SECONDS = 0
"""Statement timeout of migrations: none; an index on a large log takes its time."""


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


def config() -> Config:
    """Return alembic's configuration, wherever the program is installed."""
    beside = Path(__file__).parent / "migrations"
    made = Config()
    made.set_main_option(
        "script_location", str(beside if beside.is_dir() else _checkout() / "migrations")
    )
    made.set_main_option("path_separator", "os")
    return made


def upgrade(url: str, revision: str = "head") -> None:
    """Bring the database up to `revision`; nothing happens if it is there.

    Raises `LedgerMisconfigured` if the user may not do that, or the schema is newer.
    """
    found = status(url)
    if found.newer:
        raise _newer(url, found)
    with _migrating(url) as (alembic, _):
        command.upgrade(alembic, revision)


def downgrade(url: str, revision: str) -> None:
    """Take the database back to `revision` (`base` removes the ledger and all it holds)."""
    with _migrating(url) as (alembic, _):
        command.downgrade(alembic, revision)


def status(url: str) -> SchemaStatus:
    """Return how the schema stands; changes nothing."""
    scripts = ScriptDirectory.from_config(config())
    with _migrating(url) as (_, connection):
        current = MigrationContext.configure(connection).get_current_revision()
    known = [script.revision for script in scripts.walk_revisions()]
    known.reverse()  # they are walked from the newest to the oldest
    newer = current is not None and current not in known
    done = 0 if current is None or newer else known.index(current) + 1
    return SchemaStatus(
        current=current, head=known[-1], pending=() if newer else tuple(known[done:]), newer=newer
    )


def require_current(url: str) -> None:
    """Raise `LedgerMisconfigured` unless the schema is the one this program needs."""
    found = status(url)
    if found.newer:
        raise _newer(url, found)
    if found.pending:
        where = describe(open_engine(url).url)
        raise LedgerMisconfigured(
            f"{where} has schema {found.current or 'none'} and {found.head} is needed; "
            "run `jobledger db upgrade`"
        )


def _newer(url: str, found: SchemaStatus) -> LedgerMisconfigured:
    return LedgerMisconfigured(
        f"{describe(open_engine(url).url)} has schema {found.current}, which is newer than this "
        f"program ({found.head}); upgrade jobledger"
    )


def _checkout() -> Path:
    return Path(__file__).resolve().parents[2]


@contextmanager
def _migrating(url: str) -> Iterator[tuple[Config, Connection]]:
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
            alembic = config()
            alembic.attributes["connection"] = connection
            yield alembic, connection
    finally:
        engine.dispose()
