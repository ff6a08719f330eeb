-- Keep a piece of evidence under the SHA-256 of its content; one that is there stays as it is.
CREATE FUNCTION {schema}.put_evidence_v1(
    content_digest bytea, content_size integer, content_packed bytea, kept_at timestamptz
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF octet_length(content_digest) <> 32 OR octet_length(content_packed) > 1048576 THEN
        RAISE EXCEPTION 'this is no piece of evidence' USING ERRCODE = 'JL002';
    END IF;
    INSERT INTO {schema}.evidence (digest, size, packed, stored_at)
    VALUES (content_digest, content_size, content_packed, kept_at)
    ON CONFLICT (digest) DO NOTHING;
    RETURN FOUND;
END
$$;
