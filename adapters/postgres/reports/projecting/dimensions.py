"""Rows of `report_dimension`, each with a hash that shows whether it was changed.

A rebuild of the reports adds dimensions that are missing and leaves those that are there, because
readers go on meanwhile. What a changed row should say follows from a job that has its facts there.
"""

from collections.abc import Iterator

from msgspec.structs import asdict
from sqlalchemy import Connection, Engine, delete, select, text, update

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import may_change
from jobledger.adapters.postgres.reports.projecting.checkpoint import read_checkpoint
from jobledger.adapters.postgres.reports.projecting.projector import folded_from
from jobledger.adapters.postgres.reports.projecting.rows import events_upto
from jobledger.adapters.postgres.schema.tables import metadata
from jobledger.core.projections.differences import Difference, differences, whole_row
from jobledger.core.projections.reporting.dimensions import dimension_id
from jobledger.core.projections.reporting.facts import Dimension
from jobledger.core.projections.reporting.fold import Folded, Rules, key_of, rows_of

NAME = "report_dimension"

_TABLE = metadata.tables[NAME]
_COLUMNS = [_TABLE.c[name] for name in Dimension.__struct_fields__]

_HOLD_PROJECTOR = text("SELECT FROM report_checkpoint FOR UPDATE")
_MISSING = text(
    "SELECT DISTINCT j.dimension_id FROM report_job j WHERE NOT EXISTS"
    " (SELECT FROM report_dimension d WHERE d.dimension_id = j.dimension_id) ORDER BY 1"
)
_OF_JOBS = text("SELECT EXISTS (SELECT FROM report_job j WHERE j.dimension_id = :key)")


def wrong_dimensions(engine: Engine, rules: Rules) -> Iterator[Difference]:
    """Yield dimensions that jobs have and the table has not, and every column that was changed."""
    snapshot = engine.execution_options(isolation_level="REPEATABLE READ")
    with ledger_errors(engine.url), snapshot.connect() as connection, connection.begin():
        for key in connection.execute(_MISSING).scalars().all():
            yield whole_row(NAME, str(key), is_there=False)
        for key, found in _changed(connection).items():
            right = _right(connection, key, rules)
            place = NAME, str(key)
            if right is None and connection.execute(_OF_JOBS, {"key": key}).scalar_one():
                of_found = str(dimension_id(found))
                yield Difference(
                    table=NAME,
                    key=str(key),
                    column="dimension_id",
                    found=str(key),
                    expected=of_found,
                )
                continue
            expected = {} if right is None else {place: asdict(right)}
            yield from differences({place: asdict(found)}, expected)


def mend_dimensions(owner: Engine, rules: Rules) -> None:
    """Put right every row that was changed, and remove one that no job has.

    Nothing is done for a user who may not change the table.
    """
    if not may_change(owner, (NAME, "report_checkpoint")):
        return
    with ledger_errors(owner.url), owner.connect() as pooled:
        connection = pooled.execution_options(isolation_level="READ COMMITTED")
        with connection.begin():
            connection.execute(_HOLD_PROJECTOR)
            for key in _changed(connection):
                here = _TABLE.c.dimension_id == key
                right = _right(connection, key, rules)
                if right is None and connection.execute(_OF_JOBS, {"key": key}).scalar_one():
                    continue  # of archived jobs: what it said is in their files
                if right is None:
                    connection.execute(delete(_TABLE).where(here))
                else:
                    connection.execute(update(_TABLE).where(here).values(asdict(right)))


def _changed(connection: Connection) -> dict[int, Dimension]:
    """Return the rows that do not have the hash that is their key."""
    rows = connection.execute(select(_TABLE.c.dimension_id, *_COLUMNS).order_by(text("1")))
    kept = {row[0]: Dimension(*row[1:]) for row in rows}
    return {key: found for key, found in kept.items() if dimension_id(found) != key}


def _right(connection: Connection, key: int, rules: Rules) -> Dimension | None:
    """Return what a row should say by the first job that has it; None if no job has."""
    jobs = metadata.tables["report_job"].c
    upto = read_checkpoint(connection).position
    having = select(jobs.stream_id).where(jobs.dimension_id == key).order_by(jobs.stream_id)
    for stream in connection.execute(having).scalars().all():
        events = events_upto(connection, [stream], upto)[stream]
        folded = folded_from(Folded(), events, rules) if events else None
        if folded is not None and key_of(rows_of(folded)) == key:
            return rows_of(folded).dimension
    return None
