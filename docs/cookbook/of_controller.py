"""Recipes: how the controller itself fares."""  # noqa: INP001 see recipe.py

from docs.cookbook.recipe import Recipe

CONTROLLER_RECIPES = (
    Recipe(
        question="How late were decisions carried out?",
        words="From the instant at which a decision fell due until its firing was written down. "
        "After an outage high values are normal: what fell due meanwhile is carried out then.",
        sql="""
SELECT decision, count(*) AS fired,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY lateness_ms)::numeric) AS p50_ms,
       round(percentile_cont(0.99) WITHIN GROUP (ORDER BY lateness_ms)::numeric) AS p99_ms,
       round(max(lateness_ms)::numeric) AS worst_ms
  FROM report_v1.decisions
 WHERE due_at >= '{since}' AND due_at < '{until}' AND state = 'fired'
 GROUP BY decision
 ORDER BY worst_ms DESC, decision
""",
    ),
    Recipe(
        question="What was not observed during the outage?",
        words="In a gap changes may have been missed; what was true at its end is known again.",
        sql="""
SELECT cluster, source, reason, count(DISTINCT stream_id) AS jobs,
       min(since_at) AS from_at, max(until_at) AS to_at,
       round(max(seconds)::numeric) AS longest_seconds
  FROM report_v1.observation_gaps
 WHERE since_at >= '{since}' AND since_at < '{until}'
 GROUP BY cluster, source, reason
 ORDER BY jobs DESC, cluster, source, reason
 LIMIT 10
""",
    ),
    Recipe(
        question="What will the controller do next?",
        words="Pending decisions by the instant at which they fall due.",
        sql="""
SELECT namespace, name, decision, due_at, cause
  FROM report_v1.decisions
 WHERE state = 'pending' AND due_at >= '{since}'
 ORDER BY due_at, namespace, name, decision
 LIMIT 10
""",
    ),
    Recipe(
        question="Which hours were the hardest for the controller?",
        words="An hour is one of UTC, by the instants at which events were written down.",
        sql="""
SELECT hour, cluster, jobs, events, decisions_fired, effects_faltered, gaps,
       round(lateness_ms_max::numeric) AS worst_lateness_ms
  FROM report_v1.controller_hours
 WHERE hour >= '{since}' AND hour < '{until}'
 ORDER BY events DESC, hour, cluster
 LIMIT 5
""",
    ),
    Recipe(
        question="How fresh are these answers, and is anything overdue?",
        words="The views follow the log by a moment. This tells of now, whatever the period.",
        sql="""
SELECT last_position, lag_events, open_jobs, pending_decisions, open_effects, troubled_effects
  FROM report_v1.controller_health
""",
    ),
)
