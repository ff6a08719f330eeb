"""Asks for failures like one: one question to the reporting views, bounded in days and rows."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Engine

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.reports.asking.asking import run
from jobledger.core.forensics.story.similar import (
    DAYS,
    ROWS_MAX,
    FailureSeen,
    Similar,
    Worked,
    similar,
)
from jobledger.core.values.ids import StreamId

_ALIKE = """
WITH own AS (
  SELECT cluster, namespace, kind, image, cause, number, failed_at FROM report_v1.failures
   WHERE stream_id = :stream ORDER BY number DESC LIMIT 1
), alike AS (
  SELECT v.stream_id, v.number, v.namespace, v.name, v.attempt, v.failed_at, v.cause,
         coalesce(v.node, '') AS node, v.image,
         v.stream_id = :stream AND v.number = o.number AS is_own
    FROM own o JOIN report_v1.failures v
      ON v.failed_at > o.failed_at - make_interval(days => :days) AND v.failed_at <= o.failed_at
   WHERE v.cluster = o.cluster AND v.cause = o.cause AND o.cause <> ''
   ORDER BY is_own DESC, v.failed_at DESC
   LIMIT :rows
)
SELECT alike.*, worked.*
  FROM alike CROSS JOIN (
    SELECT count(*) FILTER (WHERE j.image <> o.image) AS with_others,
           count(*) FILTER (WHERE j.image = o.image) AS with_it
      FROM own o JOIN report_v1.jobs j
        ON j.ended_at > o.failed_at - make_interval(days => :days)
       AND j.ended_at < (SELECT min(a.failed_at) FROM alike a
                          WHERE a.image = o.image AND a.namespace = o.namespace)
     WHERE j.cluster = o.cluster AND j.namespace = o.namespace AND j.kind = o.kind
       AND j.outcome = 'succeeded'
  ) worked
 ORDER BY is_own DESC, failed_at DESC
"""
"""The last failure of a job first, then those of the same cause that came before it."""


def similar_to(engine: Engine, stream: StreamId, told_as: str) -> Similar | None:
    """Return what is like the last failure of a job, which `explain` tells as of a cause.

    None if the facts have none of it.

    They may not have come so far, or nothing is known of why it failed.

    Raises:
        LedgerUnavailable: the database is out of reach.
    """
    values = {"stream": stream, "days": DAYS, "rows": ROWS_MAX}
    with ledger_errors(engine.url), engine.connect() as connection:
        found = run(connection, _ALIKE, values)
    if not found or not found[0]["is_own"]:
        return None
    own, *_ = rows = [_seen(row) for row in found]
    worked = Worked(found[0]["with_others"], found[0]["with_it"])
    return similar(own, rows, worked, told_as)


def _seen(row: Mapping[str, Any]) -> FailureSeen:
    return FailureSeen(**{name: row[name] for name in FailureSeen.__slots__})
