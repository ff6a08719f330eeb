-- Let the planner look anew at every table of the ledger that has changed by a tenth since it last
-- did, and at `event` as a whole, at which autovacuum never looks; return their names.
CREATE FUNCTION {schema}.analyze_grown_v1() RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '2s'
AS $$
DECLARE
    grown text;
    is_log_grown boolean := false;
BEGIN
    FOR grown IN
        SELECT t.relname FROM pg_stat_user_tables t
        JOIN pg_class c ON c.oid = t.relid
        WHERE t.schemaname = {schema_literal} AND c.relkind = 'r'
            AND pg_get_userbyid(c.relowner) = current_user
            AND t.n_mod_since_analyze > 1000 + 0.1 * greatest(c.reltuples, 0)
        ORDER BY t.relname
    LOOP
        is_log_grown := is_log_grown OR grown LIKE 'event\_%';
        EXECUTE format('ANALYZE {schema}.%I', grown);
        RETURN NEXT grown;
    END LOOP;
    IF is_log_grown THEN
        ANALYZE {schema}.event;
        RETURN NEXT 'event';
    END IF;
END
$$;
