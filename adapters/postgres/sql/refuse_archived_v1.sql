-- Trigger after a stream has begun: one that was archived never begins anew. An object with the UID
-- of an archived job can only come from a restored backup of the cluster; its job is not controlled.
CREATE FUNCTION {schema}.refuse_archived_v1() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM FROM {schema}.archived_stream a WHERE a.stream_id = NEW.stream_id;
    IF FOUND THEN
        RAISE EXCEPTION 'stream % version 1: this job has been archived and is over', NEW.stream_id
            USING ERRCODE = 'JL001';
    END IF;
    RETURN NULL;
END
$$;
