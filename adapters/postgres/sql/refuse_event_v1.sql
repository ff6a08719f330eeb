-- End the call because an event does not belong where it was sent. Returns bytea only so that it
-- can stand where a hash is expected.
CREATE FUNCTION {schema}.refuse_event_v1(stream uuid, version integer, problem text) RETURNS bytea
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'stream % version %: %', stream, version, problem USING ERRCODE = 'JL001';
END
$$;
