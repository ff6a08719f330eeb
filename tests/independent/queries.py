"""The second reckoning of each report: a query whose first column is the group."""

from collections.abc import Mapping

_ASKED = "WHERE {at} >= :since AND {at} < :until GROUP BY namespace"
_STARTED = _ASKED.format(at="started_at")

QUANTITY = """CASE WHEN {0} LIKE '%Gi' THEN rtrim({0}, 'Gi')::float8 ELSE {0}::float8 END"""

_LOST = "outcome IN ('failed', 'lost')"

QUERIES: Mapping[str, str] = {
    "failures": f"""
SELECT namespace, count(*) AS failures, count(DISTINCT stream_id) AS jobs,
       count(*) FILTER (WHERE EXISTS (SELECT FROM granted r
         WHERE r.stream_id = a.stream_id AND r.attempt = a.attempt)) AS retried,
       count(*) FILTER (WHERE ran_at IS NULL) AS never_ran, max(ended_at) AS last_at,
       count(*)::float8 / (count(*) + (SELECT count(*) FROM job j WHERE j.is_complete
         AND j.namespace = a.namespace AND j.ended_at >= :since AND j.ended_at < :until)) AS rate
  FROM attempt a {_ASKED.format(at="ended_at").replace("GROUP", f"AND {_LOST} GROUP")}""",
    "retries": """
, turn AS (
  SELECT a.*, r.at IS NOT NULL AS again, n.outcome AS then_
    FROM held a LEFT JOIN granted r USING (stream_id, attempt)
    LEFT JOIN attempt n ON n.stream_id = r.stream_id AND n.attempt = r.attempt + 1
   WHERE a.outcome IN ('failed', 'lost') AND coalesce(r.at, a.ended_at) >= :since
     AND coalesce(r.at, a.ended_at) < :until
)
SELECT namespace, count(*) FILTER (WHERE again) AS retries,
       count(DISTINCT stream_id) FILTER (WHERE again) AS jobs,
       count(*) FILTER (WHERE then_ = 'succeeded') AS helped,
       count(*) FILTER (WHERE then_ IN ('failed', 'lost')) AS failed_again,
       count(*) FILTER (WHERE NOT again) AS not_retried,
       CASE WHEN count(*) FILTER (WHERE then_ IN ('succeeded', 'failed', 'lost')) >= 5
            THEN count(*) FILTER (WHERE NOT again) * avg(CASE then_ WHEN 'succeeded' THEN 1.0
                   WHEN 'failed' THEN 0 WHEN 'lost' THEN 0 END) END AS would_help,
       coalesce(sum(seconds) FILTER (WHERE again), 0) AS cluster_seconds
  FROM turn GROUP BY namespace""",
    "regressions": """
, run AS (
  SELECT namespace, stream_id, created_at, NOT is_complete AS failed, coalesce(
           document #>> '{spec,trainer,image}',
           document #>> '{spec,rayClusterSpec,headGroupSpec,template,spec,containers,0,image}')
           AS image
    FROM job WHERE ended_at IS NOT NULL AND created_at >= :since AND created_at < :until
), earliest AS (
  SELECT DISTINCT ON (namespace, image) * FROM run ORDER BY namespace, image, created_at, stream_id
), change AS (
  SELECT e.*, (SELECT r.image FROM run r WHERE r.namespace = e.namespace
                  AND (r.created_at, r.stream_id) < (e.created_at, e.stream_id)
                ORDER BY r.created_at DESC, r.stream_id DESC LIMIT 1) AS former
    FROM earliest e
), counted AS (
  SELECT c.*, a.*, b.* FROM change c
   CROSS JOIN LATERAL (SELECT count(*) AS runs, count(*) FILTER (WHERE r.failed) AS failed_after
      FROM run r WHERE r.namespace = c.namespace AND r.image = c.image) a
   CROSS JOIN LATERAL (SELECT count(*) AS before, count(*) FILTER (WHERE r.failed) AS failed_before
      FROM run r WHERE r.namespace = c.namespace AND r.image = c.former
       AND (r.created_at, r.stream_id) < (c.created_at, c.stream_id)) b
   WHERE c.former IS NOT NULL
)
SELECT namespace || ' ' || image AS place, former AS image_before, created_at AS changed_at,
       before AS before_runs, failed_before AS before_failed, runs, failed_after AS failed,
       failed_after::float8 / runs AS failed_share, failed_before::float8 / before AS before_share,
       failed_after - runs * failed_before::float8 / before AS more_failures
  FROM counted WHERE failed_after - runs * failed_before::float8 / before > 0""",
    "nodes": f"""
SELECT namespace || ' ' || node AS place, count(*) AS failures,
       count(DISTINCT stream_id) AS jobs, max(ended_at) AS last_at,
       count(*) FILTER (WHERE EXISTS (SELECT FROM attempt n WHERE n.stream_id = a.stream_id
         AND n.attempt = a.attempt + 1 AND n.outcome = 'succeeded')) AS cured,
       (coalesce(sum(nullif(count(*), 1)) OVER w, 0) - coalesce(nullif(count(*), 1), 0))
         / nullif(count(*) OVER w - 1, 0) AS expected
  FROM attempt a CROSS JOIN LATERAL (
    SELECT e.data #>> '{{pods,0,node}}' AS node FROM said e WHERE e.type = 'EvidenceCaptured'
       AND e.stream_id = a.stream_id AND e.attempt = a.attempt ORDER BY e.version LIMIT 1) e
 WHERE {_LOST} AND ended_at >= :since AND ended_at < :until GROUP BY namespace, node
WINDOW w AS (PARTITION BY namespace)""",
    "waste": f"""
SELECT namespace, coalesce(sum(seconds) FILTER (WHERE {_LOST}), 0) AS wasted_seconds,
       count(*) FILTER (WHERE {_LOST}) AS failed_attempts, count(*) AS attempts,
       sum(seconds) AS cluster_seconds
  FROM held {_STARTED} HAVING count(*) FILTER (WHERE {_LOST}) > 0""",
    "busiest": f"""
SELECT namespace, sum(seconds) AS cluster_seconds, count(DISTINCT stream_id) AS jobs,
       count(*) AS attempts, count(*) FILTER (WHERE {_LOST}) AS failed_attempts,
       sum(seconds) / count(*) AS mean_seconds
  FROM held {_STARTED}""",
    "durations": """
SELECT namespace, count(*) AS jobs, max(took) AS max_seconds,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY took) AS p50_seconds,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY took) AS p95_seconds,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY took) AS p99_seconds
  FROM (SELECT *, date_part('epoch', ended_at - created_at) AS took FROM job) j """
    + _ASKED.format(at="ended_at"),
    "start-latency": """
SELECT namespace, count(*) AS attempts, count(ran_at) AS ran,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY waited) AS p50_seconds,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY waited) AS p95_seconds,
       count(step_at) AS stepped,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY stepped) AS first_step_p50_seconds,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY stepped) AS first_step_p95_seconds
  FROM (SELECT a.*, date_part('epoch', a.ran_at - w.since) AS waited,
               date_part('epoch', a.step_at - w.since) AS stepped
          FROM attempt a JOIN job j USING (stream_id)
          LEFT JOIN attempt b ON b.stream_id = a.stream_id AND b.attempt = a.attempt - 1
          CROSS JOIN LATERAL (SELECT CASE WHEN EXISTS (
            SELECT FROM attempt r WHERE r.stream_id = a.stream_id AND r.attempt < a.attempt
               AND r.ran_at IS NOT NULL) THEN b.ended_at ELSE j.created_at END AS since) w) s """
    + _ASKED.format(at="s.started_at"),
    "slo": """
SELECT namespace, count(*) AS jobs,
       count(*) FILTER (WHERE is_complete AND ran_at <= created_at + interval '5 min') AS good,
       count(*) FILTER (WHERE ended_at IS NOT NULL AND NOT is_complete
                          AND ran_at <= created_at + interval '5 min') AS failed
  FROM (SELECT j.*, (SELECT min(a.ran_at) FROM attempt a WHERE a.stream_id = j.stream_id) AS ran_at
          FROM job j) s """
    + _ASKED.format(at="created_at"),
    "flaky": """
SELECT namespace, count(*) AS runs, count(*) FILTER (WHERE is_flaky) AS flaky_runs,
       count(*) FILTER (WHERE NOT is_complete) AS failed_runs,
       coalesce(sum(failures) FILTER (WHERE is_flaky), 0) AS failed_attempts
  FROM (SELECT j.*, c.failures, j.is_complete AND c.failures > 0 AS is_flaky
          FROM job j CROSS JOIN LATERAL (SELECT count(*) AS failures FROM attempt a
            WHERE a.stream_id = j.stream_id AND a.outcome IN ('failed', 'lost')) c) s """
    + _ASKED.format(at="ended_at")
    + " HAVING count(*) FILTER (WHERE is_flaky) > 0",
    "idle": """
SELECT j.namespace || '/' || j.name AS job,
       date_part('epoch', CAST(:until AS timestamptz) - j.ended_at) AS idle_seconds
  FROM job j JOIN attempt a USING (stream_id)
 WHERE j.ended_at < :until AND j.deleted_at IS NULL AND NOT j.trains AND a.gone_at IS NULL""",
    "cost": f"""
, asked AS (
  SELECT h.*, r.resource, r.amount FROM held h CROSS JOIN LATERAL (
    SELECT CASE k.key WHEN 'cpu' THEN 'cpu' WHEN 'memory' THEN 'memory' ELSE 'accelerator' END
             AS resource,
           {QUANTITY.format("k.value")} * CASE WHEN h.trains
             THEN (h.document #>> '{{spec,trainer,numNodes}}')::int ELSE 1 END AS amount
      FROM json_each_text(CASE WHEN h.trains
        THEN h.document #> '{{spec,trainer,resourcesPerNode,limits}}'
        ELSE h.document #> '{{spec,rayClusterSpec,headGroupSpec,template,spec,containers,0,
                             resources,limits}}' END) AS k) r
   WHERE h.seconds > 0
), stretched AS (
  SELECT *, amount * seconds AS held,
         amount * greatest(0, date_part('epoch', held_until - coalesce(ended_at, held_until)))
           AS idle,
         CASE WHEN {_LOST} THEN 0 ELSE amount * greatest(0, date_part('epoch',
           least(coalesce(ran_at, 'infinity'), coalesce(ended_at, 'infinity'), held_until)
             - held_from)) END AS waiting
    FROM asked
)
SELECT namespace,
       coalesce(sum(held) FILTER (WHERE resource = 'accelerator'), 0) AS accelerator_seconds,
       coalesce(sum(held) FILTER (WHERE resource = 'cpu'), 0) AS cpu_seconds,
       coalesce(sum(held) FILTER (WHERE resource = 'memory'), 0) AS memory_gib_seconds,
       coalesce(sum(waiting) FILTER (WHERE resource = 'cpu'), 0) AS waiting_cpu_seconds,
       coalesce(sum(idle) FILTER (WHERE resource = 'cpu'), 0) AS idle_cpu_seconds,
       coalesce(sum(held - idle) FILTER (WHERE resource = 'accelerator' AND {_LOST}), 0)
         AS failed_accelerator_seconds,
       count(DISTINCT (stream_id, attempt)) AS attempts
  FROM stretched {_STARTED}""",
}
"""Report -> the query, behind `BASE`; its other columns are those of the report of that name."""
