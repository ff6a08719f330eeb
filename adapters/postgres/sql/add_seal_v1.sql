-- Keep the next seal, and note it as the newest. A seal that somebody else has kept meanwhile is no
-- error: the answer is false. Refused (JL001) if the newest seal that is there is not the one that
-- was kept last, or if the document does not continue it and say the positions that were sent.
CREATE FUNCTION {schema}.add_seal_v1(
    seal_number bigint, seal_first bigint, seal_last bigint, seal_document text
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    head record;
    newest record;
    body jsonb;
    digest_is text := substring(seal_document FROM '"digest":"([0-9a-f]{64})"');
BEGIN
    LOCK TABLE {schema}.upkeep_lock IN EXCLUSIVE MODE;
    SELECT h.number, encode(h.digest, 'hex') AS digest INTO STRICT head
    FROM {schema}.seal_head h WHERE h.single;
    SELECT coalesce(max(s.number), 0) AS number, coalesce(max(s.last_position), 0) AS last_position
    INTO newest FROM {schema}.seal s;
    IF seal_number <= head.number AND seal_number <= newest.number THEN
        RETURN false;
    END IF;
    IF newest.number <> head.number THEN
        RAISE EXCEPTION 'seal %: seal % was kept last, and the newest that is there is seal %',
            seal_number, head.number, newest.number USING ERRCODE = 'JL001';
    END IF;
    body := seal_document::jsonb -> 'seal';
    IF body -> 'number' IS DISTINCT FROM to_jsonb(head.number + 1)
        OR body -> 'number' IS DISTINCT FROM to_jsonb(seal_number)
        OR body -> 'first' IS DISTINCT FROM to_jsonb(seal_first)
        OR body -> 'last' IS DISTINCT FROM to_jsonb(seal_last)
        OR body ->> 'previous' IS DISTINCT FROM head.digest
        OR digest_is IS NULL
    THEN
        RAISE EXCEPTION 'seal %: it is not the seal that follows seal %', seal_number, head.number
            USING ERRCODE = 'JL001';
    END IF;
    IF seal_first <> newest.last_position + 1 THEN
        RAISE EXCEPTION 'seal %: it begins at position %, and the seals before reach position %',
            seal_number, seal_first, newest.last_position USING ERRCODE = 'JL001';
    END IF;
    IF seal_last < seal_first
        OR seal_last > (SELECT h.position FROM {schema}.log_head h WHERE h.single) THEN
        RAISE EXCEPTION 'seal % covers positions that are not there', seal_number
            USING ERRCODE = 'JL002';
    END IF;
    INSERT INTO {schema}.seal (number, first_position, last_position, document)
    VALUES (seal_number, seal_first, seal_last, seal_document);
    UPDATE {schema}.seal_head SET number = seal_number, digest = decode(digest_is, 'hex')
    WHERE single;
    RETURN true;
END
$$;
