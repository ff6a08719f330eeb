"""Report `idle`: RayClusters that stand though their job has ended."""

from datetime import timedelta

from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Threshold, Unit

IDLE = Report(
    name="idle",
    summary="RayClusters of jobs that have ended, which nobody has taken away.",
    rule="A RayCluster is idle if its job is Complete or Failed, the RayCluster was made for it, "
    "and neither its going nor that of the job was seen. How long is reckoned from the end of the "
    "job to --until; jobs that ended before the period are in it. With --longer-than only those "
    "that have been idle for longer. Such a job asks for none of shutdownAfterJobFinishes, "
    "ttlSecondsAfterFinished and deletionStrategy, or its time has not come.",
    columns=(
        Column("cluster", Unit.TEXT, "Kubernetes cluster that it is in", rank=4),
        Column("ray_cluster", Unit.TEXT, "Name of the RayCluster", rank=1),
        Column("idle_since_at", Unit.INSTANT, "When its job ended", "since", rank=2),
        Column(
            "idle_seconds", Unit.CLUSTER_SECONDS, "For how long, at --until", "idle for", rank=0
        ),
        Column("outcome", Unit.TEXT, "How the job ended", rank=3),
        Column("user", Unit.TEXT, "Whom it belongs to", rank=3),
        Column("queue", Unit.TEXT, "Its queue", rank=5),
    ),
    dimensions={},
    default_by=(),
    dated="",
    order='idle_seconds DESC, "job", "cluster"',
    keys=(Column("job", Unit.TEXT, "Namespace and name of the job", rank=0),),
    chart=Chart(columns=("idle_seconds",), title="idle for", style="magenta"),
    thresholds=(
        Threshold(
            name="longer_than",
            meaning="From how long after its end on a job's cluster is listed; without it all are",
            kind=timedelta,
        ),
    ),
    snapshot=True,
    sql="""
SELECT v.namespace || '/' || v.name AS job, v.cluster, a.cluster_name AS ray_cluster,
       v.ended_at AS idle_since_at,
       date_part('epoch', CAST(:until AS timestamptz) - v.ended_at) AS idle_seconds,
       v.outcome, v.user_name AS "user", v.queue, false AS is_total
  FROM report_v1.jobs v
  JOIN report_v1.attempts a ON a.stream_id = v.stream_id AND a.standing_since IS NOT NULL
 WHERE v.ended_at < :until AND v.deleted_at IS NULL AND a.ended_at IS NOT NULL
   AND v.ended_at <= CAST(:until AS timestamptz)
                       - coalesce(CAST(:longer_than AS interval), interval '0'){filters}""",
)
