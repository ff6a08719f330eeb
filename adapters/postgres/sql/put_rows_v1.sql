-- Put rows of the inline projections in place of their predecessors. Called by the functions that
-- hold the append lock, never by the service.
--
-- The rows are JSON arrays of objects with the names of the columns, or null for none. Only rows of
-- the streams named in only_streams are taken; null takes all.
CREATE FUNCTION {schema}.put_rows_v1(
    only_streams uuid[],
    job_rows json,
    attempt_rows json,
    decision_rows json,
    effect_rows json
) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
AS $$
BEGIN
    IF job_rows IS NOT NULL THEN
        INSERT INTO {schema}.job AS t (
            stream_id, shard, version, cluster, kind, namespace, name, uid, generation, phase,
            job_status, reason, message, attempt, retries, succeeded, failed, ray_cluster_name,
            ray_job_id, created_at, first_seen_at, started_at, ended_at, deleted_at, open,
            last_event_at, recorded
        )
        SELECT
            r.stream_id, r.shard, r.version, r.cluster, r.kind, r.namespace, r.name, r.uid,
            r.generation, r.phase, r.job_status, r.reason, r.message, r.attempt, r.retries,
            r.succeeded, r.failed, r.ray_cluster_name, r.ray_job_id, r.created_at, r.first_seen_at,
            r.started_at, r.ended_at, r.deleted_at, r.open, r.last_event_at,
            r.recorded
        FROM json_populate_recordset(NULL::{schema}.job, job_rows) AS r
        WHERE only_streams IS NULL OR r.stream_id = ANY (only_streams)
        ON CONFLICT (stream_id) DO UPDATE SET (
            shard, version, cluster, kind, namespace, name, uid, generation, phase, job_status,
            reason, message, attempt, retries, succeeded, failed, ray_cluster_name, ray_job_id,
            created_at, first_seen_at, started_at, ended_at, deleted_at, open, last_event_at,
            recorded
        ) = ROW (
            excluded.shard, excluded.version, excluded.cluster, excluded.kind, excluded.namespace,
            excluded.name, excluded.uid, excluded.generation, excluded.phase, excluded.job_status,
            excluded.reason, excluded.message, excluded.attempt, excluded.retries,
            excluded.succeeded, excluded.failed, excluded.ray_cluster_name, excluded.ray_job_id,
            excluded.created_at, excluded.first_seen_at, excluded.started_at, excluded.ended_at,
            excluded.deleted_at, excluded.open, excluded.last_event_at,
            excluded.recorded
        );
    END IF;
    IF attempt_rows IS NOT NULL THEN
        INSERT INTO {schema}.attempt AS t (
            stream_id, number, generation, ray_cluster_name, ray_job_id, started_at, running_at,
            ended_at, outcome, reason, message, job_status, retried, inferred
        )
        SELECT
            r.stream_id, r.number, r.generation, r.ray_cluster_name, r.ray_job_id, r.started_at,
            r.running_at, r.ended_at, r.outcome, r.reason, r.message, r.job_status, r.retried,
            r.inferred
        FROM json_populate_recordset(NULL::{schema}.attempt, attempt_rows) AS r
        WHERE only_streams IS NULL OR r.stream_id = ANY (only_streams)
        ON CONFLICT (stream_id, number) DO UPDATE SET (
            generation, ray_cluster_name, ray_job_id, started_at, running_at, ended_at, outcome,
            reason, message, job_status, retried, inferred
        ) = ROW (
            excluded.generation, excluded.ray_cluster_name, excluded.ray_job_id,
            excluded.started_at, excluded.running_at, excluded.ended_at, excluded.outcome,
            excluded.reason, excluded.message, excluded.job_status, excluded.retried,
            excluded.inferred
        );
    END IF;
    IF decision_rows IS NOT NULL THEN
        INSERT INTO {schema}.decision AS t (
            decision_id, stream_id, shard, attempt, kind, state, due_at, scheduled_at, resolved_at,
            cause, resolution
        )
        SELECT
            r.decision_id, r.stream_id, r.shard, r.attempt, r.kind, r.state, r.due_at,
            r.scheduled_at, r.resolved_at, r.cause, r.resolution
        FROM json_populate_recordset(NULL::{schema}.decision, decision_rows) AS r
        WHERE only_streams IS NULL OR r.stream_id = ANY (only_streams)
        ON CONFLICT (stream_id, decision_id) DO UPDATE SET (
            shard, attempt, kind, state, due_at, scheduled_at, resolved_at, cause, resolution
        ) = ROW (
            excluded.shard, excluded.attempt, excluded.kind, excluded.state, excluded.due_at,
            excluded.scheduled_at, excluded.resolved_at, excluded.cause, excluded.resolution
        );
    END IF;
    IF effect_rows IS NOT NULL THEN
        INSERT INTO {schema}.effect AS t (
            effect_id, stream_id, shard, attempt, kind, target, state, requested_at, ended_at,
            trouble
        )
        SELECT
            r.effect_id, r.stream_id, r.shard, r.attempt, r.kind, r.target, r.state, r.requested_at,
            r.ended_at, r.trouble
        FROM json_populate_recordset(NULL::{schema}.effect, effect_rows) AS r
        WHERE only_streams IS NULL OR r.stream_id = ANY (only_streams)
        ON CONFLICT (stream_id, effect_id) DO UPDATE SET (
            shard, attempt, kind, target, state, requested_at, ended_at, trouble
        ) = ROW (
            excluded.shard, excluded.attempt, excluded.kind, excluded.target, excluded.state,
            excluded.requested_at, excluded.ended_at, excluded.trouble
        );
    END IF;
END
$$;
