"""Report `waste`: cluster-seconds spent on failed attempts, by class."""

from jobledger.adapters.postgres.reports.asking.dimensions import FAILED
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Unit

WASTE = Report(
    name="waste",
    summary="Cluster-seconds of attempts that failed, by class: what failures cost.",
    rule="Waste is the cluster-seconds of attempts that failed or were lost; attempts that "
    "succeeded, go on, were suspended, stopped or deleted by somebody, or ended unseen are none. "
    "An attempt is dated by its start, with all its cluster-seconds; a cluster that was not seen "
    "to go counts until --until. The share is of all "
    "cluster-seconds of attempts that were asked for, good ones included. Groups without waste are "
    "left out; hours, days and weeks without any are not.",
    columns=(
        Column("wasted_seconds", Unit.CLUSTER_SECONDS, "Waste", "wasted", rank=0),
        Column(
            "wasted_share",
            Unit.SHARE,
            "Waste as a part of all cluster-seconds of the period, of every group",
            "of all",
            rank=1,
        ),
        Column("failed_attempts", Unit.COUNT, "Attempts that failed or were lost", rank=2),
        Column("attempts", Unit.COUNT, "All attempts of the group", rank=4),
        Column("failed_share", Unit.SHARE, "failed_attempts / attempts", "failed %", rank=3),
        Column(
            "cluster_seconds",
            Unit.CLUSTER_SECONDS,
            "Cluster-seconds of all attempts of the group",
            "cluster time",
            rank=5,
        ),
    ),
    dimensions=FAILED,
    default_by=("class",),
    dated="v.started_at",
    order="wasted_seconds DESC",
    chart=Chart(columns=("wasted_seconds",), title="cluster time of failed attempts", style="red"),
    sql="""
WITH fact AS (
  SELECT {keys}v.cluster_seconds + {standing} AS cluster_seconds,
         v.outcome IN ('failed', 'lost') AS is_waste
    FROM report_v1.attempts v
   WHERE v.started_at >= :since AND v.started_at < :until{filters}
), summed AS (
  SELECT {names}{is_total} AS is_total,
         coalesce(sum(cluster_seconds) FILTER (WHERE is_waste), 0) AS wasted_seconds,
         count(*) FILTER (WHERE is_waste) AS failed_attempts,
         count(*) AS attempts,
         coalesce(sum(cluster_seconds), 0) AS cluster_seconds
    FROM fact {groups}
)
SELECT *,
       wasted_seconds
         / nullif(max(cluster_seconds) FILTER (WHERE is_total) OVER (), 0) AS wasted_share,
       failed_attempts::float8 / nullif(attempts, 0) AS failed_share
  FROM summed""",
    listed="failed_attempts > 0",
)
