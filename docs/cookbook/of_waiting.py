"""Recipes: who waits, for what, how long; what is stuck."""  # noqa: INP001 see recipe.py

from docs.cookbook.recipe import Recipe

WAITING_RECIPES = (
    Recipe(
        question="What is the p95 of the start latency, by queue?",
        words="From the creation of the job (or the end of the attempt before) until it ran, "
        "queueing included.",
        command="jobledger report start-latency --by queue",
        sql="""
SELECT queue, count(total_seconds) AS ran,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY total_seconds)::numeric, 1) AS p50_seconds,
       round(percentile_cont(0.95) WITHIN GROUP (ORDER BY total_seconds)::numeric, 1) AS p95_seconds
  FROM report_v1.queue_and_start_latency
 WHERE started_at >= '{since}' AND started_at < '{until}'
 GROUP BY queue
 ORDER BY p95_seconds DESC NULLS LAST, queue
""",
    ),
    Recipe(
        question="Who waits longest, in which queue?",
        words="`queue_seconds` is the time suspended before the attempt was admitted.",
        command="jobledger report start-latency --by queue,user",
        sql="""
SELECT queue, user_name, count(*) AS attempts,
       round((sum(queue_seconds) / 3600)::numeric, 2) AS hours_queued,
       round(max(queue_seconds)::numeric) AS longest_seconds
  FROM report_v1.queue_and_start_latency
 WHERE started_at >= '{since}' AND started_at < '{until}'
 GROUP BY queue, user_name
HAVING sum(queue_seconds) > 0
 ORDER BY hours_queued DESC, queue, user_name
 LIMIT 10
""",
    ),
    Recipe(
        question="Where does the time go before an attempt runs?",
        words="Means in seconds of attempts that ran. Queue, then the controller, then Kubernetes, "
        "then Ray.",
        command="jobledger report start-latency --by kind",
        sql="""
SELECT kind,
       round(avg(queue_seconds)::numeric, 1) AS queued,
       round(avg(wait_seconds)::numeric, 1) AS until_started,
       round(avg(cluster_create_seconds)::numeric, 1) AS until_created,
       round(avg(cluster_ready_seconds)::numeric, 1) AS until_ready,
       round(avg(submit_seconds)::numeric, 1) AS until_it_ran
  FROM report_v1.queue_and_start_latency
 WHERE started_at >= '{since}' AND started_at < '{until}' AND running_at IS NOT NULL
 GROUP BY kind
 ORDER BY kind
""",
    ),
    Recipe(
        question="How long until the first step, by runtime?",
        words="From the wish to the run, as above, until the program itself was seen at work: of a "
        "RayJob Ray's word RUNNING, of a TrainJob the first report of its training code.",
        command="jobledger report start-latency --by runtime",
        sql="""
SELECT runtime, count(first_step_seconds) AS stepped,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY first_step_seconds)::numeric, 1)
         AS p50_seconds,
       round(percentile_cont(0.95) WITHIN GROUP (ORDER BY first_step_seconds)::numeric, 1)
         AS p95_seconds
  FROM report_v1.queue_and_start_latency
 WHERE started_at >= '{since}' AND started_at < '{until}'
 GROUP BY runtime
 ORDER BY p95_seconds DESC NULLS LAST, runtime
""",
    ),
    Recipe(
        question="Do jobs start within five minutes and succeed, by queue?",
        words="Judged are jobs that have ended or are late already. `report slo` has the rule in "
        "full and takes the limit as an option.",
        command="jobledger report slo --by queue --within 5m",
        sql="""
WITH judged AS (
  SELECT queue, outcome,
         coalesce(running_at <= created_at + interval '5 minutes', false) AS in_time
    FROM report_v1.jobs
   WHERE created_at >= '{since}' AND created_at < '{until}'
     AND outcome NOT IN ('stopped', 'deleted')
     AND (outcome <> '' OR running_at > created_at + interval '5 minutes'
          OR (running_at IS NULL AND created_at + interval '5 minutes' < '{until}'))
)
SELECT queue, count(*) AS judged,
       count(*) FILTER (WHERE in_time AND outcome = 'succeeded') AS good,
       round(100.0 * count(*) FILTER (WHERE in_time AND outcome = 'succeeded') / count(*), 1)
         AS good_percent
  FROM judged
 GROUP BY queue
 ORDER BY good_percent, queue
""",
    ),
    Recipe(
        question="Which jobs are stuck now?",
        words="Open, and in one state for longer than 99 of 100 stays of its peers that are over. "
        "*Now* is the end of the period here.",
        command="jobledger report stuck",
        sql="""
WITH peer AS MATERIALIZED (
  SELECT kind, phase, percentile_cont(0.99) WITHIN GROUP (ORDER BY seconds) AS p99
    FROM report_v1.phases
   WHERE entered_at >= '{since}' AND entered_at < '{until}' AND left_at IS NOT NULL
   GROUP BY kind, phase
  HAVING count(*) >= 20
)
SELECT j.namespace, j.name, j.phase, j.phase_since,
       round(extract(epoch FROM timestamptz '{until}' - j.phase_since)::numeric / 3600, 1) AS hours,
       round((peer.p99 / 3600)::numeric, 1) AS p99_hours
  FROM report_v1.jobs j JOIN peer USING (kind, phase)
 WHERE j.open AND j.ended_at IS NULL
   AND extract(epoch FROM timestamptz '{until}' - j.phase_since) > peer.p99
 ORDER BY hours DESC, j.namespace, j.name
 LIMIT 10
""",
    ),
    Recipe(
        question="How long do jobs stay in each state?",
        words="Stays that are over; Complete and Failed, which last until the object is deleted, "
        "are left out.",
        command="jobledger report durations --by kind",
        sql="""
SELECT kind, phase, count(*) AS stays,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::numeric, 1) AS p50_seconds,
       round(percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds)::numeric, 1) AS p95_seconds
  FROM report_v1.phases
 WHERE entered_at >= '{since}' AND entered_at < '{until}' AND left_at IS NOT NULL
   AND phase NOT IN ('Complete', 'Failed')
 GROUP BY kind, phase
 ORDER BY kind, p95_seconds DESC, phase
""",
    ),
    Recipe(
        question="When are jobs created, by the clock of Berlin?",
        words="`AT TIME ZONE` turns an instant into the time on a wall there, summer time and all.",
        command="jobledger report slo --by hour --timezone Europe/Berlin",
        sql="""
SELECT extract(hour FROM created_at AT TIME ZONE 'Europe/Berlin')::int / 4 * 4 AS from_hour,
       count(*) AS jobs,
       count(*) FILTER (
         WHERE extract(isodow FROM created_at AT TIME ZONE 'Europe/Berlin') >= 6) AS on_weekends
  FROM report_v1.jobs
 WHERE created_at >= '{since}' AND created_at < '{until}'
 GROUP BY from_hour
 ORDER BY from_hour
""",
    ),
)
