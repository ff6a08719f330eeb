-- Make empty twins of the reporting tables, `report_job_next` and so on, for a rebuild to fill; those
-- that an earlier rebuild left behind go. Nobody reads them before `swap_reports_v1`.
CREATE FUNCTION {schema}.prepare_reports_v1() RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    fact text;
    twin text;
    live text;
BEGIN
    FOREACH fact IN ARRAY ARRAY[
        'report_job', 'report_attempt', 'report_phase', 'report_failure', 'report_decision',
        'report_gap', 'report_activity'
    ] LOOP
        live := format('%I.%I', {schema_literal}, fact);
        twin := format('%I.%I', {schema_literal}, fact || '_next');
        EXECUTE format('DROP TABLE IF EXISTS %s', twin);
        EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL)', twin, live);
        EXECUTE format(
            'COMMENT ON TABLE %s IS %L', twin, obj_description(live::regclass, 'pg_class')
        );
        EXECUTE format('GRANT SELECT ON %s TO jobledger_app', twin);
    END LOOP;
END
$$;
