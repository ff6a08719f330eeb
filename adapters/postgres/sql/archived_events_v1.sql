-- How many events the streams from one id to another (excluded) have, if every one of them stands at
-- the end that its archive record says; else null. 0 where there are none.
CREATE FUNCTION {schema}.archived_events_v1(from_stream uuid, until_stream uuid) RETURNS bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN count(*) = count(a.stream_id) THEN coalesce(sum(s.version), 0) END
    FROM {schema}.stream s
    LEFT JOIN {schema}.archived_stream a ON a.stream_id = s.stream_id
        AND a.version = s.version AND a.chain = s.chain
    WHERE s.stream_id >= from_stream AND s.stream_id < until_stream
$$;
