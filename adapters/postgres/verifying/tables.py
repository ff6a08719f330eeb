"""Verifies the tables beside the log: imported bundles and cluster numbers."""

from collections.abc import Iterator

from sqlalchemy import Engine, select, text

from jobledger.adapters.postgres.archive.imports import ImportedJob
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import one_column
from jobledger.adapters.postgres.log.evidence import PostgresEvidence
from jobledger.adapters.postgres.schema.tables import imported_job
from jobledger.core.errors import BrokenChain

_SLOTS = text("""
    SELECT cluster, slot, number FROM (
        SELECT cluster, slot, row_number() OVER (ORDER BY slot) - 1 AS number FROM ledger_cluster
    ) AS numbered WHERE slot <> number ORDER BY slot LIMIT 1
""")


def broken_imports(engine: Engine) -> Iterator[str]:
    """Yield what is wrong with each imported job that is not what was imported."""
    streams = select(imported_job.c.stream_id).order_by(imported_job.c.stream_id)
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
