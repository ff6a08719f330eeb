-- Keep the next seal. It must have the next number and begin right after the last one; a seal that
-- somebody else has kept meanwhile is no error: the answer is false.
CREATE FUNCTION {schema}.add_seal_v1(
    seal_number bigint, seal_first bigint, seal_last bigint, seal_document text
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    last_number bigint;
    last_position bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1246708300, 2);
    SELECT coalesce(max(s.number), 0), coalesce(max(s.last_position), 0)
    INTO last_number, last_position FROM {schema}.seal s;
    IF seal_number <> last_number + 1 OR seal_first <> last_position + 1 THEN
        RETURN false;
    END IF;
    IF seal_last < seal_first
        OR seal_last > (SELECT h.position FROM {schema}.log_head h WHERE h.single) THEN
        RAISE EXCEPTION 'seal % covers positions that are not there', seal_number
            USING ERRCODE = 'JL002';
    END IF;
    INSERT INTO {schema}.seal (number, first_position, last_position, document)
    VALUES (seal_number, seal_first, seal_last, seal_document);
    RETURN true;
END
$$;
