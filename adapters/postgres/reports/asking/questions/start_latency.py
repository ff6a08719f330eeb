"""Report `start-latency`: the time until an attempt runs, by stage."""

from jobledger.adapters.postgres.reports.asking.dimensions import FAMILY, JOB, STANDARD
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Dimension, Report, Unit

START_LATENCY = Report(
    name="start-latency",
    summary="How long attempts wait until they run: in the queue, for the cluster, for the submit.",
    rule="An attempt is dated by its start. Its latency goes from the wish to the run: from the "
    "creation of the job while nothing had run before, else from the end of the attempt before, "
    "until it ran. "
    "Queueing (suspended) is in it, and in queue_p95_seconds alone. Attempts that never ran, or of "
    "which nobody saw since when, have no latency: they are in attempts and not in ran. "
    "The first step of a RayJob is when Ray told of its job as RUNNING, that of a TrainJob when "
    "the first report of its training code (status.trainerStatus) was written down; where neither "
    "was seen, and of a Job, there is none. "
    "Percentiles are over attempts, interpolated.",
    columns=(
        Column("attempts", Unit.COUNT, "Attempts that were started", rank=5),
        Column("ran", Unit.COUNT, "Those of which it is known when they ran", rank=0),
        Column("p50_seconds", Unit.SECONDS, "Median latency", "p50", rank=1),
        Column("p95_seconds", Unit.SECONDS, "95th percentile", "p95", rank=0),
        Column("p99_seconds", Unit.SECONDS, "99th percentile", "p99", rank=4),
        Column(
            "stepped",
            Unit.COUNT,
            "Those of which it is known when they made their first step",
            rank=6,
        ),
        Column(
            "first_step_p50_seconds",
            Unit.SECONDS,
            "Median from the wish to the first step",
            "step p50",
            rank=4,
        ),
        Column(
            "first_step_p95_seconds",
            Unit.SECONDS,
            "95th percentile of the same",
            "step p95",
            rank=2,
        ),
        Column("queue_p95_seconds", Unit.SECONDS, "p95 of the time suspended", "queue p95", rank=2),
        Column(
            "cluster_p95_seconds",
            Unit.SECONDS,
            "p95 from the start until the cluster was ready",
            "cluster p95",
            rank=3,
        ),
        Column(
            "submit_p95_seconds",
            Unit.SECONDS,
            "p95 from then until the attempt ran",
            "submit p95",
            rank=6,
        ),
    ),
    dimensions={
        **STANDARD,
        "turn": Dimension(
            "CASE WHEN v.attempt = 1 THEN 'first' ELSE 'later' END",
            "first: attempt 1; later: a retry or a resume",
        ),
        "job": JOB,
        "family": FAMILY,
    },
    default_by=("queue",),
    dated="v.started_at",
    order="p95_seconds DESC NULLS LAST",
    chart=Chart(columns=("p95_seconds", "p50_seconds"), title="latency until the run"),
    sql="""
WITH fact AS (
  SELECT {keys}v.running_at, v.total_seconds, v.queue_seconds, v.submit_seconds,
         v.first_step_seconds,
         v.cluster_create_seconds + v.cluster_ready_seconds AS cluster_seconds
    FROM report_v1.queue_and_start_latency v
   WHERE v.started_at >= :since AND v.started_at < :until{filters}
), summed AS (
  SELECT {names}{is_total} AS is_total,
         count(*) AS attempts,
         count(running_at) AS ran,
         percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY total_seconds) AS whole,
         count(first_step_seconds) AS stepped,
         percentile_cont(0.5) WITHIN GROUP (ORDER BY first_step_seconds) AS first_step_p50_seconds,
         percentile_cont(0.95) WITHIN GROUP (ORDER BY first_step_seconds) AS first_step_p95_seconds,
         percentile_cont(0.95) WITHIN GROUP (ORDER BY queue_seconds) AS queue_p95_seconds,
         percentile_cont(0.95) WITHIN GROUP (ORDER BY cluster_seconds) AS cluster_p95_seconds,
         percentile_cont(0.95) WITHIN GROUP (ORDER BY submit_seconds) AS submit_p95_seconds
    FROM fact {groups}
)
SELECT *,
       whole[1] AS p50_seconds,
       whole[2] AS p95_seconds,
       whole[3] AS p99_seconds
  FROM summed""",
)
