-- Make the monthly partitions of `event` that hold the streams of jobs created from the month of
-- from_at to the month of until_at (UTC), and return the names of those that were made.
--
-- Partitions are cut by stream id: a UUIDv7 starts with the milliseconds of the job's creation. A
-- month of which rows have already gone to event_default gets none; its rows stay there. Every
-- partition gets a trigger of its own against TRUNCATE (those for rows are inherited). Making one
-- locks event_default for a moment; a lock that does not come in 5 s is given up.
CREATE FUNCTION {schema}.ensure_partitions_v1(from_at timestamptz, until_at timestamptz)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
    month timestamp := date_trunc('month', from_at AT TIME ZONE 'UTC');
    partition_name text;
BEGIN
    IF until_at - from_at > interval '10 years' THEN
        RAISE EXCEPTION 'more than ten years of partitions were asked for' USING ERRCODE = 'JL002';
    END IF;
    WHILE month <= until_at AT TIME ZONE 'UTC' LOOP
        partition_name := 'event_' || to_char(month, '"y"YYYY"m"MM');
        IF to_regclass(format('%I.%I', {schema_literal}, partition_name)) IS NULL THEN
            LOCK TABLE {schema}.upkeep_lock IN EXCLUSIVE MODE;
            BEGIN
                EXECUTE format(
                    'CREATE TABLE IF NOT EXISTS {schema}.%I PARTITION OF {schema}.event '
                    'FOR VALUES FROM (%L) TO (%L)',
                    partition_name,
                    {schema}.first_stream_of_v1(month),
                    {schema}.first_stream_of_v1(month + interval '1 month')
                );
                EXECUTE format(
                    'CREATE OR REPLACE TRIGGER refuse_truncate BEFORE TRUNCATE ON {schema}.%I '
                    'FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse_change_v1()',
                    partition_name
                );
                RETURN NEXT partition_name;
            EXCEPTION WHEN check_violation THEN
                RAISE WARNING 'streams of % are in event_default already and stay there', partition_name;
            END;
        END IF;
        month := month + interval '1 month';
    END LOOP;
END
$$;
