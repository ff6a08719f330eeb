"""Report `durations`: the time from a job's creation to its end."""

from jobledger.adapters.postgres.reports.asking.dimensions import FAMILY, JOB, REASON, STANDARD
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Dimension, Report, Unit

DURATIONS = Report(
    name="durations",
    summary="How long jobs take from creation to end, and how much of that they run.",
    rule="A job counts if it reached its end, good or bad, and is dated by that end. Its duration "
    "begins with the creation of the object: waiting, queueing and retries are in it. Running is "
    "the time in the state Running, over all attempts. Percentiles are over jobs, interpolated. "
    "A job that goes on is not in it: see stuck.",
    columns=(
        Column("jobs", Unit.COUNT, "Jobs that ended", rank=0),
        Column("p50_seconds", Unit.SECONDS, "Median duration", "p50", rank=1),
        Column("p95_seconds", Unit.SECONDS, "95th percentile", "p95", rank=0),
        Column("p99_seconds", Unit.SECONDS, "99th percentile", "p99", rank=3),
        Column("max_seconds", Unit.SECONDS, "The longest", "max", rank=4),
        Column("running_p50_seconds", Unit.SECONDS, "Median running", "running p50", rank=2),
        Column("running_p95_seconds", Unit.SECONDS, "The same, p95", "running p95", rank=5),
        Column(
            "running_share",
            Unit.SHARE,
            "Running as a part of all durations together",
            "running %",
            rank=6,
        ),
    ),
    dimensions={
        **STANDARD,
        "outcome": Dimension("v.outcome", "What the job came to: succeeded, failed and the like"),
        "reason": REASON,
        "job": JOB,
        "family": FAMILY,
    },
    default_by=("queue",),
    dated="v.ended_at",
    order="p95_seconds DESC NULLS LAST",
    chart=Chart(columns=("p95_seconds", "p50_seconds"), title="durations from creation to end"),
    sql="""
WITH fact AS (
  SELECT {keys}v.duration_seconds, v.running_seconds
    FROM report_v1.jobs v
   WHERE v.ended_at >= :since AND v.ended_at < :until{filters}
), summed AS (
  SELECT {names}{is_total} AS is_total,
         count(*) AS jobs,
         percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY duration_seconds) AS whole,
         max(duration_seconds) AS max_seconds,
         percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY running_seconds) AS running,
         sum(running_seconds) / nullif(sum(duration_seconds), 0) AS running_share
    FROM fact {groups}
)
SELECT *,
       whole[1] AS p50_seconds,
       whole[2] AS p95_seconds,
       whole[3] AS p99_seconds,
       running[1] AS running_p50_seconds,
       running[2] AS running_p95_seconds
  FROM summed""",
)
