-- Keep an imported bundle; a longer one of the same job takes the place of a shorter one.
CREATE FUNCTION {schema}.keep_import_v1(
    job_stream uuid, job_cluster text, job_namespace text, job_name text, job_uid text,
    job_events integer, at timestamptz, bundle text
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO {schema}.imported_job AS i
        (stream_id, cluster, namespace, name, uid, events, imported_at, document)
    VALUES (job_stream, job_cluster, job_namespace, job_name, job_uid, job_events, at, bundle)
    ON CONFLICT (stream_id) DO UPDATE SET
        events = excluded.events, imported_at = excluded.imported_at, document = excluded.document
    WHERE excluded.events > i.events;
    RETURN FOUND;
END
$$;
