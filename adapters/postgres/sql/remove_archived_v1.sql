-- Remove jobs of an archive from the log, at most so many in this call, each with all its rows, and
-- return how many jobs and events that were. A job that has moved on since it was archived stays.
-- For the owner of the tables only.
CREATE FUNCTION {schema}.remove_archived_v1(
    archive_number bigint, at_most integer, OUT jobs integer, OUT events bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    leaving uuid[];
    expected bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1246708300, 1);
    SELECT array_agg(a.stream_id), coalesce(sum(a.version), 0) INTO leaving, expected
    FROM (
        SELECT a.stream_id, a.version FROM {schema}.archived_stream a
        JOIN {schema}.stream s ON s.stream_id = a.stream_id
            AND s.version = a.version AND s.chain = a.chain
        WHERE a.archive = archive_number ORDER BY a.stream_id LIMIT at_most
    ) a;
    jobs := coalesce(cardinality(leaving), 0);
    DELETE FROM {schema}.event e WHERE e.stream_id = ANY (leaving);
    GET DIAGNOSTICS events = ROW_COUNT;
    IF events <> expected THEN
        RAISE EXCEPTION 'archive % holds % events of jobs that have %; run `jobledger verify`',
            archive_number, expected, events USING ERRCODE = 'JL002';
    END IF;
    PERFORM {schema}.forget_jobs_v1(leaving);
END
$$;
