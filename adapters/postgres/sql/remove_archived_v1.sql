-- Remove jobs of an archive from the log, each with all its rows: as many as have about `at_most`
-- events together, but one at least. Return how many jobs and events that were. A job that has
-- moved on since it was archived stays. Refused (JL002) while reports are behind an event of any
-- archive: what they say of a job that has left is what they say for good. Locks are waited for 20 s at most, and half a second while
-- appends wait (SQLSTATE 55P03). For the owner of the tables only.
CREATE FUNCTION {schema}.remove_archived_v1(
    archive_number bigint, at_most integer, OUT jobs integer, OUT events bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '20s'
AS $$
DECLARE
    chosen uuid[];
    leaving uuid[];
    expected bigint;
BEGIN
    -- Chosen before the lock, because that may read many rows; looked at again after it.
    chosen := ARRAY(
        SELECT c.stream_id
        FROM (
            SELECT a.stream_id, sum(a.version) OVER w AS upto, row_number() OVER w AS number
            FROM {schema}.archived_stream a
            JOIN {schema}.stream s ON s.stream_id = a.stream_id
                AND s.version = a.version AND s.chain = a.chain
            WHERE a.archive = archive_number
            WINDOW w AS (ORDER BY a.stream_id) ORDER BY a.stream_id LIMIT at_most
        ) c
        WHERE c.upto <= at_most OR c.number = 1
    );
    -- Before the append lock, so that no append waits for the projector of reports.
    PERFORM FROM {schema}.report_checkpoint FOR UPDATE;
    IF (SELECT c.position FROM {schema}.report_checkpoint c WHERE c.single)
        < (SELECT max(upper(a.positions)) - 1 FROM {schema}.archive a)
    THEN
        RAISE EXCEPTION 'the reports are behind the jobs of an archive; when they have caught up, '
            'run `jobledger archive create` again' USING ERRCODE = 'JL002';
    END IF;
    LOCK TABLE {schema}.append_lock IN EXCLUSIVE MODE;
    PERFORM set_config('lock_timeout', '500ms', true);
    SELECT array_agg(a.stream_id), coalesce(sum(a.version), 0) INTO leaving, expected
    FROM {schema}.archived_stream a
    JOIN {schema}.stream s ON s.stream_id = a.stream_id
        AND s.version = a.version AND s.chain = a.chain
    WHERE a.archive = archive_number AND a.stream_id = ANY (chosen);
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
