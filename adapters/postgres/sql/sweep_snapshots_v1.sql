-- Remove the snapshots of jobs in which nothing is left to do. Returns how many there were.
CREATE FUNCTION {schema}.sweep_snapshots_v1() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM {schema}.snapshot s
        WHERE NOT EXISTS (
            SELECT FROM {schema}.job j WHERE j.stream_id = s.stream_id AND j.open
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
