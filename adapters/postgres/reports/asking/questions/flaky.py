"""Report `flaky`: what fails and then succeeds on a plain retry."""

from jobledger.adapters.postgres.reports.asking.dimensions import FAMILY, JOB, STANDARD
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Unit

FLAKY = Report(
    name="flaky",
    summary="What fails and then succeeds by retry: families of jobs, images, users.",
    rule="A run is one job object, dated by its end. A run is flaky if it succeeded after at least "
    "one failed attempt: the same specification failed and succeeded. Runs are taken together by "
    "family (the name without what tells runs apart), or as --by says: job, image, user. Only "
    "what has at least one flaky run is listed, but every hour, day and week. A run that failed "
    "for good is broken, not flaky.",
    columns=(
        Column("runs", Unit.COUNT, "Jobs that ended in success or failure", rank=2),
        Column("flaky_runs", Unit.COUNT, "Those that succeeded after a failed attempt", rank=0),
        Column("flaky_share", Unit.SHARE, "flaky_runs / runs", "flaky %", rank=1),
        Column("failed_runs", Unit.COUNT, "Those that failed for good", rank=4),
        Column("failed_attempts", Unit.COUNT, "Failed attempts of the flaky runs alone", rank=3),
        Column(
            "wasted_seconds",
            Unit.CLUSTER_SECONDS,
            "Cluster-seconds that the flaky runs spent on attempts without success",
            "wasted",
            rank=1,
        ),
        Column("last_at", Unit.INSTANT, "End of the latest flaky run", "last", rank=5),
    ),
    dimensions={**STANDARD, "job": JOB, "family": FAMILY},
    default_by=("family",),
    dated="v.ended_at",
    order="flaky_runs DESC, wasted_seconds DESC",
    chart=Chart(columns=("flaky_runs",), title="runs that succeeded by retry", style="yellow"),
    sql="""
WITH fact AS (
  SELECT {keys}v.outcome, v.failed_attempts, v.wasted_cluster_seconds, v.ended_at,
         v.outcome = 'succeeded' AND v.failed_attempts > 0 AS is_flaky
    FROM report_v1.jobs v
   WHERE v.ended_at >= :since AND v.ended_at < :until
     AND v.outcome IN ('succeeded', 'failed'){filters}
), summed AS (
  SELECT {names}{is_total} AS is_total,
         count(*) AS runs,
         count(*) FILTER (WHERE is_flaky) AS flaky_runs,
         count(*) FILTER (WHERE outcome = 'failed') AS failed_runs,
         coalesce(sum(failed_attempts) FILTER (WHERE is_flaky), 0) AS failed_attempts,
         coalesce(sum(wasted_cluster_seconds) FILTER (WHERE is_flaky), 0) AS wasted_seconds,
         max(ended_at) FILTER (WHERE is_flaky) AS last_at
    FROM fact {groups}
)
SELECT *, flaky_runs::float8 / nullif(runs, 0) AS flaky_share
  FROM summed""",
    listed="flaky_runs > 0",
)
