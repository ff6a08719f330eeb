-- Move the cursor of notifications on and put what targets are to be told in between, in one
-- transaction: whoever dies before it reads the same events once more, whoever is behind changes
-- nothing. False: another one went on. A notice that waits already stays as it is.
CREATE FUNCTION {schema}.put_notifications_v1(expected bigint, upto bigint, notices text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_is timestamptz := clock_timestamp();
BEGIN
    UPDATE {schema}.notification_cursor c SET position = upto
    WHERE c.single AND c.position IS NOT DISTINCT FROM expected
        AND upto >= coalesce(expected, 0)
        AND upto <= (SELECT h.position FROM {schema}.log_head h WHERE h.single);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO {schema}.notification (
        notice_id, target, rule, position, occasion, made_at, due_at, tries, dead, trouble
    )
    SELECT n.notice_id, n.target, n.rule, n.position, n.occasion, now_is, now_is, 0, false, ''
    FROM jsonb_to_recordset(notices::jsonb) AS n (
        notice_id uuid, target text, rule text, position bigint, occasion text
    )
    ON CONFLICT (notice_id) DO NOTHING;
    RETURN true;
END
$$;
