-- Remove what follows from the events of jobs that leave the log: their rows of every projection,
-- but for the facts of reports, which stay. Of the jobs in `leaving`, together with where their
-- streams ended; where it is null, of all jobs from one id to another (excluded), without that.
--
-- Called by the functions that remove events, which hold the append lock.
CREATE FUNCTION {schema}.forget_jobs_v1(
    leaving uuid[], from_stream uuid DEFAULT NULL, until_stream uuid DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    projection text;
BEGIN
    FOREACH projection IN ARRAY ARRAY[
        'job', 'attempt', 'decision', 'effect', 'stream'
    ] LOOP
        IF leaving IS NOT NULL THEN
            EXECUTE format('DELETE FROM {schema}.%I WHERE stream_id = ANY ($1)', projection)
            USING leaving;
        ELSIF projection <> 'stream' THEN
            EXECUTE format(
                'DELETE FROM {schema}.%I WHERE stream_id >= $1 AND stream_id < $2', projection
            ) USING from_stream, until_stream;
        END IF;
    END LOOP;
END
$$;
