-- Trigger: what was written stays as it was written, for everyone, the owner and superusers
-- included.
CREATE FUNCTION {schema}.refuse_change_v1() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: the log is append-only; what it says is evidence',
        TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'JL003',
              HINT = 'Correct a mistake by appending; old partitions leave by archiving.';
END
$$;
