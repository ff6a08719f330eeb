-- Put rows of the reporting tables in place of their predecessors; rows that say the same stay as
-- they are. `suffix` is empty, or `_next` for the tables that a rebuild fills: those take facts of
-- archived jobs too, which the others keep as they are. Called by the other functions of reports
-- and by a rebuild.
--
-- dimension_rows is a JSON array, fact_rows an object with an array for each table; their objects
-- have the names of the columns.
CREATE FUNCTION {schema}.put_report_facts_v1(
    suffix text,
    dimension_rows json,
    fact_rows json
) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    fact record;
    target text;
    names text;
    values_ text;
    keys text;
BEGIN
    INSERT INTO {schema}.report_dimension
    SELECT r.* FROM json_populate_recordset(NULL::{schema}.report_dimension, dimension_rows) AS r
    ON CONFLICT DO NOTHING;
    FOR fact IN SELECT f.key AS name, f.value AS rows FROM json_each(fact_rows) AS f LOOP
        IF suffix NOT IN ('', '_next') OR fact.name NOT IN (
            'report_job', 'report_attempt', 'report_phase', 'report_failure', 'report_decision',
            'report_gap', 'report_activity'
        ) THEN
            RAISE EXCEPTION 'there is no reporting table %', fact.name || suffix
                USING ERRCODE = 'JL002';
        END IF;
        target := format('%I.%I', {schema_literal}, fact.name || suffix);
        SELECT
            string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum),
            string_agg('excluded.' || quote_ident(a.attname), ', ' ORDER BY a.attnum),
            string_agg(quote_ident(a.attname), ', ') FILTER (WHERE a.attnum = ANY (i.indkey))
        INTO STRICT names, values_, keys
        FROM pg_attribute a JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
        WHERE a.attrelid = target::regclass AND a.attnum > 0 AND NOT a.attisdropped;
        EXECUTE format(
            'INSERT INTO %1$s AS t (%2$s) SELECT %2$s FROM json_populate_recordset(NULL::%1$s, $1) r'
            ' WHERE EXISTS (SELECT FROM %5$I.stream s WHERE s.stream_id = r.stream_id)'
            ' OR %6$L = ''_next'' AND EXISTS'
            ' (SELECT FROM %5$I.archived_stream a WHERE a.stream_id = r.stream_id)'
            ' ON CONFLICT (%4$s) DO UPDATE SET (%2$s) = ROW (%3$s)'
            ' WHERE (t.*) IS DISTINCT FROM (excluded.*)',
            target, names, values_, keys, {schema_literal}, suffix
        ) USING fact.rows;
    END LOOP;
END
$$;
