"""Recipes: what failed, what it cost, whether trying again helped."""  # noqa: INP001 see recipe.py

from docs.cookbook.recipe import Recipe

FAILURE_RECIPES = (
    Recipe(
        question="Which images fail most?",
        words="An attempt failed if its outcome is `failed` (of a TrainJob also `lost`). "
        "`failed_percent` is of the attempts with that image.",
        command="jobledger report waste --by image",
        sql="""
SELECT image,
       count(*) AS attempts,
       count(*) FILTER (WHERE outcome IN ('failed', 'lost')) AS failed,
       round(100.0 * count(*) FILTER (WHERE outcome IN ('failed', 'lost')) / count(*), 1)
         AS failed_percent
  FROM report_v1.attempts
 WHERE started_at >= '{since}' AND started_at < '{until}'
 GROUP BY image
 ORDER BY failed DESC, image
 LIMIT 10
""",
    ),
    Recipe(
        question="Why do attempts fail?",
        words="`failure_class` is the group of the cause, `reason` what stands in the status.",
        command="jobledger report failures",
        sql="""
SELECT failure_class, reason, count(*) AS failures,
       count(*) FILTER (WHERE retried) AS retried,
       count(*) FILTER (WHERE final) AS final
  FROM report_v1.failures
 WHERE failed_at >= '{since}' AND failed_at < '{until}'
 GROUP BY failure_class, reason
 ORDER BY failures DESC, failure_class, reason
""",
    ),
    Recipe(
        question="What did retries cost last week?",
        words="What a retry throws away are the cluster-seconds of the attempt that failed.",
        command="jobledger report retries --by day",
        days=7,
        sql="""
SELECT (granted_at AT TIME ZONE 'UTC')::date AS day,
       count(*) AS retries,
       round((sum(cluster_seconds) / 3600)::numeric, 1) AS cluster_hours_thrown_away
  FROM report_v1.retries
 WHERE granted_at >= '{since}' AND granted_at < '{until}'
 GROUP BY day
 ORDER BY day
""",
    ),
    Recipe(
        question="How often did it help to retry, by what had failed?",
        words="Attempts that still go on, or were ended by somebody, are in neither column.",
        command="jobledger report retries --by class",
        sql="""
SELECT failure_class,
       count(*) AS retries,
       count(*) FILTER (WHERE next_outcome = 'succeeded') AS helped,
       count(*) FILTER (WHERE next_outcome IN ('failed', 'lost')) AS failed_again
  FROM report_v1.retries
 WHERE granted_at >= '{since}' AND granted_at < '{until}'
 GROUP BY failure_class
 ORDER BY retries DESC, failure_class
""",
    ),
    Recipe(
        question="Which attempts did the platform take away, and did it help to retry?",
        words="Preempted, the head lost, an image not pulled: not the application's fault.",
        command="jobledger report failures --by class,job",
        sql="""
SELECT f.namespace, f.name, f.attempt, f.failure_class, f.failed_at, f.retried,
       j.outcome AS job_outcome
  FROM report_v1.failures f
  JOIN report_v1.jobs j USING (stream_id)
 WHERE f.failed_at >= '{since}' AND f.failed_at < '{until}'
   AND f.failure_class IN ('preemption', 'head-lost', 'image-pull')
 ORDER BY f.failed_at DESC, f.namespace, f.name
 LIMIT 10
""",
    ),
    Recipe(
        question="Which jobs were ended by a deadline?",
        words="`lost_hours` go from the start of the attempt to the deadline.",
        command="jobledger report failures --by reason,namespace",
        sql="""
SELECT namespace, name, reason, failed_at, final,
       round((lost_seconds / 3600)::numeric, 2) AS lost_hours
  FROM report_v1.failures
 WHERE failed_at >= '{since}' AND failed_at < '{until}'
   AND reason IN ('DeadlineExceeded', 'PreRunningDeadlineExceeded')
 ORDER BY failed_at DESC, namespace, name
 LIMIT 10
""",
    ),
    Recipe(
        question="Who ran out of memory?",
        words="`cause` is the class by the rules of `jobledger explain`, as far as the events tell "
        "without the kept logs.",
        command="jobledger report failures --by cause,user",
        sql="""
SELECT user_name, cause, count(*) AS failures, max(failed_at) AS last_at
  FROM report_v1.failures
 WHERE failed_at >= '{since}' AND failed_at < '{until}'
   AND (cause LIKE '%memory%' OR exit_code = 137)
 GROUP BY user_name, cause
 ORDER BY failures DESC, user_name, cause
 LIMIT 10
""",
    ),
    Recipe(
        question="Which share of what ends is a failure, by cause and week?",
        words="Of all that came to an end: failures of every cause, and jobs that succeeded.",
        command="jobledger report failures --by cause,week",
        sql="""
WITH ended AS (
  SELECT date_trunc('week', failed_at AT TIME ZONE 'UTC')::date AS week, cause
    FROM report_v1.failures
   WHERE failed_at >= '{since}' AND failed_at < '{until}'
  UNION ALL
  SELECT date_trunc('week', ended_at AT TIME ZONE 'UTC')::date, NULL
    FROM report_v1.jobs
   WHERE ended_at >= '{since}' AND ended_at < '{until}' AND outcome = 'succeeded'
), weekly AS (
  SELECT week, cause, count(*) AS failures,
         round(100 * count(*) / sum(count(*)) OVER (PARTITION BY week), 1) AS percent_of_ended
    FROM ended
   GROUP BY week, cause
)
SELECT * FROM weekly
 WHERE cause IS NOT NULL
 ORDER BY failures DESC, week, cause
 LIMIT 10
""",
    ),
    Recipe(
        question="What fails more since its image changed?",
        words="By family: digits at the end of a name tell runs apart. A change is the first job "
        "with an image that none of the family had before.",
        command="jobledger report regressions",
        sql="""
WITH run AS (
  SELECT namespace || '/' || regexp_replace(name, '(-[0-9]+)+$', '') AS family,
         image, created_at, (outcome = 'failed')::int AS failed
    FROM report_v1.jobs
   WHERE created_at >= '{since}' AND created_at < '{until}'
     AND outcome IN ('succeeded', 'failed') AND image <> ''
), used AS (
  SELECT family, image, min(created_at) AS since, count(*) AS jobs,
         round(100 * avg(failed), 1) AS failed_percent
    FROM run
   GROUP BY family, image
), turn AS (
  SELECT *, lag(image) OVER w AS image_before, lag(failed_percent) OVER w AS percent_before
    FROM used
  WINDOW w AS (PARTITION BY family ORDER BY since)
)
SELECT family, image_before, image, since::date AS since, jobs, percent_before, failed_percent
  FROM turn
 WHERE failed_percent > percent_before
 ORDER BY failed_percent - percent_before DESC, family
""",
    ),
    Recipe(
        question="On which nodes does more fail than on others?",
        words="Many images and jobs on one node speak for the node. Expected is what a node has on "
        "average, by the others. One on which nothing failed is not known: so failures that are "
        "alone on their node are left out of the sum, and their nodes count (Plackett, 1953).",
        command="jobledger report nodes",
        sql="""
WITH of_node AS (
  SELECT node, count(*) AS failures, count(DISTINCT stream_id) AS jobs,
         count(DISTINCT image) AS images,
         CASE WHEN count(*) > 1 THEN count(*) ELSE 0 END AS not_alone
    FROM report_v1.failures
   WHERE failed_at >= '{since}' AND failed_at < '{until}' AND node IS NOT NULL
   GROUP BY node
)
SELECT node, failures, jobs, images,
       round((sum(not_alone) OVER () - not_alone) / nullif(count(*) OVER () - 1, 0), 1) AS expected
  FROM of_node
 ORDER BY failures DESC, node
 LIMIT 5
""",
    ),
    Recipe(
        question="Which jobs are flaky?",
        words="A run is flaky if it succeeded after a failed attempt. One that failed for good is "
        "broken, not flaky. Digits at the end of a name tell runs of one family apart.",
        command="jobledger report flaky",
        sql="""
SELECT namespace, regexp_replace(name, '(-[0-9]+)+$', '') AS family,
       count(*) AS flaky_runs,
       sum(failed_attempts) AS failed_attempts,
       round((sum(wasted_cluster_seconds) / 3600)::numeric, 2) AS wasted_cluster_hours
  FROM report_v1.jobs
 WHERE ended_at >= '{since}' AND ended_at < '{until}'
   AND outcome = 'succeeded' AND failed_attempts > 0
 GROUP BY namespace, family
 ORDER BY flaky_runs DESC, wasted_cluster_hours DESC, namespace, family
 LIMIT 10
""",
    ),
    Recipe(
        question="How long does a retry wait for its turn?",
        words="From the failure to the start of the next attempt: cleaning up, and the pause that "
        "the retry policy asks for; time that it was suspended in between is left out.",
        command="jobledger report retries --by namespace",
        sql="""
SELECT namespace, count(*) AS retries,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY wait_seconds)::numeric, 1) AS p50_seconds,
       round(max(wait_seconds)::numeric, 1) AS longest_seconds
  FROM report_v1.retries
 WHERE granted_at >= '{since}' AND granted_at < '{until}'
 GROUP BY namespace
 ORDER BY longest_seconds DESC NULLS LAST, namespace
""",
    ),
)
