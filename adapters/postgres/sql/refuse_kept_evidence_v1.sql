-- Trigger on the rows of `evidence`: a piece may be removed once an archive has held it for an hour.
-- Putting a piece anew takes the mark off, so a piece that some job is about to name stays.
CREATE FUNCTION {schema}.refuse_kept_evidence_v1() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        DELETE FROM {schema}.archived_evidence a WHERE a.digest = NEW.digest;
        RETURN NEW;
    END IF;
    IF EXISTS (
        SELECT FROM {schema}.archived_evidence a
        WHERE a.digest = OLD.digest AND a.marked_at < clock_timestamp() - interval '1 hour'
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% on % is refused: the log is append-only; what it says is evidence',
        TG_OP, TG_TABLE_NAME USING ERRCODE = 'JL003';
END
$$;
