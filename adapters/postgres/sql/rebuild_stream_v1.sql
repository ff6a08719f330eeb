-- Put newly computed rows in place of all rows of one stream, if the stream is still at the version
-- they were computed for; return whether it was.
CREATE FUNCTION {schema}.rebuild_stream_v1(
    stream uuid,
    at_version integer,
    job_rows json,
    attempt_rows json,
    decision_rows json,
    effect_rows json
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    LOCK TABLE {schema}.append_lock IN EXCLUSIVE MODE;
    PERFORM FROM {schema}.stream s WHERE s.stream_id = stream AND s.version = at_version;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM {schema}.job t WHERE t.stream_id = stream;
    DELETE FROM {schema}.attempt t WHERE t.stream_id = stream;
    DELETE FROM {schema}.decision t WHERE t.stream_id = stream;
    DELETE FROM {schema}.effect t WHERE t.stream_id = stream;
    PERFORM {schema}.put_rows_v1(
        ARRAY[stream], job_rows, attempt_rows, decision_rows, effect_rows
    );
    RETURN true;
END
$$;
