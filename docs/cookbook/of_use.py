"""Recipes: who uses what, and what of it is wasted."""  # noqa: INP001 see recipe.py

from docs.cookbook.recipe import Recipe

USE_RECIPES = (
    Recipe(
        question="What did each team use?",
        words="A RayCluster counts from its creation until it was gone, a JobSet from start to "
        "end; one that stands, until the end of the period. An attempt belongs to the instant at "
        "which it started.",
        command="jobledger report busiest --by namespace",
        sql="""
WITH held AS (
  SELECT namespace, stream_id,
         cluster_seconds
           + coalesce(date_part('epoch', timestamptz '{until}' - standing_since), 0) AS seconds
    FROM report_v1.attempts
   WHERE started_at >= '{since}' AND started_at < '{until}'
)
SELECT namespace,
       count(DISTINCT stream_id) AS jobs,
       count(*) AS attempts,
       round((sum(seconds) / 3600)::numeric, 1) AS cluster_hours,
       round((100 * sum(seconds) / sum(sum(seconds)) OVER ())::numeric, 1) AS percent
  FROM held
 GROUP BY namespace
 ORDER BY cluster_hours DESC, namespace
""",
    ),
    Recipe(
        question="How many hours of accelerators, CPUs and memory did each team hold?",
        words="What Pods request, times how long; idle is after the end of an attempt. What stands "
        "at the end is not counted further here.",
        command="jobledger report cost --by label:team",
        sql="""
SELECT coalesce(labels ->> 'team', '') AS team, resource, accelerator,
       round((sum(held_seconds) / 3600)::numeric, 1) AS hours,
       round((sum(waiting_seconds) / 3600)::numeric, 1) AS of_it_waiting,
       round((sum(idle_seconds) / 3600)::numeric, 1) AS of_it_idle
  FROM report_v1.resources
 WHERE started_at >= '{since}' AND started_at < '{until}'
 GROUP BY team, resource, accelerator
 ORDER BY team, resource, accelerator
""",
    ),
    Recipe(
        question="How much of it was wasted, and on what?",
        words="Cluster-hours of attempts that failed, by the group of their cause.",
        command="jobledger report waste --by class",
        sql="""
WITH held AS (
  SELECT failure_class, started_at, outcome,
         cluster_seconds
           + coalesce(date_part('epoch', timestamptz '{until}' - standing_since), 0) AS seconds
    FROM report_v1.attempts
)
SELECT failure_class, count(*) AS failed_attempts,
       round((sum(seconds) / 3600)::numeric, 1) AS wasted_cluster_hours
  FROM held
 WHERE started_at >= '{since}' AND started_at < '{until}'
   AND outcome IN ('failed', 'lost')
 GROUP BY failure_class
 ORDER BY wasted_cluster_hours DESC, failure_class
""",
    ),
    Recipe(
        question="Which jobs were the most expensive, and did they succeed?",
        command="jobledger report busiest --by job",
        sql="""
WITH held AS (
  SELECT *, coalesce(date_part('epoch', timestamptz '{until}' - standing_since), 0) AS stands
    FROM report_v1.jobs
)
SELECT namespace, name, user_name, attempts, outcome,
       round(((cluster_seconds + stands) / 3600)::numeric, 1) AS cluster_hours,
       round(((wasted_cluster_seconds
               + CASE WHEN outcome IN ('failed', 'stopped') THEN stands ELSE 0 END)
              / 3600)::numeric, 1) AS of_it_wasted
  FROM held
 WHERE created_at >= '{since}' AND created_at < '{until}'
 ORDER BY cluster_hours DESC, namespace, name
 LIMIT 10
""",
    ),
    Recipe(
        question="How many RayClusters were there at once, at most, on each day?",
        days=7,
        words="RayClusters that were made for an attempt, those that were there before too if the "
        "attempt began up to 30 days earlier. Each creation adds one, each end takes one away; the "
        "running sum is how many there are. One that was not seen to go ends with its job, and "
        "else stands.",
        sql="""
WITH cluster AS (
  SELECT coalesce(cluster_created_at, started_at) AS began,
         CASE WHEN cluster_gone_at IS NOT NULL THEN cluster_gone_at
              WHEN standing_since IS NOT NULL THEN 'infinity'
              ELSE coalesce(cluster_created_at, started_at) + cluster_seconds * interval '1 s'
          END AS ended
    FROM report_v1.attempts
   WHERE started_at >= timestamptz '{since}' - interval '30 days' AND started_at < '{until}'
     AND cluster_name <> '' AND NOT cluster_shared
     AND (cluster_seconds > 0 OR standing_since IS NOT NULL)
), change AS (
  SELECT greatest(began, '{since}') AS at, 1 AS clusters
    FROM cluster
   WHERE began < '{until}' AND ended > '{since}'
  UNION ALL
  SELECT ended, -1 FROM cluster WHERE ended > '{since}' AND ended < '{until}'
  UNION ALL
  SELECT generate_series(timestamptz '{since}', timestamptz '{until}' - interval '1 s', '1 day'), 0
), there AS (
  SELECT at, sum(clusters) OVER (ORDER BY at, clusters ROWS UNBOUNDED PRECEDING) AS clusters
    FROM change
)
SELECT (at AT TIME ZONE 'UTC')::date AS day, max(clusters) AS at_most
  FROM there
 GROUP BY day
 ORDER BY day
""",
    ),
)
