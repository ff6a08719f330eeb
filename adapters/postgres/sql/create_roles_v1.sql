-- Create the roles of the service and of reports where the server does not have them, and let the
-- current user take on the service's. Roles belong to the whole server: another database's migration
-- may make them at the same moment.
CREATE FUNCTION {schema}.create_roles_v1() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wanted text;
    remedy constant text := format(
        'An administrator must run: CREATE ROLE jobledger_app NOLOGIN; '
        'CREATE ROLE jobledger_report NOLOGIN; GRANT jobledger_app TO %I;', current_user
    );
BEGIN
    FOREACH wanted IN ARRAY ARRAY['jobledger_app', 'jobledger_report'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN
                    NULL;
                WHEN insufficient_privilege THEN
                    RAISE EXCEPTION 'user % may not create the role %', current_user, wanted
                        USING ERRCODE = 'insufficient_privilege', HINT = remedy;
            END;
        END IF;
    END LOOP;
    -- Before Postgres 16 membership is all; since then it may come without the right to SET ROLE.
    IF NOT pg_has_role(
        current_user, 'jobledger_app',
        CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END
    ) THEN
        BEGIN
            EXECUTE format('GRANT jobledger_app TO %I', current_user);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE EXCEPTION 'user % may not take on the role jobledger_app', current_user
                USING ERRCODE = 'insufficient_privilege', HINT = remedy;
        END;
    END IF;
END
$$;
