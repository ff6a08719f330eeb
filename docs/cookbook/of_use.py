"""Recipes: who uses what, and what of it is wasted."""  # noqa: INP001 see recipe.py

from docs.cookbook.recipe import Recipe

USE_RECIPES = (
    Recipe(
        question="What did each team use?",
        words="A RayCluster counts from its creation until it was gone, a JobSet from start to "
        "end. An attempt belongs to the instant at which it started.",
        command="jobledger report busiest --by namespace",
        sql="""
SELECT namespace,
       count(DISTINCT stream_id) AS jobs,
       count(*) AS attempts,
       round((sum(cluster_seconds) / 3600)::numeric, 1) AS cluster_hours,
       round((100 * sum(cluster_seconds) / sum(sum(cluster_seconds)) OVER ())::numeric, 1)
         AS percent
  FROM report_v1.attempts
 WHERE started_at >= '{since}' AND started_at < '{until}'
 GROUP BY namespace
 ORDER BY cluster_hours DESC, namespace
""",
    ),
    Recipe(
        question="How much of it was wasted, and on what?",
        words="Cluster-hours of attempts that failed, by whom the retry rule blames.",
        command="jobledger report waste --by class",
        sql="""
SELECT failure_class, count(*) AS failed_attempts,
       round((sum(cluster_seconds) / 3600)::numeric, 1) AS wasted_cluster_hours
  FROM report_v1.attempts
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
SELECT namespace, name, user_name, attempts, outcome,
       round((cluster_seconds / 3600)::numeric, 1) AS cluster_hours,
       round((wasted_cluster_seconds / 3600)::numeric, 1) AS of_it_wasted
  FROM report_v1.jobs
 WHERE created_at >= '{since}' AND created_at < '{until}'
 ORDER BY cluster_seconds DESC, namespace, name
 LIMIT 10
""",
    ),
    Recipe(
        question="How many RayClusters were there at once, at most, on each day?",
        days=7,
        words="Those of attempts that started in the period. Each creation adds one, each end "
        "takes one away; the running sum is how many there are.",
        sql="""
WITH change AS (
  SELECT cluster_created_at AS at, 1 AS clusters
    FROM report_v1.attempts
   WHERE started_at >= '{since}' AND started_at < '{until}' AND cluster_created_at IS NOT NULL
  UNION ALL
  SELECT cluster_gone_at, -1
    FROM report_v1.attempts
   WHERE started_at >= '{since}' AND started_at < '{until}' AND cluster_gone_at IS NOT NULL
), there AS (
  SELECT at, sum(clusters) OVER (ORDER BY at, clusters) AS clusters FROM change
)
SELECT (at AT TIME ZONE 'UTC')::date AS day, max(clusters) AS at_most
  FROM there
 WHERE at >= '{since}' AND at < '{until}'
 GROUP BY day
 ORDER BY day
""",
    ),
)
