-- Give up all leases of an owner: at once free for others, and closed to its own appends.
CREATE FUNCTION {schema}.release_shards_v1(old_owner text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    LOCK TABLE {schema}.append_lock IN EXCLUSIVE MODE;
    UPDATE {schema}.shard_lease l SET owner = '', until = clock_timestamp()
    WHERE l.owner = old_owner AND old_owner <> '';
END
$$;
