-- Trigger on the rows of `event` and `stream`: only a row of a job that an archive record speaks of
-- may be removed, and none may be changed; for everyone, the owner and superusers included.
CREATE FUNCTION {schema}.refuse_unarchived_v1() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND EXISTS (
        SELECT FROM {schema}.archived_stream a
        WHERE a.stream_id = OLD.stream_id AND a.version >= OLD.version
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% on % is refused: the log is append-only; what it says is evidence',
        TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'JL003',
              HINT = 'Correct a mistake by appending; old jobs leave with `jobledger archive`.';
END
$$;
