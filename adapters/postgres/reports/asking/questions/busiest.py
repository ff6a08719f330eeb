"""Report `busiest`: who uses the most cluster time, in cluster-seconds and jobs."""

from jobledger.adapters.postgres.reports.asking.dimensions import FAMILY, JOB, STANDARD
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Unit

BUSIEST = Report(
    name="busiest",
    summary="Who holds the clusters: cluster-seconds, jobs and attempts of each group.",
    rule="An attempt is dated by its start, with all its cluster-seconds, also those after the "
    "period. A cluster that was not seen to go counts until --until, also once its job has ended. "
    "Jobs are those with an attempt "
    "that was started in the period.",
    columns=(
        Column(
            "cluster_seconds",
            Unit.CLUSTER_SECONDS,
            "How long clusters were held",
            "cluster time",
            rank=0,
        ),
        Column("share", Unit.SHARE, "Its part of all that was asked for", rank=1),
        Column("jobs", Unit.COUNT, "Jobs with an attempt", rank=1),
        Column("attempts", Unit.COUNT, "Attempts that were started", rank=2),
        Column("failed_attempts", Unit.COUNT, "Those that failed or were lost", "failed", rank=3),
        Column(
            "mean_seconds",
            Unit.SECONDS,
            "cluster_seconds / attempts",
            "per attempt",
            rank=4,
        ),
    ),
    dimensions={**STANDARD, "job": JOB, "family": FAMILY},
    default_by=("namespace", "user"),
    dated="v.started_at",
    order="cluster_seconds DESC, jobs DESC",
    chart=Chart(columns=("cluster_seconds",), title="cluster time"),
    sql="""
WITH fact AS (
  SELECT {keys}v.stream_id, v.outcome,
         v.cluster_seconds + {standing} AS cluster_seconds
    FROM report_v1.attempts v
   WHERE v.started_at >= :since AND v.started_at < :until{filters}
), summed AS (
  SELECT {names}{is_total} AS is_total,
         coalesce(sum(cluster_seconds), 0) AS cluster_seconds,
         count(DISTINCT stream_id) AS jobs,
         count(*) AS attempts,
         count(*) FILTER (WHERE outcome IN ('failed', 'lost')) AS failed_attempts
    FROM fact {groups}
)
SELECT *,
       cluster_seconds
         / nullif(max(cluster_seconds) FILTER (WHERE is_total) OVER (), 0) AS share,
       cluster_seconds / nullif(attempts, 0) AS mean_seconds
  FROM summed""",
)
