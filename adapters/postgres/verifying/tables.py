"""Verifies the tables beside the log: imported bundles, cluster numbers, instants."""

from collections.abc import Iterator

from sqlalchemy import Engine, select, text

from jobledger.adapters.postgres.archive.imports import ImportedJob
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import one_column
from jobledger.adapters.postgres.log.evidence import PostgresEvidence
from jobledger.adapters.postgres.schema.tables import imported_job
from jobledger.adapters.postgres.verifying.instants import keys_of, no_instants
from jobledger.core.errors import BrokenChain

_SLOTS = text("""
    SELECT cluster, slot, number FROM (
        SELECT cluster, slot, row_number() OVER (ORDER BY slot) - 1 AS number FROM ledger_cluster
    ) AS numbered WHERE slot <> number ORDER BY slot LIMIT 1
""")

_READ_WHOLE = {"imported_job": "import", "archive": "archive", "archived_stream": "archive"}
"""Tables whose rows are compared whole, and the kind of a fault in one."""


def broken_imports(engine: Engine) -> Iterator[str]:
    """Yield what is wrong with each imported job that is not what was imported."""
    unread = [found.stream for found in no_instants(engine, keys_of(["imported_job"]))]
    streams = select(imported_job.c.stream_id).order_by(imported_job.c.stream_id)
    streams = streams.where(imported_job.c.stream_id.not_in(unread))
    names = one_column(engine, streams)
    for name in names:
        with ledger_errors(engine.url), engine.connect() as connection:
            query = select(imported_job).where(imported_job.c.stream_id == name)
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            continue
        try:
            ImportedJob(**row).bundle()
        except BrokenChain as error:
            yield str(error)


def broken_slots(engine: Engine) -> Iterator[str]:
    """Yield a cluster whose number cannot be the one it was given: they are 0, 1, 2 and so on."""
    with ledger_errors(engine.url), engine.connect() as connection:
        row = connection.execute(_SLOTS).one_or_none()
    if row is not None:
        yield f"cluster {row.cluster} has number {row.slot}, and {row.number} was the next to give"


def beside_the_log(engine: Engine) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with what is kept beside the log: which kind of thing, and what."""
    for digest, what in PostgresEvidence(engine).changed():
        yield "evidence", f"{digest}: {what}"
    for what in broken_imports(engine):
        yield "import", what
    for what in broken_slots(engine):
        yield "cluster", what
    for found in no_instants(engine, keys_of(_READ_WHOLE)):
        one = found.difference
        what = f"{one.table} {one.key}: {one.column} is {one.found}, and no instant"
        yield _READ_WHOLE[one.table], what
