"""Report `slo`: the share of jobs that started in time and ended well."""

from datetime import timedelta

from jobledger.adapters.postgres.reports.asking.dimensions import FAMILY, JOB, STANDARD
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Threshold, Unit

SLO = Report(
    name="slo",
    summary="The share of jobs that started in time and finished without failure.",
    rule="A job is dated by its creation. It started in time if an attempt ran within --within "
    "(5 minutes) of that, queueing included; it is good if besides it succeeded, with or without "
    "retries. A job is judged once it has ended or is too late to be good; one that was stopped or "
    "deleted by somebody before is withdrawn and not judged, one that may still be good is open. "
    "A job whose start nobody saw, as it was found under way or over, is unknown and not judged, "
    "unless it was found running in time or has succeeded in time. "
    "What is still in time is seen at --until. good_share is good / judged, and met says whether "
    "it reaches --target (0.95).",
    columns=(
        Column("jobs", Unit.COUNT, "Jobs that were created", rank=3),
        Column("judged", Unit.COUNT, "Those that are judged", rank=1),
        Column("good", Unit.COUNT, "Started in time and succeeded", rank=2),
        Column("good_share", Unit.SHARE, "good / judged", "good %", rank=0),
        Column("met", Unit.FLAG, "Whether good_share reaches the target", rank=1),
        Column("late", Unit.COUNT, "Judged, and not started in time", rank=4),
        Column("failed", Unit.COUNT, "Judged, started in time, and failed", rank=4),
        Column("retried", Unit.COUNT, "Good, and only after a failed attempt", rank=6),
        Column("open", Unit.COUNT, "May still be good", rank=5),
        Column("withdrawn", Unit.COUNT, "Stopped or deleted before they were judged", rank=7),
        Column("unknown", Unit.COUNT, "Not judged: nobody saw when they started", rank=8),
    ),
    dimensions={**STANDARD, "job": JOB, "family": FAMILY},
    default_by=("queue",),
    dated="v.created_at",
    order="good_share ASC NULLS LAST",
    chart=Chart(
        columns=("good_share",), title="jobs that started in time and succeeded", style="green"
    ),
    thresholds=(
        Threshold(
            name="within",
            meaning="How long after its creation a job may start",
            kind=timedelta,
            default=timedelta(minutes=5),
        ),
        Threshold(
            name="target", meaning="The share of jobs that has to be good", kind=float, default=0.95
        ),
    ),
    sql="""
WITH fact AS (
  SELECT {keys}v.outcome, v.failed_attempts,
         coalesce(v.running_at, CASE WHEN s.phase = 'Running' THEN v.first_seen_at
                                     WHEN v.outcome = 'succeeded' THEN v.ended_at END)
           <= v.created_at + :within IS TRUE AS in_time,
         v.running_at IS NULL AND v.outcome = '' AND v.created_at + :within >= :until AS may_start,
         v.running_at IS NULL AND (
           v.outcome = 'succeeded' OR v.ended_at < v.first_seen_at
           OR v.phase = 'Running' OR v.running_seconds > 0
           OR s.phase = 'Created' OR s.attempt > 1
           OR s.attempt = 1 AND s.phase NOT IN ('Initializing', 'Waiting')
              AND (s.phase NOT LIKE 'Suspend%' OR v.started_at < v.first_seen_at)
           OR EXISTS (SELECT FROM report_v1.attempts a
                       WHERE a.stream_id = v.stream_id AND a.outcome = 'unknown')
         ) IS TRUE AS start_unseen
    FROM report_v1.jobs v
    LEFT JOIN report_v1.phases s ON s.stream_id = v.stream_id AND s.number = 1
   WHERE v.created_at >= :since AND v.created_at < :until{filters}
), judged AS (
  SELECT fact.*, CASE WHEN outcome IN ('stopped', 'deleted') THEN 'withdrawn'
                      WHEN outcome = '' AND (in_time OR may_start) THEN 'open'
                      WHEN start_unseen AND NOT in_time THEN 'unknown'
                      ELSE 'judged' END AS verdict
    FROM fact
), summed AS (
  SELECT {names}{is_total} AS is_total,
         count(*) AS jobs,
         count(*) FILTER (WHERE verdict = 'judged') AS judged,
         count(*) FILTER (WHERE in_time AND outcome = 'succeeded') AS good,
         count(*) FILTER (WHERE verdict = 'judged' AND NOT in_time) AS late,
         count(*) FILTER (WHERE in_time AND outcome = 'failed') AS failed,
         count(*) FILTER (
           WHERE in_time AND outcome = 'succeeded' AND failed_attempts > 0) AS retried,
         count(*) FILTER (WHERE verdict = 'open') AS open,
         count(*) FILTER (WHERE verdict = 'withdrawn') AS withdrawn,
         count(*) FILTER (WHERE verdict = 'unknown') AS unknown
    FROM judged {groups}
)
SELECT *,
       good::float8 / nullif(judged, 0) AS good_share,
       good::float8 / nullif(judged, 0) >= :target AS met
  FROM summed""",
)
