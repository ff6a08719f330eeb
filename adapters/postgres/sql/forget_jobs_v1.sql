-- Remove what follows from the events of jobs that have left the log: rows of every projection, those
-- of reports included, and where their streams ended. Called by the functions that remove events.
CREATE FUNCTION {schema}.forget_jobs_v1(leaving uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    projection text;
BEGIN
    FOREACH projection IN ARRAY ARRAY[
        'job', 'attempt', 'decision', 'effect', 'stream', 'report_job', 'report_attempt',
        'report_phase', 'report_failure', 'report_decision', 'report_gap', 'report_activity'
    ] LOOP
        EXECUTE format('DELETE FROM {schema}.%I WHERE stream_id = ANY ($1)', projection)
        USING leaving;
    END LOOP;
END
$$;
