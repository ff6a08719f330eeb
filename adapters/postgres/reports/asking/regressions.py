"""Report `regressions`: what fails more since its image changed."""

from jobledger.adapters.postgres.reports.asking.dimensions import FAMILY, JOB, STANDARD
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Unit

REGRESSIONS = Report(
    name="regressions",
    summary="What fails more often since its image changed.",
    rule="Jobs are taken together by family (the name without what tells runs apart), or as --by "
    "says: job, label:NAME. Their image changed with the first job that has one which none had "
    "before, in the period and in as much time before it; the change is dated by the creation of "
    "that job and has to be in the period. After it are the jobs with the new image, before it "
    "those with the image of the job before, in the same time. Jobs count by their creation once "
    "they have succeeded or failed, after however many attempts. Only what fails more is listed.",
    columns=(
        Column("image_before", Unit.TEXT, "The image before; of all changes none", rank=3),
        Column("changed_at", Unit.INSTANT, "When the first job with the new image came", rank=4),
        Column("before_runs", Unit.COUNT, "Jobs with the image before", rank=5),
        Column("before_failed", Unit.COUNT, "Those that failed", rank=6),
        Column("before_share", Unit.SHARE, "before_failed / before_runs", "before", rank=1),
        Column("runs", Unit.COUNT, "Jobs with the new image", rank=2),
        Column("failed", Unit.COUNT, "Those that failed", rank=2),
        Column("failed_share", Unit.SHARE, "failed / runs", "after", rank=0),
        Column(
            "more_failures",
            Unit.NUMBER,
            "How many more failed than with the share of before",
            "more",
            rank=0,
        ),
    ),
    dimensions={
        **STANDARD,
        "job": JOB,
        "family": FAMILY,
    },
    default_by=("family",),
    beside=("image",),
    apart=("image",),
    dated="",
    order="more_failures DESC",
    chart=Chart(
        columns=("more_failures",), title="failures beyond the share of before", style="red"
    ),
    sql="""
WITH fact AS (
  SELECT {keys}v.stream_id, v.image, v.created_at, v.outcome = 'failed' AS failed
    FROM report_v1.jobs v
   WHERE v.created_at >= CAST(:since AS timestamptz) - (CAST(:until AS timestamptz) - :since)
     AND v.created_at < :until AND v.image <> '' AND v.outcome IN ('succeeded', 'failed'){filters}
), run AS (
  SELECT *, ROW(true{whole})::text AS whole,
         lag(image) OVER (PARTITION BY true{whole} ORDER BY created_at, stream_id) AS image_before,
         row_number() OVER (PARTITION BY true{whole}, image ORDER BY created_at, stream_id) AS nth
    FROM fact
), change AS (
  SELECT * FROM run WHERE nth = 1 AND image_before IS NOT NULL AND created_at >= :since
), pair AS (
  SELECT c.*, r.failed AS run_failed, r.image = c.image AS is_after,
         avg(r.failed::int::float8) FILTER (WHERE r.image <> c.image)
           OVER (PARTITION BY c.stream_id) AS share
    FROM change c JOIN run r ON r.whole = c.whole
     AND (r.image = c.image OR r.image = c.image_before AND r.created_at <= c.created_at)
), summed AS (
  SELECT {names}{is_total} AS is_total,
         CASE WHEN {is_total} THEN '' ELSE min(image_before) END AS image_before,
         max(created_at) AS changed_at,
         count(*) FILTER (WHERE NOT is_after) AS before_runs,
         count(*) FILTER (WHERE NOT is_after AND run_failed) AS before_failed,
         count(*) FILTER (WHERE is_after) AS runs,
         count(*) FILTER (WHERE is_after AND run_failed) AS failed,
         sum(run_failed::int - share) FILTER (WHERE is_after) AS more_failures
    FROM pair {groups}
)
SELECT *,
       before_failed::float8 / nullif(before_runs, 0) AS before_share,
       failed::float8 / nullif(runs, 0) AS failed_share
  FROM summed""",
    listed="more_failures > 0",
)
