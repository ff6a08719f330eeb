-- Renew all leases of new_owner, take shards of one cluster (slot_of_v1) that are free or whose lease
-- has ended until it holds `wanted`, and return all it holds. Taking one raises its epoch; renewing
-- does not, not even late, as long as nobody took it in between.
--
-- The append lock makes the change of hands a point between two appends: once this commits, no
-- append under an older epoch is in flight or can come.
--
-- If the clock was set back, or that of a standby that was promoted is behind, a holder that died
-- would be waited for until the clock is where it was. All replicas ask for leases of one length,
-- or of nearly one: what ends after four of them was granted before that, and lasts for one more.
CREATE FUNCTION {schema}.acquire_shards_v1(
    new_owner text, duration interval, wanted integer, shards integer, slot integer
) RETURNS SETOF {schema}.shard_lease
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_is timestamptz;
    held integer;
BEGIN
    IF coalesce(new_owner, '') = '' THEN
        RAISE EXCEPTION 'a lease needs an owner' USING ERRCODE = 'JL002';
    END IF;
    LOCK TABLE {schema}.append_lock IN EXCLUSIVE MODE;
    now_is := clock_timestamp();
    UPDATE {schema}.shard_lease l SET until = now_is + duration
    WHERE l.owner NOT IN ('', new_owner) AND l.until > now_is + 4 * duration AND duration > '0';
    UPDATE {schema}.shard_lease l SET until = now_is + duration WHERE l.owner = new_owner;
    GET DIAGNOSTICS held = ROW_COUNT;
    INSERT INTO {schema}.shard_lease AS l (shard, epoch, owner, until)
    SELECT n.shard, (slot::bigint << 40) + 1, new_owner, now_is + duration
    FROM generate_series(slot * shards, slot * shards + shards - 1) AS n (shard)
    LEFT JOIN {schema}.shard_lease old ON old.shard = n.shard
    WHERE old.shard IS NULL OR old.owner = '' OR (old.until < now_is AND old.owner <> new_owner)
    ORDER BY n.shard
    LIMIT greatest(wanted - held, 0)
    ON CONFLICT (shard) DO UPDATE
        SET epoch = l.epoch + 1, owner = excluded.owner, until = excluded.until;
    RETURN QUERY SELECT l.* FROM {schema}.shard_lease l WHERE l.owner = new_owner ORDER BY l.shard;
END
$$;
