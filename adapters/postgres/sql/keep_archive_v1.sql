-- Keep the next archive record, with the jobs that it speaks of. False if another has kept one of
-- this number meanwhile.
--
-- Refused (JL002) unless every job is over and its object gone, ends exactly where the record says,
-- and every position is sealed, named once, and in no earlier record. From here on the rows of these
-- jobs may be removed, with `remove_archived_v1` or `drop_archived_partition_v1`. For the owner of
-- the tables only: the service may not.
CREATE FUNCTION {schema}.keep_archive_v1(
    archive_number bigint,
    archive_digest bytea,
    archive_made_at timestamptz,
    archive_file text,
    archive_positions int8multirange,
    archive_document text,
    job_rows json,
    evidence_digests text[]
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong uuid;
    named bigint := (SELECT sum(upper(r) - lower(r)) FROM unnest(archive_positions) r);
    held bigint;
    rows_kept bigint;
BEGIN
    LOCK TABLE {schema}.append_lock IN EXCLUSIVE MODE;
    IF archive_number <> (SELECT coalesce(max(a.number), 0) + 1 FROM {schema}.archive a) THEN
        RETURN false;
    END IF;
    SELECT r.stream_id INTO wrong
    FROM json_populate_recordset(NULL::{schema}.archived_stream, job_rows) r
    LEFT JOIN {schema}.stream s ON s.stream_id = r.stream_id
    LEFT JOIN {schema}.job j ON j.stream_id = r.stream_id
    WHERE s.version IS DISTINCT FROM r.version OR s.chain IS DISTINCT FROM r.chain
        OR j.open IS DISTINCT FROM false OR j.deleted_at IS NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'job % is not over, or has moved on since it was written', wrong
            USING ERRCODE = 'JL002';
    END IF;
    IF upper(archive_positions) - 1 > (SELECT coalesce(max(s.last_position), 0) FROM {schema}.seal s)
        OR EXISTS (SELECT FROM {schema}.archive a WHERE a.positions && archive_positions)
    THEN
        RAISE EXCEPTION 'archive % names positions that are not sealed, or archived already',
            archive_number USING ERRCODE = 'JL002';
    END IF;
    INSERT INTO {schema}.archive (number, digest, made_at, file, jobs, events, positions, document)
    SELECT archive_number, archive_digest, archive_made_at, archive_file, count(*), sum(r.version),
        archive_positions, archive_document
    FROM json_populate_recordset(NULL::{schema}.archived_stream, job_rows) r
    RETURNING events INTO held;
    INSERT INTO {schema}.archived_stream (
        stream_id, archive, version, chain, cluster, kind, namespace, name, uid, created_at,
        deleted_at
    )
    SELECT r.stream_id, archive_number, r.version, r.chain, r.cluster, r.kind, r.namespace, r.name,
        r.uid, r.created_at, r.deleted_at
    FROM json_populate_recordset(NULL::{schema}.archived_stream, job_rows) r;
    GET DIAGNOSTICS rows_kept = ROW_COUNT;
    IF held IS DISTINCT FROM named OR rows_kept = 0 THEN
        RAISE EXCEPTION 'archive % names % positions for % events', archive_number, named, held
            USING ERRCODE = 'JL002';
    END IF;
    INSERT INTO {schema}.archived_evidence (digest, marked_at)
    SELECT decode(d, 'hex'), clock_timestamp() FROM unnest(evidence_digests) AS d
    ON CONFLICT (digest) DO NOTHING;
    RETURN true;
END
$$;
