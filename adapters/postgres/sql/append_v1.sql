-- The one way into the log: append events to several streams, with the rows that follow from them.
--
-- It must be the only statement of its transaction. The lock comes before anything is read, so
-- positions are in commit order and whoever reads `position > cursor` misses nothing. Each part of
-- the batch (one stream) is judged by itself: fenced (the lease on the stream's shard is not the
-- writer's), appended, duplicate (exactly these events are there already) or conflict (the stream
-- is at another version). For the parts that go in, every payload must have its hash and every link
-- must continue the chain of its stream as the table `stream` has it; the first that does not ends
-- the whole call with SQLSTATE JL001. Versions and positions are assigned here, never sent.
--
-- Arrays part_* have one element per stream, arrays event_* one per event, in the order of the
-- parts; event_part is the number of the part, from 1. event_data holds the canonical texts. The
-- rows are JSON arrays of objects with the names of the columns, or null.
CREATE FUNCTION {schema}.append_v1(
    part_stream uuid[],
    part_expected integer[],
    part_epoch bigint[],
    part_size integer[],
    event_part integer[],
    event_ids uuid[],
    event_type text[],
    event_schema smallint[],
    event_occurred timestamptz[],
    event_recorded timestamptz[],
    event_actor text[],
    event_causation uuid[],
    event_correlation uuid[],
    event_data text[],
    event_sha bytea[],
    event_chain bytea[],
    job_rows json,
    attempt_rows json,
    decision_rows json,
    effect_rows json
) RETURNS TABLE (outcome text, version integer, chain bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- The planner knows no array's length, and planning anew for each call costs more than it brings.
-- Nor may a plan made while the tables were small read them whole when they have grown.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    genesis constant bytea := decode(repeat('00', 32), 'hex');
    outcomes text[];
    versions integer[];
    chains bytea[];
    goes_in boolean[];
    -- What to add to an event's number in the batch to get its version, and its position.
    to_version integer[] := '{}';
    to_position bigint[] := '{}';
    previous bytea[];
    last_position bigint;
    first_number integer := 0;
    accepted integer := 0;
    all_in boolean;
    streams_in uuid[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'append_v1 needs READ COMMITTED, or it would read what was there before its lock'
            USING ERRCODE = 'JL002';
    END IF;
    LOCK TABLE {schema}.append_lock IN EXCLUSIVE MODE;
    SELECT h.position INTO STRICT last_position FROM {schema}.log_head h WHERE h.single;

    SELECT array_agg(o.outcome), array_agg(o.version), array_agg(o.chain)
    INTO outcomes, versions, chains
    FROM (
        SELECT
            CASE
                WHEN l.epoch IS DISTINCT FROM p.epoch OR l.owner = '' THEN 'fenced'
                -- After a failover that lost the newest leases an epoch may be given once more.
                WHEN l.owner IS DISTINCT FROM event_actor[p.first_event] THEN 'fenced'
                WHEN coalesce(s.version, 0) = p.expected THEN 'appended'
                ELSE 'conflict'
            END AS outcome,
            coalesce(s.version, 0) AS version,
            coalesce(s.chain, genesis) AS chain
        FROM (
            SELECT u.stream_id, u.expected, u.epoch, u.number,
                (sum(u.size) OVER (ORDER BY u.number) - u.size + 1)::integer AS first_event
            FROM unnest(part_stream, part_expected, part_epoch, part_size)
                WITH ORDINALITY AS u (stream_id, expected, epoch, size, number)
        ) p
        LEFT JOIN {schema}.stream s ON s.stream_id = p.stream_id
        -- Each cluster has shards of its own; the epoch tells whose they are (slot_of_v1).
        LEFT JOIN {schema}.shard_lease l
            ON l.shard = {schema}.shard_of_v1(p.stream_id) + 16 * (p.epoch >> 40)
        ORDER BY p.number
    ) o;

    -- A batch may hold thousands of parts, hence no statement per part but plain arithmetic.
    previous := array_prepend(NULL::bytea, event_chain[:cardinality(event_chain) - 1]);
    FOR i IN 1 .. cardinality(part_stream) LOOP
        to_version[i] := part_expected[i] - first_number;
        to_position[i] := last_position + accepted - first_number;
        goes_in[i] := outcomes[i] = 'appended';
        IF goes_in[i] THEN
            previous[first_number + 1] := chains[i];
            versions[i] := part_expected[i] + part_size[i];
            chains[i] := event_chain[first_number + part_size[i]];
            accepted := accepted + part_size[i];
        ELSIF outcomes[i] = 'conflict' AND versions[i] >= part_expected[i] + part_size[i] THEN
            IF part_size[i] = (
                SELECT count(*)
                FROM generate_series(1, part_size[i]) AS n (k)
                JOIN {schema}.event e ON e.version = part_expected[i] + n.k
                WHERE e.stream_id = part_stream[i] AND e.event_id = event_ids[first_number + n.k]
            ) THEN
                outcomes[i] := 'duplicate';
            END IF;
        END IF;
        first_number := first_number + part_size[i];
    END LOOP;
    IF first_number <> cardinality(event_part) THEN
        RAISE EXCEPTION 'the parts announce % events and % were sent', first_number, cardinality(event_part)
            USING ERRCODE = 'JL002';
    END IF;

    all_in := NOT false = ANY (goes_in);
    IF accepted > 0 THEN
        INSERT INTO {schema}.event (
            position, stream_id, version, event_id, type, schema_version, occurred_at, recorded_at,
            actor, epoch, causation_id, correlation_id, data, data_sha, chain
        )
        SELECT
            to_position[e.part] + e.number,
            part_stream[e.part],
            to_version[e.part] + e.number,
            e.event_id,
            e.type,
            e.schema_version,
            e.occurred_at,
            e.recorded_at,
            e.actor,
            part_epoch[e.part],
            e.causation_id,
            e.correlation_id,
            -- json takes a NUL, of which SQL cannot read what holds it; jsonb refuses it.
            CASE WHEN strpos(e.data, '\u0000') = 0 OR e.data::jsonb IS NOT NULL THEN e.data::json END,
            CASE
                WHEN e.data_sha = sha256(convert_to(e.data, 'UTF8')) THEN e.data_sha
                ELSE {schema}.refuse_event_v1(
                    part_stream[e.part], to_version[e.part] + e.number,
                    'the payload does not have the hash that was sent'
                )
            END,
            CASE
                WHEN e.chain = sha256(
                    e.previous
                    || uuid_send(part_stream[e.part])
                    || int4send(to_version[e.part] + e.number)
                    || uuid_send(e.event_id)
                    || int4send(octet_length(e.type)) || convert_to(e.type, 'UTF8')
                    || int2send(e.schema_version)
                    || int8send((extract(epoch FROM e.occurred_at) * 1000000)::bigint)
                    || int8send((extract(epoch FROM e.recorded_at) * 1000000)::bigint)
                    || int4send(octet_length(e.actor)) || convert_to(e.actor, 'UTF8')
                    || int8send(part_epoch[e.part])
                    || uuid_send(e.causation_id)
                    || uuid_send(e.correlation_id)
                    || e.data_sha
                ) THEN e.chain
                ELSE {schema}.refuse_event_v1(
                    part_stream[e.part], to_version[e.part] + e.number,
                    'the link does not continue the chain'
                )
            END
        -- Subscripts cost less than unnest, which fills a tuple store for each array.
        FROM generate_series(1, cardinality(event_part)) AS n (number)
        CROSS JOIN LATERAL (
            SELECT
                n.number,
                event_part[n.number] AS part,
                event_ids[n.number] AS event_id,
                event_type[n.number] AS type,
                event_schema[n.number] AS schema_version,
                event_occurred[n.number] AS occurred_at,
                event_recorded[n.number] AS recorded_at,
                event_actor[n.number] AS actor,
                event_causation[n.number] AS causation_id,
                event_correlation[n.number] AS correlation_id,
                event_data[n.number] AS data,
                event_sha[n.number] AS data_sha,
                event_chain[n.number] AS chain,
                previous[n.number] AS previous
        ) e
        WHERE goes_in[e.part];

        INSERT INTO {schema}.stream AS s (stream_id, version, chain, shard)
        SELECT p.stream_id, p.version, p.chain, {schema}.shard_of_v1(p.stream_id)
        FROM unnest(part_stream, versions, chains, goes_in) AS p (stream_id, version, chain, goes_in)
        WHERE p.goes_in
        ON CONFLICT (stream_id) DO UPDATE SET version = excluded.version, chain = excluded.chain;

        UPDATE {schema}.log_head SET position = last_position + accepted WHERE single;

        IF NOT all_in THEN
            streams_in := ARRAY(
                SELECT p.stream_id FROM unnest(part_stream, goes_in) AS p (stream_id, goes_in)
                WHERE p.goes_in
            );
        END IF;
        PERFORM {schema}.put_rows_v1(streams_in, job_rows, attempt_rows, decision_rows, effect_rows);
    END IF;

    RETURN QUERY SELECT * FROM unnest(outcomes, versions, chains);
END
$$;
