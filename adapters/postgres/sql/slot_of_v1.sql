-- The number of a Kubernetes cluster on this ledger, given to it when it is first asked for: 0, 1, ….
-- Each cluster has shards of its own: the lease on shard s of cluster n has the number 16 n + s, and
-- epochs from 2^40 n on, so that an epoch tells whose lease it is.
CREATE FUNCTION {schema}.slot_of_v1(name text) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found integer;
BEGIN
    SELECT c.slot INTO found FROM {schema}.ledger_cluster c WHERE c.cluster = name;
    IF found IS NULL THEN
        LOCK TABLE {schema}.append_lock IN EXCLUSIVE MODE;
        INSERT INTO {schema}.ledger_cluster (cluster, slot)
        SELECT name, coalesce(max(c.slot) + 1, 0) FROM {schema}.ledger_cluster c
        ON CONFLICT (cluster) DO NOTHING;
        SELECT c.slot INTO STRICT found FROM {schema}.ledger_cluster c WHERE c.cluster = name;
    END IF;
    RETURN found;
END
$$;
