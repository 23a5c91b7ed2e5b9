--
-- The type yquota.resource: functions, operators, operator classes, the aggregate sum() and
-- the casts.  All functions are IMMUTABLE and read no table, so EXECUTE stays with PUBLIC.
--

CREATE TYPE yquota.resource;

CREATE FUNCTION yquota_internal.resource_in(cstring) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_in';
COMMENT ON FUNCTION yquota_internal.resource_in(cstring) IS
	'text input of resource';

CREATE FUNCTION yquota_internal.resource_out(yquota.resource) RETURNS cstring
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_out';
COMMENT ON FUNCTION yquota_internal.resource_out(yquota.resource) IS
	'text output of resource';

CREATE FUNCTION yquota_internal.resource_recv(internal) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_recv';
COMMENT ON FUNCTION yquota_internal.resource_recv(internal) IS
	'binary input of resource';

CREATE FUNCTION yquota_internal.resource_send(yquota.resource) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_send';
COMMENT ON FUNCTION yquota_internal.resource_send(yquota.resource) IS
	'binary output of resource';

CREATE TYPE yquota.resource (
	INPUT = yquota_internal.resource_in,
	OUTPUT = yquota_internal.resource_out,
	RECEIVE = yquota_internal.resource_recv,
	SEND = yquota_internal.resource_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = int4,
	STORAGE = extended
);
COMMENT ON TYPE yquota.resource IS
	'Sparse vector of named amounts in native units, such as [memory-mb=4096,vcores=2]; an absent name means 0';

--
-- Construction and access
--

CREATE FUNCTION yquota.resource(
	memory_mb bigint DEFAULT 0, vcores bigint DEFAULT 0, gpu bigint DEFAULT 0,
	fpga bigint DEFAULT 0, cpu_milli bigint DEFAULT 0, gpu_milli bigint DEFAULT 0) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_from_amounts';
COMMENT ON FUNCTION yquota.resource(bigint, bigint, bigint, bigint, bigint, bigint) IS
	'Make a resource vector from amounts in native units; gpu and fpga become yarn.io/gpu and yarn.io/fpga';

CREATE FUNCTION yquota.resource(jsonb) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_from_jsonb';
COMMENT ON FUNCTION yquota.resource(jsonb) IS
	'Make a resource vector from a JSON object; amounts are numbers in native units or strings, which may have a suffix';

CREATE FUNCTION yquota.resource_to_jsonb(yquota.resource) RETURNS jsonb
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_to_jsonb';
COMMENT ON FUNCTION yquota.resource_to_jsonb(yquota.resource) IS
	'Make a JSON object of the names and amounts of a resource vector';

CREATE CAST (jsonb AS yquota.resource) WITH FUNCTION yquota.resource(jsonb);
COMMENT ON CAST (jsonb AS yquota.resource) IS 'object of names and amounts to resource vector';
CREATE CAST (yquota.resource AS jsonb) WITH FUNCTION yquota.resource_to_jsonb(yquota.resource);
COMMENT ON CAST (yquota.resource AS jsonb) IS 'resource vector to object of names and amounts';

CREATE FUNCTION yquota.amount(resource yquota.resource, name text) RETURNS bigint
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_amount';
COMMENT ON FUNCTION yquota.amount(yquota.resource, text) IS
	'Return the amount of one name in native units, 0 when absent; the aliases memory and vCores are understood';

CREATE FUNCTION yquota.resource_entries(
	resource yquota.resource, OUT name text, OUT amount bigint)
	RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 3
	AS 'MODULE_PATHNAME', 'yq_sql_resource_entries';
COMMENT ON FUNCTION yquota.resource_entries(yquota.resource) IS
	'Return the names and amounts (native units) of a resource vector, in name order';

CREATE FUNCTION yquota.dominant_share(resource yquota.resource, total yquota.resource) RETURNS numeric
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_dominant_share';
COMMENT ON FUNCTION yquota.dominant_share(yquota.resource, yquota.resource) IS
	'Return the largest amount/total over the names with a positive amount.  The result is 0 when no amount is positive, and Infinity when the total lacks a name with a positive amount';

--
-- Arithmetic
--

CREATE FUNCTION yquota_internal.resource_add(yquota.resource, yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_add';
COMMENT ON FUNCTION yquota_internal.resource_add(yquota.resource, yquota.resource) IS
	'implementation of + operator';

CREATE OPERATOR yquota.+ (
	FUNCTION = yquota_internal.resource_add, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.+)
);
COMMENT ON OPERATOR yquota.+ (yquota.resource, yquota.resource) IS 'sum, name by name';

