"""The report `slo`: which share of jobs started in time and ended well."""

from datetime import timedelta

from adapters.postgres.reporting.dimensions import FAMILY, JOB, STANDARD
from adapters.postgres.reporting.report import Chart, Column, Report, Threshold, Unit

SLO = Report(
    name="slo",
    summary="The share of jobs that started in time and finished without failure.",
    rule="A job is dated by its creation. It started in time if an attempt ran within --within "
    "(5 minutes) of that, queueing included; it is good if besides it succeeded, with or without "
    "retries. A job is judged once it has ended or is too late to be good; one that was stopped or "
    "deleted by somebody before is withdrawn and not judged, one that may still be good is open. "
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
         coalesce(v.running_at <= v.created_at + :within, false) AS in_time,
         v.running_at IS NULL AND v.outcome = '' AND v.created_at + :within >= :until AS may_start
    FROM report_v1.jobs v
   WHERE v.created_at >= :since AND v.created_at < :until{filters}
), judged AS (
  SELECT fact.*,
         outcome IN ('stopped', 'deleted') AS is_withdrawn,
         outcome = '' AND (in_time OR may_start) AS is_open
    FROM fact
), summed AS (
  SELECT {names}{is_total} AS is_total,
         count(*) AS jobs,
         count(*) FILTER (WHERE NOT is_withdrawn AND NOT is_open) AS judged,
         count(*) FILTER (WHERE in_time AND outcome = 'succeeded') AS good,
         count(*) FILTER (WHERE NOT is_withdrawn AND NOT is_open AND NOT in_time) AS late,
         count(*) FILTER (WHERE in_time AND outcome = 'failed') AS failed,
         count(*) FILTER (
           WHERE in_time AND outcome = 'succeeded' AND failed_attempts > 0) AS retried,
         count(*) FILTER (WHERE is_open) AS open,
         count(*) FILTER (WHERE is_withdrawn) AS withdrawn
    FROM judged {groups}
)
SELECT *,
       good::float8 / nullif(judged, 0) AS good_share,
       good::float8 / nullif(judged, 0) >= :target AS met
  FROM summed""",
)
