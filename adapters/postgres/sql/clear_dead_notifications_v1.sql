-- Have the dead notices of a target, or of all, sent again, or forget them; return how many.
CREATE FUNCTION {schema}.clear_dead_notifications_v1(this_target text, again boolean)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    changed bigint;
BEGIN
    IF again THEN
        UPDATE {schema}.notification n SET dead = false, tries = 0, due_at = clock_timestamp()
        WHERE n.dead AND (this_target = '' OR n.target = this_target);
    ELSE
        DELETE FROM {schema}.notification n
        WHERE n.dead AND (this_target = '' OR n.target = this_target);
    END IF;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;