CREATE FUNCTION yquota_internal.resource_subtract(yquota.resource, yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_subtract';
COMMENT ON FUNCTION yquota_internal.resource_subtract(yquota.resource, yquota.resource) IS
	'implementation of - operator';

CREATE OPERATOR yquota.- (
	FUNCTION = yquota_internal.resource_subtract, LEFTARG = yquota.resource, RIGHTARG = yquota.resource
);
COMMENT ON OPERATOR yquota.- (yquota.resource, yquota.resource) IS 'difference, name by name; may be negative';

CREATE FUNCTION yquota_internal.resource_negate(yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_negate';
COMMENT ON FUNCTION yquota_internal.resource_negate(yquota.resource) IS
	'implementation of - operator';

CREATE OPERATOR yquota.- (
	FUNCTION = yquota_internal.resource_negate, RIGHTARG = yquota.resource
);
COMMENT ON OPERATOR yquota.- (NONE, yquota.resource) IS 'all amounts negated';

CREATE FUNCTION yquota_internal.resource_multiply(yquota.resource, bigint) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_multiply';
COMMENT ON FUNCTION yquota_internal.resource_multiply(yquota.resource, bigint) IS
	'implementation of * operator';

CREATE OPERATOR yquota.* (
	FUNCTION = yquota_internal.resource_multiply, LEFTARG = yquota.resource, RIGHTARG = bigint,
	COMMUTATOR = OPERATOR(yquota.*)
);
COMMENT ON OPERATOR yquota.* (yquota.resource, bigint) IS 'all amounts multiplied';

CREATE FUNCTION yquota_internal.resource_multiply(bigint, yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_multiply_left';
COMMENT ON FUNCTION yquota_internal.resource_multiply(bigint, yquota.resource) IS
	'implementation of * operator';

CREATE OPERATOR yquota.* (
	FUNCTION = yquota_internal.resource_multiply, LEFTARG = bigint, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.*)
);
COMMENT ON OPERATOR yquota.* (bigint, yquota.resource) IS 'all amounts multiplied';

--
-- Comparison
--

CREATE FUNCTION yquota.fits_in(resource yquota.resource, room yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_fits_in';
COMMENT ON FUNCTION yquota.fits_in(yquota.resource, yquota.resource) IS
	'Tell whether every amount of the first vector is at most that of the second';

CREATE FUNCTION yquota.has_room_for(room yquota.resource, resource yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_has_room_for';
COMMENT ON FUNCTION yquota.has_room_for(yquota.resource, yquota.resource) IS
	'Tell whether every amount of the first vector is at least that of the second';

CREATE OPERATOR yquota.<@ (
	FUNCTION = yquota.fits_in, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.@>),
	RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR yquota.<@ (yquota.resource, yquota.resource) IS 'fits in: every amount is at most that of the other';

CREATE OPERATOR yquota.@> (
	FUNCTION = yquota.has_room_for, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.<@),
	RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR yquota.@> (yquota.resource, yquota.resource) IS 'has room for: every amount is at least that of the other';

CREATE FUNCTION yquota_internal.resource_lt(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_lt';
COMMENT ON FUNCTION yquota_internal.resource_lt(yquota.resource, yquota.resource) IS
	'implementation of < operator';

CREATE OPERATOR yquota.< (
	FUNCTION = yquota_internal.resource_lt, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.>), NEGATOR = OPERATOR(yquota.>=),
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR yquota.< (yquota.resource, yquota.resource) IS 'less than in sort order';

CREATE FUNCTION yquota_internal.resource_le(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_le';
COMMENT ON FUNCTION yquota_internal.resource_le(yquota.resource, yquota.resource) IS
	'implementation of <= operator';

CREATE OPERATOR yquota.<= (
	FUNCTION = yquota_internal.resource_le, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.>=), NEGATOR = OPERATOR(yquota.>),
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR yquota.<= (yquota.resource, yquota.resource) IS 'less than or equal in sort order';

CREATE FUNCTION yquota_internal.resource_eq(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_eq';
COMMENT ON FUNCTION yquota_internal.resource_eq(yquota.resource, yquota.resource) IS
	'implementation of = operator';

CREATE OPERATOR yquota.= (
	FUNCTION = yquota_internal.resource_eq, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.=), NEGATOR = OPERATOR(yquota.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel,
	HASHES, MERGES
);
COMMENT ON OPERATOR yquota.= (yquota.resource, yquota.resource) IS 'equal';

CREATE FUNCTION yquota_internal.resource_ne(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_ne';
COMMENT ON FUNCTION yquota_internal.resource_ne(yquota.resource, yquota.resource) IS
	'implementation of <> operator';

CREATE OPERATOR yquota.<> (
	FUNCTION = yquota_internal.resource_ne, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.<>), NEGATOR = OPERATOR(yquota.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR yquota.<> (yquota.resource, yquota.resource) IS 'not equal';

CREATE FUNCTION yquota_internal.resource_ge(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_ge';
COMMENT ON FUNCTION yquota_internal.resource_ge(yquota.resource, yquota.resource) IS
	'implementation of >= operator';

CREATE OPERATOR yquota.>= (
	FUNCTION = yquota_internal.resource_ge, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.<=), NEGATOR = OPERATOR(yquota.<),
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR yquota.>= (yquota.resource, yquota.resource) IS 'greater than or equal in sort order';

CREATE FUNCTION yquota_internal.resource_gt(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_gt';
COMMENT ON FUNCTION yquota_internal.resource_gt(yquota.resource, yquota.resource) IS
	'implementation of > operator';

CREATE OPERATOR yquota.> (
	FUNCTION = yquota_internal.resource_gt, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.<), NEGATOR = OPERATOR(yquota.<=),
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR yquota.> (yquota.resource, yquota.resource) IS 'greater than in sort order';

CREATE FUNCTION yquota_internal.resource_cmp(yquota.resource, yquota.resource) RETURNS integer
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_cmp';
COMMENT ON FUNCTION yquota_internal.resource_cmp(yquota.resource, yquota.resource) IS
	'Compare two vectors by the amounts of the first name in which they differ: -1, 0 or 1';

CREATE FUNCTION yquota_internal.resource_sortsupport(internal) RETURNS void
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sortsupport';
COMMENT ON FUNCTION yquota_internal.resource_sortsupport(internal) IS
	'sort support';

CREATE FUNCTION yquota_internal.resource_hash(yquota.resource) RETURNS integer
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_hash';
COMMENT ON FUNCTION yquota_internal.resource_hash(yquota.resource) IS
	'hash';

CREATE FUNCTION yquota_internal.resource_hash_extended(yquota.resource, bigint) RETURNS bigint
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_hash_extended';
COMMENT ON FUNCTION yquota_internal.resource_hash_extended(yquota.resource, bigint) IS
	'hash with a seed';

CREATE OPERATOR FAMILY yquota.resource_btree_ops USING btree;
COMMENT ON OPERATOR FAMILY yquota.resource_btree_ops USING btree IS 'sort order of resource vectors';

CREATE OPERATOR CLASS yquota.resource_btree_ops
	DEFAULT FOR TYPE yquota.resource USING btree FAMILY yquota.resource_btree_ops AS
	OPERATOR 1 yquota.<,
	OPERATOR 2 yquota.<=,
	OPERATOR 3 yquota.=,
	OPERATOR 4 yquota.>=,
	OPERATOR 5 yquota.>,
	FUNCTION 1 yquota_internal.resource_cmp(yquota.resource, yquota.resource),
	FUNCTION 2 yquota_internal.resource_sortsupport(internal),
	FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS yquota.resource_btree_ops USING btree IS 'sort order of resource vectors';

-- Makes pg_upgrade restore the operator class before views that group by resource vectors. The dump
-- of pg_upgrade has types first, then functions, then operator classes. A view has no dependency on
-- the class, but this type has one.
CREATE TYPE yquota_internal.resource_range AS RANGE (
	subtype = yquota.resource,
	subtype_opclass = yquota.resource_btree_ops,
	multirange_type_name = yquota_internal.resource_multirange
);
COMMENT ON TYPE yquota_internal.resource_range IS
	'Makes pg_upgrade create the operator class for the order of resource vectors before the views that need the class; nothing else uses the type';
COMMENT ON TYPE yquota_internal.resource_multirange IS 'Part of resource_range';
COMMENT ON FUNCTION yquota_internal.resource_range(yquota.resource, yquota.resource) IS 'Part of resource_range';
COMMENT ON FUNCTION yquota_internal.resource_range(yquota.resource, yquota.resource, text) IS 'Part of resource_range';
COMMENT ON FUNCTION yquota_internal.resource_multirange() IS 'Part of resource_range';
COMMENT ON FUNCTION yquota_internal.resource_multirange(yquota_internal.resource_range) IS 'Part of resource_range';
COMMENT ON FUNCTION yquota_internal.resource_multirange(yquota_internal.resource_range[]) IS 'Part of resource_range';

CREATE OPERATOR FAMILY yquota.resource_hash_ops USING hash;
COMMENT ON OPERATOR FAMILY yquota.resource_hash_ops USING hash IS 'equality of resource vectors';

CREATE OPERATOR CLASS yquota.resource_hash_ops
	DEFAULT FOR TYPE yquota.resource USING hash FAMILY yquota.resource_hash_ops AS
	OPERATOR 1 yquota.=,
	FUNCTION 1 yquota_internal.resource_hash(yquota.resource),
	FUNCTION 2 yquota_internal.resource_hash_extended(yquota.resource, bigint);
COMMENT ON OPERATOR CLASS yquota.resource_hash_ops USING hash IS 'equality of resource vectors';

--
-- Aggregate
--

CREATE FUNCTION yquota_internal.resource_sum_accum(internal, yquota.resource) RETURNS internal
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_accum';
COMMENT ON FUNCTION yquota_internal.resource_sum_accum(internal, yquota.resource) IS
	'sum of resource vectors: add a vector';

CREATE FUNCTION yquota_internal.resource_sum_remove(internal, yquota.resource) RETURNS internal
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_remove';
COMMENT ON FUNCTION yquota_internal.resource_sum_remove(internal, yquota.resource) IS
	'sum of resource vectors: remove a vector that left the window frame';

CREATE FUNCTION yquota_internal.resource_sum_combine(internal, internal) RETURNS internal
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_combine';
COMMENT ON FUNCTION yquota_internal.resource_sum_combine(internal, internal) IS
	'sum of resource vectors: join two partial sums';

CREATE FUNCTION yquota_internal.resource_sum_serialize(internal) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_serialize';
COMMENT ON FUNCTION yquota_internal.resource_sum_serialize(internal) IS
	'sum of resource vectors: write a partial sum as bytes';

CREATE FUNCTION yquota_internal.resource_sum_deserialize(bytea, internal) RETURNS internal
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_deserialize';
COMMENT ON FUNCTION yquota_internal.resource_sum_deserialize(bytea, internal) IS
	'sum of resource vectors: read a partial sum from bytes';

CREATE FUNCTION yquota_internal.resource_sum_final(internal) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_final';
COMMENT ON FUNCTION yquota_internal.resource_sum_final(internal) IS
	'sum of resource vectors: return the sum';

CREATE AGGREGATE yquota.sum(yquota.resource) (
	STYPE = internal,
	SSPACE = 256,
	SFUNC = yquota_internal.resource_sum_accum,
	FINALFUNC = yquota_internal.resource_sum_final,
	COMBINEFUNC = yquota_internal.resource_sum_combine,
	SERIALFUNC = yquota_internal.resource_sum_serialize,
	DESERIALFUNC = yquota_internal.resource_sum_deserialize,
	MSTYPE = internal,
	MSSPACE = 256,
	MSFUNC = yquota_internal.resource_sum_accum,
	MINVFUNC = yquota_internal.resource_sum_remove,
	MFINALFUNC = yquota_internal.resource_sum_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE yquota.sum(yquota.resource) IS
	'Sum of resource vectors, name by name; NULL for no rows, an error when an amount does not fit in 64 bits';

--
-- Units in which people read amounts of resources
--
CREATE FUNCTION yquota_internal.resource_unit(resource_type text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN resource_type IN ('vcores', 'cpu-milli') THEN 'core' WHEN resource_type = 'memory-mb' THEN 'GiB'
				WHEN resource_type LIKE '%/gpu' OR resource_type = 'gpu-milli' THEN 'GPU' ELSE resource_type END;
COMMENT ON FUNCTION yquota_internal.resource_unit(text) IS
	'Return the unit in which people read amounts of a resource type.  It is the name of the type itself if no other unit is known';

CREATE FUNCTION yquota_internal.resource_unit_size(resource_type text) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN resource_type = 'memory-mb' THEN 1024 WHEN resource_type IN ('cpu-milli', 'gpu-milli') THEN 1000 ELSE 1 END;
COMMENT ON FUNCTION yquota_internal.resource_unit_size(text) IS
	'Return the native units of a resource type in the unit that resource_unit() names';
