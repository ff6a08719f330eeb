-- Take a replica off the list: from now on its share is that of the others.
CREATE FUNCTION {schema}.leave_v1(old_owner text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    DELETE FROM {schema}.replica r WHERE r.owner = old_owner
$$;
