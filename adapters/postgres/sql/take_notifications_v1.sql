-- Return notices of a target that are due, the oldest first, and keep others from taking them for
-- as long as `lease`: if whoever took one does not say what became of it, it is due again then.
-- Taking one counts as a try, so that one on which a process dies is given up some day.
-- No pause is longer than an hour: what is due later was dated before the clock was set back.
CREATE FUNCTION {schema}.take_notifications_v1(this_target text, most integer, lease interval)
RETURNS TABLE (notice_id uuid, rule text, occasion text, tries integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH due AS (
        SELECT n.notice_id FROM {schema}.notification n
        WHERE n.target = this_target AND NOT n.dead AND (
            n.due_at <= clock_timestamp() OR n.due_at > clock_timestamp() + interval '1 hour'
        )
        ORDER BY n.due_at, n.position LIMIT most
        FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE {schema}.notification n
        SET due_at = clock_timestamp() + lease, tries = n.tries + 1
        FROM due WHERE n.notice_id = due.notice_id
        RETURNING n.notice_id, n.rule, n.occasion, n.tries, n.position
    )
    SELECT t.notice_id, t.rule, t.occasion, t.tries FROM taken t ORDER BY t.position;
END
$$;
