-- Say what became of the try of a notice: without trouble it was taken and goes; else it is due
-- again after a pause, or dead without one. `this_try` is the number of the try: who comes late,
-- when another has taken it, changes nothing.
CREATE FUNCTION {schema}.settle_notification_v1(
    this_notice uuid, this_try integer, this_trouble text, again_in interval
)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF this_trouble = '' THEN
        DELETE FROM {schema}.notification n
        WHERE n.notice_id = this_notice AND n.tries = this_try AND NOT n.dead;
    ELSE
        UPDATE {schema}.notification n
        SET due_at = clock_timestamp() + coalesce(again_in, interval '0'),
            dead = again_in IS NULL, trouble = this_trouble
        WHERE n.notice_id = this_notice AND n.tries = this_try AND NOT n.dead;
    END IF;
END
$$;
