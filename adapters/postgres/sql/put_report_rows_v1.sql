-- Put what a batch of events changed in the reporting tables, and move their checkpoint with it: from
-- position `expected` to `upto`. Return false, and change nothing, if the checkpoint is elsewhere.
--
-- The checkpoint's row stays locked to the end: who takes jobs out of the log locks it too, before
-- anything else, so no job leaves between the look at the table `stream` and the commit.
CREATE FUNCTION {schema}.put_report_rows_v1(
    expected bigint,
    upto bigint,
    upto_recorded_at timestamptz,
    dimension_rows json,
    fact_rows json
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE {schema}.report_checkpoint c
    SET position = upto, recorded_at = coalesce(upto_recorded_at, c.recorded_at)
    WHERE c.single AND c.position = expected;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM {schema}.put_report_facts_v1('', dimension_rows, fact_rows);
    RETURN true;
END
$$;
