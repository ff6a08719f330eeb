"""What the second reckoning knows of jobs and attempts, by events and nothing else."""

BASE = """
WITH said AS NOT MATERIALIZED (
  SELECT e.stream_id, e.version, e.type, e.occurred_at AS at, e.data,
         (e.data ->> 'attempt')::int AS attempt
    FROM event e
), whole AS (
  SELECT stream_id, max(at) AS last_at,
         min(at) FILTER (WHERE type IN ('JobDeleted', 'TrainJobDeleted')) AS deleted_at,
         min(coalesce((data ->> 'ended_at')::timestamptz, at))
           FILTER (WHERE type IN ('JobCompleted', 'JobFailed', 'TrainJobCompleted',
                                  'TrainJobFailed')) AS ended_at,
         bool_or(type IN ('JobCompleted', 'TrainJobCompleted')) AS is_complete,
         count(*) FILTER (WHERE type IN ('JobSuspended', 'TrainJobSuspended')) AS suspensions
    FROM said GROUP BY stream_id
), job AS (
  SELECT f.stream_id, w.last_at, w.deleted_at, w.ended_at, w.is_complete,
         f.type = 'TrainJobDiscovered' AS trains,
         f.data -> 'identity' ->> 'namespace' AS namespace,
         f.data -> 'identity' ->> 'name' AS name,
         (f.data -> 'identity' ->> 'created_at')::timestamptz AS created_at, f.at AS seen_at,
         m.document, m.document -> 'labels' ->> 'team' AS team
    FROM said f JOIN whole w USING (stream_id)
    CROSS JOIN LATERAL (
      SELECT d.data -> 'document' AS document FROM event d
       WHERE d.stream_id = f.stream_id AND d.type IN ('ManifestReceived', 'TrainJobReceived')
         AND (d.data -> 'document') IS NOT NULL
       ORDER BY d.version DESC LIMIT 1) m
   WHERE f.version = 1
), try AS (
  SELECT b.stream_id, b.attempt, b.at AS started_at, b.data ->> 'cluster_name' AS cluster,
         lead(b.at) OVER w AS next_at, lead(b.version) OVER w AS next_version,
         lag(b.version) OVER w AS version_before, b.version
    FROM said b WHERE b.type IN ('AttemptStarted', 'TrainAttemptStarted')
  WINDOW w AS (PARTITION BY b.stream_id ORDER BY b.version)
), ended AS (
  SELECT DISTINCT ON (stream_id, attempt) stream_id, attempt, at,
         CASE WHEN type = 'JobCompleted' THEN 'succeeded' WHEN type = 'TrainAttemptEnded'
              THEN data ->> 'outcome' ELSE 'failed' END AS outcome,
         data ->> 'reason' AS reason
    FROM said
   WHERE type IN ('AttemptFailed', 'JobCompleted', 'JobFailed', 'TrainAttemptEnded')
   ORDER BY stream_id, attempt, version
), attempt AS (
  SELECT t.stream_id, t.attempt, t.started_at, t.next_at, j.namespace, j.trains, j.document, j.team,
         x.at AS ended_at, coalesce(x.outcome, '') AS outcome,
         (SELECT min(s.at) FROM said s WHERE s.stream_id = t.stream_id AND CASE
            WHEN j.trains THEN s.type = 'JobSetObserved' AND s.version > t.version
              AND s.version < coalesce(t.next_version, 2147483647)
              AND jsonb_path_exists(s.data::jsonb, '$.jobs[*] ? (@.active > 0 || @.ready > 0)')
            ELSE s.type = 'AttemptReachedRunning' AND s.attempt = t.attempt END) AS ran_at,
         (SELECT min(s.at) FROM said s WHERE s.stream_id = t.stream_id AND s.version > t.version
              AND s.version < coalesce(t.next_version, 2147483647)
              AND (s.type = 'TrainerProgressReported' OR s.type = 'EntrypointObserved'
                   AND s.data ->> 'status' = 'RUNNING')) AS step_at,
         CASE WHEN j.trains THEN t.started_at ELSE (
           SELECT min(s.at) FROM said s WHERE s.stream_id = t.stream_id
              AND s.data ->> 'name' = t.cluster
              AND (s.type = 'ClusterObserved'
                   OR s.type = 'EffectSucceeded' AND s.data ->> 'kind' = 'create_cluster')) END
           AS held_from,
         CASE WHEN j.trains THEN x.at ELSE (
           SELECT min(s.at) FROM said s WHERE s.stream_id = t.stream_id
              AND s.type = 'ClusterVanished' AND s.data ->> 'name' = t.cluster) END AS gone_at,
         CASE WHEN j.deleted_at IS NULL AND t.next_at IS NULL THEN CAST(:until AS timestamptz)
              ELSE j.last_at END AS at_most
    FROM try t JOIN job j USING (stream_id) LEFT JOIN ended x USING (stream_id, attempt)
), granted AS (
  SELECT a.stream_id, a.attempt, a.ended_at AS at FROM attempt a
   WHERE a.trains AND a.outcome IN ('failed', 'lost') AND a.next_at IS NOT NULL
  UNION ALL
  SELECT stream_id, attempt, at FROM said WHERE type = 'RetryGranted'
), held AS (
  SELECT a.*, coalesce(gone_at, at_most) AS held_until,
         greatest(0, coalesce(date_part('epoch', coalesce(gone_at, at_most) - held_from), 0))
           AS seconds
    FROM attempt a
)
"""
