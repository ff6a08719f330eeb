-- Keep an imported bundle of a job of which none is kept; or in place of that one whose document
-- has the SHA-256 `over` (hexadecimal). False, and nothing is done, if another one is kept by now.
CREATE FUNCTION {schema}.keep_import_v1(
    job_stream uuid, job_cluster text, job_namespace text, job_name text, job_uid text,
    job_events integer, at timestamptz, bundle text, over text
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO {schema}.imported_job AS i
        (stream_id, cluster, namespace, name, uid, events, imported_at, document)
    VALUES (job_stream, job_cluster, job_namespace, job_name, job_uid, job_events, at, bundle)
    ON CONFLICT (stream_id) DO UPDATE SET
        cluster = excluded.cluster, namespace = excluded.namespace, name = excluded.name,
        uid = excluded.uid, events = excluded.events, imported_at = excluded.imported_at,
        document = excluded.document
    WHERE encode(sha256(convert_to(i.document, 'UTF8')), 'hex') = over;
    RETURN FOUND;
END
$$;
