"""Report `stuck`: open jobs that have stayed in one state too long."""

from datetime import timedelta

from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Threshold, Unit

STUCK = Report(
    name="stuck",
    summary="Open jobs that have been in one state for longer than nearly all of their peers.",
    rule="A job is stuck if it has not ended and has been in its state for longer than the 99th "
    "percentile of its peers: the stays of jobs of the same kind in the same state that began in "
    "the period and are over. With fewer than 20 such stays there is no percentile, and the job is "
    "not judged. With --longer-than that duration is the limit for all states. How long is "
    "reckoned to --until; jobs that have ended or moved on since are not found.",
    columns=(
        Column("cluster", Unit.TEXT, "Kubernetes cluster that it is in", rank=3),
        Column("kind", Unit.TEXT, "RayJob, TrainJob or Job", rank=4),
        Column("phase", Unit.TEXT, "The state it is in", rank=1),
        Column("since_at", Unit.INSTANT, "Since when", "since", rank=2),
        Column("stuck_seconds", Unit.SECONDS, "For how long, at --until", "for", rank=0),
        Column("limit_seconds", Unit.SECONDS, "How long would not be too long", "limit", rank=1),
        Column("peers", Unit.COUNT, "Stays of peers that the limit was made of", rank=6),
        Column("attempt", Unit.COUNT, "Attempts so far", rank=5),
        Column("queue", Unit.TEXT, "Its queue", rank=3),
        Column("user", Unit.TEXT, "Whom it belongs to", rank=3),
        Column("reason", Unit.TEXT, "Why it is in this state, if that is known", rank=7),
    ),
    dimensions={},
    default_by=(),
    dated="",
    order='stuck_seconds DESC, "job", "cluster"',
    keys=(Column("job", Unit.TEXT, "Namespace and name of the job", rank=0),),
    chart=Chart(columns=("stuck_seconds",), title="for how long in one state", style="magenta"),
    thresholds=(
        Threshold(
            name="longer_than",
            meaning="From how long in one state on a job is stuck; without it p99 of its peers",
            kind=timedelta,
        ),
    ),
    snapshot=True,
    sql="""
WITH peer AS MATERIALIZED (
  SELECT p.kind, p.phase, count(*) AS stays,
         percentile_cont(0.99) WITHIN GROUP (ORDER BY p.seconds) AS p99
    FROM report_v1.phases p
   WHERE p.entered_at >= :since AND p.entered_at < :until AND p.left_at IS NOT NULL
     AND CAST(:longer_than AS interval) IS NULL
   GROUP BY p.kind, p.phase
  HAVING count(*) >= 20
), here AS (
  SELECT v.namespace || '/' || v.name AS job, v.cluster, v.kind, v.phase, v.phase_since AS since_at,
         extract(epoch FROM CAST(:until AS timestamptz) - v.phase_since)::float8 AS stuck_seconds,
         v.attempts AS attempt, v.queue, v.user_name, v.reason
    FROM report_v1.jobs v
   WHERE v.open AND v.ended_at IS NULL AND v.phase_since < :until{filters}
)
SELECT here.job, here.cluster, here.kind, here.phase, here.since_at, here.stuck_seconds,
       coalesce(extract(epoch FROM CAST(:longer_than AS interval))::float8, peer.p99)
         AS limit_seconds,
       coalesce(peer.stays, 0) AS peers,
       here.attempt, here.queue, here.user_name AS "user", here.reason, false AS is_total
  FROM here LEFT JOIN peer ON peer.kind = here.kind AND peer.phase = here.phase
 WHERE here.stuck_seconds
         > coalesce(extract(epoch FROM CAST(:longer_than AS interval))::float8, peer.p99)""",
)
