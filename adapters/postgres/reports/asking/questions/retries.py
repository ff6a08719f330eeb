"""Report `retries`: granted retries, their success, and their cost."""

from jobledger.adapters.postgres.reports.asking.dimensions import FAILED, GROUPED
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Unit

RETRIES = Report(
    name="retries",
    summary="Retries: how many were granted, how many helped, what was thrown away for them.",
    rule="A retry is dated by the instant at which it was granted. It helped if the attempt after "
    "it succeeded; it did not if that attempt failed or was lost. Attempts that go on, or were "
    "suspended, stopped or deleted, say nothing and are left out of helped_share. Thrown away are "
    "the cluster-seconds of the attempt that had failed.",
    columns=(
        Column("retries", Unit.COUNT, "Retries that were granted", rank=0),
        Column("jobs", Unit.COUNT, "Jobs that they were granted to", rank=4),
        Column("counted", Unit.COUNT, "Those that used up one of backoffLimit", rank=6),
        Column("helped", Unit.COUNT, "Those whose next attempt succeeded", rank=2),
        Column("failed_again", Unit.COUNT, "Those whose next attempt failed too", rank=3),
        Column("helped_share", Unit.SHARE, "helped / (helped + failed_again)", "helped %", rank=1),
        Column(
            "not_retried",
            Unit.COUNT,
            "Attempts that failed and after which none was granted, dated by their failure",
            rank=5,
        ),
        Column(
            "would_help",
            Unit.NUMBER,
            "How many of these one more attempt would have saved, as `what-if --estimate` has it: "
            "not_retried times helped_share; empty under 5 retries of which it is known",
            rank=5,
        ),
        Column(
            "cluster_seconds",
            Unit.CLUSTER_SECONDS,
            "Cluster-seconds of the attempts before",
            "thrown away",
            rank=1,
        ),
        Column(
            "wait_p50_seconds",
            Unit.SECONDS,
            "Median from the failure to the next start, without the time suspended",
            "wait p50",
            rank=5,
        ),
        Column("wait_p95_seconds", Unit.SECONDS, "95th percentile of the same", "wait p95", rank=7),
    ),
    dimensions=FAILED,
    default_by=("class",),
    dated="v.granted_at",
    order="retries DESC",
    chart=Chart(columns=("retries", "helped"), title="retries", style="yellow"),
    sql="""
WITH fact AS (
  SELECT {keys}v.stream_id, v.granted, v.counted, v.next_outcome, v.cluster_seconds,
         v.wait_seconds
    FROM (
      SELECT {grouped}, granted_at, failure_class, cause, reason, true AS granted, counted,
             next_outcome, cluster_seconds, wait_seconds FROM report_v1.retries
      UNION ALL
      SELECT {grouped}, failed_at, failure_class, cause, reason, false, false, '', 0, NULL
        FROM report_v1.failures f WHERE NOT f.retried AND EXISTS (
          SELECT FROM report_v1.attempts a WHERE a.stream_id = f.stream_id
             AND a.attempt = f.attempt AND a.outcome IN ('failed', 'lost') AND NOT a.retried)) v
   WHERE v.granted_at >= :since AND v.granted_at < :until{filters}
), summed AS (
  SELECT {names}{is_total} AS is_total,
         count(*) FILTER (WHERE granted) AS retries,
         count(*) FILTER (WHERE NOT granted) AS not_retried,
         count(DISTINCT stream_id) FILTER (WHERE granted) AS jobs,
         count(*) FILTER (WHERE counted) AS counted,
         count(*) FILTER (WHERE next_outcome = 'succeeded') AS helped,
         count(*) FILTER (WHERE next_outcome IN ('failed', 'lost')) AS failed_again,
         coalesce(sum(cluster_seconds), 0) AS cluster_seconds,
         percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY wait_seconds) AS waits
    FROM fact {groups}
)
SELECT *,
       helped::float8 / nullif(helped + failed_again, 0) AS helped_share,
       CASE WHEN helped + failed_again >= 5
            THEN not_retried * helped::float8 / (helped + failed_again) END AS would_help,
       waits[1] AS wait_p50_seconds,
       waits[2] AS wait_p95_seconds
  FROM summed""".replace("{grouped}", GROUPED),
    listed="retries > 0 OR not_retried > 0",
)
