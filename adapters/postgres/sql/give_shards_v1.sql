-- Give up some leases of an owner, as release_shards_v1 gives up all: those of the given shards
-- (numbers as in shard_lease) that it holds are free for others at once, and closed to its own appends.
CREATE FUNCTION {schema}.give_shards_v1(old_owner text, given integer[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    LOCK TABLE {schema}.append_lock IN EXCLUSIVE MODE;
    UPDATE {schema}.shard_lease l SET owner = '', until = clock_timestamp()
    WHERE l.owner = old_owner AND old_owner <> '' AND l.shard = ANY (given);
END
$$;
