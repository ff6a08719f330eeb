-- Say that a replica is there and for how long that is worth, and return all who are and
-- serve the same cluster: by name, with the number of shards that each holds. Who has been gone for a day is forgotten.
--
-- It takes no lock that appends take: a heartbeat must not be late because others write.
--
-- An instant still to come was told before the clock was set back (acquire_shards_v1): who is gone
-- would be there until then, and hear the API server later than all others. It is made now.
CREATE FUNCTION {schema}.beat_v1(
    this_owner text, this_cluster text, duration interval, hears boolean
)
RETURNS TABLE (
    owner text, since timestamptz, until timestamptz,
    heard_at timestamptz, well_since timestamptz, shards integer
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    now_is timestamptz := clock_timestamp();
BEGIN
    IF coalesce(this_owner, '') = '' THEN
        RAISE EXCEPTION 'a replica needs a name' USING ERRCODE = 'JL002';
    END IF;
    INSERT INTO {schema}.replica AS r (
        owner, cluster, since, until, hears, heard_at, well_since
    )
    VALUES (
        this_owner, this_cluster, now_is, now_is + duration, hears,
        CASE WHEN hears THEN now_is END, CASE WHEN hears THEN now_is END
    )
    ON CONFLICT (owner) DO UPDATE SET
        until = excluded.until,
        hears = excluded.hears,
        heard_at = coalesce(excluded.heard_at, r.heard_at),
        well_since = CASE
            WHEN excluded.hears AND NOT r.hears THEN now_is
            ELSE r.well_since
        END;
    UPDATE {schema}.replica r SET
        since = least(r.since, now_is),
        until = CASE
            WHEN r.until > now_is + 4 * duration AND duration > '0' THEN now_is + duration
            ELSE r.until
        END,
        heard_at = least(r.heard_at, now_is),
        well_since = least(r.well_since, now_is)
    WHERE r.owner IN (
        SELECT o.owner FROM {schema}.replica o
        WHERE greatest(o.since, o.heard_at, o.well_since) > now_is
            OR (o.until > now_is + 4 * duration AND duration > '0')
        FOR UPDATE SKIP LOCKED  -- two who beat at once would wait for each other
    );
    DELETE FROM {schema}.replica r WHERE r.until < now_is - interval '1 day';
    RETURN QUERY
    SELECT r.owner, r.since, r.until, r.heard_at, r.well_since, coalesce(l.shards, 0)
    FROM {schema}.replica r
    LEFT JOIN (
        SELECT s.owner, count(*)::integer AS shards FROM {schema}.shard_lease s GROUP BY s.owner
    ) l ON l.owner = r.owner
    WHERE r.until >= now_is AND r.cluster = this_cluster
    ORDER BY r.owner COLLATE "C";
END
$$;
