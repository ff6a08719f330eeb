-- Refuses what an append writes that began before the lock was exchanged (migration 0015): it waited
-- for the lock of then, and knows no more which position is the last. The caller appends again.
CREATE FUNCTION {schema}.refuse_earlier_append_v1() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'this append began before the schema was upgraded, and has to be made again'
        USING ERRCODE = 'serialization_failure';
END
$$;
