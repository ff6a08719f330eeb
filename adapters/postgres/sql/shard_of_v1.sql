-- Which part of the work a stream belongs to: `core.values.ids.shard_of`, number of the stream
-- modulo 16. Computed here, so that nobody can write under the lease on another shard.
CREATE FUNCTION {schema}.shard_of_v1(stream uuid) RETURNS smallint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (get_byte(uuid_send(stream), 15) & 15)::smallint;
