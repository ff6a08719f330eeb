-- Remove evidence that archives have held for an hour and that no event of the log names any more;
-- return how many pieces. Reads the whole log once. For the owner of the tables only.
CREATE FUNCTION {schema}.sweep_evidence_v1() RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    marked bytea[];
    unnamed bytea[];
    removed integer;
BEGIN
    SELECT array_agg(l.digest) INTO marked FROM (
        SELECT a.digest FROM {schema}.archived_evidence a
        WHERE a.marked_at < clock_timestamp() - interval '1 hour' ORDER BY a.digest FOR UPDATE
    ) l;
    IF marked IS NULL THEN
        RETURN 0;
    END IF;
    unnamed := ARRAY(
        SELECT m FROM unnest(marked) AS m
        EXCEPT
        SELECT decode(named #>> '{}', 'hex')
        FROM {schema}.event e, jsonb_path_query(e.data::jsonb, '$.**.digest_of_content') AS named
        WHERE e.type = 'EvidenceCaptured' AND named #>> '{}' ~ '^[0-9a-f]{64}$'
    );
    DELETE FROM {schema}.evidence t WHERE t.digest = ANY (unnamed);
    GET DIAGNOSTICS removed = ROW_COUNT;
    DELETE FROM {schema}.archived_evidence a WHERE a.digest = ANY (marked);
    RETURN removed;
END
$$;
