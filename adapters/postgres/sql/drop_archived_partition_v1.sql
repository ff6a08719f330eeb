-- Drop the oldest monthly partition of which every job is archived and at the end that its record
-- says (or which is empty), with the other rows of its jobs; return its name, or null if there is
-- none. Only months that ended over a month ago. The lock is waited for 2 s at most: then null, and
-- `remove_archived_v1` does it job by job. For the owner of the tables only.
CREATE FUNCTION {schema}.drop_archived_partition_v1(OUT dropped text, OUT jobs bigint, OUT events bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '2s'
AS $$
DECLARE
    part text;
    month timestamp;
    since uuid;
    until uuid;
    expected bigint;
    leaving uuid[];
BEGIN
    FOR part IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = '{schema}.event'::regclass AND c.relname ~ '^event_y\d{4}m\d\d$'
        ORDER BY c.relname
    LOOP
        month := to_date(substr(part, 8, 4) || substr(part, 13, 2), 'YYYYMM');
        CONTINUE WHEN month >= date_trunc('month', now() AT TIME ZONE 'UTC') - interval '1 month';
        since := {schema}.first_stream_of_v1(month);
        until := {schema}.first_stream_of_v1(month + interval '1 month');
        -- Counted before the lock: an append after it would move the end of a stream.
        EXECUTE format('SELECT count(*) FROM {schema}.%I', part) INTO events;
        expected := {schema}.archived_events_v1(since, until);
        CONTINUE WHEN expected IS DISTINCT FROM events;
        PERFORM pg_advisory_xact_lock(1246708300, 1);
        CONTINUE WHEN {schema}.archived_events_v1(since, until) IS DISTINCT FROM events;
        EXECUTE format('DROP TABLE {schema}.%I', part);
        leaving := ARRAY(
            SELECT s.stream_id FROM {schema}.stream s
            WHERE s.stream_id >= since AND s.stream_id < until
        );
        PERFORM {schema}.forget_jobs_v1(leaving);
        jobs := cardinality(leaving);
        dropped := part;
        RETURN;
    END LOOP;
    jobs := 0;
    events := 0;
EXCEPTION WHEN lock_not_available THEN
    dropped := NULL;
    jobs := 0;
    events := 0;
END
$$;
