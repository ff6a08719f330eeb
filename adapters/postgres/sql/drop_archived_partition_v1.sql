-- Drop the oldest monthly partition of which every job is archived and at the end that its record
-- says (or which is empty), with the other rows of its jobs; return its name, or null if there is
-- none, or while reports are behind an event of any archive. Only months that ended over a month
-- ago. For the owner of the tables only.
--
-- Rows that follow from about `at_most` events go in each call, before the partition does: while
-- there is more, `next_from` says from where the next call has to go on. Whoever stops in between
-- leaves events whose rows are gone; they leave with the next run. Where a lock does not come
-- within 2 s, or half a second later on, the answer is null; `remove_archived_v1` then does it job
-- by job.
CREATE FUNCTION {schema}.drop_archived_partition_v1(
    resume_from uuid DEFAULT NULL, at_most integer DEFAULT 2000,
    OUT dropped text, OUT jobs bigint, OUT events bigint, OUT next_from uuid
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '2s'
AS $$
DECLARE
    part text;
    month timestamp;
    since uuid;
    until uuid;
    start uuid;
    next_start uuid;
    held bigint;
    expected bigint;
BEGIN
    jobs := 0;
    events := 0;
    FOR part IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = '{schema}.event'::regclass AND c.relname ~ '^event_y\d{4}m\d\d$'
        ORDER BY c.relname
    LOOP
        month := to_date(substr(part, 8, 4) || substr(part, 13, 2), 'YYYYMM');
        CONTINUE WHEN month >= date_trunc('month', now() AT TIME ZONE 'UTC') - interval '1 month';
        since := {schema}.first_stream_of_v1(month);
        until := {schema}.first_stream_of_v1(month + interval '1 month');
        CONTINUE WHEN resume_from < since OR resume_from >= until;
        start := coalesce(resume_from, since);
        next_start := (
            SELECT c.stream_id
            FROM (
                SELECT s.stream_id, sum(s.version) OVER w AS upto, row_number() OVER w AS number
                FROM {schema}.stream s WHERE s.stream_id >= start AND s.stream_id < until
                WINDOW w AS (ORDER BY s.stream_id) ORDER BY s.stream_id LIMIT at_most + 1
            ) c
            WHERE c.upto > at_most AND c.number > 1 ORDER BY c.stream_id LIMIT 1
        );
        IF resume_from IS NULL OR next_start IS NULL THEN
            expected := {schema}.archived_events_v1(since, until);
            CONTINUE WHEN expected IS NULL;
            -- Counted before the lock: an append after it would move the end of a stream.
            EXECUTE format('SELECT count(*) FROM {schema}.%I', part) INTO held;
            CONTINUE WHEN expected <> held;
        END IF;
        -- Before the append lock, so that no append waits for the projector of reports.
        PERFORM FROM {schema}.report_checkpoint FOR UPDATE;
        EXIT WHEN (SELECT c.position FROM {schema}.report_checkpoint c WHERE c.single)
            < (SELECT max(upper(a.positions)) - 1 FROM {schema}.archive a);
        -- Shorter than deadlock_timeout: should an append wait for a row below, it goes first.
        PERFORM set_config('lock_timeout', '500ms', true);
        -- What the planner knows of these tables is from before their rows went.
        PERFORM set_config('enable_seqscan', 'off', true);
        IF next_start IS NOT NULL THEN
            LOCK TABLE {schema}.append_lock IN EXCLUSIVE MODE;
            IF {schema}.archived_events_v1(start, next_start) IS NOT NULL THEN
                PERFORM {schema}.forget_jobs_v1(NULL, start, next_start);
                next_from := next_start;
            END IF;
            RETURN;
        END IF;
        WITH leaving AS (
            DELETE FROM {schema}.stream s USING {schema}.archived_stream a
            WHERE s.stream_id >= since AND s.stream_id < until AND a.stream_id = s.stream_id
                AND a.version = s.version AND a.chain = s.chain
            RETURNING s.version
        )
        SELECT count(*), coalesce(sum(l.version), 0) INTO jobs, expected FROM leaving l;
        LOCK TABLE {schema}.append_lock IN EXCLUSIVE MODE;
        -- No job has moved on or begun since the events were counted, and from here on none can.
        IF expected <> held OR EXISTS (
            SELECT FROM {schema}.stream s WHERE s.stream_id >= since AND s.stream_id < until
        ) THEN
            RAISE EXCEPTION 'jobs of % have moved on', part USING ERRCODE = 'lock_not_available';
        END IF;
        PERFORM {schema}.forget_jobs_v1(NULL, since, until);
        -- Last, because nobody reads the log from here to the end.
        EXECUTE format('DROP TABLE {schema}.%I', part);
        dropped := part;
        events := held;
        RETURN;
    END LOOP;
EXCEPTION WHEN lock_not_available THEN
    dropped := NULL;
    next_from := NULL;
    jobs := 0;
    events := 0;
END
$$;
