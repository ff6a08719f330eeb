-- Put the filled twins in place of the reporting tables, in one transaction: readers see all of the
-- old rows before and all of the new ones after. `upto` is the position that the twins reflect;
-- unless `turn_back` is true, nothing happens, and false is returned, if the tables are further.
-- Facts of archived jobs that the twins lack are taken over.
--
-- The views are made anew over the new tables; they stay the same objects, with their comments and
-- grants. A reader that holds the old tables for longer than 5 s ends the call (SQLSTATE 55P03).
CREATE FUNCTION {schema}.swap_reports_v1(
    upto bigint,
    upto_recorded_at timestamptz,
    turn_back boolean
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
    facts constant text[] := ARRAY[
        'report_job', 'report_attempt', 'report_phase', 'report_failure', 'report_decision',
        'report_gap', 'report_activity'
    ];
    fact text;
    live regclass;
    twin regclass;
    item record;
    definitions text[] := '{}';
    definition text;
    renames text[] := '{}';
    gone uuid[];
BEGIN
    UPDATE {schema}.report_checkpoint c
    SET position = upto, recorded_at = coalesce(upto_recorded_at, c.recorded_at)
    WHERE c.single AND (turn_back OR c.position <= upto);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    FOREACH fact IN ARRAY facts LOOP
        EXECUTE format('ANALYZE %I.%I', {schema_literal}, fact || '_next');
    END LOOP;
    FOR item IN
        SELECT DISTINCT v.oid::regclass AS name, v.oid
        FROM pg_depend d
        JOIN pg_rewrite w ON w.oid = d.objid AND d.classid = 'pg_rewrite'::regclass
        JOIN pg_class v ON v.oid = w.ev_class AND v.relkind = 'v'
        JOIN pg_class t ON t.oid = d.refobjid AND d.refclassid = 'pg_class'::regclass
        JOIN pg_namespace s ON s.oid = t.relnamespace AND s.nspname = {schema_literal}
        WHERE t.relname = ANY (facts)
    LOOP
        definitions := definitions || format(
            'CREATE OR REPLACE VIEW %s AS %s', item.name, pg_get_viewdef(item.oid)
        );
    END LOOP;
    FOREACH fact IN ARRAY facts LOOP
        live := format('%I.%I', {schema_literal}, fact)::regclass;
        twin := format('%I.%I', {schema_literal}, fact || '_next')::regclass;
        FOR item IN
            SELECT o.relname AS old_name, n.oid::regclass AS twin_index
            FROM pg_index io
            JOIN pg_class o ON o.oid = io.indexrelid
            JOIN pg_index i ON i.indrelid = twin AND i.indkey = io.indkey
                AND i.indisprimary = io.indisprimary
                AND pg_get_expr(i.indpred, twin) IS NOT DISTINCT FROM pg_get_expr(io.indpred, live)
            JOIN pg_class n ON n.oid = i.indexrelid
            WHERE io.indrelid = live
        LOOP
            renames := renames || format(
                'ALTER INDEX %s RENAME TO %I', item.twin_index, item.old_name
            );
        END LOOP;
        EXECUTE format('ALTER TABLE %s RENAME TO %I', live, fact || '_old');
        EXECUTE format('ALTER TABLE %s RENAME TO %I', twin, fact);
    END LOOP;
    -- Jobs that are not in the log: none can leave or come now, because that takes the row of the
    -- checkpoint. An archived one has its facts from the twins if they were made of all its events,
    -- else from before; what else is of no job goes.
    gone := ARRAY(
        SELECT j.stream_id FROM {schema}.report_job j
        WHERE NOT EXISTS (SELECT FROM {schema}.stream s WHERE s.stream_id = j.stream_id)
            AND NOT EXISTS (
                SELECT FROM {schema}.archived_stream a
                WHERE a.stream_id = j.stream_id AND a.version = j.events
            )
    );
    FOREACH fact IN ARRAY facts LOOP
        EXECUTE format('DELETE FROM %I.%I WHERE stream_id = ANY ($1)', {schema_literal}, fact)
        USING gone;
    END LOOP;
    gone := ARRAY(
        SELECT o.stream_id FROM {schema}.report_job_old o
        WHERE NOT EXISTS (SELECT FROM {schema}.stream s WHERE s.stream_id = o.stream_id)
            AND EXISTS (
                SELECT FROM {schema}.archived_stream a WHERE a.stream_id = o.stream_id
            )
            AND NOT EXISTS (SELECT FROM {schema}.report_job j WHERE j.stream_id = o.stream_id)
    );
    FOREACH fact IN ARRAY facts LOOP
        EXECUTE format(
            'INSERT INTO %1$I.%2$I SELECT o.* FROM %1$I.%3$I o WHERE o.stream_id = ANY ($1)',
            {schema_literal}, fact, fact || '_old'
        ) USING gone;
    END LOOP;
    FOREACH definition IN ARRAY definitions LOOP
        EXECUTE definition;
    END LOOP;
    FOREACH fact IN ARRAY facts LOOP
        EXECUTE format('DROP TABLE %I.%I', {schema_literal}, fact || '_old');
    END LOOP;
    FOREACH definition IN ARRAY renames LOOP
        EXECUTE definition;
    END LOOP;
    RETURN true;
END
$$;
