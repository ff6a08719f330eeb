"""Report `failures`: failed jobs by class and reason."""

from jobledger.adapters.postgres.reports.asking.dimensions import (
    CAUSE,
    CLASS,
    FAMILY,
    JOB,
    NODE,
    REASON,
    STANDARD,
)
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Unit

FAILURES = Report(
    name="failures",
    summary="What failed: attempts and jobs by class and reason, and how many were final.",
    rule="A failure is an attempt that failed, or a job that failed without one. It is dated by "
    "the instant at which it failed. Attempts that were suspended, stopped or deleted are none.",
    columns=(
        Column("failures", Unit.COUNT, "Failures", rank=0),
        Column("share", Unit.SHARE, "Their part of all failures that were asked for", rank=2),
        Column("jobs", Unit.COUNT, "Jobs that failed so, at least once", rank=3),
        Column("retried", Unit.COUNT, "Failures after which a retry was granted", rank=4),
        Column("final", Unit.COUNT, "Failures with which the job ended", rank=1),
        Column("never_ran", Unit.COUNT, "Failures of attempts that did not get to run", rank=5),
        Column("last_at", Unit.INSTANT, "The latest of them", "last", rank=6),
    ),
    dimensions={
        **STANDARD,
        "class": CLASS,
        "cause": CAUSE,
        "reason": REASON,
        "job": JOB,
        "family": FAMILY,
        "node": NODE,
    },
    default_by=("class", "reason"),
    dated="v.failed_at",
    order="failures DESC",
    chart=Chart(columns=("failures",), title="failures", style="red"),
    sql="""
WITH fact AS (
  SELECT {keys}v.stream_id, v.failed_at, v.retried, v.final, v.ran
    FROM report_v1.failures v
   WHERE v.failed_at >= :since AND v.failed_at < :until{filters}
), summed AS (
  SELECT {names}{is_total} AS is_total,
         count(*) AS failures,
         count(DISTINCT stream_id) AS jobs,
         count(*) FILTER (WHERE retried) AS retried,
         count(*) FILTER (WHERE final) AS final,
         count(*) FILTER (WHERE NOT ran) AS never_ran,
         max(failed_at) AS last_at
    FROM fact {groups}
)
SELECT *,
       failures::float8 / nullif(max(failures) FILTER (WHERE is_total) OVER (), 0) AS share
  FROM summed""",
)
