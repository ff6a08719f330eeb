-- Put snapshots of folds in place of their predecessors. Whoever reads one holds it against the log.
CREATE FUNCTION {schema}.put_snapshots_v1(
    streams uuid[], versions integer[], chains bytea[], code bytea, contents bytea[], seals bytea[]
) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO {schema}.snapshot (stream_id, version, chain, folded_by, content, seal)
    SELECT s.stream_id, s.version, s.chain, code, s.content, s.seal
    FROM unnest(streams, versions, chains, contents, seals)
        AS s (stream_id, version, chain, content, seal)
    ORDER BY s.stream_id
    ON CONFLICT (stream_id) DO UPDATE SET
        version = excluded.version, chain = excluded.chain, folded_by = excluded.folded_by,
        content = excluded.content, seal = excluded.seal
$$;
