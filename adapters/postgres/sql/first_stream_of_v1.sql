-- The lowest stream id of jobs created at or after an instant (a timestamp in UTC): its
-- milliseconds since 1970 in the first 48 bits, zeros after.
CREATE FUNCTION {schema}.first_stream_of_v1(instant timestamp) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN rpad(lpad(to_hex((extract(epoch FROM instant) * 1000)::bigint), 12, '0'), 32, '0')::uuid;
