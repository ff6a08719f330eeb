"""Report `failures`: failed jobs by class and reason."""

from jobledger.adapters.postgres.reports.asking.dimensions import FAILED, GROUPED, NODE
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Unit

FAILURES = Report(
    name="failures",
    summary="What failed: attempts and jobs by class and reason, and how many were final.",
    rule="A failure is an attempt that failed, or a job that failed without one. It is dated by "
    "the instant at which it failed. Attempts that were suspended, stopped or deleted are none. "
    "The rate is of all that came to an end of its own: failures of every class, cause, reason and "
    "node, and jobs that succeeded, dated by their end. A cause is told without the kept logs; "
    "`jobledger explain` reads them, and says so where it knows better.",
    columns=(
        Column("failures", Unit.COUNT, "Failures", rank=0),
        Column(
            "rate",
            Unit.SHARE,
            "failures / (failures of every cause + jobs that succeeded) of the same group and time",
            "of all ended",
            rank=1,
        ),
        Column("share", Unit.SHARE, "Their part of all failures that were asked for", rank=2),
        Column("jobs", Unit.COUNT, "Jobs that failed so, at least once", rank=3),
        Column("retried", Unit.COUNT, "Failures after which a retry was granted", rank=4),
        Column("final", Unit.COUNT, "Failures with which the job ended", rank=1),
        Column("never_ran", Unit.COUNT, "Failures of attempts that did not get to run", rank=5),
        Column("last_at", Unit.INSTANT, "The latest of them", "last", rank=6),
    ),
    dimensions={**FAILED, "node": NODE},
    default_by=("class", "reason"),
    dated="v.failed_at",
    order="failures DESC",
    chart=Chart(columns=("failures",), title="failures", style="red"),
    sql="""
WITH fact AS (
  SELECT {keys}v.stream_id, v.failed_at, v.retried, v.final, v.ran, v.failed{of_cause} AS counts
    FROM (
      SELECT {grouped}, failed_at, failure_class, cause, reason, node, retried, final, ran,
             true AS failed FROM report_v1.failures
      UNION ALL
      SELECT {grouped}, ended_at, '', '', '', '', false, false, true, false
        FROM report_v1.jobs WHERE outcome = 'succeeded') v
   WHERE v.failed_at >= :since AND v.failed_at < :until{filters}
), summed AS (
  SELECT {names}{is_total} AS is_total,
         count(*) FILTER (WHERE counts) AS failures,
         sum(count(*)) OVER (PARTITION BY {is_total}{whole}) AS ended,
         count(DISTINCT stream_id) FILTER (WHERE counts) AS jobs,
         count(*) FILTER (WHERE counts AND retried) AS retried,
         count(*) FILTER (WHERE counts AND final) AS final,
         count(*) FILTER (WHERE counts AND NOT ran) AS never_ran,
         max(failed_at) FILTER (WHERE counts) AS last_at
    FROM fact {groups}
)
SELECT *,
       failures::float8 / nullif(ended, 0)::float8 AS rate,
       failures::float8 / nullif(max(failures) FILTER (WHERE is_total) OVER (), 0) AS share
  FROM summed""".replace("{grouped}", GROUPED),
    listed="failures > 0",
    apart=("class", "cause", "reason", "node"),
)
