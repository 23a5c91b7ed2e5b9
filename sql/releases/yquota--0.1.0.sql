\echo Use "CREATE EXTENSION yquota" to load this file. \quit

SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA yquota;
COMMENT ON SCHEMA yquota IS
	'Quota, pricing and scheduling of a shared compute cluster: the public interface';
GRANT USAGE ON SCHEMA yquota TO PUBLIC;

CREATE SCHEMA yquota_internal;
COMMENT ON SCHEMA yquota_internal IS
	'Counters, helper functions and state of yquota; not an interface';
--
-- The type yquota.resource: functions, operators, operator classes, the
-- aggregate sum() and the casts.  Everything is pure (IMMUTABLE, no tables), so
-- EXECUTE stays with PUBLIC.
--

CREATE TYPE yquota.resource;

CREATE FUNCTION yquota.resource_in(cstring) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_in';
COMMENT ON FUNCTION yquota.resource_in(cstring) IS
	'text input of resource';

CREATE FUNCTION yquota.resource_out(yquota.resource) RETURNS cstring
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_out';
COMMENT ON FUNCTION yquota.resource_out(yquota.resource) IS
	'text output of resource';

CREATE FUNCTION yquota.resource_recv(internal) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_recv';
COMMENT ON FUNCTION yquota.resource_recv(internal) IS
	'binary input of resource';

CREATE FUNCTION yquota.resource_send(yquota.resource) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_send';
COMMENT ON FUNCTION yquota.resource_send(yquota.resource) IS
	'binary output of resource';

CREATE TYPE yquota.resource (
	INPUT = yquota.resource_in,
	OUTPUT = yquota.resource_out,
	RECEIVE = yquota.resource_recv,
	SEND = yquota.resource_send,
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
	'Resource vector of amounts in native units; gpu and fpga are yarn.io/gpu and yarn.io/fpga';

CREATE FUNCTION yquota.resource(jsonb) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_from_jsonb';
COMMENT ON FUNCTION yquota.resource(jsonb) IS
	'Resource vector of a JSON object; amounts are numbers in native units or strings, which may have a suffix';

CREATE FUNCTION yquota.resource_to_jsonb(yquota.resource) RETURNS jsonb
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_to_jsonb';
COMMENT ON FUNCTION yquota.resource_to_jsonb(yquota.resource) IS
	'JSON object of the names and amounts of a resource vector';

CREATE CAST (jsonb AS yquota.resource) WITH FUNCTION yquota.resource(jsonb);
COMMENT ON CAST (jsonb AS yquota.resource) IS 'object of names and amounts to resource vector';
CREATE CAST (yquota.resource AS jsonb) WITH FUNCTION yquota.resource_to_jsonb(yquota.resource);
COMMENT ON CAST (yquota.resource AS jsonb) IS 'resource vector to object of names and amounts';

CREATE FUNCTION yquota.amount(resource yquota.resource, name text) RETURNS bigint
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_amount';
COMMENT ON FUNCTION yquota.amount(yquota.resource, text) IS
	'Amount of one name in native units, 0 when absent; the aliases memory and vCores are understood';

CREATE FUNCTION yquota.resource_entries(
	resource yquota.resource, OUT name text, OUT amount bigint)
	RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 3
	AS 'MODULE_PATHNAME', 'yq_sql_resource_entries';
COMMENT ON FUNCTION yquota.resource_entries(yquota.resource) IS
	'Names and amounts (native units) of a resource vector, in name order';

CREATE FUNCTION yquota.dominant_share(resource yquota.resource, total yquota.resource) RETURNS numeric
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_dominant_share';
COMMENT ON FUNCTION yquota.dominant_share(yquota.resource, yquota.resource) IS
	'Largest amount/total over the names with a positive amount, 0 when there is none, Infinity when the total has nothing of one';

--
-- Arithmetic
--

CREATE FUNCTION yquota.resource_add(yquota.resource, yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_add';
COMMENT ON FUNCTION yquota.resource_add(yquota.resource, yquota.resource) IS
	'implementation of + operator';

CREATE OPERATOR yquota.+ (
	FUNCTION = yquota.resource_add, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.+)
);
COMMENT ON OPERATOR yquota.+ (yquota.resource, yquota.resource) IS 'sum, name by name';

CREATE FUNCTION yquota.resource_subtract(yquota.resource, yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_subtract';
COMMENT ON FUNCTION yquota.resource_subtract(yquota.resource, yquota.resource) IS
	'implementation of - operator';

CREATE OPERATOR yquota.- (
	FUNCTION = yquota.resource_subtract, LEFTARG = yquota.resource, RIGHTARG = yquota.resource
);
COMMENT ON OPERATOR yquota.- (yquota.resource, yquota.resource) IS 'difference, name by name; may be negative';

CREATE FUNCTION yquota.resource_negate(yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_negate';
COMMENT ON FUNCTION yquota.resource_negate(yquota.resource) IS
	'implementation of - operator';

CREATE OPERATOR yquota.- (
	FUNCTION = yquota.resource_negate, RIGHTARG = yquota.resource
);
COMMENT ON OPERATOR yquota.- (NONE, yquota.resource) IS 'all amounts negated';

CREATE FUNCTION yquota.resource_multiply(yquota.resource, bigint) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_multiply';
COMMENT ON FUNCTION yquota.resource_multiply(yquota.resource, bigint) IS
	'implementation of * operator';

CREATE OPERATOR yquota.* (
	FUNCTION = yquota.resource_multiply, LEFTARG = yquota.resource, RIGHTARG = bigint,
	COMMUTATOR = OPERATOR(yquota.*)
);
COMMENT ON OPERATOR yquota.* (yquota.resource, bigint) IS 'all amounts multiplied';

CREATE FUNCTION yquota.resource_multiply(bigint, yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_multiply_left';
COMMENT ON FUNCTION yquota.resource_multiply(bigint, yquota.resource) IS
	'implementation of * operator';

CREATE OPERATOR yquota.* (
	FUNCTION = yquota.resource_multiply, LEFTARG = bigint, RIGHTARG = yquota.resource,
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
	'Is every amount of the first vector at most that of the second?';

CREATE FUNCTION yquota.has_room_for(room yquota.resource, resource yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_has_room_for';
COMMENT ON FUNCTION yquota.has_room_for(yquota.resource, yquota.resource) IS
	'Is every amount of the first vector at least that of the second?';

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

CREATE FUNCTION yquota.resource_lt(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_lt';
COMMENT ON FUNCTION yquota.resource_lt(yquota.resource, yquota.resource) IS
	'implementation of < operator';

CREATE OPERATOR yquota.< (
	FUNCTION = yquota.resource_lt, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.>), NEGATOR = OPERATOR(yquota.>=),
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR yquota.< (yquota.resource, yquota.resource) IS 'less than in sort order';

CREATE FUNCTION yquota.resource_le(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_le';
COMMENT ON FUNCTION yquota.resource_le(yquota.resource, yquota.resource) IS
	'implementation of <= operator';

CREATE OPERATOR yquota.<= (
	FUNCTION = yquota.resource_le, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.>=), NEGATOR = OPERATOR(yquota.>),
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR yquota.<= (yquota.resource, yquota.resource) IS 'less than or equal in sort order';

CREATE FUNCTION yquota.resource_eq(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_eq';
COMMENT ON FUNCTION yquota.resource_eq(yquota.resource, yquota.resource) IS
	'implementation of = operator';

CREATE OPERATOR yquota.= (
	FUNCTION = yquota.resource_eq, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.=), NEGATOR = OPERATOR(yquota.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel,
	HASHES, MERGES
);
COMMENT ON OPERATOR yquota.= (yquota.resource, yquota.resource) IS 'equal';

CREATE FUNCTION yquota.resource_ne(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_ne';
COMMENT ON FUNCTION yquota.resource_ne(yquota.resource, yquota.resource) IS
	'implementation of <> operator';

CREATE OPERATOR yquota.<> (
	FUNCTION = yquota.resource_ne, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.<>), NEGATOR = OPERATOR(yquota.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR yquota.<> (yquota.resource, yquota.resource) IS 'not equal';

CREATE FUNCTION yquota.resource_ge(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_ge';
COMMENT ON FUNCTION yquota.resource_ge(yquota.resource, yquota.resource) IS
	'implementation of >= operator';

CREATE OPERATOR yquota.>= (
	FUNCTION = yquota.resource_ge, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.<=), NEGATOR = OPERATOR(yquota.<),
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR yquota.>= (yquota.resource, yquota.resource) IS 'greater than or equal in sort order';

CREATE FUNCTION yquota.resource_gt(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_gt';
COMMENT ON FUNCTION yquota.resource_gt(yquota.resource, yquota.resource) IS
	'implementation of > operator';

CREATE OPERATOR yquota.> (
	FUNCTION = yquota.resource_gt, LEFTARG = yquota.resource, RIGHTARG = yquota.resource,
	COMMUTATOR = OPERATOR(yquota.<), NEGATOR = OPERATOR(yquota.<=),
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR yquota.> (yquota.resource, yquota.resource) IS 'greater than in sort order';

CREATE FUNCTION yquota.resource_cmp(yquota.resource, yquota.resource) RETURNS integer
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_cmp';
COMMENT ON FUNCTION yquota.resource_cmp(yquota.resource, yquota.resource) IS
	'Order of two vectors, -1, 0 or 1: by the amounts of the first name in which they differ';

CREATE FUNCTION yquota.resource_sortsupport(internal) RETURNS void
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sortsupport';
COMMENT ON FUNCTION yquota.resource_sortsupport(internal) IS
	'sort support';

CREATE FUNCTION yquota.resource_hash(yquota.resource) RETURNS integer
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_hash';
COMMENT ON FUNCTION yquota.resource_hash(yquota.resource) IS
	'hash';

CREATE FUNCTION yquota.resource_hash_extended(yquota.resource, bigint) RETURNS bigint
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_hash_extended';
COMMENT ON FUNCTION yquota.resource_hash_extended(yquota.resource, bigint) IS
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
	FUNCTION 1 yquota.resource_cmp(yquota.resource, yquota.resource),
	FUNCTION 2 yquota.resource_sortsupport(internal),
	FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS yquota.resource_btree_ops USING btree IS 'sort order of resource vectors';

CREATE OPERATOR FAMILY yquota.resource_hash_ops USING hash;
COMMENT ON OPERATOR FAMILY yquota.resource_hash_ops USING hash IS 'equality of resource vectors';

CREATE OPERATOR CLASS yquota.resource_hash_ops
	DEFAULT FOR TYPE yquota.resource USING hash FAMILY yquota.resource_hash_ops AS
	OPERATOR 1 yquota.=,
	FUNCTION 1 yquota.resource_hash(yquota.resource),
	FUNCTION 2 yquota.resource_hash_extended(yquota.resource, bigint);
COMMENT ON OPERATOR CLASS yquota.resource_hash_ops USING hash IS 'equality of resource vectors';

--
-- Aggregate
--

CREATE FUNCTION yquota.resource_sum_accum(internal, yquota.resource) RETURNS internal
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_accum';
COMMENT ON FUNCTION yquota.resource_sum_accum(internal, yquota.resource) IS
	'sum of resource vectors: adds a vector';

CREATE FUNCTION yquota.resource_sum_remove(internal, yquota.resource) RETURNS internal
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_remove';
COMMENT ON FUNCTION yquota.resource_sum_remove(internal, yquota.resource) IS
	'sum of resource vectors: takes out a vector that left the window frame';

CREATE FUNCTION yquota.resource_sum_combine(internal, internal) RETURNS internal
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_combine';
COMMENT ON FUNCTION yquota.resource_sum_combine(internal, internal) IS
	'sum of resource vectors: joins two partial sums';

CREATE FUNCTION yquota.resource_sum_serialize(internal) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_serialize';
COMMENT ON FUNCTION yquota.resource_sum_serialize(internal) IS
	'sum of resource vectors: partial sum to bytes';

CREATE FUNCTION yquota.resource_sum_deserialize(bytea, internal) RETURNS internal
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_deserialize';
COMMENT ON FUNCTION yquota.resource_sum_deserialize(bytea, internal) IS
	'sum of resource vectors: partial sum from bytes';

CREATE FUNCTION yquota.resource_sum_final(internal) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_final';
COMMENT ON FUNCTION yquota.resource_sum_final(internal) IS
	'sum of resource vectors: result of the sum';

CREATE AGGREGATE yquota.sum(yquota.resource) (
	STYPE = internal,
	SSPACE = 256,
	SFUNC = yquota.resource_sum_accum,
	FINALFUNC = yquota.resource_sum_final,
	COMBINEFUNC = yquota.resource_sum_combine,
	SERIALFUNC = yquota.resource_sum_serialize,
	DESERIALFUNC = yquota.resource_sum_deserialize,
	MSTYPE = internal,
	MSSPACE = 256,
	MSFUNC = yquota.resource_sum_accum,
	MINVFUNC = yquota.resource_sum_remove,
	MFINALFUNC = yquota.resource_sum_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE yquota.sum(yquota.resource) IS
	'Sum of resource vectors, name by name; NULL for no rows, an error when an amount does not fit in 64 bits';
--
-- Types and tables.  Column comments give the unit; every instant is a
-- timestamptz, every amount of money is in credits, every allocation in the
-- native units of its resource types.
--
-- Container ids sort bytewise (COLLATE "C"): the door processes a statement in
-- that order, and the order must not depend on the locale of a database.
--

CREATE TYPE yquota.container_event_type AS ENUM
	('CONTAINER_START', 'CONTAINER_UPDATE', 'CONTAINER_FINISH', 'QUOTA_COMPUTE');
COMMENT ON TYPE yquota.container_event_type IS
	'The four lifecycle events of seed 000';

CREATE TYPE yquota.execution_type AS ENUM ('GUARANTEED', 'OPPORTUNISTIC');
COMMENT ON TYPE yquota.execution_type IS
	'YARN''s execution types; only GUARANTEED containers count as utilization';

CREATE TYPE yquota.queue_state AS ENUM ('RUNNING', 'STOPPED', 'DRAINING');
COMMENT ON TYPE yquota.queue_state IS 'YARN''s queue states';

CREATE TYPE yquota.node_state AS ENUM
	('NEW', 'RUNNING', 'UNHEALTHY', 'DECOMMISSIONING', 'DECOMMISSIONED', 'LOST',
	 'REBOOTED', 'SHUTDOWN');
COMMENT ON TYPE yquota.node_state IS
	'YARN''s node states; only RUNNING nodes count as capacity';

CREATE TYPE yquota.quota_mode AS ENUM ('PREPAID', 'NOLIMIT');
COMMENT ON TYPE yquota.quota_mode IS
	'PREPAID projects need credit for new work, NOLIMIT ones do not; both are charged alike';

CREATE TYPE yquota.exhaustion_policy AS ENUM
	('allow', 'refuse_submission', 'drain', 'stop');
COMMENT ON TYPE yquota.exhaustion_policy IS
	'What decisions do about a PREPAID project without credit; charging never refuses';

CREATE TYPE yquota.factor_dimension AS ENUM
	('queue', 'application', 'username', 'execution_type');
COMMENT ON TYPE yquota.factor_dimension IS 'What a price factor may be tied to';

--
-- Pricing
--

CREATE TABLE yquota.price_group (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
	tipping_point numeric NOT NULL DEFAULT 0.2 CHECK (tipping_point BETWEEN 0 AND 1),
	increment_factor numeric NOT NULL DEFAULT 1
		CHECK (increment_factor >= 0 AND increment_factor <= 1000000),
	max_multiplier numeric CHECK (max_multiplier >= 1 AND max_multiplier <= 1000000000000),
	count_pending boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE yquota.price_group IS
	'Resource types priced together by their most used one; GENERAL is also the floor of every other group';
COMMENT ON COLUMN yquota.price_group.tipping_point IS 'utilization, as a fraction, above which the price rises';
COMMENT ON COLUMN yquota.price_group.increment_factor IS 'rise of the multiplier per whole unit of utilization above the tipping point';
COMMENT ON COLUMN yquota.price_group.max_multiplier IS 'cap of the group''s own multiplier; NULL for none';
COMMENT ON COLUMN yquota.price_group.count_pending IS 'whether pending demand counts as utilization';

CREATE TABLE yquota.resource_type (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
	price_group text COLLATE "C" NOT NULL REFERENCES yquota.price_group,
	base_price numeric NOT NULL DEFAULT 1
		CHECK (base_price >= 0 AND base_price <= 1000000000000 AND scale(base_price) <= 18),
	unit bigint NOT NULL DEFAULT 1 CHECK (unit > 0)
);
COMMENT ON TABLE yquota.resource_type IS
	'Resource types that containers may hold, and their newest base price; changes become points of yquota.base_price';
COMMENT ON COLUMN yquota.resource_type.base_price IS 'credits per unit and second at multiplier 1';
COMMENT ON COLUMN yquota.resource_type.unit IS 'native units that the base price is for, such as 1024 for memory-mb';

CREATE TABLE yquota.base_price (
	resource_type text COLLATE "C" NOT NULL REFERENCES yquota.resource_type ON DELETE CASCADE,
	effective_at timestamptz NOT NULL,
	base_price numeric NOT NULL
		CHECK (base_price >= 0 AND base_price <= 1000000000000 AND scale(base_price) <= 18),
	unit bigint NOT NULL CHECK (unit > 0),
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (resource_type, effective_at)
);
COMMENT ON TABLE yquota.base_price IS
	'Timeline of base prices; each type begins at -infinity and each row holds until the next one';
COMMENT ON COLUMN yquota.base_price.base_price IS 'credits per unit and second at multiplier 1';
COMMENT ON COLUMN yquota.base_price.unit IS 'native units that the base price is for';

CREATE TABLE yquota.price (
	price_group text COLLATE "C" NOT NULL REFERENCES yquota.price_group ON DELETE CASCADE,
	effective_at timestamptz NOT NULL,
	multiplier numeric NOT NULL
		CHECK (multiplier >= 0 AND multiplier <= 1000000000000 AND scale(multiplier) <= 18),
	utilization numeric,
	pinned boolean NOT NULL DEFAULT false,
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (price_group, effective_at)
);
COMMENT ON TABLE yquota.price IS
	'Timeline of multipliers; each group begins at -infinity with 1 and each row holds until the next one';
COMMENT ON COLUMN yquota.price.multiplier IS 'factor on base prices, rounded half-even to 18 decimals when it was formed';
COMMENT ON COLUMN yquota.price.utilization IS 'utilization, as a fraction, that it was computed from; NULL when it was set by hand';
COMMENT ON COLUMN yquota.price.pinned IS 'whether set_multiplier() set it';

CREATE TABLE yquota.price_pin (
	price_group text COLLATE "C" PRIMARY KEY REFERENCES yquota.price_group ON DELETE CASCADE,
	until timestamptz NOT NULL,
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE yquota.price_pin IS
	'Groups whose multiplier was set by hand: compute_prices() leaves them alone until then';

CREATE TABLE yquota.price_factor (
	dimension yquota.factor_dimension NOT NULL,
	name text COLLATE "C" NOT NULL CHECK (name <> ''),
	effective_at timestamptz NOT NULL,
	factor numeric NOT NULL CHECK (factor >= 0 AND factor <= 1000000 AND scale(factor) <= 6),
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (dimension, name, effective_at)
);
COMMENT ON TABLE yquota.price_factor IS
	'Timeline of factors on the price of matching containers: per dimension the most specific name wins, across dimensions they multiply';
COMMENT ON COLUMN yquota.price_factor.name IS
	'a queue path (which also matches the queues below it), an application id, a user name, or an execution type';
COMMENT ON COLUMN yquota.price_factor.factor IS 'at most 6 decimals; 0 makes matching containers free';

CREATE TABLE yquota.charging_rule (
	effective_at timestamptz PRIMARY KEY,
	minimum_run_time interval NOT NULL DEFAULT '0'
		CHECK (minimum_run_time >= '0' AND minimum_run_time <= '365 days'),
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE yquota.charging_rule IS
	'Timeline of charging rules; a container is charged by the rule in force at its start';
COMMENT ON COLUMN yquota.charging_rule.minimum_run_time IS 'shortest life that a container is charged for (hops-quota 3.4)';

CREATE TABLE yquota.outage (
	outage_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project text COLLATE "C",
	started_at timestamptz NOT NULL CHECK (isfinite(started_at)),
	ended_at timestamptz NOT NULL CHECK (isfinite(ended_at)),
	forgiven boolean NOT NULL DEFAULT true,
	reason text NOT NULL,
	reported_by name NOT NULL DEFAULT session_user,
	reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	CHECK (started_at < ended_at)
);
COMMENT ON TABLE yquota.outage IS
	'Stretches of time that nobody pays for (seed 000); overlaps count once';
COMMENT ON COLUMN yquota.outage.project IS 'the only project it is for; NULL for all';
COMMENT ON COLUMN yquota.outage.forgiven IS
	'false while a gap longer than yquota.outage_max waits for an administrator''s decision';

CREATE TABLE yquota.pricing_change (
	version bigint PRIMARY KEY,
	effective_from timestamptz NOT NULL,
	changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	description text NOT NULL
);
COMMENT ON TABLE yquota.pricing_change IS
	'Every change of a timeline, factor, rule or outage in commit order: from which instant on amounts may differ';
COMMENT ON COLUMN yquota.pricing_change.version IS
	'consecutive, because changes wait for each other; what priced an event records the version it saw';

CREATE TABLE yquota.utilization (
	resource_type text COLLATE "C" PRIMARY KEY REFERENCES yquota.resource_type ON DELETE CASCADE,
	utilization numeric NOT NULL CHECK (utilization >= 0 AND utilization <= 1000000),
	reported_at timestamptz NOT NULL,
	source text
);
COMMENT ON TABLE yquota.utilization IS
	'Utilization reported from outside; wins over the computed one while younger than yquota.utilization_max_age';
COMMENT ON COLUMN yquota.utilization.utilization IS 'a fraction; may exceed 1';

CREATE TABLE yquota.pending_demand (
	source text PRIMARY KEY,
	demand yquota.resource NOT NULL,
	reported_at timestamptz NOT NULL
);
COMMENT ON TABLE yquota.pending_demand IS
	'Demand not yet allocated, as reported by a resource manager; counts for price groups with count_pending while younger than yquota.utilization_max_age';

CREATE TABLE yquota.alert (
	alert_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	kind text NOT NULL,
	subject text NOT NULL,
	detail text NOT NULL,
	raised_at timestamptz NOT NULL,
	cleared_at timestamptz
);
CREATE UNIQUE INDEX alert_open_key ON yquota.alert (kind, subject) WHERE cleared_at IS NULL;
COMMENT ON TABLE yquota.alert IS
	'What an administrator should look at; one open row per kind and subject';

--
-- The cluster
--

CREATE TABLE yquota.node (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
	rack text COLLATE "C" NOT NULL DEFAULT '/default-rack',
	label text COLLATE "C" NOT NULL DEFAULT '',
	total yquota.resource NOT NULL,
	state yquota.node_state NOT NULL DEFAULT 'RUNNING',
	updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE yquota.node IS 'Nodes of the cluster and what they offer';
COMMENT ON COLUMN yquota.node.label IS 'partition that the node belongs to; empty for the default one';
COMMENT ON COLUMN yquota.node.total IS 'what the node offers to containers, in native units';

--
-- Projects
--

CREATE TABLE yquota.project (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
	quota_mode yquota.quota_mode NOT NULL DEFAULT 'PREPAID',
	on_exhausted yquota.exhaustion_policy NOT NULL DEFAULT 'allow',
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	description text
);
COMMENT ON TABLE yquota.project IS 'Who pays';
COMMENT ON COLUMN yquota.project.on_exhausted IS 'what decisions do when a PREPAID project has no credit left';

CREATE TABLE yquota.quota_grant (
	grant_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project text COLLATE "C" NOT NULL REFERENCES yquota.project,
	amount numeric NOT NULL
		CHECK (amount NOT IN ('NaN', 'Infinity', '-Infinity') AND scale(amount) <= 48),
	reason text NOT NULL,
	granted_by name NOT NULL DEFAULT session_user,
	granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	external_id text UNIQUE,
	valid_from timestamptz NOT NULL DEFAULT '-infinity',
	expires_at timestamptz NOT NULL DEFAULT 'infinity',
	CHECK (valid_from < expires_at)
);
CREATE INDEX quota_grant_project_idx ON yquota.quota_grant (project);
COMMENT ON TABLE yquota.quota_grant IS
	'Credit given to projects, and taken back (negative); insert with ON CONFLICT (external_id) DO NOTHING to repeat safely';
COMMENT ON COLUMN yquota.quota_grant.amount IS 'credits; negative for a correction';
COMMENT ON COLUMN yquota.quota_grant.external_id IS 'the granting system''s own id, which makes repeating harmless';

--
-- The door and the books
--

CREATE TABLE yquota.container_event (
	event yquota.container_event_type NOT NULL,
	container_id text COLLATE "C",
	occurred_at timestamptz,
	project text COLLATE "C",
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	allocation yquota.resource,
	execution_type yquota.execution_type,
	exit_status integer,
	source text,
	recorded_at timestamptz NOT NULL
);
COMMENT ON TABLE yquota.container_event IS
	'The one door: lifecycle events by INSERT or COPY.  Append-only; keeps everything that arrived, in order of arrival';
COMMENT ON COLUMN yquota.container_event.occurred_at IS 'when it happened; decides what is charged';
COMMENT ON COLUMN yquota.container_event.project IS 'who pays; without it username is read as project__user';
COMMENT ON COLUMN yquota.container_event.allocation IS 'native units; NULL in an UPDATE means unchanged';
COMMENT ON COLUMN yquota.container_event.exit_status IS 'YARN''s container exit status, at FINISH';
COMMENT ON COLUMN yquota.container_event.source IS 'which feed sent it; feed_status reports per source';
COMMENT ON COLUMN yquota.container_event.recorded_at IS 'the statement''s clock when it arrived; decides nothing about amounts except for a START repeated with a new allocation';

CREATE TABLE yquota.container (
	container_id text COLLATE "C" PRIMARY KEY,
	project text COLLATE "C" NOT NULL,
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	label text COLLATE "C",
	allocation yquota.resource NOT NULL,
	execution_type yquota.execution_type NOT NULL,
	started_at timestamptz NOT NULL,
	settled_at timestamptz NOT NULL,
	charges integer NOT NULL,
	factors text[] COLLATE "C",
	accrual_base numeric NOT NULL
);
CREATE INDEX container_application_id_idx ON yquota.container
	USING brin (application_id text_bloom_ops (n_distinct_per_range = 1500, false_positive_rate = 0.005))
	WITH (pages_per_range = 256, autosummarize = on);
COMMENT ON TABLE yquota.container IS
	'Containers running now.  Written by the trigger of container_event only';
COMMENT ON COLUMN yquota.container.label IS 'partition of the node when the container came to it';
COMMENT ON COLUMN yquota.container.started_at IS 'creation of the container';
COMMENT ON COLUMN yquota.container.settled_at IS 'start of the stretch that is not yet in charge: the start or the last UPDATE';
COMMENT ON COLUMN yquota.container.charges IS 'rows of charge that this container has so far';
COMMENT ON COLUMN yquota.container.factors IS 'names of factors and outages that apply: dimension, name, dimension, name …; part of its rate class';
COMMENT ON COLUMN yquota.container.accrual_base IS 'credits from the full hour before settled_at to settled_at at this allocation; what the counters hold for it';

CREATE TABLE yquota.container_change (
	container_id text COLLATE "C" NOT NULL,
	event yquota.container_event_type NOT NULL,
	occurred_at timestamptz NOT NULL,
	allocation yquota.resource,
	execution_type yquota.execution_type,
	queue text COLLATE "C",
	node text COLLATE "C",
	repeated_start boolean NOT NULL
);
CREATE INDEX container_change_container_id_idx ON yquota.container_change (container_id);
COMMENT ON TABLE yquota.container_change IS
	'Accepted START and UPDATE events of containers that were ever updated: what a late event is put in order with';
COMMENT ON COLUMN yquota.container_change.repeated_start IS 'whether the UPDATE came as a START repeated with a new allocation; sent again it is known';

CREATE TABLE yquota.charge (
	container_id text COLLATE "C" NOT NULL,
	project text COLLATE "C" NOT NULL,
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	execution_type yquota.execution_type NOT NULL,
	allocation yquota.resource NOT NULL,
	started_at timestamptz NOT NULL,
	"from" timestamptz NOT NULL,
	"to" timestamptz NOT NULL,
	booked_at timestamptz NOT NULL,
	number integer NOT NULL,
	corrects integer,
	settled_by yquota.container_event_type NOT NULL,
	exit_status integer,
	padding interval,
	dominant text COLLATE "C",
	amount numeric NOT NULL
);
CREATE INDEX charge_container_id_idx ON yquota.charge (container_id);
-- Block ranges cost the door next to nothing.  Rows of one time, and of one
-- application, mostly lie close together.
CREATE INDEX charge_time_idx ON yquota.charge USING brin ("to", "from") WITH (pages_per_range = 32);
CREATE INDEX charge_application_id_idx ON yquota.charge
	USING brin (application_id text_bloom_ops (n_distinct_per_range = 2500, false_positive_rate = 0.002))
	WITH (pages_per_range = 512, autosummarize = on);
COMMENT ON TABLE yquota.charge IS
	'The ledger: one row per settled segment of a container.  Append-only; corrections are further rows';
COMMENT ON COLUMN yquota.charge.started_at IS 'start of the container';
COMMENT ON COLUMN yquota.charge."from" IS 'start of the segment';
COMMENT ON COLUMN yquota.charge."to" IS 'end of the segment';
COMMENT ON COLUMN yquota.charge.booked_at IS 'when the row was posted';
COMMENT ON COLUMN yquota.charge.number IS 'rank of the row among those of its container, from 1';
COMMENT ON COLUMN yquota.charge.corrects IS 'number of the row of the same container that this row takes back; NULL when it takes none back';
COMMENT ON COLUMN yquota.charge.settled_by IS 'event that ended the segment: CONTAINER_UPDATE or CONTAINER_FINISH';
COMMENT ON COLUMN yquota.charge.padding IS 'time added at the finish to reach the minimum run time; NULL on segments of real time';
COMMENT ON COLUMN yquota.charge.dominant IS 'resource type with the largest part of the amount; NULL when nothing was charged';
COMMENT ON COLUMN yquota.charge.amount IS 'credits, exact; negative in a row that takes another back';

CREATE VIEW yquota_internal.charge_in_effect AS
	SELECT charge.*
	FROM yquota.charge AS charge
	WHERE charge.corrects IS NULL
	  AND NOT EXISTS (SELECT FROM yquota.charge AS taken_back
					  WHERE taken_back.container_id = charge.container_id
						AND taken_back.corrects = charge.number);
COMMENT ON VIEW yquota_internal.charge_in_effect IS
	'Rows of the ledger that neither take back another one nor have been taken back';

CREATE TABLE yquota.event_reject (
	reject_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	event yquota.container_event_type NOT NULL,
	container_id text COLLATE "C",
	occurred_at timestamptz,
	project text COLLATE "C",
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	allocation yquota.resource,
	execution_type yquota.execution_type,
	exit_status integer,
	source text,
	recorded_at timestamptz NOT NULL,
	waiting boolean NOT NULL,
	sqlstate text NOT NULL,
	reason text NOT NULL,
	detail text
);
CREATE INDEX event_reject_waiting_idx ON yquota.event_reject (container_id) WHERE waiting;
COMMENT ON TABLE yquota.event_reject IS
	'Events set aside (yquota.on_bad_event = set_aside) with the reason; retry_rejects() sends them through the door again';
COMMENT ON COLUMN yquota.event_reject.waiting IS 'true for an UPDATE or FINISH that waits for its START and is applied when that arrives';

CREATE TABLE yquota_internal.discarded_event (
	reject_id bigint NOT NULL,
	removed boolean NOT NULL,
	event yquota.container_event_type NOT NULL,
	container_id text COLLATE "C",
	occurred_at timestamptz,
	project text COLLATE "C",
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	allocation yquota.resource,
	execution_type yquota.execution_type,
	exit_status integer,
	source text,
	recorded_at timestamptz NOT NULL
);
COMMENT ON TABLE yquota_internal.discarded_event IS
	'Events set aside, as the log has them, whose row in event_reject an administrator has removed or changed';
COMMENT ON COLUMN yquota_internal.discarded_event.removed IS 'false when the row was changed and may be tried again';

CREATE TABLE yquota_internal.charged_through (
	at timestamptz NOT NULL,
	recorded_at timestamptz NOT NULL,
	source text
);
CREATE INDEX charged_through_at_idx ON yquota_internal.charged_through (at);
COMMENT ON TABLE yquota_internal.charged_through IS
	'The charged-through mark is the greatest "at"; each QUOTA_COMPUTE appends a row, the worker removes all but the greatest';

--
-- Counters.  Statements append to counter_delta and never wait; the worker
-- folds the deltas into the tables below.  Readers add both up.
--
CREATE TABLE yquota_internal.counter_delta (
	scope "char" NOT NULL,
	project text COLLATE "C",
	shape yquota.resource,
	factors text[] COLLATE "C",
	reference_at timestamptz,
	weight numeric,
	accrual_base numeric,
	charged numeric,
	queue text COLLATE "C",
	label text COLLATE "C",
	username text COLLATE "C",
	node text COLLATE "C",
	execution_type yquota.execution_type,
	allocation yquota.resource,
	containers bigint,
	source text,
	events bigint,
	last_event_at timestamptz,
	pricing_version bigint,
	priced_through timestamptz,
	recorded_at timestamptz
);
COMMENT ON TABLE yquota_internal.counter_delta IS
	'Changes of counters, one or more rows per statement, not yet folded';
COMMENT ON COLUMN yquota_internal.counter_delta.scope IS
	'what the row counts for: p project, r rate class, u usage, n node, f feed; a statement about one container needs one row: a for p, r, u, n and f';
COMMENT ON COLUMN yquota_internal.counter_delta.shape IS 'allocation divided by the greatest common divisor of its amounts';
COMMENT ON COLUMN yquota_internal.counter_delta.reference_at IS 'full hour (UTC) that accrual_base counts from';
COMMENT ON COLUMN yquota_internal.counter_delta.weight IS 'sum of those divisors';
COMMENT ON COLUMN yquota_internal.counter_delta.accrual_base IS 'credits from reference_at to the containers'' settled_at';
COMMENT ON COLUMN yquota_internal.counter_delta.charged IS 'credits posted to charge';
COMMENT ON COLUMN yquota_internal.counter_delta.pricing_version IS 'newest pricing_change that the statement saw';
COMMENT ON COLUMN yquota_internal.counter_delta.priced_through IS 'latest instant whose price the statement used';
COMMENT ON COLUMN yquota_internal.counter_delta.recorded_at IS 'clock of the statement, or the latest recorded_at of its events';

CREATE TABLE yquota_internal.project_counter (
	project text COLLATE "C" PRIMARY KEY,
	charged numeric NOT NULL,
	accrual_base numeric NOT NULL
);
COMMENT ON TABLE yquota_internal.project_counter IS 'Folded: credits posted to charge, and what running_total counts from, per project';
COMMENT ON COLUMN yquota_internal.project_counter.accrual_base IS
	'credits to subtract from what the project''s running_total costs since running_reference; below zero for what running containers owed by then';

CREATE TABLE yquota_internal.rate_class_counter (
	project text COLLATE "C" NOT NULL,
	shape yquota.resource NOT NULL,
	factors text[] COLLATE "C",
	reference_at timestamptz NOT NULL,
	weight numeric NOT NULL,
	accrual_base numeric NOT NULL,
	UNIQUE NULLS NOT DISTINCT (project, shape, factors, reference_at)
);
COMMENT ON TABLE yquota_internal.rate_class_counter IS
	'Folded: running containers per project, rate class (shape and factors) and hour of their settled_at';

--
-- Hours accumulate while containers run; a balance should not.  The same once
-- more, with all hours of a rate class moved to one instant by the prices known
-- at some version; a change of prices before that instant makes it worthless,
-- and the next folding makes it anew.  A balance reads one row per project, in which classes
-- are called by number.
--
CREATE TABLE yquota_internal.running_class (
	class_id integer PRIMARY KEY CHECK (class_id > 0),
	shape yquota.resource NOT NULL,
	factors text[] COLLATE "C",
	UNIQUE NULLS NOT DISTINCT (shape, factors)
);
COMMENT ON TABLE yquota_internal.running_class IS
	'Numbers of rate classes in running_total; folding gives them, and none is given twice';

CREATE TABLE yquota_internal.running_total (
	project text COLLATE "C" PRIMARY KEY,
	weights bytea NOT NULL
) WITH (fillfactor = 50, toast_tuple_target = 8160);
ALTER TABLE yquota_internal.running_total ALTER COLUMN weights SET STORAGE MAIN;
COMMENT ON TABLE yquota_internal.running_total IS
	'rate_class_counter without its hours, in one row per project: what project_balance is computed from';
COMMENT ON COLUMN yquota_internal.running_total.weights IS
	'packed: number of each class (running_class) and sum of its weights';

CREATE TABLE yquota_internal.running_reference (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	reference_at timestamptz NOT NULL,
	pricing_version bigint NOT NULL,
	classes integer NOT NULL
);
COMMENT ON TABLE yquota_internal.running_reference IS
	'The instant that accrual bases of project_counter count from; without a row they and running_total say nothing';
COMMENT ON COLUMN yquota_internal.running_reference.pricing_version IS
	'newest pricing_change seen; when a later one bears on what was before reference_at, nothing holds either';
COMMENT ON COLUMN yquota_internal.running_reference.classes IS 'the highest number given to a rate class so far';

CREATE TABLE yquota_internal.usage_counter (
	queue text COLLATE "C",
	label text COLLATE "C",
	username text COLLATE "C",
	execution_type yquota.execution_type NOT NULL,
	allocation yquota.resource NOT NULL,
	containers bigint NOT NULL,
	UNIQUE NULLS NOT DISTINCT (queue, label, username, execution_type)
);
COMMENT ON TABLE yquota_internal.usage_counter IS 'Folded: what running containers hold, per queue, label, user and execution type';

CREATE TABLE yquota_internal.node_counter (
	node text COLLATE "C" NOT NULL,
	execution_type yquota.execution_type NOT NULL,
	allocation yquota.resource NOT NULL,
	containers bigint NOT NULL,
	PRIMARY KEY (node, execution_type)
);
COMMENT ON TABLE yquota_internal.node_counter IS 'Folded: what running containers hold, per node and execution type';

CREATE TABLE yquota_internal.feed_counter (
	source text COLLATE "C",
	events bigint NOT NULL,
	last_event_at timestamptz,
	last_recorded_at timestamptz,
	UNIQUE NULLS NOT DISTINCT (source)
);
COMMENT ON TABLE yquota_internal.feed_counter IS 'Folded: events received, per source';

CREATE TABLE yquota_internal.correction_due (
	changed_from timestamptz NOT NULL,
	noted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE yquota_internal.correction_due IS
	'Instants after which something was settled before a change of price became visible; correct_late_prices() works them off';

--
-- State of the clock and of the worker
--
CREATE TABLE yquota_internal.clock_setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	at timestamptz NOT NULL
);
COMMENT ON TABLE yquota_internal.clock_setting IS
	'Holds a row while the clock is set by hand (tests and demonstrations)';

CREATE TABLE yquota_internal.cluster_total (
	resource_type text COLLATE "C" PRIMARY KEY,
	total bigint NOT NULL,
	accepted_at timestamptz NOT NULL,
	shrunk_since timestamptz
);
COMMENT ON TABLE yquota_internal.cluster_total IS
	'Totals that prices were last computed from: a suddenly halved cluster keeps its price';

CREATE TABLE yquota_internal.worker_state (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	pid integer,
	started_at timestamptz,
	stopped_at timestamptz,
	stopped_on_purpose boolean NOT NULL DEFAULT false,
	system_identifier bigint,
	database_oid oid,
	last_price_at timestamptz,
	last_compute_at timestamptz,
	last_fold_at timestamptz,
	last_error text,
	last_error_at timestamptz,
	failures integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE yquota_internal.worker_state IS 'What the worker of this database last did';
--
-- History: what the ledger and the log had taken when they were sealed, and
-- what has left the database since.  See 67_archive.sql.
--
CREATE TABLE yquota.history_stretch (
	number integer PRIMARY KEY,
	sealed_from timestamptz NOT NULL,
	sealed_at timestamptz NOT NULL,
	ledger_table text COLLATE "C",
	log_table text COLLATE "C",
	ledger_archived_at timestamptz,
	log_archived_at timestamptz,
	charges bigint,
	events bigint,
	horizon timestamptz
);
COMMENT ON TABLE yquota.history_stretch IS
	'Sealed stretches of the ledger and the log: tables below yquota.charge and yquota.container_event until they are archived';
COMMENT ON COLUMN yquota.history_stretch.number IS 'from 1 in order of time; 0 is what has been carried out of archived stretches because its containers go on';
COMMENT ON COLUMN yquota.history_stretch.sealed_from IS 'when the stretch before was sealed; -infinity for the first one';
COMMENT ON COLUMN yquota.history_stretch.sealed_at IS 'clock when it was sealed: everything in it was recorded before';
COMMENT ON COLUMN yquota.history_stretch.ledger_table IS 'table of schema yquota_internal with its rows of the ledger; NULL when there is none any more';
COMMENT ON COLUMN yquota.history_stretch.log_table IS 'table of schema yquota_internal with its rows of the log; NULL when there is none any more';
COMMENT ON COLUMN yquota.history_stretch.ledger_archived_at IS 'when its ledger rows left the database; its log rows are no longer part of the log from then on, but wait for archive()';
COMMENT ON COLUMN yquota.history_stretch.log_archived_at IS 'when its log rows left the database';
COMMENT ON COLUMN yquota.history_stretch.charges IS 'ledger rows archived';
COMMENT ON COLUMN yquota.history_stretch.events IS 'log rows archived';
COMMENT ON COLUMN yquota.history_stretch.horizon IS 'set when it was archived: an event before it is refused unless its container is known, and no price before it changes';

CREATE TABLE yquota.opening_balance (
	project text COLLATE "C" NOT NULL,
	archived_through integer NOT NULL,
	archived_before timestamptz NOT NULL,
	charged numeric NOT NULL,
	charges bigint NOT NULL,
	digest numeric NOT NULL,
	PRIMARY KEY (project, archived_through)
);
COMMENT ON TABLE yquota.opening_balance IS
	'What projects had been charged by the ledger rows that were archived; a project''s newest row counts for all of its archived history.  Append-only';
COMMENT ON COLUMN yquota.opening_balance.archived_through IS 'number of the newest stretch archived so far';
COMMENT ON COLUMN yquota.opening_balance.archived_before IS 'the archive horizon then: every archived charge ended before it';
COMMENT ON COLUMN yquota.opening_balance.charged IS 'credits: sum of all archived rows of the project';
COMMENT ON COLUMN yquota.opening_balance.charges IS 'number of all archived rows of the project';
COMMENT ON COLUMN yquota.opening_balance.digest IS 'sum of the digests of all archived rows of the project; archive_digest() computes it from the archive';

CREATE TABLE yquota_internal.carried_container (
	archived_through integer NOT NULL,
	container_id text COLLATE "C" NOT NULL,
	PRIMARY KEY (archived_through, container_id)
);
COMMENT ON TABLE yquota_internal.carried_container IS
	'Containers whose rows an archive carried over because they go on: those in log tables that still wait for archive() are copies';

CREATE TABLE yquota_internal.released_log (
	log_table text COLLATE "C" PRIMARY KEY,
	archived_through integer NOT NULL,
	stretch integer NOT NULL,
	sealed_at timestamptz NOT NULL
);
COMMENT ON TABLE yquota_internal.released_log IS
	'Log tables of schema yquota_internal that are no longer part of the log and wait for archive()';
--
-- The clock.  It is the system's unless a test or a demonstration sets it.
--

CREATE FUNCTION yquota.clock() RETURNS timestamptz
LANGUAGE C VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_clock';
COMMENT ON FUNCTION yquota.clock() IS
	'The clock of yquota now: the system''s, or where set_clock() put it';

CREATE FUNCTION yquota.statement_clock() RETURNS timestamptz
LANGUAGE C STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_statement_clock';
COMMENT ON FUNCTION yquota.statement_clock() IS
	'The clock of yquota at the start of the statement';

-- Whoever changes the setting, also by hand, tells every backend and wakes the
-- worker when the transaction commits.
CREATE FUNCTION yquota_internal.note_clock_setting() RETURNS trigger
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_note_clock_setting';
COMMENT ON FUNCTION yquota_internal.note_clock_setting() IS
	'Makes a changed clock known at commit';
REVOKE ALL ON FUNCTION yquota_internal.note_clock_setting() FROM PUBLIC;

CREATE TRIGGER note_clock_setting
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota_internal.clock_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_clock_setting();

CREATE FUNCTION yquota.set_clock(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF at IS NULL THEN
		RAISE null_value_not_allowed
			USING MESSAGE = 'the clock cannot be set to null',
				  HINT = 'Call yquota.reset_clock() to go back to the system''s clock.';
	ELSIF NOT isfinite(at) THEN
		RAISE datetime_field_overflow
			USING MESSAGE = format('the clock cannot be set to %s', at);
	END IF;
	INSERT INTO yquota_internal.clock_setting AS setting (at)
	VALUES (set_clock.at)
	ON CONFLICT (only_row) DO UPDATE SET at = excluded.at
	WHERE setting.at IS DISTINCT FROM excluded.at;
END
$$;
COMMENT ON FUNCTION yquota.set_clock(timestamptz) IS
	'Stops the clock at that instant for everybody in this database, for tests and demonstrations';
REVOKE ALL ON FUNCTION yquota.set_clock(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota.reset_clock() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	DELETE FROM yquota_internal.clock_setting;
$$;
COMMENT ON FUNCTION yquota.reset_clock() IS 'Goes back to the system''s clock';
REVOKE ALL ON FUNCTION yquota.reset_clock() FROM PUBLIC;

ALTER TABLE yquota.container_event
	ALTER COLUMN occurred_at SET DEFAULT yquota.clock(),
	ALTER COLUMN recorded_at SET DEFAULT yquota.statement_clock();
ALTER TABLE yquota.price_factor ALTER COLUMN effective_at SET DEFAULT yquota.clock();
ALTER TABLE yquota.charging_rule ALTER COLUMN effective_at SET DEFAULT yquota.clock();
--
-- The price evaluator.  These read the timelines with the newest committed
-- state, and may be called by anyone who can read a view that uses them.
--

CREATE FUNCTION yquota_internal.accrued(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz)
RETURNS numeric
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_accrued';
COMMENT ON FUNCTION yquota_internal.accrued(yquota.resource, text[], timestamptz, timestamptz) IS
	'Credits for holding an allocation over a stretch of time, exactly; negative when to_at comes first';

CREATE FUNCTION yquota_internal.dominant(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz)
RETURNS text
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_dominant';
COMMENT ON FUNCTION yquota_internal.dominant(yquota.resource, text[], timestamptz, timestamptz) IS
	'Resource type with the largest part of what accrued() returns; NULL when that is zero';

CREATE FUNCTION yquota_internal.rate(
	allocation yquota.resource, factors text[], at timestamptz)
RETURNS numeric
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_rate';
COMMENT ON FUNCTION yquota_internal.rate(yquota.resource, text[], timestamptz) IS
	'Credits per second for holding an allocation, at the prices in force at an instant';

CREATE FUNCTION yquota_internal.shape(allocation yquota.resource)
RETURNS yquota.resource
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_shape';
COMMENT ON FUNCTION yquota_internal.shape(yquota.resource) IS
	'Allocation divided by the greatest common divisor of its amounts';

CREATE FUNCTION yquota_internal.weight(allocation yquota.resource)
RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_weight';
COMMENT ON FUNCTION yquota_internal.weight(yquota.resource) IS
	'Greatest common divisor of an allocation''s amounts; 0 for the empty allocation';

CREATE FUNCTION yquota_internal.factor_names(
	project text, application_id text, username text, queue text,
	execution_type yquota.execution_type)
RETURNS text[]
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_factor_names';
COMMENT ON FUNCTION yquota_internal.factor_names(text, text, text, text, yquota.execution_type) IS
	'Names of the price factors and outages that apply to a container: dimension, name, dimension, name …';

CREATE FUNCTION yquota_internal.divide_half_even(
	numerator numeric, denominator numeric, decimals integer)
RETURNS numeric
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_divide_half_even';
COMMENT ON FUNCTION yquota_internal.divide_half_even(numeric, numeric, integer) IS
	'Quotient rounded once, half to even, to a number of decimals';

CREATE FUNCTION yquota_internal.invalidate_prices()
RETURNS trigger
LANGUAGE c
AS 'MODULE_PATHNAME', 'yq_sql_invalidate_prices';
COMMENT ON FUNCTION yquota_internal.invalidate_prices() IS
	'Makes every session read prices anew after this transaction commits';
REVOKE ALL ON FUNCTION yquota_internal.invalidate_prices() FROM PUBLIC;

CREATE TRIGGER pricing_change_invalidate
	AFTER INSERT OR UPDATE OR DELETE ON yquota.pricing_change
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.invalidate_prices();
--
-- Pricing, first part: what every change of prices shares, and the
-- configuration that prices are made of (DESIGN 2).
--
-- A change of prices, whether made by a function or by plain INSERT, UPDATE or
-- DELETE, goes through the triggers of the tables: they take one lock, refuse
-- what would change amounts that have been settled or shown, and note the
-- change in yquota.pricing_change, from where caches are invalidated.
--
-- While a dump is being restored they stand down: rows come back as they were.
--

CREATE FUNCTION yquota_internal.restoring() RETURNS boolean
	LANGUAGE c STABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_restoring';
COMMENT ON FUNCTION yquota_internal.restoring() IS
	'Is this session restoring a dump?  Recognized by the settings that pg_dump and pg_restore begin with, for members of the owning role only';

CREATE FUNCTION yquota_internal.duration(setting_name text) RETURNS interval
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN ((extract(epoch FROM current_setting(setting_name)::interval) * 1000)::bigint
			|| ' milliseconds')::interval;
COMMENT ON FUNCTION yquota_internal.duration(text) IS
	'A duration of the configuration as an interval of hours and less: a day of a setting is 24 hours in every time zone';

CREATE FUNCTION yquota_internal.lock_pricing() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	LOCK TABLE yquota.pricing_change IN SHARE ROW EXCLUSIVE MODE;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_pricing() IS
	'Wait for other changes of prices; readers and events do not wait for this lock';
REVOKE ALL ON FUNCTION yquota_internal.lock_pricing() FROM PUBLIC;

CREATE FUNCTION yquota_internal.last_event_at() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT max(f.last_event_at)
			FROM (SELECT last_event_at FROM yquota_internal.feed_counter
				  UNION ALL
				  SELECT last_event_at FROM yquota_internal.counter_delta
				  WHERE scope IN ('a', 'f')) AS f);
COMMENT ON FUNCTION yquota_internal.last_event_at() IS
	'Latest instant of any event received; NULL before the first one';
REVOKE ALL ON FUNCTION yquota_internal.last_event_at() FROM PUBLIC;

-- A START repeated with a new allocation settles at its recorded_at.
CREATE FUNCTION yquota_internal.settled_at_most() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT max(greatest(f.last_event_at, f.last_recorded_at))
			FROM (SELECT last_event_at, last_recorded_at FROM yquota_internal.feed_counter
				  UNION ALL
				  SELECT last_event_at, recorded_at FROM yquota_internal.counter_delta
				  WHERE scope IN ('a', 'f')) AS f);
COMMENT ON FUNCTION yquota_internal.settled_at_most() IS
	'An instant that nothing was settled after; NULL before the first event';
REVOKE ALL ON FUNCTION yquota_internal.settled_at_most() FROM PUBLIC;

--
-- The rule for points in the past
--

CREATE FUNCTION yquota_internal.settled_after(instant timestamptz) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_detail text;
	mark timestamptz := (SELECT max(at) FROM yquota_internal.charged_through);
BEGIN
	SELECT format('Container "%s" has been charged from %s to %s.',
				  c.container_id, c."from", c."to")
	INTO found_detail
	FROM yquota_internal.charge_in_effect AS c
	WHERE c."to" >= instant
	  -- padding is charged at the price of the very end
	  AND (c.padding IS NOT NULL OR (c."to" > instant AND c."to" > c."from"))
	LIMIT 1;
	IF found_detail IS NULL AND mark > instant THEN
		SELECT format('Container "%s" has been running since %s, and its cost until %s has been shown.',
					  c.container_id, c.settled_at, mark)
		INTO found_detail
		FROM yquota.container AS c
		WHERE c.settled_at < mark
		LIMIT 1;
	END IF;
	RETURN found_detail;
END
$$;
COMMENT ON FUNCTION yquota_internal.settled_after(timestamptz) IS
	'A sentence about one amount, settled or shown, that depends on prices from an instant on; NULL when there is none';
REVOKE ALL ON FUNCTION yquota_internal.settled_after(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.refuse_past_change(
	what text, instant timestamptz, found_detail text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF found_detail IS NOT NULL THEN
		RAISE EXCEPTION 'cannot change % at % because that would change what has been charged',
				what, instant
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = found_detail,
				HINT = 'Change it from now on, or give credit back with yquota.quota_grant.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_past_change(text, timestamptz, text) IS
	'Refuse a change in the past that a sentence about one amount has been found against';
REVOKE ALL ON FUNCTION yquota_internal.refuse_past_change(text, timestamptz, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.check_past_point(effective_at timestamptz, what text)
	RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF effective_at < yquota.statement_clock() THEN
		PERFORM yquota_internal.refuse_past_change(what, effective_at,
												   yquota_internal.settled_after(effective_at));
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_past_point(timestamptz, text) IS
	'Refuse a point before the clock where it would change an amount already settled or already shown';
REVOKE ALL ON FUNCTION yquota_internal.check_past_point(timestamptz, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.check_past_rule(
	rule_effective_at timestamptz, what text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	next_rule_at timestamptz := (SELECT min(r.effective_at) FROM yquota.charging_rule AS r
								 WHERE r.effective_at > rule_effective_at);
	found_detail text;
BEGIN
	IF rule_effective_at >= yquota.statement_clock() THEN
		RETURN;
	END IF;
	SELECT format('Container "%s", started at %s, has been charged at its finish at %s.',
				  c.container_id, c.started_at, c."to")
	INTO found_detail
	FROM yquota_internal.charge_in_effect AS c
	WHERE c.settled_by = 'CONTAINER_FINISH'
	  AND c."to" >= rule_effective_at
	  AND c.started_at >= rule_effective_at
	  AND (next_rule_at IS NULL OR c.started_at < next_rule_at)
	LIMIT 1;
	PERFORM yquota_internal.refuse_past_change(what, rule_effective_at, found_detail);
END
$$;
COMMENT ON FUNCTION yquota_internal.check_past_rule(timestamptz, text) IS
	'Refuse a charging rule in the past by which a container has been charged at its finish';
REVOKE ALL ON FUNCTION yquota_internal.check_past_rule(timestamptz, text) FROM PUBLIC;

--
-- Noting a change
--

CREATE FUNCTION yquota_internal.note_pricing_change(
	effective_from timestamptz, description text, rebase boolean DEFAULT false) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.lock_pricing();
	IF effective_from < yquota_internal.archive_horizon() THEN
		PERFORM yquota_internal.refuse_past_change(
			'prices, rules or outages', effective_from,
			format('History before %s has been archived.', yquota_internal.archive_horizon()));
	END IF;
	BEGIN
		INSERT INTO yquota.pricing_change (version, effective_from, description)
		SELECT COALESCE(max(p.version), 0) + 1, note_pricing_change.effective_from,
			   left(note_pricing_change.description, 500)
		FROM yquota.pricing_change AS p;
	EXCEPTION WHEN unique_violation THEN
		-- the transaction's snapshot is older than somebody else's change
		RAISE EXCEPTION 'could not serialize access due to a concurrent change of prices'
			USING ERRCODE = 'serialization_failure',
				HINT = 'The transaction might succeed if retried.';
	END;
	-- a price that cannot be formed would keep everything from being charged
	BEGIN
		PERFORM yquota_internal.rate(
			yquota.resource(jsonb_build_object(t.name, 1)), NULL,
			greatest(least(effective_from, yquota.statement_clock()), '1970-01-01 00:00+00'))
		FROM yquota.resource_type AS t
		LIMIT 1;
	EXCEPTION WHEN numeric_value_out_of_range THEN
		RAISE EXCEPTION 'price is out of range'
			USING ERRCODE = 'numeric_value_out_of_range',
				DETAIL = format('The change was: %s.', description),
				HINT = 'A multiplier times a base price is at most 3 * 10^20 credits per native unit and second.';
	END;
	IF rebase THEN
		-- containers started since the snapshot was taken would be missed
		IF current_setting('transaction_isolation') <> 'read committed' THEN
			RAISE EXCEPTION 'factors and outages of projects cannot come or go at isolation level %',
					upper(current_setting('transaction_isolation'))
				USING ERRCODE = 'feature_not_supported',
					DETAIL = format('The change was: %s.', description),
					HINT = 'Use a transaction of isolation level READ COMMITTED.';
		END IF;
		LOCK TABLE yquota.container_event IN SHARE ROW EXCLUSIVE MODE;
		PERFORM yquota_internal.rebase_running();
	END IF;
	IF effective_from <= yquota_internal.settled_at_most() THEN
		PERFORM yquota_internal.correct_prices_since(effective_from);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_pricing_change(timestamptz, text, boolean) IS
	'Record that amounts may differ from an instant on, and correct what was settled after it; rebase when factors or outages of projects come or go';
REVOKE ALL ON FUNCTION yquota_internal.note_pricing_change(timestamptz, text, boolean) FROM PUBLIC;

--
-- Triggers shared by the tables of pricing.  They act for whoever changed a
-- row, and so run as the owner of the tables.
--

CREATE FUNCTION yquota_internal.lock_pricing_trigger() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.lock_pricing();
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_pricing_trigger() IS
	'Changes of prices wait for each other before they look at anything';
REVOKE ALL ON FUNCTION yquota_internal.lock_pricing_trigger() FROM PUBLIC;

CREATE FUNCTION yquota_internal.record_who() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NEW;
	END IF;
	IF TG_TABLE_NAME = 'quota_grant' THEN
		NEW.granted_by := session_user;
		NEW.granted_at := clock_timestamp();
	ELSE
		NEW.set_by := session_user;
		NEW.set_at := clock_timestamp();
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.record_who() IS
	'Record who gave credit or pinned a multiplier and when, whatever the statement says about it';
REVOKE ALL ON FUNCTION yquota_internal.record_who() FROM PUBLIC;

CREATE TRIGGER record_who BEFORE INSERT OR UPDATE ON yquota.quota_grant
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.record_who();
CREATE TRIGGER record_who BEFORE INSERT OR UPDATE ON yquota.price_pin
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.record_who();

CREATE FUNCTION yquota_internal.refuse_truncate() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'cannot truncate table "%"', TG_TABLE_NAME
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'Amounts are computed from its rows.',
			HINT = 'Use DELETE, which refuses only what has been used.';
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_truncate() IS
	'Tables that amounts are computed from cannot be truncated';
REVOKE ALL ON FUNCTION yquota_internal.refuse_truncate() FROM PUBLIC;

--
-- Price groups and resource types
--

CREATE FUNCTION yquota_internal.price_group_begin_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		INSERT INTO yquota.price (price_group, effective_at, multiplier)
		VALUES (NEW.name, '-infinity', 1);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.price_group_begin_timeline() IS
	'Begin the timeline of a new price group with multiplier 1';
REVOKE ALL ON FUNCTION yquota_internal.price_group_begin_timeline() FROM PUBLIC;

CREATE FUNCTION yquota_internal.resource_type_begin_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		INSERT INTO yquota.base_price (resource_type, effective_at, base_price, unit)
		VALUES (NEW.name, '-infinity', NEW.base_price, NEW.unit);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.resource_type_begin_timeline() IS
	'Begin the timeline of a new resource type with its base price';
REVOKE ALL ON FUNCTION yquota_internal.resource_type_begin_timeline() FROM PUBLIC;

CREATE TRIGGER begin_timeline AFTER INSERT ON yquota.price_group
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.price_group_begin_timeline();
CREATE TRIGGER begin_timeline AFTER INSERT ON yquota.resource_type
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.resource_type_begin_timeline();

--
-- What ships.  It stands before the triggers that note changes: a new
-- installation has no change of prices yet.
--
INSERT INTO yquota.price_group (name) VALUES ('GENERAL'), ('GPU');
INSERT INTO yquota.resource_type (name, price_group, base_price, unit) VALUES
	('memory-mb', 'GENERAL', 1, 1024),
	('vcores', 'GENERAL', 1, 1),
	('yarn.io/gpu', 'GPU', 1, 1);

CREATE FUNCTION yquota_internal.make_room_for_restore() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring()
		AND NOT EXISTS (
			(SELECT * FROM yquota.price_group
			 EXCEPT VALUES ('GENERAL', 0.2, 1, NULL::numeric, false), ('GPU', 0.2, 1, NULL, false))
			UNION ALL
			(VALUES ('GENERAL', 0.2, 1, NULL::numeric, false), ('GPU', 0.2, 1, NULL, false)
			 EXCEPT SELECT * FROM yquota.price_group))
		AND NOT EXISTS (
			(SELECT * FROM yquota.resource_type
			 EXCEPT VALUES ('memory-mb', 'GENERAL', 1, 1024), ('vcores', 'GENERAL', 1, 1),
				('yarn.io/gpu', 'GPU', 1, 1))
			UNION ALL
			(VALUES ('memory-mb', 'GENERAL', 1, 1024), ('vcores', 'GENERAL', 1, 1),
				('yarn.io/gpu', 'GPU', 1, 1)
			 EXCEPT SELECT * FROM yquota.resource_type))
		AND NOT EXISTS (SELECT FROM yquota.price
						WHERE effective_at <> '-infinity' OR multiplier <> 1)
		AND NOT EXISTS (SELECT FROM yquota.base_price WHERE effective_at <> '-infinity')
	THEN
		DELETE FROM yquota.resource_type;
		DELETE FROM yquota.price_group;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_room_for_restore() IS
	'The dump has the shipped rows as users left them: before it brings price groups, the first table of all by its foreign keys, the untouched shipped rows go';
REVOKE ALL ON FUNCTION yquota_internal.make_room_for_restore() FROM PUBLIC;

CREATE TRIGGER make_room_for_restore BEFORE INSERT ON yquota.price_group
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.make_room_for_restore();

CREATE FUNCTION yquota_internal.resource_type_use(type_name text) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE(
		(SELECT format('Container "%s" holds it.', container_id)
		 FROM yquota.container WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		(SELECT format('Container "%s" has been charged for it from %s to %s.',
					   container_id, "from", "to")
		 FROM yquota.charge WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		(SELECT format('Event %s of container "%s" names it.', event, container_id)
		 FROM yquota.container_event WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1));
END
$$;
COMMENT ON FUNCTION yquota_internal.resource_type_use(text) IS
	'A sentence about one use of a resource type by a container, running or not; NULL when there is none';
REVOKE ALL ON FUNCTION yquota_internal.resource_type_use(text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.keep_price_group() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP = 'DELETE' AND OLD.name = 'GENERAL' THEN
		RAISE EXCEPTION 'cannot delete price group "GENERAL"'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'It is the floor of every other price group.';
	ELSIF TG_OP = 'UPDATE' AND NEW.name <> OLD.name THEN
		RAISE EXCEPTION 'cannot rename price group "%"', OLD.name
			USING ERRCODE = 'feature_not_supported',
				HINT = 'Insert a new price group and move the resource types to it.';
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_price_group() IS
	'GENERAL stays, and no price group changes its name';
REVOKE ALL ON FUNCTION yquota_internal.keep_price_group() FROM PUBLIC;

CREATE FUNCTION yquota_internal.note_price_group() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.note_pricing_change(
			yquota.statement_clock(), format('price group deleted: %s', OLD.name));
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_price_group() IS
	'Note that a price group, which can have no resource types by then, has gone';
REVOKE ALL ON FUNCTION yquota_internal.note_price_group() FROM PUBLIC;

CREATE FUNCTION yquota_internal.keep_resource_type() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_use text;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP = 'INSERT' THEN
		-- the input of resource knows which names are possible and which are aliases
		IF (SELECT name FROM yquota.resource_entries(
				yquota.resource(jsonb_build_object(NEW.name, 1)))) <> NEW.name THEN
			RAISE EXCEPTION 'resource type "%" is an alias', NEW.name
				USING ERRCODE = 'invalid_parameter_value',
					HINT = format('Its name in allocations is "%s".',
						(SELECT name FROM yquota.resource_entries(
							yquota.resource(jsonb_build_object(NEW.name, 1)))));
		END IF;
		RETURN NEW;
	END IF;
	IF TG_OP = 'DELETE' THEN
		found_use := yquota_internal.resource_type_use(OLD.name);
		IF found_use IS NOT NULL THEN
			RAISE EXCEPTION 'cannot delete resource type "%" because containers have used it', OLD.name
				USING ERRCODE = 'foreign_key_violation',
					DETAIL = found_use,
					HINT = 'Set its base price to 0 to stop charging for it.';
		END IF;
		RETURN OLD;
	END IF;
	IF NEW.name <> OLD.name THEN
		RAISE EXCEPTION 'cannot rename resource type "%"', OLD.name
			USING ERRCODE = 'feature_not_supported',
				HINT = 'Insert a resource type with the new name.';
	END IF;
	IF NEW.price_group <> OLD.price_group THEN
		found_use := yquota_internal.resource_type_charge(OLD.name);
		IF found_use IS NOT NULL THEN
			RAISE EXCEPTION 'cannot move resource type "%" to price group "%" because that would change what has been charged',
					OLD.name, NEW.price_group
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = found_use,
					HINT = 'A resource type belongs to one price group for all time.';
		END IF;
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_resource_type() IS
	'A resource type that containers have used stays, and so does the group by whose prices it has been charged';
REVOKE ALL ON FUNCTION yquota_internal.keep_resource_type() FROM PUBLIC;

CREATE FUNCTION yquota_internal.resource_type_charge(type_name text) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE(
		(SELECT format('Container "%s" has been charged for it from %s to %s.',
					   container_id, "from", "to")
		 FROM yquota.charge WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		(SELECT format('Container "%s" has been running since %s, and its cost until %s has been shown.',
					   c.container_id, c.settled_at, m.mark)
		 FROM yquota.container AS c,
			  (SELECT max(at) AS mark FROM yquota_internal.charged_through) AS m
		 WHERE yquota.amount(c.allocation, type_name) <> 0 AND c.settled_at < m.mark
		 LIMIT 1));
END
$$;
COMMENT ON FUNCTION yquota_internal.resource_type_charge(text) IS
	'A sentence about one amount, settled or shown, of a container with a resource type; NULL when there is none';
REVOKE ALL ON FUNCTION yquota_internal.resource_type_charge(text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.base_price_at(
	type_name text, instant timestamptz, OUT base_price numeric, OUT unit bigint)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT b.base_price, b.unit
		FROM yquota.base_price AS b
		WHERE b.resource_type = type_name AND b.effective_at <= instant
		ORDER BY b.effective_at DESC
		LIMIT 1;
	END;
COMMENT ON FUNCTION yquota_internal.base_price_at(text, timestamptz) IS
	'Base price and unit of a resource type in force at an instant';
REVOKE ALL ON FUNCTION yquota_internal.base_price_at(text, timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.note_resource_type() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	clock timestamptz := yquota.statement_clock();
	in_force record;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'DELETE' THEN
		PERFORM yquota_internal.note_pricing_change(
			clock, format('resource type deleted: %s', OLD.name));
		RETURN NULL;
	END IF;
	IF NEW.price_group <> OLD.price_group THEN
		-- nothing was settled or shown, but running containers may hold it
		PERFORM yquota_internal.note_pricing_change(
			CASE WHEN yquota_internal.resource_type_use(NEW.name) IS NULL THEN clock
				 ELSE '-infinity' END,
			format('resource type %s moved to price group %s', NEW.name, NEW.price_group));
	END IF;
	in_force := yquota_internal.base_price_at(NEW.name, clock);
	IF (NEW.base_price, NEW.unit) IS DISTINCT FROM (in_force.base_price, in_force.unit) THEN
		INSERT INTO yquota.base_price (resource_type, effective_at, base_price, unit)
		VALUES (NEW.name, clock, NEW.base_price, NEW.unit)
		ON CONFLICT (resource_type, effective_at) DO UPDATE
			SET base_price = EXCLUDED.base_price, unit = EXCLUDED.unit;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_resource_type() IS
	'A changed base price becomes a point of yquota.base_price at the clock; other changes are noted';
REVOKE ALL ON FUNCTION yquota_internal.note_resource_type() FROM PUBLIC;

CREATE TRIGGER lock_pricing BEFORE DELETE ON yquota.price_group
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE UPDATE OF name OR DELETE ON yquota.price_group
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_price_group();
CREATE TRIGGER note AFTER DELETE ON yquota.price_group
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_price_group();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.price_group
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

CREATE TRIGGER lock_pricing BEFORE UPDATE OR DELETE ON yquota.resource_type
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.resource_type
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_resource_type();
CREATE TRIGGER note AFTER DELETE ON yquota.resource_type
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_resource_type();
CREATE TRIGGER note_update AFTER UPDATE OF price_group, base_price, unit ON yquota.resource_type
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_resource_type();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.resource_type
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();
--
-- Pricing, second part: the timelines of multipliers, base prices, factors and
-- charging rules, and outages.
--
-- A timeline only grows at its end: what lies before the clock changes only
-- where nothing has been settled or shown by it (DESIGN 2).
--

CREATE FUNCTION yquota_internal.keep_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	what text := TG_ARGV[0];
	changed_at timestamptz;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		IF NEW.effective_at = 'infinity' THEN
			RAISE EXCEPTION 'cannot set % at infinity', what
				USING ERRCODE = 'datetime_field_overflow';
		END IF;
		NEW.set_by := session_user;
		NEW.set_at := clock_timestamp();
		IF TG_TABLE_NAME = 'price_factor' THEN
			-- a name that is no execution type would never match
			PERFORM NEW.name::yquota.execution_type WHERE NEW.dimension = 'execution_type';
		END IF;
	END IF;

	-- The first point comes and goes with the row that the timeline is for.
	IF TG_TABLE_NAME IN ('price', 'base_price') THEN
		IF TG_OP = 'INSERT' THEN
			IF NOT yquota_internal.has_timeline(TG_TABLE_NAME, to_jsonb(NEW)) THEN
				RETURN NEW;
			END IF;
		ELSIF OLD.effective_at = '-infinity' AND NOT yquota_internal.has_owner(TG_TABLE_NAME, to_jsonb(OLD)) THEN
			RETURN OLD;
		ELSIF OLD.effective_at = '-infinity' AND (TG_OP = 'DELETE' OR NEW.effective_at <> '-infinity') THEN
			RAISE EXCEPTION 'cannot remove % at -infinity', what
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = 'Every timeline begins at -infinity.',
					HINT = 'Update the value of the row.';
		ELSIF TG_OP = 'DELETE' AND NOT yquota_internal.has_owner(TG_TABLE_NAME, to_jsonb(OLD)) THEN
			RETURN OLD;
		END IF;
	END IF;

	changed_at := CASE TG_OP WHEN 'INSERT' THEN NEW.effective_at
							 WHEN 'DELETE' THEN OLD.effective_at
							 ELSE least(NEW.effective_at, OLD.effective_at) END;
	IF TG_TABLE_NAME = 'charging_rule' THEN
		PERFORM yquota_internal.check_past_rule(changed_at, what);
	ELSE
		PERFORM yquota_internal.check_past_point(changed_at, what);
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_timeline() IS
	'Refuse changes of the past that has been charged; record who set a point and when';
REVOKE ALL ON FUNCTION yquota_internal.keep_timeline() FROM PUBLIC;

CREATE FUNCTION yquota_internal.has_timeline(table_name text, point jsonb) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE table_name
		WHEN 'price' THEN EXISTS (SELECT FROM yquota.price
								  WHERE price_group = point ->> 'price_group')
		ELSE EXISTS (SELECT FROM yquota.base_price
					 WHERE resource_type = point ->> 'resource_type')
	END;
COMMENT ON FUNCTION yquota_internal.has_timeline(text, jsonb) IS
	'Does the price group or resource type of a point have any points yet?';
REVOKE ALL ON FUNCTION yquota_internal.has_timeline(text, jsonb) FROM PUBLIC;

CREATE FUNCTION yquota_internal.has_owner(table_name text, point jsonb) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE table_name
		WHEN 'price' THEN EXISTS (SELECT FROM yquota.price_group
								  WHERE name = point ->> 'price_group')
		ELSE EXISTS (SELECT FROM yquota.resource_type
					 WHERE name = point ->> 'resource_type')
	END;
COMMENT ON FUNCTION yquota_internal.has_owner(text, jsonb) IS
	'Does the price group or resource type of a point exist?  Not while deleting it deletes its points';
REVOKE ALL ON FUNCTION yquota_internal.has_owner(text, jsonb) FROM PUBLIC;

--
-- One statement is one change: new_rows and old_rows are its transition tables.
-- A first point, or the points of something deleted, cannot have priced
-- anything: such a change counts from the clock.
--
CREATE FUNCTION yquota_internal.note_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	what text := TG_ARGV[0];
	key_column text := TG_ARGV[1];
	changed_from timestamptz;
	keys text;
	names_changed boolean := false;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' THEN
		SELECT min(CASE WHEN n.effective_at = '-infinity' AND what IN ('multiplier', 'base price')
						THEN yquota.statement_clock() ELSE n.effective_at END),
			   string_agg(DISTINCT to_jsonb(n) ->> key_column, ', ')
		INTO changed_from, keys
		FROM new_rows AS n;
	ELSIF TG_OP = 'DELETE' THEN
		SELECT CASE WHEN bool_or(o.effective_at = '-infinity') AND what IN ('multiplier', 'base price')
					THEN yquota.statement_clock() ELSE min(o.effective_at) END,
			   string_agg(DISTINCT to_jsonb(o) ->> key_column, ', ')
		INTO changed_from, keys
		FROM old_rows AS o;
	ELSE
		SELECT min(r.effective_at), string_agg(DISTINCT to_jsonb(r) ->> key_column, ', ')
		INTO changed_from, keys
		FROM (SELECT * FROM new_rows UNION ALL SELECT * FROM old_rows) AS r;
	END IF;
	IF changed_from IS NULL THEN
		RETURN NULL;
	END IF;

	-- which names have factors at all is part of running containers
	IF TG_TABLE_NAME = 'price_factor' THEN
		IF TG_OP = 'INSERT' THEN
			names_changed := EXISTS (
				SELECT FROM new_rows AS n
				WHERE (SELECT count(*) FROM yquota.price_factor AS f
					   WHERE f.dimension = n.dimension AND f.name = n.name)
					= (SELECT count(*) FROM new_rows AS m
					   WHERE m.dimension = n.dimension AND m.name = n.name));
		ELSIF TG_OP = 'DELETE' THEN
			names_changed := EXISTS (
				SELECT FROM old_rows AS o
				WHERE NOT EXISTS (SELECT FROM yquota.price_factor AS f
								  WHERE f.dimension = o.dimension AND f.name = o.name));
		ELSE
			names_changed := EXISTS (
				(SELECT dimension, name FROM old_rows EXCEPT SELECT dimension, name FROM new_rows)
				UNION ALL
				(SELECT dimension, name FROM new_rows EXCEPT SELECT dimension, name FROM old_rows));
		END IF;
	END IF;
	PERFORM yquota_internal.note_pricing_change(
		changed_from,
		CASE TG_OP WHEN 'DELETE' THEN format('%s removed: %s', what, keys)
				   ELSE format('%s set: %s', what, keys) END,
		names_changed);
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_timeline() IS
	'Note a change of a timeline from its earliest point on; arguments: what, and the column that names whose';
REVOKE ALL ON FUNCTION yquota_internal.note_timeline() FROM PUBLIC;

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.price
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_timeline('multiplier');
CREATE TRIGGER note_insert AFTER INSERT ON yquota.price
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('multiplier', 'price_group');
CREATE TRIGGER note_update AFTER UPDATE ON yquota.price
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('multiplier', 'price_group');
CREATE TRIGGER note_delete AFTER DELETE ON yquota.price
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('multiplier', 'price_group');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.base_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.base_price
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_timeline('base price');
CREATE TRIGGER note_insert AFTER INSERT ON yquota.base_price
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('base price', 'resource_type');
CREATE TRIGGER note_update AFTER UPDATE ON yquota.base_price
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('base price', 'resource_type');
CREATE TRIGGER note_delete AFTER DELETE ON yquota.base_price
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('base price', 'resource_type');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.base_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.price_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.price_factor
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_timeline('price factor');
CREATE TRIGGER note_insert AFTER INSERT ON yquota.price_factor
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('price factor', 'name');
CREATE TRIGGER note_update AFTER UPDATE ON yquota.price_factor
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('price factor', 'name');
CREATE TRIGGER note_delete AFTER DELETE ON yquota.price_factor
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('price factor', 'name');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.price_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.charging_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.charging_rule
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_timeline('charging rule');
CREATE TRIGGER note_insert AFTER INSERT ON yquota.charging_rule
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('charging rule', 'minimum_run_time');
CREATE TRIGGER note_update AFTER UPDATE ON yquota.charging_rule
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('charging rule', 'minimum_run_time');
CREATE TRIGGER note_delete AFTER DELETE ON yquota.charging_rule
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('charging rule', 'minimum_run_time');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.charging_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

--
-- resource_type shows the base price in force; compute_prices() calls this,
-- too, because a point that lay ahead takes effect by itself.
--
CREATE FUNCTION yquota_internal.show_base_prices() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	clock timestamptz := yquota.statement_clock();
BEGIN
	UPDATE yquota.resource_type AS t
	SET base_price = b.base_price, unit = b.unit
	FROM yquota.resource_type AS s,
		 LATERAL yquota_internal.base_price_at(s.name, clock) AS b
	WHERE s.name = t.name
	  AND b.unit IS NOT NULL
	  AND (t.base_price, t.unit) IS DISTINCT FROM (b.base_price, b.unit);
END
$$;
COMMENT ON FUNCTION yquota_internal.show_base_prices() IS
	'Bring the base prices that yquota.resource_type shows up to date';
REVOKE ALL ON FUNCTION yquota_internal.show_base_prices() FROM PUBLIC;

CREATE FUNCTION yquota_internal.show_base_prices_trigger() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.show_base_prices();
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.show_base_prices_trigger() IS
	'After a change of base prices';
REVOKE ALL ON FUNCTION yquota_internal.show_base_prices_trigger() FROM PUBLIC;

CREATE TRIGGER show_base_prices AFTER INSERT OR UPDATE OR DELETE ON yquota.base_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.show_base_prices_trigger();

--
-- Setting multipliers and base prices
--

CREATE FUNCTION yquota.set_multiplier(
	price_group text, multiplier numeric, effective_at timestamptz DEFAULT NULL,
	until timestamptz DEFAULT 'infinity') RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	group_name text := set_multiplier.price_group;
	from_at timestamptz := COALESCE(set_multiplier.effective_at, yquota.statement_clock());
	until_at timestamptz := COALESCE(set_multiplier.until, 'infinity');
	rounded numeric;
BEGIN
	IF group_name IS NULL OR set_multiplier.multiplier IS NULL THEN
		RAISE EXCEPTION 'price group and multiplier must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT set_multiplier.multiplier BETWEEN 0 AND 1000000000000 THEN
		RAISE EXCEPTION 'multiplier % is out of range', set_multiplier.multiplier
			USING ERRCODE = 'numeric_value_out_of_range',
				DETAIL = 'A multiplier is at least 0 and at most 1000000000000.';
	ELSIF until_at <= from_at THEN
		RAISE EXCEPTION 'multiplier cannot be set until %, which is not after % when it takes effect', until_at, from_at
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF NOT EXISTS (SELECT FROM yquota.price_group AS g WHERE g.name = group_name) THEN
		RAISE EXCEPTION 'price group "%" does not exist', group_name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Price groups are the rows of yquota.price_group.';
	END IF;
	rounded := trim_scale(yquota_internal.divide_half_even(set_multiplier.multiplier, 1, 18));

	PERFORM yquota_internal.lock_pricing();
	INSERT INTO yquota.price AS p (price_group, effective_at, multiplier, pinned)
	VALUES (group_name, from_at, rounded, true)
	ON CONFLICT ON CONSTRAINT price_pkey DO UPDATE
		SET multiplier = EXCLUDED.multiplier, utilization = NULL, pinned = true;
	-- what was computed for later must not end it
	DELETE FROM yquota.price AS p
	WHERE p.price_group = group_name AND p.effective_at > from_at
	  AND p.effective_at < until_at AND NOT p.pinned;
	INSERT INTO yquota.price_pin AS n (price_group, until)
	VALUES (group_name, until_at)
	ON CONFLICT ON CONSTRAINT price_pin_pkey DO UPDATE SET until = EXCLUDED.until;
	RETURN from_at;
END
$$;
COMMENT ON FUNCTION yquota.set_multiplier(text, numeric, timestamptz, timestamptz) IS
	'Set the multiplier of a price group by hand from an instant (the clock) on and have compute_prices() leave it alone until another; returns when it takes effect';
REVOKE ALL ON FUNCTION yquota.set_multiplier(text, numeric, timestamptz, timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota.clear_multiplier(price_group text) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	group_name text := clear_multiplier.price_group;
	was_pinned boolean;
BEGIN
	IF NOT EXISTS (SELECT FROM yquota.price_group AS g WHERE g.name = group_name) THEN
		RAISE EXCEPTION 'price group "%" does not exist', group_name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Price groups are the rows of yquota.price_group.';
	END IF;
	PERFORM yquota_internal.lock_pricing();
	DELETE FROM yquota.price_pin AS n WHERE n.price_group = group_name;
	was_pinned := FOUND;
	DELETE FROM yquota.price AS p
	WHERE p.price_group = group_name AND p.pinned
	  AND p.effective_at > yquota.statement_clock();
	RETURN was_pinned;
END
$$;
COMMENT ON FUNCTION yquota.clear_multiplier(text) IS
	'Let compute_prices() set the multiplier of a price group again: it holds until the next computed one, and what was set by hand for later is dropped; returns whether it was pinned';
REVOKE ALL ON FUNCTION yquota.clear_multiplier(text) FROM PUBLIC;

CREATE FUNCTION yquota.set_base_price(
	resource_type text, base_price numeric, unit bigint DEFAULT NULL,
	effective_at timestamptz DEFAULT NULL) RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	type_name text := set_base_price.resource_type;
	from_at timestamptz := COALESCE(set_base_price.effective_at, yquota.statement_clock());
	in_force record;
BEGIN
	IF type_name IS NULL OR set_base_price.base_price IS NULL THEN
		RAISE EXCEPTION 'resource type and base price must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT EXISTS (SELECT FROM yquota.resource_type AS t WHERE t.name = type_name) THEN
		RAISE EXCEPTION 'resource type "%" does not exist', type_name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Resource types are the rows of yquota.resource_type.';
	END IF;
	PERFORM yquota_internal.lock_pricing();
	in_force := yquota_internal.base_price_at(type_name, from_at);
	INSERT INTO yquota.base_price AS b (resource_type, effective_at, base_price, unit)
	VALUES (type_name, from_at, trim_scale(set_base_price.base_price),
			COALESCE(set_base_price.unit, in_force.unit))
	ON CONFLICT ON CONSTRAINT base_price_pkey DO UPDATE
		SET base_price = EXCLUDED.base_price, unit = EXCLUDED.unit;
	RETURN from_at;
END
$$;
COMMENT ON FUNCTION yquota.set_base_price(text, numeric, bigint, timestamptz) IS
	'Set the base price of a resource type, in credits per unit and second, from an instant (the clock) on; without a unit the one in force stays; returns when it takes effect';
REVOKE ALL ON FUNCTION yquota.set_base_price(text, numeric, bigint, timestamptz) FROM PUBLIC;

--
-- Outages.  What is forgiven may lie in the past and is corrected in the
-- ledger.  What has been forgiven stays so: taking it back follows the rule
-- for points in the past.
--

CREATE FUNCTION yquota_internal.keep_outage() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	taken_back_from timestamptz;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP = 'INSERT' THEN
		NEW.reported_by := session_user;
		NEW.reported_at := clock_timestamp();
		RETURN NEW;
	ELSIF TG_OP = 'UPDATE' THEN
		NEW.reported_by := OLD.reported_by;
		NEW.reported_at := OLD.reported_at;
	END IF;
	IF OLD.forgiven THEN
		IF TG_OP = 'DELETE' THEN
			taken_back_from := OLD.started_at;
		ELSIF NOT NEW.forgiven OR NEW.project IS DISTINCT FROM OLD.project
			OR NEW.started_at > OLD.started_at
		THEN
			taken_back_from := OLD.started_at;
		ELSIF NEW.ended_at < OLD.ended_at THEN
			taken_back_from := NEW.ended_at;
		END IF;
		IF taken_back_from IS NOT NULL THEN
			PERFORM yquota_internal.check_past_point(taken_back_from, 'forgiven outage');
		END IF;
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_outage() IS
	'Refuse to take back what has been forgiven; record who reported an outage and when';
REVOKE ALL ON FUNCTION yquota_internal.keep_outage() FROM PUBLIC;

CREATE FUNCTION yquota_internal.note_outage() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	changed_from timestamptz;
	of_project boolean;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' THEN
		SELECT min(started_at), bool_or(project IS NOT NULL)
		INTO changed_from, of_project
		FROM new_rows WHERE forgiven;
	ELSIF TG_OP = 'DELETE' THEN
		SELECT min(started_at), bool_or(project IS NOT NULL)
		INTO changed_from, of_project
		FROM old_rows WHERE forgiven;
	ELSE
		SELECT min(r.started_at), bool_or(r.project IS NOT NULL)
		INTO changed_from, of_project
		FROM ((SELECT outage_id, project, started_at, ended_at FROM new_rows WHERE forgiven
			   EXCEPT
			   SELECT outage_id, project, started_at, ended_at FROM old_rows WHERE forgiven)
			  UNION ALL
			  (SELECT outage_id, project, started_at, ended_at FROM old_rows WHERE forgiven
			   EXCEPT
			   SELECT outage_id, project, started_at, ended_at FROM new_rows WHERE forgiven)) AS r;
	END IF;
	IF changed_from IS NOT NULL THEN
		PERFORM yquota_internal.note_pricing_change(
			changed_from,
			CASE TG_OP WHEN 'DELETE' THEN 'outage removed' ELSE 'outage forgiven' END,
			of_project);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_outage() IS
	'Note a change of what is forgiven from its beginning on; the outages of one project are part of its running containers';
REVOKE ALL ON FUNCTION yquota_internal.note_outage() FROM PUBLIC;

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.outage
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.outage
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_outage();
CREATE TRIGGER note_insert AFTER INSERT ON yquota.outage
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_outage();
CREATE TRIGGER note_update AFTER UPDATE ON yquota.outage
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_outage();
CREATE TRIGGER note_delete AFTER DELETE ON yquota.outage
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_outage();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.outage
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

CREATE FUNCTION yquota.report_outage(
	"from" timestamptz, "to" timestamptz, reason text, project text DEFAULT NULL)
	RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_id bigint;
BEGIN
	IF "from" IS NULL OR "to" IS NULL OR reason IS NULL THEN
		RAISE EXCEPTION 'beginning, end and reason of an outage must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite("from") OR NOT isfinite("to") THEN
		RAISE EXCEPTION 'beginning and end of an outage must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF "from" >= "to" THEN
		RAISE EXCEPTION 'outage cannot end at %, which is not after % when it began', "to", "from"
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF report_outage.project IS NOT NULL
		AND NOT EXISTS (SELECT FROM yquota.project AS p WHERE p.name = report_outage.project)
	THEN
		RAISE EXCEPTION 'project "%" does not exist', report_outage.project
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Leave the project out for an outage of the whole cluster.';
	END IF;

	PERFORM yquota_internal.lock_pricing();
	SELECT o.outage_id INTO found_id
	FROM yquota.outage AS o
	WHERE o.started_at = "from" AND o.ended_at = "to"
	  AND o.project IS NOT DISTINCT FROM report_outage.project
	ORDER BY o.outage_id
	LIMIT 1;
	IF FOUND THEN
		UPDATE yquota.outage AS o SET forgiven = true
		WHERE o.outage_id = found_id AND NOT o.forgiven;
	ELSE
		INSERT INTO yquota.outage AS o (project, started_at, ended_at, reason)
		VALUES (report_outage.project, "from", "to", report_outage.reason)
		RETURNING o.outage_id INTO found_id;
	END IF;
	RETURN found_id;
END
$$;
COMMENT ON FUNCTION yquota.report_outage(timestamptz, timestamptz, text, text) IS
	'Forgive a stretch of time, to one project or to all, whether or not it has been charged; repeating it does nothing and returns the same outage_id';
REVOKE ALL ON FUNCTION yquota.report_outage(timestamptz, timestamptz, text, text) FROM PUBLIC;
--
-- Pricing, third part: utilization, the multipliers computed from it, and the
-- views of prices (seed 000, PriceMultiplierService; DESIGN 2).
--

CREATE FUNCTION yquota_internal.multiplier(
	used numeric, total numeric, tipping_point numeric, increment_factor numeric,
	max_multiplier numeric) RETURNS numeric
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_multiplier';
COMMENT ON FUNCTION yquota_internal.multiplier(numeric, numeric, numeric, numeric, numeric) IS
	'1 + max(used / total - tipping point, 0) * increment factor, at most max_multiplier (NULL for no cap), rounded once, half to even, to 18 decimals';

--
-- What GUARANTEED containers hold.  The counters know it for now; for an
-- instant before the latest event it is read from containers and the ledger,
-- where a container's stretches lie side by side without gaps.
--
CREATE FUNCTION yquota_internal.guaranteed_usage(as_of timestamptz)
	RETURNS TABLE (resource_type text, amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.last_event_at() > as_of THEN
		RETURN QUERY
			SELECT e.name, e.amount::numeric
			FROM (SELECT yquota.sum(h.allocation) AS allocation
				  FROM (SELECT c.allocation
						FROM yquota.container AS c
						WHERE c.execution_type = 'GUARANTEED' AND c.settled_at <= as_of
						UNION ALL
						SELECT CASE WHEN c.corrects IS NULL THEN c.allocation
									ELSE OPERATOR(yquota.-) c.allocation END
						FROM yquota.charge AS c
						WHERE c.execution_type = 'GUARANTEED' AND c.padding IS NULL
						  AND c."from" <= as_of AND c."to" > as_of) AS h) AS s,
				 LATERAL yquota.resource_entries(s.allocation) AS e;
	ELSE
		RETURN QUERY
			SELECT e.name, e.amount::numeric
			FROM (SELECT yquota.sum(h.allocation) AS allocation
				  FROM (SELECT u.allocation
						FROM yquota_internal.usage_counter AS u
						WHERE u.execution_type = 'GUARANTEED'
						UNION ALL
						SELECT d.allocation
						FROM yquota_internal.counter_delta AS d
						WHERE d.scope IN ('a', 'u') AND d.execution_type = 'GUARANTEED') AS h) AS s,
				 LATERAL yquota.resource_entries(s.allocation) AS e;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.guaranteed_usage(timestamptz) IS
	'What GUARANTEED containers running at an instant hold, in native units';
REVOKE ALL ON FUNCTION yquota_internal.guaranteed_usage(timestamptz) FROM PUBLIC;

--
-- A type that the cluster has never offered is absent and leaves its group
-- alone; a GENERAL of which nothing is known is that of an empty cluster.  One that it has offered and does not offer now, or not even half of,
-- is unknown until it has stayed so for yquota.cluster_shrink_grace; while no
-- node is RUNNING that time does not pass.
--
CREATE FUNCTION yquota_internal.measure_cluster(as_of timestamptz)
	RETURNS TABLE (
		resource_type text, price_group text, used numeric, pending numeric, total numeric,
		reported numeric, state text)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH offered AS (
			SELECT e.name, sum(e.amount) AS amount
			FROM yquota.node AS n, LATERAL yquota.resource_entries(n.total) AS e
			WHERE n.state = 'RUNNING'
			GROUP BY e.name
		), demanded AS (
			SELECT e.name, sum(e.amount) AS amount
			FROM yquota.pending_demand AS d, LATERAL yquota.resource_entries(d.demand) AS e
			WHERE d.reported_at > as_of - yquota_internal.duration('yquota.utilization_max_age')
			  AND d.reported_at <= as_of + yquota_internal.duration('yquota.max_clock_skew')
			GROUP BY e.name
		), measured AS (
			SELECT t.name, t.price_group,
				   COALESCE(h.amount, 0) AS used,
				   COALESCE(d.amount, 0) AS pending,
				   COALESCE(o.amount, 0) AS total,
				   COALESCE(c.total, 0) AS remembered,
				   c.shrunk_since <= as_of - yquota_internal.duration('yquota.cluster_shrink_grace')
					AS has_stayed,
				   u.utilization AS reported
			FROM yquota.resource_type AS t
				LEFT JOIN yquota_internal.guaranteed_usage(as_of) AS h ON h.resource_type = t.name
				LEFT JOIN offered AS o ON o.name = t.name
				LEFT JOIN demanded AS d ON d.name = t.name
				LEFT JOIN yquota_internal.cluster_total AS c ON c.resource_type = t.name
				LEFT JOIN yquota.utilization AS u ON u.resource_type = t.name
					AND u.reported_at > as_of - yquota_internal.duration('yquota.utilization_max_age')
					AND u.reported_at <= as_of + yquota_internal.duration('yquota.max_clock_skew')
		)
		SELECT m.name, m.price_group, m.used, m.pending, m.total, m.reported,
			   CASE
				   WHEN (m.remembered > 0 OR m.used > 0)
					   AND NOT EXISTS (SELECT FROM offered WHERE amount > 0) THEN 'empty'
				   WHEN m.total <= 0 AND m.used > 0 THEN 'lost'
				   WHEN m.total <= 0 AND m.remembered > 0 AND m.has_stayed IS NOT TRUE THEN 'lost'
				   WHEN m.total <= 0 THEN 'absent'
				   WHEN m.total * 2 < m.remembered AND m.has_stayed IS NOT TRUE THEN 'shrunk'
				   ELSE 'measured'
			   END
		FROM measured AS m;
	END;
COMMENT ON FUNCTION yquota_internal.measure_cluster(timestamptz) IS
	'Per resource type: what is used, wanted and offered in native units, the utilization reported from outside while it is young enough, and whether the cluster is known: measured, absent, empty, lost or shrunk';
REVOKE ALL ON FUNCTION yquota_internal.measure_cluster(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.measure_price_groups(as_of timestamptz)
	RETURNS TABLE (price_group text, utilization numeric, multiplier numeric, unknown text)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH cluster AS MATERIALIZED (
			SELECT * FROM yquota_internal.measure_cluster(as_of)
		)
		SELECT g.name, COALESCE(max(m.utilization), 0), COALESCE(max(m.multiplier), 1),
			   CASE WHEN g.name = 'GENERAL' AND count(m.utilization) = 0
					THEN COALESCE(min(m.unknown), 'empty') ELSE min(m.unknown) END
		FROM yquota.price_group AS g
			LEFT JOIN LATERAL (
				SELECT trim_scale(yquota_internal.divide_half_even(f.numerator, f.denominator, 18)) AS utilization,
					   yquota_internal.multiplier(f.numerator, f.denominator, g.tipping_point,
												  g.increment_factor, g.max_multiplier) AS multiplier,
					   CASE WHEN c.reported IS NULL AND c.state IN ('empty', 'lost', 'shrunk')
							THEN c.state END AS unknown
				FROM cluster AS c,
					 LATERAL (SELECT CASE WHEN c.reported IS NOT NULL THEN c.reported
										  WHEN c.state <> 'measured' THEN NULL
										  WHEN g.count_pending THEN c.used + c.pending
										  ELSE c.used END AS numerator,
									 CASE WHEN c.reported IS NULL THEN c.total
										  ELSE 1 END AS denominator) AS f
				WHERE c.price_group = g.name) AS m ON true
		GROUP BY g.name;
	END;
COMMENT ON FUNCTION yquota_internal.measure_price_groups(timestamptz) IS
	'Per price group: the utilization of its most used resource type, its own multiplier, and why they are not known, if so';
REVOKE ALL ON FUNCTION yquota_internal.measure_price_groups(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.remember_cluster(as_of timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	m record;
BEGIN
	FOR m IN SELECT * FROM yquota_internal.measure_cluster(as_of) LOOP
		IF m.state = 'measured' THEN
			INSERT INTO yquota_internal.cluster_total AS c (resource_type, total, accepted_at)
			VALUES (m.resource_type, m.total, as_of)
			ON CONFLICT (resource_type) DO UPDATE
				SET total = EXCLUDED.total, accepted_at = EXCLUDED.accepted_at, shrunk_since = NULL
				WHERE c.total <> EXCLUDED.total OR c.shrunk_since IS NOT NULL;
		ELSIF m.state = 'absent' THEN
			DELETE FROM yquota_internal.cluster_total AS c
			WHERE c.resource_type = m.resource_type;
		ELSE
			UPDATE yquota_internal.cluster_total AS c
			SET shrunk_since = CASE WHEN m.state <> 'empty' THEN as_of END
			WHERE c.resource_type = m.resource_type
			  AND (c.shrunk_since IS NULL) = (m.state <> 'empty');
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.remember_cluster(timestamptz) IS
	'Remember the totals that are believed, and since when the others have been seen';
REVOKE ALL ON FUNCTION yquota_internal.remember_cluster(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.keep_cluster_alert(
	group_name text, unknown text, as_of timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	raised_kind text := 'cluster_' || unknown;
BEGIN
	-- somebody may be at work on an alert: that is no reason to wait
	UPDATE yquota.alert AS a
	SET cleared_at = as_of
	WHERE a.alert_id IN (
		SELECT o.alert_id FROM yquota.alert AS o
		WHERE o.kind IN ('cluster_empty', 'cluster_lost', 'cluster_shrunk')
		  AND o.subject = group_name
		  AND o.cleared_at IS NULL
		  AND o.kind IS DISTINCT FROM raised_kind
		FOR UPDATE SKIP LOCKED);
	IF NOT EXISTS (SELECT FROM yquota.alert AS a
				   WHERE a.kind = raised_kind AND a.subject = group_name AND a.cleared_at IS NULL)
		AND raised_kind IS NOT NULL
	THEN
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		VALUES (raised_kind, group_name,
				format('The multiplier of price group "%s" stays as it is: %s%s.', group_name,
					   CASE unknown
						   WHEN 'empty' THEN 'no RUNNING node offers any resources'
						   WHEN 'lost' THEN 'no RUNNING node offers a resource type that containers use or that nodes offered before'
						   ELSE 'RUNNING nodes offer less than half of what they did'
					   END,
					   CASE WHEN unknown <> 'empty' THEN
						   (SELECT ': ' || string_agg(m.resource_type, ', ' ORDER BY m.resource_type)
							FROM yquota_internal.measure_cluster(as_of) AS m
							WHERE m.price_group = group_name AND m.state = unknown AND m.reported IS NULL)
					   END), as_of);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_cluster_alert(text, text, timestamptz) IS
	'Raise the alert of a price group whose utilization is unknown, once; clear it when the reason has gone (unknown is NULL)';
REVOKE ALL ON FUNCTION yquota_internal.keep_cluster_alert(text, text, timestamptz) FROM PUBLIC;

--
-- A pin holds from its first point on: before that, prices are computed.
--
CREATE FUNCTION yquota_internal.pinned_until(group_name text, instant timestamptz)
	RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT n.until
			FROM yquota.price_pin AS n
			WHERE n.price_group = group_name
			  AND n.until > instant
			  AND ((SELECT p.pinned FROM yquota.price AS p
					WHERE p.price_group = group_name AND p.effective_at <= instant
					ORDER BY p.effective_at DESC
					LIMIT 1)
				   OR NOT EXISTS (SELECT FROM yquota.price AS p
								  WHERE p.price_group = group_name AND p.pinned
									AND p.effective_at > instant)));
COMMENT ON FUNCTION yquota_internal.pinned_until(text, timestamptz) IS
	'Until when the multiplier in force at an instant was set by hand; NULL when it was not';
REVOKE ALL ON FUNCTION yquota_internal.pinned_until(text, timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.refusal_to_publish(group_name text, publish_at timestamptz)
	RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF EXISTS (SELECT FROM yquota.price AS p
			   WHERE p.price_group = group_name AND p.effective_at > publish_at AND NOT p.pinned)
	THEN
		RETURN 'the last published price is later';
	END IF;
	-- only a pin can lie ahead, but the clock may have gone back behind it
	IF (publish_at < yquota.statement_clock()
		OR EXISTS (SELECT FROM yquota.price AS p
				   WHERE p.price_group = group_name AND p.effective_at > publish_at))
		AND yquota_internal.settled_after(publish_at) IS NOT NULL
	THEN
		RETURN 'already charged';
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.refusal_to_publish(text, timestamptz) IS
	'Why a computed price cannot be published for an instant; NULL when it can';
REVOKE ALL ON FUNCTION yquota_internal.refusal_to_publish(text, timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.try_lock_pricing() RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	LOCK TABLE yquota.pricing_change IN SHARE ROW EXCLUSIVE MODE NOWAIT;
	RETURN true;
EXCEPTION WHEN lock_not_available THEN
	RETURN false;
END
$$;
COMMENT ON FUNCTION yquota_internal.try_lock_pricing() IS
	'Like lock_pricing(), but does not wait: returns whether it got the lock';
REVOKE ALL ON FUNCTION yquota_internal.try_lock_pricing() FROM PUBLIC;

--
-- GENERAL is decided first, because it is the floor of the others, and all are
-- published by one statement, so that nobody sees a mixture.
--
CREATE FUNCTION yquota.compute_prices(as_of timestamptz DEFAULT NULL)
	RETURNS TABLE (
		price_group text, utilization numeric, multiplier numeric, effective_at timestamptz,
		published boolean, reason text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 3
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	measured_at timestamptz := COALESCE(as_of, yquota.clock());
	publish_at timestamptz := measured_at + yquota_internal.duration('yquota.price_lead');
	may_publish boolean;
	in_force record;
	floor_multiplier numeric := 0;
	pinned_until timestamptz;
	refusal text;
	g record;
	groups text[] := '{}';
	multipliers numeric[] := '{}';
	utilizations numeric[] := '{}';
BEGIN
	IF NOT isfinite(measured_at) THEN
		RAISE EXCEPTION 'prices cannot be computed as of %', measured_at
			USING ERRCODE = 'datetime_field_overflow';
	END IF;
	may_publish := yquota_internal.try_lock_pricing();

	FOR g IN
		SELECT m.price_group, m.utilization, m.multiplier, m.unknown
		FROM yquota_internal.measure_price_groups(measured_at) AS m
		ORDER BY m.price_group <> 'GENERAL', m.price_group
	LOOP
		SELECT p.multiplier, p.effective_at INTO in_force
		FROM yquota.price AS p
		WHERE p.price_group = g.price_group AND p.effective_at <= publish_at
		ORDER BY p.effective_at DESC
		LIMIT 1;
		pinned_until := yquota_internal.pinned_until(g.price_group, publish_at);

		price_group := g.price_group;
		utilization := CASE WHEN g.unknown IS NULL THEN g.utilization END;
		multiplier := in_force.multiplier;
		effective_at := in_force.effective_at;
		published := false;
		IF pinned_until IS NOT NULL THEN
			reason := format('pinned until %s', pinned_until);
		ELSIF g.unknown IS NOT NULL THEN
			reason := format('cluster is %s', g.unknown);
		ELSIF greatest(g.multiplier, floor_multiplier) = in_force.multiplier THEN
			reason := 'unchanged';
		ELSE
			refusal := CASE WHEN may_publish
				THEN yquota_internal.refusal_to_publish(g.price_group, publish_at)
				ELSE 'another change of prices is under way' END;
			IF refusal IS NOT NULL THEN
				reason := refusal;
			ELSE
				multiplier := greatest(g.multiplier, floor_multiplier);
				effective_at := publish_at;
				published := true;
				reason := CASE WHEN g.multiplier >= floor_multiplier THEN 'computed'
							   ELSE 'raised to GENERAL' END;
				groups := groups || g.price_group;
				multipliers := multipliers || multiplier;
				utilizations := utilizations || g.utilization;
			END IF;
		END IF;
		IF g.price_group = 'GENERAL' THEN
			floor_multiplier := multiplier;
		END IF;
		IF may_publish THEN
			PERFORM yquota_internal.keep_cluster_alert(g.price_group, g.unknown, measured_at);
		END IF;
		RETURN NEXT;
	END LOOP;

	IF may_publish THEN
		PERFORM yquota_internal.remember_cluster(measured_at);
		PERFORM yquota_internal.show_base_prices();
		INSERT INTO yquota.price AS p (price_group, effective_at, multiplier, utilization)
		SELECT u.price_group, publish_at, u.multiplier, u.utilization
		FROM unnest(groups, multipliers, utilizations) AS u (price_group, multiplier, utilization)
		ON CONFLICT ON CONSTRAINT price_pkey DO UPDATE
			SET multiplier = EXCLUDED.multiplier, utilization = EXCLUDED.utilization,
				pinned = false;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota.compute_prices(timestamptz) IS
	'Compute the multiplier of every price group from the utilization at an instant (the clock) and publish those that changed, yquota.price_lead ahead; never waits for another change of prices';
REVOKE ALL ON FUNCTION yquota.compute_prices(timestamptz) FROM PUBLIC;

--
-- Views.  A price is credits per native unit and second, rounded where charging
-- rounds it: half to even, to 18 decimals.
--

CREATE VIEW yquota.price_history AS
	SELECT t.name AS resource_type, i.effective_at, p.multiplier, b.base_price, b.unit,
		   trim_scale(yquota_internal.divide_half_even(p.multiplier * b.base_price, b.unit, 18)) AS price
	FROM yquota.resource_type AS t
		CROSS JOIN LATERAL (
			SELECT m.effective_at FROM yquota.price AS m WHERE m.price_group = t.price_group
			UNION
			SELECT s.effective_at FROM yquota.base_price AS s WHERE s.resource_type = t.name) AS i
		CROSS JOIN LATERAL (
			SELECT m.multiplier FROM yquota.price AS m
			WHERE m.price_group = t.price_group AND m.effective_at <= i.effective_at
			ORDER BY m.effective_at DESC LIMIT 1) AS p
		CROSS JOIN LATERAL (
			SELECT s.base_price, s.unit FROM yquota.base_price AS s
			WHERE s.resource_type = t.name AND s.effective_at <= i.effective_at
			ORDER BY s.effective_at DESC LIMIT 1) AS b;
COMMENT ON VIEW yquota.price_history IS
	'Price of every resource type at each point of either timeline; each row holds until the next one';
COMMENT ON COLUMN yquota.price_history.price IS 'credits per native unit and second';

CREATE VIEW yquota.current_price AS
	SELECT t.name AS resource_type, t.price_group, p.multiplier, b.base_price, b.unit,
		   trim_scale(yquota_internal.divide_half_even(p.multiplier * b.base_price, b.unit, 18)) AS price,
		   greatest(p.effective_at, b.effective_at) AS effective_at,
		   n.until AS pinned_until,
		   f.multiplier AS next_multiplier, f.effective_at AS next_effective_at
	FROM yquota.resource_type AS t
		CROSS JOIN LATERAL (
			SELECT m.multiplier, m.effective_at FROM yquota.price AS m
			WHERE m.price_group = t.price_group AND m.effective_at <= yquota.statement_clock()
			ORDER BY m.effective_at DESC LIMIT 1) AS p
		CROSS JOIN LATERAL (
			SELECT s.base_price, s.unit, s.effective_at FROM yquota.base_price AS s
			WHERE s.resource_type = t.name AND s.effective_at <= yquota.statement_clock()
			ORDER BY s.effective_at DESC LIMIT 1) AS b
		LEFT JOIN LATERAL (
			SELECT m.multiplier, m.effective_at FROM yquota.price AS m
			WHERE m.price_group = t.price_group AND m.effective_at > yquota.statement_clock()
			ORDER BY m.effective_at LIMIT 1) AS f ON true
		LEFT JOIN yquota.price_pin AS n
			ON n.price_group = t.price_group AND n.until > yquota.statement_clock();
COMMENT ON VIEW yquota.current_price IS
	'Price of every resource type now, and the next multiplier when one has been published ahead';
COMMENT ON COLUMN yquota.current_price.price IS 'credits per native unit and second';
COMMENT ON COLUMN yquota.current_price.effective_at IS 'since when this price has been in force';
COMMENT ON COLUMN yquota.current_price.pinned_until IS 'until when compute_prices() leaves the multiplier alone; NULL when it does not';

--
-- The dump has all of it.
--
SELECT pg_extension_config_dump('yquota.price_group', '');
SELECT pg_extension_config_dump('yquota.resource_type', '');
SELECT pg_extension_config_dump('yquota.base_price', '');
SELECT pg_extension_config_dump('yquota.price', '');
SELECT pg_extension_config_dump('yquota.price_pin', '');
SELECT pg_extension_config_dump('yquota.price_factor', '');
SELECT pg_extension_config_dump('yquota.charging_rule', '');
SELECT pg_extension_config_dump('yquota.outage', '');
SELECT pg_extension_config_dump('yquota.outage_outage_id_seq', '');
SELECT pg_extension_config_dump('yquota.pricing_change', '');
SELECT pg_extension_config_dump('yquota.utilization', '');
SELECT pg_extension_config_dump('yquota.pending_demand', '');
SELECT pg_extension_config_dump('yquota.alert', '');
SELECT pg_extension_config_dump('yquota.alert_alert_id_seq', '');
SELECT pg_extension_config_dump('yquota.node', '');
SELECT pg_extension_config_dump('yquota_internal.cluster_total', '');
--
-- Charging: the door's trigger, the counters, and settling again after prices
-- changed (DESIGN 3).
--

CREATE FUNCTION yquota_internal.charge_events() RETURNS trigger
	LANGUAGE c
	AS 'MODULE_PATHNAME', 'yq_sql_charge_events';
COMMENT ON FUNCTION yquota_internal.charge_events() IS
	'Settles what a statement inserts into yquota.container_event; serves no other table';
REVOKE ALL ON FUNCTION yquota_internal.charge_events() FROM PUBLIC;

CREATE TRIGGER charge_events AFTER INSERT ON yquota.container_event
	REFERENCING NEW TABLE AS new_events
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.charge_events();

--
-- Settling again
--

CREATE FUNCTION yquota_internal.settle_again(container_ids text[]) RETURNS bigint
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_settle_again';
COMMENT ON FUNCTION yquota_internal.settle_again(text[]) IS
	'Bring the books of containers, in ascending order of id, in line with the present timelines; returns how many were corrected';
REVOKE ALL ON FUNCTION yquota_internal.settle_again(text[]) FROM PUBLIC;

CREATE FUNCTION yquota_internal.correct_prices_since(changed_from timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	batch text[];
	done_through text COLLATE "C" := '';
	corrected bigint := 0;
BEGIN
	-- a bounded number at a time: what is in memory does not grow with history
	LOOP
		SELECT array_agg(c.container_id ORDER BY c.container_id), max(c.container_id)
		INTO batch, done_through
		FROM (
			SELECT container_id FROM yquota.charge
			WHERE "to" >= changed_from AND container_id > done_through
			UNION
			SELECT container_id FROM yquota.container
			WHERE settled_at >= changed_from AND container_id > done_through
			ORDER BY 1 LIMIT 100000
		) AS c;
		EXIT WHEN batch IS NULL;
		corrected := corrected + yquota_internal.settle_again(batch);
	END LOOP;
	RETURN corrected;
END
$$;
COMMENT ON FUNCTION yquota_internal.correct_prices_since(timestamptz) IS
	'Settle again what was settled at or after an instant, posting correcting rows where amounts differ now; returns how many containers were corrected';
REVOKE ALL ON FUNCTION yquota_internal.correct_prices_since(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.rebase_running() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE(
		(SELECT yquota_internal.settle_again(array_agg(c.container_id ORDER BY c.container_id))
		 FROM yquota.container AS c
		 WHERE c.factors IS DISTINCT FROM yquota_internal.factor_names(
			c.project, c.application_id, c.username, c.queue, c.execution_type)), 0);
END
$$;
COMMENT ON FUNCTION yquota_internal.rebase_running() IS
	'Move running containers to the rate classes that match the factors and outages there are now; returns how many moved';
REVOKE ALL ON FUNCTION yquota_internal.rebase_running() FROM PUBLIC;

--
-- Counters
--

CREATE FUNCTION yquota_internal.prices_changed_from(version bigint) RETURNS timestamptz
	LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_prices_changed_from';
COMMENT ON FUNCTION yquota_internal.prices_changed_from(bigint) IS
	'Earliest instant that a change of prices after a version bears on; infinity when there is none';

CREATE FUNCTION yquota_internal.add_rate_class(
	state internal, shape yquota.resource, factors text[], weight numeric, weights bytea,
	reference_at timestamptz, at timestamptz) RETURNS internal
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_add_rate_class';
COMMENT ON FUNCTION yquota_internal.add_rate_class(internal, yquota.resource, text[], numeric, bytea, timestamptz, timestamptz) IS
	'Transition function of accrued_sum() and rate_sum()';

CREATE FUNCTION yquota_internal.finish_accrued_sum(state internal) RETURNS numeric
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_accrued_sum';
COMMENT ON FUNCTION yquota_internal.finish_accrued_sum(internal) IS 'Final function of accrued_sum()';

CREATE FUNCTION yquota_internal.finish_rate_sum(state internal) RETURNS numeric
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_rate_sum';
COMMENT ON FUNCTION yquota_internal.finish_rate_sum(internal) IS 'Final function of rate_sum()';

CREATE AGGREGATE yquota_internal.accrued_sum(
	shape yquota.resource, factors text[], weight numeric, weights bytea,
	reference_at timestamptz, at timestamptz) (
	sfunc = yquota_internal.add_rate_class,
	stype = internal,
	finalfunc = yquota_internal.finish_accrued_sum,
	parallel = restricted
);
COMMENT ON AGGREGATE yquota_internal.accrued_sum(yquota.resource, text[], numeric, bytea, timestamptz, timestamptz) IS
	'Sum of weight x credits of the class from reference_at to an instant; a row is a class (shape, factors) or a packed list of them, or nothing';

CREATE AGGREGATE yquota_internal.rate_sum(
	shape yquota.resource, factors text[], weight numeric, weights bytea,
	reference_at timestamptz, at timestamptz) (
	sfunc = yquota_internal.add_rate_class,
	stype = internal,
	finalfunc = yquota_internal.finish_rate_sum,
	parallel = restricted
);
COMMENT ON AGGREGATE yquota_internal.rate_sum(yquota.resource, text[], numeric, bytea, timestamptz, timestamptz) IS
	'Sum of weight x credits per second of the class at an instant; a row is a class (shape, factors) or a packed list of them, or nothing';

CREATE VIEW yquota_internal.valid_reference AS
	SELECT reference.reference_at
	FROM yquota_internal.running_reference AS reference
	WHERE yquota_internal.prices_changed_from(reference.pricing_version) >= reference.reference_at;
COMMENT ON VIEW yquota_internal.valid_reference IS
	'What running_total and the accrual bases of project_counter count from; no row when they must not be used';

CREATE FUNCTION yquota_internal.add_weight(state internal, class_id integer, weight numeric)
	RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_add_weight';
COMMENT ON FUNCTION yquota_internal.add_weight(internal, integer, numeric) IS
	'Transition function of pack_weights()';

CREATE FUNCTION yquota_internal.finish_pack_weights(state internal) RETURNS bytea
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_pack_weights';
COMMENT ON FUNCTION yquota_internal.finish_pack_weights(internal) IS 'Final function of pack_weights()';

CREATE AGGREGATE yquota_internal.pack_weights(class_id integer, weight numeric) (
	sfunc = yquota_internal.add_weight,
	stype = internal,
	finalfunc = yquota_internal.finish_pack_weights,
	finalfunc_modify = read_write,
	parallel = safe
);
COMMENT ON AGGREGATE yquota_internal.pack_weights(integer, numeric) IS
	'Packed list of the weights of rate classes, added up per class; those of zero are left out';

CREATE FUNCTION yquota_internal.merge_weights(a bytea, b bytea) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_merge_weights';
COMMENT ON FUNCTION yquota_internal.merge_weights(bytea, bytea) IS
	'Sum of two packed lists of weights';

CREATE FUNCTION yquota_internal.running_class_number(class_shape yquota.resource, class_factors text[])
	RETURNS integer
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_id integer;
BEGIN
	SELECT class.class_id INTO found_id
	FROM yquota_internal.running_class AS class
	WHERE class.shape OPERATOR(yquota.=) class_shape
	  AND class.factors IS NOT DISTINCT FROM class_factors;
	IF found_id IS NULL THEN
		UPDATE yquota_internal.running_reference SET classes = classes + 1
		RETURNING classes INTO found_id;
		INSERT INTO yquota_internal.running_class (class_id, shape, factors)
		VALUES (found_id, class_shape, class_factors);
	END IF;
	RETURN found_id;
END
$$;
COMMENT ON FUNCTION yquota_internal.running_class_number(yquota.resource, text[]) IS
	'Number of a rate class in the running totals, given now if it has none';
REVOKE ALL ON FUNCTION yquota_internal.running_class_number(yquota.resource, text[]) FROM PUBLIC;

--
-- The running totals.  They count from the last full hour in which anything
-- was settled: a change of prices rarely reaches further back, and who reads a
-- balance needs no older prices.
--
CREATE FUNCTION yquota_internal.make_running_totals(full_hour timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	reference timestamptz := COALESCE(
		(SELECT max(class.reference_at) FROM yquota_internal.rate_class_counter AS class
		 WHERE class.reference_at <= full_hour), full_hour);
BEGIN
	INSERT INTO yquota_internal.running_reference AS r (reference_at, pricing_version, classes)
	SELECT reference, COALESCE(max(version), 0), 0 FROM yquota.pricing_change
	ON CONFLICT (only_row) DO UPDATE
		SET reference_at = EXCLUDED.reference_at, pricing_version = EXCLUDED.pricing_version;
	DELETE FROM yquota_internal.running_total;
	DELETE FROM yquota_internal.running_class;
	WITH number AS MATERIALIZED (
		SELECT class.shape, class.factors,
			   yquota_internal.running_class_number(class.shape, class.factors) AS class_id
		FROM (SELECT DISTINCT shape, factors FROM yquota_internal.rate_class_counter) AS class
	)
	INSERT INTO yquota_internal.running_total (project, weights)
	SELECT class.project, yquota_internal.pack_weights(number.class_id, class.weight)
	FROM yquota_internal.rate_class_counter AS class
	JOIN number ON number.shape OPERATOR(yquota.=) class.shape
		AND number.factors IS NOT DISTINCT FROM class.factors
	GROUP BY class.project;
	UPDATE yquota_internal.project_counter SET accrual_base = 0 WHERE accrual_base <> 0;
	INSERT INTO yquota_internal.project_counter AS counter (project, charged, accrual_base)
	SELECT class.project, 0,
		   trim_scale(sum(class.accrual_base)
					  - yquota_internal.accrued_sum(class.shape, class.factors, class.weight, NULL,
													class.reference_at, reference))
	FROM yquota_internal.rate_class_counter AS class
	GROUP BY class.project
	ON CONFLICT (project) DO UPDATE SET accrual_base = EXCLUDED.accrual_base;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_running_totals(timestamptz) IS
	'Make the running totals anew from rate_class_counter';
REVOKE ALL ON FUNCTION yquota_internal.make_running_totals(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.fold_counters() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	folded bigint;
	reference timestamptz;
	full_hour timestamptz := date_trunc('hour', yquota.statement_clock(), 'UTC');
BEGIN
	-- A change of prices that is not visible here would be missed below, after
	-- it has missed what was settled since: folding waits for the next time.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RETURN 0;
	END IF;
	BEGIN
		LOCK TABLE yquota.pricing_change IN SHARE MODE NOWAIT;
	EXCEPTION WHEN lock_not_available THEN
		RETURN 0;
	END;
	-- one at a time; neither events nor readers take this lock
	LOCK TABLE yquota_internal.project_counter IN SHARE ROW EXCLUSIVE MODE;

	-- Totals are added to as long as no price has changed since they were made
	-- and they count from the same hour; else they are made anew.
	reference := (
		SELECT r.reference_at FROM yquota_internal.running_reference AS r
		WHERE r.pricing_version = (SELECT COALESCE(max(version), 0) FROM yquota.pricing_change)
		  AND r.reference_at >= COALESCE((
			SELECT max(delta.reference_at) FROM yquota_internal.counter_delta AS delta
			WHERE delta.reference_at <= full_hour), '-infinity'));

	WITH delta AS (
		DELETE FROM yquota_internal.counter_delta RETURNING *
	), late AS (
		-- priced before a change of prices became visible that bears on it
		INSERT INTO yquota_internal.correction_due (changed_from)
		SELECT min(change.effective_from)
		FROM (SELECT pricing_version, max(priced_through) AS priced_through
			  FROM delta WHERE priced_through IS NOT NULL
			  GROUP BY pricing_version) AS priced
		JOIN yquota.pricing_change AS change
			ON change.version > priced.pricing_version
			AND change.effective_from <= priced.priced_through
		HAVING count(*) > 0
	), class AS (
		SELECT delta.project, delta.shape, delta.factors, delta.reference_at,
			   sum(delta.weight) AS weight, sum(delta.accrual_base) AS accrual_base
		FROM delta
		WHERE delta.scope IN ('a', 'r') AND delta.weight IS NOT NULL
		GROUP BY delta.project, delta.shape, delta.factors, delta.reference_at
		HAVING sum(delta.weight) <> 0 OR sum(delta.accrual_base) <> 0
	), rate_class AS (
		INSERT INTO yquota_internal.rate_class_counter AS counter
			(project, shape, factors, reference_at, weight, accrual_base)
		SELECT class.project, class.shape, class.factors, class.reference_at,
			   class.weight, class.accrual_base
		FROM class
		ON CONFLICT (project, shape, factors, reference_at) DO UPDATE
			SET weight = counter.weight + EXCLUDED.weight,
				accrual_base = trim_scale(counter.accrual_base + EXCLUDED.accrual_base)
	), number AS MATERIALIZED (
		SELECT kind.shape, kind.factors,
			   yquota_internal.running_class_number(kind.shape, kind.factors) AS class_id
		FROM (SELECT DISTINCT class.shape, class.factors FROM class) AS kind
		WHERE reference IS NOT NULL
	), running AS (
		INSERT INTO yquota_internal.running_total AS total (project, weights)
		SELECT class.project, yquota_internal.pack_weights(number.class_id, class.weight)
		FROM class
		JOIN number ON number.shape OPERATOR(yquota.=) class.shape
			AND number.factors IS NOT DISTINCT FROM class.factors
		GROUP BY class.project
		ON CONFLICT (project) DO UPDATE
			SET weights = yquota_internal.merge_weights(total.weights, EXCLUDED.weights)
	), project AS (
		INSERT INTO yquota_internal.project_counter AS counter (project, charged, accrual_base)
		SELECT part.project, sum(part.charged), trim_scale(sum(part.accrual_base))
		FROM (SELECT delta.project, delta.charged, 0 AS accrual_base
			  FROM delta
			  WHERE delta.scope IN ('a', 'p') AND delta.charged IS NOT NULL
			  UNION ALL
			  SELECT class.project, 0,
					 sum(class.accrual_base)
					 - yquota_internal.accrued_sum(class.shape, class.factors, class.weight, NULL,
												   class.reference_at, reference)
			  FROM class
			  WHERE reference IS NOT NULL
			  GROUP BY class.project) AS part
		GROUP BY part.project
		ON CONFLICT (project) DO UPDATE
			SET charged = trim_scale(counter.charged + EXCLUDED.charged),
				accrual_base = trim_scale(counter.accrual_base + EXCLUDED.accrual_base)
	), usage AS (
		INSERT INTO yquota_internal.usage_counter AS counter
			(queue, label, username, execution_type, allocation, containers)
		SELECT delta.queue, delta.label, delta.username, delta.execution_type,
			   yquota.sum(delta.allocation), sum(delta.containers)
		FROM delta
		WHERE delta.scope IN ('a', 'u')
		GROUP BY delta.queue, delta.label, delta.username, delta.execution_type
		ON CONFLICT (queue, label, username, execution_type) DO UPDATE
			SET allocation = counter.allocation OPERATOR(yquota.+) EXCLUDED.allocation,
				containers = counter.containers + EXCLUDED.containers
	), node AS (
		INSERT INTO yquota_internal.node_counter AS counter
			(node, execution_type, allocation, containers)
		SELECT delta.node, delta.execution_type,
			   yquota.sum(delta.allocation), sum(delta.containers)
		FROM delta
		WHERE delta.scope IN ('a', 'n') AND delta.node IS NOT NULL
		GROUP BY delta.node, delta.execution_type
		ON CONFLICT (node, execution_type) DO UPDATE
			SET allocation = counter.allocation OPERATOR(yquota.+) EXCLUDED.allocation,
				containers = counter.containers + EXCLUDED.containers
	), feed AS (
		INSERT INTO yquota_internal.feed_counter AS counter
			(source, events, last_event_at, last_recorded_at)
		SELECT delta.source, sum(delta.events), max(delta.last_event_at), max(delta.recorded_at)
		FROM delta
		WHERE delta.scope IN ('a', 'f') AND delta.events IS NOT NULL
		GROUP BY delta.source
		ON CONFLICT (source) DO UPDATE
			SET events = counter.events + EXCLUDED.events,
				last_event_at = greatest(counter.last_event_at, EXCLUDED.last_event_at),
				last_recorded_at = greatest(counter.last_recorded_at, EXCLUDED.last_recorded_at)
	)
	SELECT count(*) INTO folded FROM delta;

	DELETE FROM yquota_internal.rate_class_counter WHERE weight = 0 AND accrual_base = 0;
	DELETE FROM yquota_internal.running_total WHERE weights = '';
	DELETE FROM yquota_internal.usage_counter WHERE containers = 0 AND allocation OPERATOR(yquota.=) '[]';
	DELETE FROM yquota_internal.node_counter WHERE containers = 0 AND allocation OPERATOR(yquota.=) '[]';
	DELETE FROM yquota_internal.charged_through
	WHERE at < (SELECT max(at) FROM yquota_internal.charged_through);
	IF reference IS NULL THEN
		PERFORM yquota_internal.make_running_totals(full_hour);
	END IF;
	RETURN folded;
END
$$;
COMMENT ON FUNCTION yquota_internal.fold_counters() IS
	'Add the appended deltas up into the counters; returns how many there were.  Does nothing while a change of prices is open, or in a transaction whose snapshot could miss one.  The worker calls it';
REVOKE ALL ON FUNCTION yquota_internal.fold_counters() FROM PUBLIC;

CREATE FUNCTION yquota_internal.correct_late_prices() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	since timestamptz;
BEGIN
	WITH due AS (
		DELETE FROM yquota_internal.correction_due RETURNING changed_from
	)
	SELECT min(changed_from) INTO since FROM due;
	IF since IS NULL THEN
		RETURN 0;
	END IF;
	RETURN yquota_internal.correct_prices_since(since);
END
$$;
COMMENT ON FUNCTION yquota_internal.correct_late_prices() IS
	'Correct what was settled before a change of prices became visible; returns how many containers were corrected.  The worker calls it';
REVOKE ALL ON FUNCTION yquota_internal.correct_late_prices() FROM PUBLIC;

CREATE FUNCTION yquota.quota_compute() RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	INSERT INTO yquota.container_event (event, source) VALUES ('QUOTA_COMPUTE', 'quota_compute');
	PERFORM yquota_internal.fold_counters();
	PERFORM yquota_internal.correct_late_prices();
	RETURN (SELECT max(at) FROM yquota_internal.charged_through);
END
$$;
COMMENT ON FUNCTION yquota.quota_compute() IS
	'Does what the worker does at each compute interval: advances the charged-through mark to the clock, folds counters, corrects late prices; returns the mark';
REVOKE ALL ON FUNCTION yquota.quota_compute() FROM PUBLIC;

CREATE VIEW yquota.charged_through AS
	SELECT max(at) AS at FROM yquota_internal.charged_through;
COMMENT ON VIEW yquota.charged_through IS
	'The charged-through mark: the latest QUOTA_COMPUTE; what running containers cost until then has been shown';

--
-- Projects stay while the books name them.  Counters are looked at rather than
-- the ledger: they have a row for every project that was ever charged.
--

CREATE FUNCTION yquota_internal.keep_project() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF TG_OP = 'UPDATE' AND NEW.name = OLD.name THEN
		RETURN NEW;
	END IF;
	IF EXISTS (SELECT FROM yquota.container WHERE project = OLD.name)
		OR EXISTS (SELECT FROM yquota_internal.project_counter WHERE project = OLD.name)
		OR EXISTS (SELECT FROM yquota_internal.counter_delta WHERE project = OLD.name)
	THEN
		RAISE EXCEPTION 'cannot % project "%" because its containers are in the books',
				CASE TG_OP WHEN 'UPDATE' THEN 'rename' ELSE 'delete' END, OLD.name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Set on_exhausted to stop new work of the project.';
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_project() IS
	'A project that containers were charged to keeps its name and stays';
REVOKE ALL ON FUNCTION yquota_internal.keep_project() FROM PUBLIC;

CREATE TRIGGER keep BEFORE UPDATE OF name OR DELETE ON yquota.project
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_project();

--
-- Sessions remember which projects exist, the labels of nodes, and that no
-- event waits for its START (src/charging/directory.h)
--
CREATE FUNCTION yquota_internal.signal_change() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_signal_change';
COMMENT ON FUNCTION yquota_internal.signal_change() IS
	'Have all sessions forget what they remember of the table';
REVOKE ALL ON FUNCTION yquota_internal.signal_change() FROM PUBLIC;

CREATE TRIGGER signal_change AFTER INSERT OR UPDATE OF name OR DELETE ON yquota.project
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_truncate AFTER TRUNCATE ON yquota.project
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_change AFTER INSERT OR DELETE ON yquota.node
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_update AFTER UPDATE ON yquota.node
	FOR EACH ROW WHEN (OLD.name <> NEW.name OR OLD.label <> NEW.label)
	EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_truncate AFTER TRUNCATE ON yquota.node
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();
-- going counts as well: a look after it must be forgotten when it is rolled back
CREATE TRIGGER signal_removal AFTER UPDATE OR DELETE ON yquota.event_reject
	FOR EACH ROW WHEN (OLD.waiting) EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_change AFTER INSERT OR UPDATE ON yquota.event_reject
	FOR EACH ROW WHEN (NEW.waiting) EXECUTE FUNCTION yquota_internal.signal_change();
--
-- Reports: balances, costs, usage.  Views with the rights of their owner, so
-- that GRANT SELECT on a view is all a reader needs.  Everything "live" is
-- live at yquota.statement_clock() and exact: accrued is computed from the
-- timelines, never stored (DESIGN 3).
--
-- Counters are read as folded table plus the deltas not yet folded; "scope"
-- says which deltas count (see yquota_internal.counter_delta).
--

--
-- Days of the bill
--

CREATE FUNCTION yquota_internal.billing_timezone() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN coalesce(nullif(current_setting('yquota.billing_timezone', true), ''), 'UTC');
COMMENT ON FUNCTION yquota_internal.billing_timezone() IS
	'yquota.billing_timezone, also in sessions that have not loaded the library yet';

CREATE FUNCTION yquota_internal.billing_day(at timestamptz, timezone text) RETURNS date
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN (at AT TIME ZONE timezone)::date;
COMMENT ON FUNCTION yquota_internal.billing_day(timestamptz, text) IS
	'Date that an instant falls on in a time zone';

-- Where clocks go back over midnight, midnight happens twice; the server takes
-- the second one.
CREATE FUNCTION yquota_internal.billing_day_start(day date, timezone text) RETURNS timestamptz
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN CASE
		WHEN ((day::timestamp AT TIME ZONE timezone) - interval '1 hour') AT TIME ZONE timezone >= day::timestamp
		THEN (day::timestamp AT TIME ZONE timezone) - interval '1 hour'
		ELSE day::timestamp AT TIME ZONE timezone
	END;
COMMENT ON FUNCTION yquota_internal.billing_day_start(date, text) IS
	'First instant of a date in a time zone';

--
-- Balances
--

CREATE VIEW yquota_internal.rate_class AS
	SELECT part.project, part.shape, part.factors, part.reference_at,
		   sum(part.weight) AS weight,
		   sum(part.accrual_base) AS accrual_base
	FROM (
		SELECT counter.project, counter.shape, counter.factors, counter.reference_at,
			   counter.weight, counter.accrual_base
		FROM yquota_internal.rate_class_counter counter
		UNION ALL
		SELECT delta.project, delta.shape, delta.factors, delta.reference_at,
			   delta.weight, delta.accrual_base
		FROM yquota_internal.counter_delta delta
		WHERE delta.scope IN ('a', 'r')
	) part
	GROUP BY part.project, part.shape, part.factors, part.reference_at
	HAVING sum(part.weight) <> 0 OR sum(part.accrual_base) <> 0;
COMMENT ON VIEW yquota_internal.rate_class IS
	'Running containers per project, rate class and hour';

CREATE VIEW yquota_internal.balance_part AS
	SELECT counter.project, counter.charged,
		   CASE WHEN reference.reference_at IS NOT NULL THEN counter.accrual_base END AS accrual_base,
		   NULL::yquota.resource AS shape, NULL::text[] COLLATE "C" AS factors,
		   NULL::numeric AS weight,
		   CASE WHEN reference.reference_at IS NOT NULL THEN total.weights END AS weights,
		   reference.reference_at
	FROM yquota_internal.project_counter counter
	LEFT JOIN yquota_internal.running_total total ON total.project = counter.project
	LEFT JOIN yquota_internal.valid_reference reference ON true
	UNION ALL
	SELECT class.project, NULL, class.accrual_base, class.shape, class.factors, class.weight, NULL,
		   class.reference_at
	FROM yquota_internal.rate_class_counter class
	WHERE (SELECT reference_at FROM yquota_internal.valid_reference) IS NULL
	UNION ALL
	SELECT delta.project, delta.charged, delta.accrual_base, delta.shape, delta.factors, delta.weight,
		   NULL, delta.reference_at
	FROM yquota_internal.counter_delta delta
	WHERE delta.scope IN ('a', 'p', 'r') AND delta.project IS NOT NULL;
COMMENT ON VIEW yquota_internal.balance_part IS
	'What project_balance adds up: what was charged, and what running containers cost from reference_at on, less accrual_base';

CREATE FUNCTION yquota_internal.used_up_at(now timestamptz, credits numeric, rate numeric)
	RETURNS timestamptz
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN CASE
		WHEN credits <= 0 THEN now
		WHEN rate <= 0 THEN NULL
		WHEN credits >= rate * (extract(epoch FROM timestamptz '294276-12-31 23:59:59+00')
								- extract(epoch FROM now)) THEN NULL
		ELSE now + concat(div(credits * 1000000, rate)
						  + CASE WHEN mod(credits * 1000000, rate) = 0 THEN 0 ELSE 1 END,
						  ' microseconds')::interval
	END;
COMMENT ON FUNCTION yquota_internal.used_up_at(timestamptz, numeric, numeric) IS
	'First microsecond at which credits are used up at a rate in credits per second; NULL when that is never, or after the last timestamp there is';

-- Grouped and joined rather than looked up per project: counters are read once
-- whether one project is asked for or all, and the project asked for is pushed
-- down into each part.
CREATE VIEW yquota.project_balance AS
	SELECT project.name AS project,
		   project.quota_mode,
		   project.on_exhausted,
		   balance.granted,
		   balance.charged,
		   balance.accrued,
		   0::numeric AS held,
		   trim_scale(balance.granted - balance.charged - balance.accrued) AS remaining,
		   balance.burn_rate,
		   CASE WHEN project.quota_mode <> 'NOLIMIT' THEN
			   yquota_internal.used_up_at(yquota.statement_clock(),
										  balance.granted - balance.charged - balance.accrued,
										  balance.burn_rate)
		   END AS exhausted_at
	FROM yquota.project project
	LEFT JOIN (
		SELECT quota_grant.project, sum(quota_grant.amount) AS granted
		FROM yquota.quota_grant quota_grant
		WHERE quota_grant.valid_from <= yquota.statement_clock()
		  AND yquota.statement_clock() < quota_grant.expires_at
		GROUP BY quota_grant.project
	) grants ON grants.project = project.name
	LEFT JOIN (
		SELECT part.project,
			   sum(part.charged) AS charged,
			   sum(part.accrual_base) AS accrual_base,
			   yquota_internal.accrued_sum(part.shape, part.factors, part.weight, part.weights,
										   part.reference_at, yquota.statement_clock()) AS accrued,
			   yquota_internal.rate_sum(part.shape, part.factors, part.weight, part.weights,
										part.reference_at, yquota.statement_clock()) AS burn_rate
		FROM yquota_internal.balance_part part
		GROUP BY part.project
	) books ON books.project = project.name
	CROSS JOIN LATERAL (
		SELECT coalesce(grants.granted, 0) AS granted,
			   trim_scale(coalesce(books.charged, 0)) AS charged,
			   trim_scale(coalesce(books.accrued, 0) - coalesce(books.accrual_base, 0)) AS accrued,
			   trim_scale(coalesce(books.burn_rate, 0)) AS burn_rate
		-- computed once, however often they are used above
		OFFSET 0
	) balance;
COMMENT ON VIEW yquota.project_balance IS
	'What every project has, owes and spends, live and exact at the clock; NOLIMIT projects are charged alike';
COMMENT ON COLUMN yquota.project_balance.granted IS 'credits of the grants that are valid now (quota_grant)';
COMMENT ON COLUMN yquota.project_balance.charged IS 'credits posted to the ledger (charge)';
COMMENT ON COLUMN yquota.project_balance.accrued IS
	'credits that running containers owe since their last settlement; below zero while an event carries a time that the clock has not reached';
COMMENT ON COLUMN yquota.project_balance.held IS
	'credits held for work admitted but not yet charged; always 0 in this version, which has no holds';
COMMENT ON COLUMN yquota.project_balance.remaining IS
	'credits: granted - charged - accrued - held; may be negative';
COMMENT ON COLUMN yquota.project_balance.burn_rate IS
	'credits per second that running containers cost at this instant; 0 during an outage that nobody pays for';
COMMENT ON COLUMN yquota.project_balance.exhausted_at IS
	'first microsecond at which nothing remains if burn_rate stays as it is; the clock when nothing remains already, NULL when that instant never comes and for NOLIMIT projects';

CREATE VIEW yquota.exhausted_work AS
	SELECT balance.project,
		   balance.on_exhausted,
		   balance.on_exhausted::text AS action,
		   balance.remaining,
		   container.application_id,
		   container.container_id,
		   container.username,
		   container.queue,
		   container.node,
		   container.execution_type,
		   container.allocation,
		   container.started_at
	FROM yquota.project_balance balance
	JOIN yquota.container container ON container.project = balance.project
	WHERE balance.quota_mode = 'PREPAID'
	  AND balance.on_exhausted IN ('drain', 'stop')
	  AND balance.remaining <= 0;
COMMENT ON VIEW yquota.exhausted_work IS
	'Running containers of PREPAID projects without credit whose on_exhausted is drain or stop; charging goes on until their FINISH arrives';
COMMENT ON COLUMN yquota.exhausted_work.action IS
	'stop: kill the container; drain: let it end by itself and start no other of its project';
COMMENT ON COLUMN yquota.exhausted_work.remaining IS 'credits of the project: zero or less';
COMMENT ON COLUMN yquota.exhausted_work.allocation IS 'native units';

--
-- Costs
--

CREATE VIEW yquota.container_cost AS
	SELECT container.container_id,
		   container.project,
		   container.application_id,
		   container.username,
		   container.queue,
		   container.node,
		   container.execution_type,
		   container.allocation,
		   container.started_at,
		   NULL::timestamptz AS finished_at,
		   NULL::integer AS exit_status,
		   live.charged,
		   live.accrued,
		   trim_scale(live.charged + live.accrued) AS cost
	FROM yquota.container container
	CROSS JOIN LATERAL (
		SELECT CASE WHEN container.charges = 0 THEN 0 ELSE (
			SELECT trim_scale(coalesce(sum(charge.amount), 0))
			FROM yquota.charge charge
			WHERE charge.container_id = container.container_id
		) END AS charged,
		yquota_internal.accrued(container.allocation, container.factors,
								container.settled_at, yquota.statement_clock()) AS accrued
		-- computed once, though used twice
		OFFSET 0
	) live
	UNION ALL
	SELECT finished.container_id,
		   finished.project,
		   finished.application_id,
		   finished.username,
		   (finished.last_segment).queue,
		   (finished.last_segment).node,
		   (finished.last_segment).execution_type,
		   (finished.last_segment).allocation,
		   finished.started_at,
		   (finished.last_segment)."to",
		   (finished.last_segment).exit_status,
		   finished.charged,
		   0::numeric,
		   finished.charged
	FROM (
		SELECT charge.container_id, charge.project, charge.application_id, charge.username,
			   charge.started_at,
			   trim_scale(sum(charge.amount)) AS charged,
			   (array_agg(charge ORDER BY charge.number DESC)
				FILTER (WHERE charge.settled_by = 'CONTAINER_FINISH'
						  AND charge.corrects IS NULL))[1] AS last_segment
		FROM yquota.charge charge
		WHERE NOT EXISTS (
			SELECT FROM yquota.container container
			WHERE container.container_id = charge.container_id
		)
		GROUP BY charge.container_id, charge.project, charge.application_id, charge.username,
				 charge.started_at
	) finished;
COMMENT ON VIEW yquota.container_cost IS
	'What every container cost, running ones up to the clock; queue, node, execution type and allocation are the last ones.  Ask with a container_id or an application_id: other conditions read the whole ledger';
COMMENT ON COLUMN yquota.container_cost.allocation IS 'native units';
COMMENT ON COLUMN yquota.container_cost.started_at IS 'creation of the container';
COMMENT ON COLUMN yquota.container_cost.finished_at IS 'NULL while the container runs';
COMMENT ON COLUMN yquota.container_cost.exit_status IS 'YARN''s container exit status; NULL while running and when the feed did not tell';
COMMENT ON COLUMN yquota.container_cost.charged IS 'credits posted to the ledger (charge)';
COMMENT ON COLUMN yquota.container_cost.accrued IS 'credits since the last settlement up to the clock; 0 when finished';
COMMENT ON COLUMN yquota.container_cost.cost IS 'credits: charged + accrued';

CREATE VIEW yquota_internal.settled_segment AS
	SELECT charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation,
		   charge."from", charge."to", charge.corrects, charge.amount
	FROM yquota.charge charge;
COMMENT ON VIEW yquota_internal.settled_segment IS
	'Rows of the ledger: what settled_cost() computes a part of.  A padding row has "from" = "to"';

CREATE VIEW yquota_internal.running_segment AS
	SELECT container.container_id, container.project, container.application_id,
		   container.username, container.queue, container.node, container.execution_type,
		   container.allocation, container.factors, container.settled_at AS "from",
		   yquota.statement_clock() AS "to"
	FROM yquota.container container
	WHERE container.settled_at < yquota.statement_clock();
COMMENT ON VIEW yquota_internal.running_segment IS
	'What running containers owe up to the clock: what running_cost() computes a part of';

-- A row that takes another back is valued at today's timelines, like the row
-- it takes back: the two cancel in every window.
CREATE FUNCTION yquota_internal.settled_cost(segment yquota_internal.settled_segment,
											 from_at timestamptz, to_at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE WHEN (segment).corrects IS NULL THEN 1 ELSE -1 END
		* yquota_internal.accrued((segment).allocation,
			yquota_internal.factor_names((segment).project, (segment).application_id,
				(segment).username, (segment).queue, (segment).execution_type),
			greatest((segment)."from", from_at), least((segment)."to", to_at));
COMMENT ON FUNCTION yquota_internal.settled_cost(yquota_internal.settled_segment, timestamptz, timestamptz) IS
	'Credits of the part of a settled segment that lies in a window';

CREATE FUNCTION yquota_internal.running_cost(segment yquota_internal.running_segment,
											 from_at timestamptz, to_at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN yquota_internal.accrued((segment).allocation, (segment).factors,
		greatest((segment)."from", from_at), least((segment)."to", to_at));
COMMENT ON FUNCTION yquota_internal.running_cost(yquota_internal.running_segment, timestamptz, timestamptz) IS
	'Credits of the part of what a running container owes that lies in a window';

CREATE FUNCTION yquota.cost_between("from" timestamptz, "to" timestamptz,
									by text[] DEFAULT '{project}')
	RETURNS TABLE (project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- compiling takes longer than what is compiled
	SET jit = off
AS $$
DECLARE
	known CONSTANT text[] := '{project,username,queue,application_id,execution_type,node,container_id}';
	unknown text;
	keys text;
BEGIN
	IF "from" IS NULL OR "to" IS NULL OR by IS NULL THEN
		RAISE EXCEPTION 'arguments of cost_between must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				  HINT = 'Use ''-infinity'' and ''infinity'' for a window without ends, ''{}'' for one total.';
	END IF;
	IF "from" > "to" THEN
		RAISE EXCEPTION 'window ends before it begins'
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = format('It goes from %s to %s.', "from", "to");
	END IF;
	SELECT name INTO unknown
	FROM unnest(by) name
	WHERE name IS NULL OR name <> ALL (known)
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'cannot group costs by %', coalesce(quote_ident(unknown), 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				  HINT = format('Group by any of %s.', array_to_string(known, ', '));
	END IF;
	IF "from" < yquota_internal.archive_horizon() THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', yquota_internal.archive_horizon()
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = 'Charges that ended before it have left the database.',
				  HINT = 'Begin at the horizon or later, and ask the archive for what lies before.';
	END IF;

	-- Rows that lie inside are added up as they are; only what crosses an end of
	-- the window, or still runs, is computed.  Two branches for the two ends:
	-- the index on times finds each of them.
	SELECT string_agg(quote_ident(name), ', ')
	INTO keys
	FROM unnest(known) name
	WHERE name = ANY (by);
	RETURN QUERY EXECUTE format($query$
		SELECT %1$s, trim_scale(sum(piece.amount))
		FROM (
			SELECT %2$s sum(segment.amount) AS amount
			FROM yquota_internal.settled_segment segment
			WHERE "from" >= $1 AND "from" < $2 AND "to" <= $2
			%3$s HAVING count(*) > 0
			UNION ALL
			SELECT %2$s sum(yquota_internal.settled_cost(segment, $1, $2))
			FROM yquota_internal.settled_segment segment
			WHERE "from" < $1 AND "to" > $1
			%3$s HAVING count(*) > 0
			UNION ALL
			SELECT %2$s sum(yquota_internal.settled_cost(segment, $1, $2))
			FROM yquota_internal.settled_segment segment
			WHERE "from" >= $1 AND "from" < $2 AND "to" > $2
			%3$s HAVING count(*) > 0
			UNION ALL
			SELECT %2$s sum(yquota_internal.running_cost(segment, $1, $2))
			FROM yquota_internal.running_segment segment
			WHERE "from" < $2 AND "to" > $1
			%3$s HAVING count(*) > 0
		) piece
		%3$s HAVING count(*) > 0
		$query$,
		(SELECT string_agg(CASE WHEN name = ANY (by) THEN 'piece.' || quote_ident(name)
								WHEN name = 'execution_type' THEN 'NULL::yquota.execution_type'
								ELSE 'NULL::text' END, ', ' ORDER BY number)
		 FROM unnest(known) WITH ORDINALITY AS column_of_result (name, number)),
		keys || ', ', 'GROUP BY ' || keys)
	USING "from", "to";
END;
$$;
COMMENT ON FUNCTION yquota.cost_between(timestamptz, timestamptz, text[]) IS
	'Credits for what ran in a window, its start included and its end not, running containers up to the clock; exact for any window that does not begin before the archive horizon.  "by" lists the columns to group by, the others are NULL.  Padding up to the minimum run time counts at the finish';
REVOKE ALL ON FUNCTION yquota.cost_between(timestamptz, timestamptz, text[]) FROM PUBLIC;

CREATE VIEW yquota_internal.billed_day AS
	SELECT day.day, ends.starts_at, ends.ends_at
	FROM (SELECT yquota_internal.billing_timezone() AS name) zone
	CROSS JOIN (SELECT min("from") AS first, max("to") AS last FROM yquota.charge) ledger
	CROSS JOIN LATERAL (
		SELECT yquota_internal.billing_day(ledger.first, zone.name) + number AS day
		FROM generate_series(0, yquota_internal.billing_day(ledger.last, zone.name)
								- yquota_internal.billing_day(ledger.first, zone.name)) number
	) day
	CROSS JOIN LATERAL (
		SELECT yquota_internal.billing_day_start(day.day, zone.name) AS starts_at,
			   yquota_internal.billing_day_start(day.day + 1, zone.name) AS ends_at
		-- once per day, not per row that is compared with them
		OFFSET 0
	) ends;
COMMENT ON VIEW yquota_internal.billed_day IS
	'Every date from the first to the last charge, with its ends in yquota.billing_timezone';

-- Day by day, so that a date asked for finds its rows by their times.  What lies
-- within a day is added up as it is; what crosses midnight is computed.
CREATE VIEW yquota.daily_cost AS
	SELECT piece.day, piece.project, piece.username, piece.queue,
		   piece.application_id, piece.execution_type,
		   trim_scale(sum(piece.amount)) AS amount
	FROM (
		SELECT billed.day, segment.project, segment.username, segment.queue,
			   segment.application_id, segment.execution_type,
			   CASE WHEN segment."from" >= billed.starts_at AND segment."to" <= billed.ends_at
					THEN segment.amount
					ELSE yquota_internal.settled_cost(segment, billed.starts_at, billed.ends_at)
			   END AS amount
		FROM yquota_internal.billed_day billed
		JOIN yquota_internal.settled_segment segment
			ON segment."from" < billed.ends_at
			AND segment."to" >= billed.starts_at
			AND (segment."to" > billed.starts_at OR segment."from" = segment."to")
		UNION ALL
		SELECT days.first + later, segment.project, segment.username, segment.queue,
			   segment.application_id, segment.execution_type,
			   yquota_internal.running_cost(segment,
				   yquota_internal.billing_day_start(days.first + later, zone.name),
				   yquota_internal.billing_day_start(days.first + later + 1, zone.name))
		FROM yquota_internal.running_segment segment
		CROSS JOIN (SELECT yquota_internal.billing_timezone() AS name) zone
		CROSS JOIN LATERAL (
			SELECT yquota_internal.billing_day(segment."from", zone.name) AS first,
				   yquota_internal.billing_day(
					   greatest(segment."from", segment."to" - interval '1 microsecond'), zone.name) AS last
		) days
		CROSS JOIN LATERAL generate_series(0, days.last - days.first) later
	) piece
	-- of days before, part has been archived
	WHERE piece.day >= (
		SELECT coalesce(yquota_internal.billing_day(max(stretch.horizon) - interval '1 microsecond',
													yquota_internal.billing_timezone()) + 1, '-infinity')
		FROM yquota.history_stretch stretch)
	GROUP BY piece.day, piece.project, piece.username, piece.queue,
			 piece.application_id, piece.execution_type;
COMMENT ON VIEW yquota.daily_cost IS
	'Costs per day of yquota.billing_timezone, split exactly at its midnights, running containers up to the clock, from the first day after the archive horizon on.  Ask with a day: otherwise it reads the whole ledger.  cost_between() answers for one day faster';
COMMENT ON COLUMN yquota.daily_cost.day IS 'date in yquota.billing_timezone; 23 or 25 hours long when clocks change';
COMMENT ON COLUMN yquota.daily_cost.amount IS 'credits';

--
-- Usage: what running containers hold
--

CREATE VIEW yquota.queue_usage AS
	SELECT part.queue, part.label, part.username, part.execution_type,
		   sum(part.containers)::bigint AS containers,
		   yquota.sum(part.allocation) AS allocation
	FROM (
		SELECT counter.queue, counter.label, counter.username, counter.execution_type,
			   counter.containers, counter.allocation
		FROM yquota_internal.usage_counter counter
		UNION ALL
		SELECT delta.queue, delta.label, delta.username, delta.execution_type,
			   delta.containers, delta.allocation
		FROM yquota_internal.counter_delta delta
		WHERE delta.scope IN ('a', 'u')
	) part
	GROUP BY part.queue, part.label, part.username, part.execution_type
	HAVING sum(part.containers) <> 0;
COMMENT ON VIEW yquota.queue_usage IS
	'What running containers hold, per queue, node label, user and execution type';
COMMENT ON COLUMN yquota.queue_usage.label IS 'partition of the nodes; empty for the default one';
COMMENT ON COLUMN yquota.queue_usage.containers IS 'running containers';
COMMENT ON COLUMN yquota.queue_usage.allocation IS 'sum of their allocations, native units';

CREATE VIEW yquota.node_usage AS
	SELECT coalesce(node.name, held.node) AS node,
		   node.rack,
		   node.label,
		   node.state,
		   node.total,
		   coalesce(held.guaranteed, '[]') AS guaranteed,
		   coalesce(held.opportunistic, '[]') AS opportunistic,
		   node.total OPERATOR(yquota.-) coalesce(held.allocation, '[]') AS available,
		   coalesce(held.containers, 0) AS containers
	FROM yquota.node node
	FULL JOIN (
		SELECT part.node,
			   sum(part.containers)::bigint AS containers,
			   yquota.sum(part.allocation) AS allocation,
			   yquota.sum(part.allocation) FILTER (WHERE part.execution_type = 'GUARANTEED') AS guaranteed,
			   yquota.sum(part.allocation) FILTER (WHERE part.execution_type = 'OPPORTUNISTIC') AS opportunistic
		FROM (
			SELECT counter.node, counter.execution_type, counter.containers, counter.allocation
			FROM yquota_internal.node_counter counter
			UNION ALL
			SELECT delta.node, delta.execution_type, delta.containers, delta.allocation
			FROM yquota_internal.counter_delta delta
			WHERE delta.scope IN ('a', 'n') AND delta.node IS NOT NULL
		) part
		GROUP BY part.node
		HAVING sum(part.containers) <> 0
	) held ON held.node = node.name;
COMMENT ON VIEW yquota.node_usage IS
	'What nodes offer and what running containers hold of it; a node that only containers name has no total';
COMMENT ON COLUMN yquota.node_usage.total IS 'what the node offers, native units; NULL for a node that is not in yquota.node';
COMMENT ON COLUMN yquota.node_usage.guaranteed IS 'held by GUARANTEED containers, native units';
COMMENT ON COLUMN yquota.node_usage.opportunistic IS 'held by OPPORTUNISTIC containers, native units';
COMMENT ON COLUMN yquota.node_usage.available IS 'total less what all containers hold, native units; negative amounts where they hold more';
COMMENT ON COLUMN yquota.node_usage.containers IS 'running containers';

CREATE VIEW yquota.project_usage AS
	SELECT class.project,
		   yquota.sum(class.shape OPERATOR(yquota.*) class.weight::bigint) AS allocation
	FROM yquota_internal.rate_class class
	GROUP BY class.project;
COMMENT ON VIEW yquota.project_usage IS
	'What running containers hold, per project; no row for projects that hold nothing';
COMMENT ON COLUMN yquota.project_usage.allocation IS 'sum of the allocations, native units';
--
-- The feed side: how far feeds are, what they set aside, and how the books
-- are brought in line with what the resource manager says is running.
--
-- Nothing here writes containers or charges: corrections are events, inserted
-- in yquota.container_event like anybody's.  Errors of the door are its own.
--

CREATE VIEW yquota.feed_status AS
	SELECT part.source,
		   sum(part.events)::bigint AS events,
		   max(part.last_event_at) AS last_event_at,
		   max(part.last_recorded_at) AS last_recorded_at,
		   yquota.statement_clock() - max(part.last_event_at) AS lag,
		   sum(part.waiting)::bigint AS waiting,
		   sum(part.rejected)::bigint AS rejected
	FROM (
		SELECT counter.source, counter.events, counter.last_event_at, counter.last_recorded_at,
			   0 AS waiting, 0 AS rejected
		FROM yquota_internal.feed_counter counter
		UNION ALL
		SELECT delta.source, delta.events, delta.last_event_at, delta.recorded_at, 0, 0
		FROM yquota_internal.counter_delta delta
		WHERE delta.scope IN ('a', 'f')
		UNION ALL
		SELECT reject.source, 0, NULL, NULL,
			   count(*) FILTER (WHERE reject.waiting), count(*) FILTER (WHERE NOT reject.waiting)
		FROM yquota.event_reject reject
		GROUP BY reject.source
	) part
	GROUP BY part.source;
COMMENT ON VIEW yquota.feed_status IS
	'How far every feed is, by the source that its events name; NULL is the feed that names none';
COMMENT ON COLUMN yquota.feed_status.events IS 'rows received, repeated and set-aside ones included';
COMMENT ON COLUMN yquota.feed_status.last_event_at IS 'latest occurred_at received';
COMMENT ON COLUMN yquota.feed_status.last_recorded_at IS 'when something last arrived';
COMMENT ON COLUMN yquota.feed_status.lag IS 'from last_event_at to the clock; also grows while the cluster is quiet';
COMMENT ON COLUMN yquota.feed_status.waiting IS 'events set aside until the START of their container arrives';
COMMENT ON COLUMN yquota.feed_status.rejected IS 'events set aside for another reason: see event_reject, then retry_rejects()';

-- Ghosts are containers whose FINISH got lost.  The first container of an
-- application attempt (YARN numbers it 000001) is its master, which rightly
-- outlives all others.
CREATE VIEW yquota.suspect_container AS
	SELECT container.container_id, container.project, container.application_id,
		   container.username, container.queue, container.node, container.execution_type,
		   container.allocation, container.started_at,
		   'node is ' || node.state AS reason
	FROM yquota.container container
	JOIN yquota.node node ON node.name = container.node
	WHERE node.state IN ('DECOMMISSIONED', 'LOST', 'REBOOTED', 'SHUTDOWN')
	UNION ALL
	SELECT aged.container_id, aged.project, aged.application_id, aged.username, aged.queue,
		   aged.node, aged.execution_type, aged.allocation, aged.started_at,
		   format('runs for %s, the next oldest of its application for %s',
				  aged.now - aged.started_at, aged.now - aged.next_started_at)
	FROM (
		SELECT container.*,
			   yquota.statement_clock() AS now,
			   lead(container.started_at) OVER (
				   PARTITION BY container.application_id
				   ORDER BY container.started_at, container.container_id) AS next_started_at
		FROM yquota.container container
		WHERE container.application_id IS NOT NULL
		  AND right(container.container_id, 7) <> '_000001'
	) aged
	WHERE aged.next_started_at - aged.started_at >= interval '1 day'
	  AND aged.now - aged.started_at >= 10 * (aged.now - aged.next_started_at);
COMMENT ON VIEW yquota.suspect_container IS
	'Running containers that probably ended unheard: those on nodes that are gone, and those at least ten times and a day older than the next oldest of their application (its first container, the master, excepted).  Finish them with reconcile(), node_lost() or a CONTAINER_FINISH';
COMMENT ON COLUMN yquota.suspect_container.reason IS 'why; a container may be listed for both reasons';
COMMENT ON COLUMN yquota.suspect_container.allocation IS 'native units';

--
-- What was set aside
--

-- The log keeps what an administrator deletes or repairs here: verify() must
-- know that it was never accepted.
CREATE FUNCTION yquota_internal.note_discarded() RETURNS trigger
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		INSERT INTO yquota_internal.discarded_event
		SELECT reject_id, false, event, container_id, occurred_at, project, application_id,
			   username, queue, node, allocation, execution_type, exit_status, source, recorded_at
		FROM old_rows AS earlier
		WHERE NOT EXISTS (
			SELECT FROM new_rows AS repaired
			WHERE repaired.reject_id = earlier.reject_id
			  AND (repaired.event, repaired.container_id, repaired.occurred_at,
				   repaired.project, repaired.application_id, repaired.username,
				   repaired.queue, repaired.node, repaired.allocation::text,
				   repaired.execution_type, repaired.exit_status, repaired.source,
				   repaired.recorded_at)
				IS NOT DISTINCT FROM
				  (earlier.event, earlier.container_id, earlier.occurred_at,
				   earlier.project, earlier.application_id, earlier.username,
				   earlier.queue, earlier.node, earlier.allocation::text,
				   earlier.execution_type, earlier.exit_status, earlier.source,
				   earlier.recorded_at));
	ELSE
		INSERT INTO yquota_internal.discarded_event
		SELECT reject_id, true, event, container_id, occurred_at, project, application_id,
			   username, queue, node, allocation, execution_type, exit_status, source, recorded_at
		FROM old_rows;
	END IF;
	RETURN NULL;
END;
$$;
COMMENT ON FUNCTION yquota_internal.note_discarded() IS
	'Remember events set aside whose rows an administrator removes or changes';
REVOKE ALL ON FUNCTION yquota_internal.note_discarded() FROM PUBLIC;

CREATE TRIGGER note_update AFTER UPDATE ON yquota.event_reject
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_discarded();
CREATE TRIGGER note_delete AFTER DELETE ON yquota.event_reject
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_discarded();

CREATE FUNCTION yquota_internal.resend_rejects(reject_ids bigint[], OUT resent bigint, OUT set_aside bigint)
	LANGUAGE plpgsql VOLATILE STRICT SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'set_aside'
	-- not a dump, even in a session that has restored one (see restoring())
	SET check_function_bodies = on
AS $$
DECLARE
	taken yquota.event_reject[];
	newest bigint;
BEGIN
	-- Read before the door adds rows; other sessions' rows get larger numbers, too.
	SELECT max(reject.reject_id) INTO newest FROM yquota.event_reject reject;

	-- Two commands, because the trigger must find the rows gone.
	WITH deleted AS (
		DELETE FROM yquota.event_reject reject
		WHERE reject.reject_id = ANY (reject_ids)
		RETURNING reject
	)
	SELECT coalesce(array_agg(deleted.reject ORDER BY (deleted.reject).reject_id), '{}')
	INTO taken FROM deleted;
	-- moved, not discarded
	DELETE FROM yquota_internal.discarded_event AS discarded
	WHERE discarded.removed AND discarded.reject_id = ANY (reject_ids);

	-- With the time when they arrived: what is set aside again stands for the
	-- row that the log has from then as well.
	INSERT INTO yquota.container_event
		(event, container_id, occurred_at, project, application_id, username, queue, node,
		 allocation, execution_type, exit_status, source, recorded_at)
	SELECT reject.event, reject.container_id, reject.occurred_at, reject.project,
		   reject.application_id, reject.username, reject.queue, reject.node,
		   reject.allocation, reject.execution_type, reject.exit_status, reject.source,
		   reject.recorded_at
	FROM unnest(taken) reject;

	resent := cardinality(taken);
	SELECT least(resent, count(*)) INTO set_aside
	FROM yquota.event_reject reject
	WHERE reject.reject_id > newest
	  AND (reject.event, coalesce(reject.container_id, ''), coalesce(reject.occurred_at, '-infinity')) IN (
		SELECT old.event, coalesce(old.container_id, ''), coalesce(old.occurred_at, '-infinity')
		FROM unnest(taken) old
	  );
END;
$$;
COMMENT ON FUNCTION yquota_internal.resend_rejects(bigint[]) IS
	'Move rows of event_reject through the door again; set_aside of them came back';
REVOKE ALL ON FUNCTION yquota_internal.resend_rejects(bigint[]) FROM PUBLIC;

-- Waiting rows whose container is still unknown stay: the statement that
-- brings their START applies them.  Rows that another session is moving are
-- left to it.
CREATE FUNCTION yquota.retry_rejects(source text DEFAULT NULL, container_id text DEFAULT NULL,
									 OUT retried bigint, OUT accepted bigint, OUT set_aside bigint)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	batch_size CONSTANT integer := 10000;
	batch bigint[];
	done_through bigint := 0;
	newest bigint;
	result record;
BEGIN
	retried := 0;
	set_aside := 0;
	-- What comes back gets larger numbers and is not tried twice.
	SELECT max(reject.reject_id) INTO newest FROM yquota.event_reject reject;
	LOOP
		SELECT array_agg(candidate.reject_id), max(candidate.reject_id) INTO batch, done_through
		FROM (
			SELECT reject.reject_id
			FROM yquota.event_reject reject
			WHERE reject.reject_id > done_through AND reject.reject_id <= newest
			  AND (retry_rejects.source IS NULL OR reject.source = retry_rejects.source)
			  AND (retry_rejects.container_id IS NULL OR reject.container_id = retry_rejects.container_id)
			  AND (NOT reject.waiting
				   OR EXISTS (SELECT FROM yquota.container container
							  WHERE container.container_id = reject.container_id)
				   OR EXISTS (SELECT FROM yquota.charge charge
							  WHERE charge.container_id = reject.container_id))
			ORDER BY reject.reject_id
			LIMIT batch_size
			FOR UPDATE OF reject SKIP LOCKED
		) candidate;
		EXIT WHEN batch IS NULL;
		SELECT * INTO result FROM yquota_internal.resend_rejects(batch);
		retried := retried + result.resent;
		set_aside := set_aside + result.set_aside;
	END LOOP;
	accepted := retried - set_aside;
END;
$$;
COMMENT ON FUNCTION yquota.retry_rejects(text, text) IS
	'Send what was set aside through the door again, of one source or container or all; what is still bad is set aside again with today''s reason';
REVOKE ALL ON FUNCTION yquota.retry_rejects(text, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.apply_waiting() RETURNS bigint
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	batch_size CONSTANT integer := 10000;
	batch bigint[];
BEGIN
	SELECT array_agg(candidate.reject_id) INTO batch
	FROM (
		SELECT reject.reject_id
		FROM yquota.event_reject reject
		WHERE reject.waiting
		  AND (EXISTS (SELECT FROM yquota.container container
					   WHERE container.container_id = reject.container_id)
			   OR EXISTS (SELECT FROM yquota.charge charge
						  WHERE charge.container_id = reject.container_id))
		ORDER BY reject.reject_id
		LIMIT batch_size
		FOR UPDATE OF reject SKIP LOCKED
	) candidate;
	RETURN (SELECT moved.resent FROM yquota_internal.resend_rejects(coalesce(batch, '{}')) moved);
END;
$$;
COMMENT ON FUNCTION yquota_internal.apply_waiting() IS
	'Apply waiting events whose START is known by now, because it was recorded while they were being set aside; at most 10000 at a time, returns how many were sent';
REVOKE ALL ON FUNCTION yquota_internal.apply_waiting() FROM PUBLIC;

--
-- Reconciliation
--

CREATE FUNCTION yquota_internal.reconcile_list(running jsonb)
	RETURNS TABLE (container_id text, project text, application_id text, username text,
				   queue text, node text, allocation yquota.resource,
				   execution_type yquota.execution_type, started_at timestamptz)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET timezone = 'UTC'
AS $$
DECLARE
	keys CONSTANT text[] := '{container_id,project,application_id,username,queue,node,allocation,execution_type,started_at}';
	element jsonb;
	position bigint;
	place text;
	wrong text;
BEGIN
	IF jsonb_typeof(running) <> 'array' THEN
		RAISE EXCEPTION 'list of running containers is not a JSON array'
			USING ERRCODE = 'invalid_parameter_value',
				  HINT = 'Pass an array of objects, one per container.';
	END IF;
	FOR element, position IN
		SELECT list.value, list.ordinality FROM jsonb_array_elements(running) WITH ORDINALITY list
	LOOP
		place := format('It is element %s of the list: %s', position, left(element::text, 200));
		IF jsonb_typeof(element) <> 'object' THEN
			RAISE EXCEPTION 'element of the list of running containers is not an object'
				USING ERRCODE = 'invalid_parameter_value', DETAIL = place;
		END IF;
		SELECT member.key INTO wrong
		FROM jsonb_each(element) member
		WHERE member.key <> ALL (keys)
		LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'key "%" is not known in the list of running containers', wrong
				USING ERRCODE = 'invalid_parameter_value', DETAIL = place,
					  HINT = format('Known are %s.', array_to_string(keys, ', '));
		END IF;
		container_id := element ->> 'container_id';
		IF coalesce(container_id, '') = '' THEN
			RAISE EXCEPTION 'element of the list of running containers has no "container_id"'
				USING ERRCODE = 'null_value_not_allowed', DETAIL = place;
		END IF;
		project := element ->> 'project';
		application_id := element ->> 'application_id';
		username := element ->> 'username';
		queue := element ->> 'queue';
		node := element ->> 'node';
		BEGIN
			allocation := CASE jsonb_typeof(element -> 'allocation')
				WHEN 'object' THEN yquota.resource(element -> 'allocation')
				ELSE (element ->> 'allocation')::yquota.resource END;
			execution_type := (element ->> 'execution_type')::yquota.execution_type;
			started_at := (element ->> 'started_at')::timestamptz;
		EXCEPTION
			WHEN data_exception OR program_limit_exceeded THEN
				RAISE EXCEPTION '%', SQLERRM
					USING ERRCODE = SQLSTATE, DETAIL = place;
		END;
		RETURN NEXT;
	END LOOP;
	SELECT list.value ->> 'container_id' INTO wrong
	FROM jsonb_array_elements(running) list
	GROUP BY 1
	HAVING count(*) > 1
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'container "%" is more than once in the list of running containers', wrong
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END;
$$;
COMMENT ON FUNCTION yquota_internal.reconcile_list(jsonb) IS
	'The resource manager''s list of running containers as rows, checked; times without a zone are UTC';

CREATE FUNCTION yquota_internal.reconcile_plan(running jsonb, as_of timestamptz)
	RETURNS TABLE (action text, container_id text, project text, application_id text,
				   username text, queue text, node text, allocation yquota.resource,
				   execution_type yquota.execution_type, occurred_at timestamptz, detail text)
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH list AS MATERIALIZED (
		SELECT * FROM yquota_internal.reconcile_list(running)
	)
	SELECT 'finish', ours.container_id, ours.project, NULL::text, NULL::text, NULL::text, NULL::text,
		   NULL::yquota.resource, NULL::yquota.execution_type, as_of, 'not in the list'
	FROM yquota.container ours
	WHERE ours.started_at <= as_of AND ours.settled_at <= as_of
	  AND NOT EXISTS (SELECT FROM list theirs
					  WHERE theirs.container_id = ours.container_id)
	UNION ALL
	SELECT CASE WHEN fault.detail IS NULL THEN 'start' ELSE 'conflict' END,
		   theirs.container_id, theirs.project, theirs.application_id, theirs.username,
		   theirs.queue, theirs.node, theirs.allocation, theirs.execution_type,
		   theirs.started_at, coalesce(fault.detail, 'not in the books')
	FROM list theirs
	LEFT JOIN LATERAL (
		SELECT max(charge."to") AS finished_at
		FROM yquota.charge charge
		WHERE charge.container_id = theirs.container_id
	) past ON true
	CROSS JOIN LATERAL (
		SELECT CASE
			WHEN past.finished_at IS NOT NULL THEN format('finished at %s', past.finished_at)
			WHEN theirs.started_at IS NULL THEN 'not in the books, and "started_at" is missing'
			WHEN theirs.allocation IS NULL THEN 'not in the books, and "allocation" is missing'
			END AS detail
	) fault
	WHERE NOT EXISTS (SELECT FROM yquota.container ours
					  WHERE ours.container_id = theirs.container_id)
	  AND (theirs.started_at <= as_of) IS NOT FALSE
	  AND (past.finished_at <= as_of) IS NOT FALSE
	UNION ALL
	SELECT CASE WHEN difference.conflicts THEN 'conflict' ELSE 'update' END,
		   ours.container_id, ours.project, NULL, NULL,
		   theirs.queue, theirs.node, theirs.allocation, theirs.execution_type,
		   as_of, difference.detail
	FROM list theirs
	JOIN yquota.container ours ON ours.container_id = theirs.container_id
	CROSS JOIN LATERAL (
		SELECT bool_or(field.fixed) AS conflicts,
			   string_agg(format('%s: %s, in the list %s', field.name,
								 coalesce(field.ours, 'none'), field.theirs), '; ') AS detail
		FROM (VALUES
			('project', ours.project, theirs.project, true),
			('application_id', ours.application_id, theirs.application_id, true),
			('username', ours.username, theirs.username, true),
			('started_at', ours.started_at::text, theirs.started_at::text, true),
			('allocation', ours.allocation::text, theirs.allocation::text, false),
			('execution_type', ours.execution_type::text, theirs.execution_type::text, false),
			('queue', ours.queue, theirs.queue, false),
			('node', ours.node, theirs.node, false)
		) field (name, ours, theirs, fixed)
		WHERE field.theirs IS NOT NULL AND field.ours IS DISTINCT FROM field.theirs
	) difference
	WHERE ours.started_at <= as_of AND ours.settled_at < as_of
	  AND difference.detail IS NOT NULL;
END;
COMMENT ON FUNCTION yquota_internal.reconcile_plan(jsonb, timestamptz) IS
	'What reconcile() finds: events to insert, and conflicts that no event can mend';

CREATE FUNCTION yquota.reconcile(running jsonb, as_of timestamptz, dry_run boolean DEFAULT true)
	RETURNS TABLE (action text, container_id text, project text, occurred_at timestamptz, detail text)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF running IS NULL OR as_of IS NULL OR dry_run IS NULL THEN
		RAISE EXCEPTION 'arguments of reconcile must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF NOT isfinite(as_of) OR as_of > yquota.clock() THEN
		RAISE EXCEPTION 'list of running containers cannot be as of %', as_of
			USING ERRCODE = 'datetime_field_overflow',
				  DETAIL = format('The clock shows %s.', yquota.clock()),
				  HINT = 'Pass the time at which the resource manager made the list.';
	END IF;
	RETURN QUERY
	WITH plan AS MATERIALIZED (
		SELECT * FROM yquota_internal.reconcile_plan(running, as_of)
	), sent AS (
		INSERT INTO yquota.container_event
			(event, container_id, occurred_at, project, application_id, username, queue, node,
			 allocation, execution_type, source)
		SELECT ('CONTAINER_' || upper(plan.action))::yquota.container_event_type,
			   plan.container_id, plan.occurred_at, plan.project, plan.application_id,
			   plan.username, plan.queue, plan.node, plan.allocation, plan.execution_type,
			   'reconcile'
		FROM plan
		WHERE NOT dry_run AND plan.action <> 'conflict'
	)
	SELECT plan.action, plan.container_id, plan.project, plan.occurred_at, plan.detail
	FROM plan
	ORDER BY plan.container_id;
END;
$$;
COMMENT ON FUNCTION yquota.reconcile(jsonb, timestamptz, boolean) IS
	'Compare the resource manager''s list of containers running at as_of with ours: finish what it lacks at as_of, start what we lack, update what differs.  Returns the differences; writes (through the door) only when dry_run is false.  What changed here after as_of is left alone';
REVOKE ALL ON FUNCTION yquota.reconcile(jsonb, timestamptz, boolean) FROM PUBLIC;

-- A container that was updated after the node was lost is finished at that
-- update: the door takes no FINISH before it.
CREATE FUNCTION yquota.node_lost(node text, at timestamptz DEFAULT yquota.clock(),
								 exit_status integer DEFAULT -100)
	RETURNS TABLE (container_id text)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF node_lost.node IS NULL OR at IS NULL THEN
		RAISE EXCEPTION 'node and time of its loss must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	UPDATE yquota.node known
	SET state = 'LOST', updated_at = node_lost.at
	WHERE known.name = node_lost.node AND known.state <> 'LOST';
	IF NOT FOUND AND NOT EXISTS (SELECT FROM yquota.node known WHERE known.name = node_lost.node) THEN
		RAISE WARNING 'node "%" is not in yquota.node', node_lost.node;
	END IF;
	RETURN QUERY
	WITH lost AS MATERIALIZED (
		SELECT container.container_id, container.project,
			   greatest(container.settled_at, node_lost.at) AS finished_at
		FROM yquota.container container
		WHERE container.node = node_lost.node AND container.started_at <= node_lost.at
	), sent AS (
		INSERT INTO yquota.container_event
			(event, container_id, occurred_at, project, exit_status, source)
		SELECT 'CONTAINER_FINISH', lost.container_id, lost.finished_at, lost.project,
			   node_lost.exit_status, 'node_lost'
		FROM lost
	)
	SELECT lost.container_id::text FROM lost ORDER BY lost.container_id;
END;
$$;
COMMENT ON FUNCTION yquota.node_lost(text, timestamptz, integer) IS
	'A node is gone since "at": finish its containers then (those started later belong to its next life) and mark it LOST; returns them.  Repeating is harmless.  The exit status defaults to YARN''s ABORTED';
REVOKE ALL ON FUNCTION yquota.node_lost(text, timestamptz, integer) FROM PUBLIC;

--
-- Rows that pg_dump keeps.  Not those of clock_setting and worker_state: a
-- restored database starts with the system's clock and no worker.
--
SELECT pg_extension_config_dump('yquota.project', '');
SELECT pg_extension_config_dump('yquota.quota_grant', '');
SELECT pg_extension_config_dump('yquota.quota_grant_grant_id_seq', '');
SELECT pg_extension_config_dump('yquota.container_event', '');
SELECT pg_extension_config_dump('yquota.container', '');
SELECT pg_extension_config_dump('yquota.container_change', '');
SELECT pg_extension_config_dump('yquota.charge', '');
SELECT pg_extension_config_dump('yquota.event_reject', '');
SELECT pg_extension_config_dump('yquota.event_reject_reject_id_seq', '');
SELECT pg_extension_config_dump('yquota_internal.discarded_event', '');
SELECT pg_extension_config_dump('yquota_internal.charged_through', '');
SELECT pg_extension_config_dump('yquota_internal.counter_delta', '');
SELECT pg_extension_config_dump('yquota_internal.project_counter', '');
SELECT pg_extension_config_dump('yquota_internal.rate_class_counter', '');
SELECT pg_extension_config_dump('yquota_internal.usage_counter', '');
SELECT pg_extension_config_dump('yquota_internal.node_counter', '');
SELECT pg_extension_config_dump('yquota_internal.feed_counter', '');
SELECT pg_extension_config_dump('yquota_internal.correction_due', '');
--
-- The books prove themselves (DESIGN 1.9).  Everything is computed again: the
-- life of each container from the log, amounts from the timelines, counters
-- from the ledger and the running containers.  The path is another one than
-- charging's: sets, not a container at a time; only the evaluator of what an
-- allocation costs is shared.
--
-- Two passes.  The first one joins log, ledger and running containers and finds
-- proven what is most of a history: a START, a FINISH or none, and one row of
-- the books that says the same to the last digit.  The second one computes the
-- segments of all other lives and says what differs.  Whatever the first pass
-- does not prove goes to the second one, so that it never hides anything.
--
-- Functions without settings of their own are inlined, which lets the planner
-- see the whole of a pass; names in their bodies were bound when they were made.
--

CREATE FUNCTION yquota_internal.payer_project(project text, username text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN COALESCE(project, split_part(username, '__', 1));
COMMENT ON FUNCTION yquota_internal.payer_project(text, text) IS
	'Project that a CONTAINER_START names, or that its username says as project__user';

CREATE FUNCTION yquota_internal.payer_username(project text, username text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN project IS NULL AND strpos(username, '__') > 0
		   THEN split_part(username, '__', 2) ELSE username END;
COMMENT ON FUNCTION yquota_internal.payer_username(text, text) IS
	'User that a CONTAINER_START names, without the project';

CREATE FUNCTION yquota_internal.microseconds(duration interval) RETURNS bigint
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN ((extract(month FROM duration) + extract(year FROM duration) * 12) * 30 * 86400000000
			+ extract(day FROM duration) * 86400000000
			+ extract(hour FROM duration) * 3600000000
			+ extract(minute FROM duration) * 60000000
			+ extract(microseconds FROM duration))::bigint;
COMMENT ON FUNCTION yquota_internal.microseconds(interval) IS
	'Length of an interval; a month counts as 30 days, as when intervals are compared';

CREATE FUNCTION yquota_internal.is_due(
	project text, application_id text, username text, queue text,
	execution_type yquota.execution_type, allocation yquota.resource,
	from_at timestamptz, to_at timestamptz, amount numeric, dominant text)
RETURNS boolean
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_is_due';
COMMENT ON FUNCTION yquota_internal.is_due(text, text, text, text, yquota.execution_type, yquota.resource, timestamptz, timestamptz, numeric, text) IS
	'Whether a stretch of time costs that amount and has that dominant resource; what factor_names(), accrued() and dominant() tell, in one call';

CREATE FUNCTION yquota_internal.last_known_step(known anyelement, value anyelement) RETURNS anyelement
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_last_known_step';
COMMENT ON FUNCTION yquota_internal.last_known_step(anyelement, anyelement) IS 'Step of last_known()';

CREATE AGGREGATE yquota_internal.last_known(anyelement) (
	SFUNC = yquota_internal.last_known_step,
	STYPE = anyelement,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE yquota_internal.last_known(anyelement) IS
	'The last value that is not NULL; as a window function it fills gaps';

--
-- First pass
--

CREATE VIEW yquota_internal.logged_life AS
	SELECT start.container_id,
		   yquota_internal.payer_project(start.project, start.username) AS project,
		   start.application_id,
		   yquota_internal.payer_username(start.project, start.username) AS username,
		   start.queue, start.node,
		   COALESCE(start.execution_type, 'GUARANTEED') AS execution_type,
		   start.allocation,
		   start.occurred_at AS started_at,
		   finish.occurred_at AS finished_at,
		   finish.exit_status
	FROM yquota.container_event AS start
	LEFT JOIN yquota.container_event AS finish
		ON finish.container_id = start.container_id AND finish.event = 'CONTAINER_FINISH'
	WHERE start.event = 'CONTAINER_START' AND start.container_id IS NOT NULL;
COMMENT ON VIEW yquota_internal.logged_life IS
	'START and FINISH of each container as they arrived: a row per pair, accepted or not';

CREATE VIEW yquota_internal.booked_life AS
	SELECT charge.tableoid AS book, charge.ctid AS place,
		   charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation,
		   charge.started_at, charge."to" AS finished_at, charge.exit_status,
		   charge.amount, charge.dominant,
		   charge.number = 1 AND charge.corrects IS NULL AND charge.padding IS NULL
		   AND charge."from" = charge.started_at
		   AND charge.settled_by = 'CONTAINER_FINISH' AS is_whole
	FROM yquota.charge
	UNION ALL
	SELECT container.tableoid, container.ctid,
		   container.container_id, container.project, container.application_id, container.username,
		   container.queue, container.node, container.execution_type, container.allocation,
		   container.started_at, NULL, NULL, NULL, NULL,
		   container.settled_at = container.started_at AND container.charges = 0
	FROM yquota.container;
COMMENT ON VIEW yquota_internal.booked_life IS
	'What the books have of each container: its rows of the ledger and, while it runs, that of container; is_whole when the row alone should be all of it';

CREATE VIEW yquota_internal.set_aside_event AS
	SELECT reject.container_id,
		   ROW(reject.event, reject.container_id, reject.occurred_at, reject.project,
			   reject.application_id, reject.username, reject.queue, reject.node,
			   reject.allocation, reject.execution_type, reject.exit_status, reject.source,
			   reject.recorded_at)::yquota.container_event AS content
	FROM yquota.event_reject AS reject
	UNION ALL
	SELECT reject.container_id,
		   ROW(reject.event, reject.container_id, reject.occurred_at, reject.project,
			   reject.application_id, reject.username, reject.queue, reject.node,
			   reject.allocation, reject.execution_type, reject.exit_status, reject.source,
			   reject.recorded_at)::yquota.container_event
	FROM yquota_internal.discarded_event AS reject;
COMMENT ON VIEW yquota_internal.set_aside_event IS
	'Events that were set aside, as rows of the log, whatever has become of their rows in event_reject';

CREATE FUNCTION yquota_internal.unproven_container(since timestamptz) RETURNS TABLE (container_id text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT life.container_id
	FROM (
		SELECT COALESCE(logged.container_id, booked.container_id) AS container_id,
			   booked.book, booked.place, true AS concerned,
			   (booked.is_whole
				AND logged.project = booked.project
				AND logged.application_id IS NOT DISTINCT FROM booked.application_id
				AND logged.username IS NOT DISTINCT FROM booked.username
				AND logged.queue IS NOT DISTINCT FROM booked.queue
				AND logged.node IS NOT DISTINCT FROM booked.node
				AND logged.execution_type = booked.execution_type
				AND logged.allocation OPERATOR(yquota.=) booked.allocation
				AND logged.started_at = booked.started_at
				AND logged.finished_at IS NOT DISTINCT FROM booked.finished_at
				AND logged.exit_status IS NOT DISTINCT FROM booked.exit_status
				AND (booked.finished_at IS NULL
					 -- whether there was padding needs a closer look
					 OR booked.finished_at - booked.started_at >= rule.longest
					 AND yquota_internal.is_due(
						booked.project, booked.application_id, booked.username, booked.queue,
						booked.execution_type, booked.allocation,
						booked.started_at, booked.finished_at, booked.amount, booked.dominant))
			   ) IS TRUE AS proven
		FROM (SELECT * FROM yquota_internal.logged_life AS l
			  WHERE since IS NULL OR l.finished_at IS NULL OR l.finished_at >= since) AS logged
		FULL JOIN (SELECT * FROM yquota_internal.booked_life AS b
				   WHERE since IS NULL OR b.finished_at IS NULL OR b.finished_at >= since) AS booked
			USING (container_id)
		CROSS JOIN (SELECT COALESCE(max(charging_rule.minimum_run_time), '0') AS longest
					FROM yquota.charging_rule) AS rule
		UNION ALL
		SELECT event.container_id, NULL, NULL, since IS NULL OR event.occurred_at >= since, false
		FROM yquota.container_event AS event
		WHERE event.event = 'CONTAINER_UPDATE'
		UNION ALL
		SELECT aside.container_id, NULL, NULL, since IS NULL OR (aside.content).occurred_at >= since, false
		FROM yquota_internal.set_aside_event AS aside
		-- below the grouping, lest it carries all columns
		OFFSET 0
	) AS life
	WHERE life.container_id IS NOT NULL
	GROUP BY life.container_id
	-- an event may be in the log twice, but not a row in the books
	HAVING bool_or(life.concerned)
	   AND (NOT bool_and(life.proven)
			OR min(life.place) <> max(life.place) OR min(life.book) <> max(life.book));
	END;
COMMENT ON FUNCTION yquota_internal.unproven_container(timestamptz) IS
	'Containers of which it takes more than a look to tell whether the books are right; with an instant, of those only that run or ended since or were heard of since';
REVOKE ALL ON FUNCTION yquota_internal.unproven_container(timestamptz) FROM PUBLIC;

--
-- Second pass
--

CREATE VIEW yquota_internal.accepted_after_all AS
	SELECT aside.content
	FROM (SELECT refused.container_id, refused.content, count(*) AS times
		  FROM yquota_internal.set_aside_event AS refused
		  GROUP BY refused.container_id, refused.content) AS aside
	JOIN yquota.container_event AS log
		ON log.container_id = aside.container_id
		AND log.* IS NOT DISTINCT FROM aside.content
	GROUP BY aside.container_id, aside.content, aside.times
	HAVING count(*) > aside.times
	   AND CASE (aside.content).event
		   WHEN 'CONTAINER_START' THEN
			   EXISTS (SELECT FROM yquota_internal.booked_life AS life
					   WHERE life.container_id = aside.container_id
						 AND life.started_at = (aside.content).occurred_at)
		   WHEN 'CONTAINER_UPDATE' THEN
			   EXISTS (SELECT FROM yquota.container_change AS change
					   WHERE change.container_id = aside.container_id
						 AND change.occurred_at = (aside.content).occurred_at)
		   ELSE
			   EXISTS (SELECT FROM yquota.charge
					   WHERE charge.container_id = aside.container_id
						 AND charge."to" = (aside.content).occurred_at
						 AND charge.settled_by = 'CONTAINER_FINISH')
		   END;
COMMENT ON VIEW yquota_internal.accepted_after_all IS
	'Events that were set aside and, sent again within the same microsecond of the clock, accepted.  The log shows only that there were several; that one was accepted only the books know';

CREATE FUNCTION yquota_internal.accepted_event(since timestamptz)
	RETURNS TABLE (container_id text, event yquota.container_event_type, occurred_at timestamptz,
				   project text, application_id text, username text, queue text, node text,
				   allocation yquota.resource, execution_type yquota.execution_type,
				   exit_status integer, recorded_at timestamptz, arrival bigint)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH unproven AS MATERIALIZED (
		SELECT u.container_id FROM yquota_internal.unproven_container(since) AS u
	), accepted AS (
		SELECT log.*, log.tableoid AS book, log.ctid AS place,
			   log.tableoid <> 'yquota.container_event'::regclass AS is_sealed
		FROM yquota.container_event AS log
		WHERE log.container_id IN (SELECT unproven.container_id FROM unproven)
		  AND log.event <> 'QUOTA_COMPUTE'
		  AND NOT EXISTS (SELECT FROM yquota_internal.set_aside_event AS aside
						  WHERE aside.container_id = log.container_id
							AND log.* IS NOT DISTINCT FROM aside.content)
		UNION ALL
		SELECT (late.content).*, NULL, NULL, NULL
		FROM yquota_internal.accepted_after_all AS late
		WHERE (late.content).container_id IN (SELECT unproven.container_id FROM unproven)
	)
	SELECT a.container_id, a.event, a.occurred_at, a.project, a.application_id, a.username,
		   a.queue, a.node, a.allocation, a.execution_type, a.exit_status, a.recorded_at,
		   row_number() OVER (PARTITION BY a.container_id, a.event ORDER BY a.recorded_at, a.is_sealed DESC, a.book, a.place)
	FROM accepted AS a
	UNION ALL
	SELECT unproven.container_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
	FROM unproven;
	END;
COMMENT ON FUNCTION yquota_internal.accepted_event(timestamptz) IS
	'The log of unproven containers without what has been set aside; arrival numbers the events of one kind of a container.  A further row of each container, with nothing but its id, stands for those of which nothing was accepted';
REVOKE ALL ON FUNCTION yquota_internal.accepted_event(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.expected_segment(since timestamptz)
	RETURNS TABLE (container_id text, project text, application_id text, username text,
				   queue text, node text, execution_type yquota.execution_type,
				   allocation yquota.resource, started_at timestamptz, finished_at timestamptz,
				   exit_status integer, "from" timestamptz, "to" timestamptz, is_last boolean)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH event AS MATERIALIZED (
		-- results of functions have no collation of their own
		SELECT e.container_id COLLATE "C" AS container_id, e.event, e.occurred_at, e.project,
			   e.application_id, e.username, e.queue, e.node, e.allocation, e.execution_type,
			   e.exit_status, e.recorded_at, e.arrival
		FROM yquota_internal.accepted_event(since) AS e
	), life AS MATERIALIZED (
		SELECT start.container_id,
			   yquota_internal.payer_project(start.project, start.username) AS project,
			   yquota_internal.payer_username(start.project, start.username) AS username,
			   start.application_id, start.queue, start.node, start.allocation,
			   COALESCE(start.execution_type, 'GUARANTEED') AS execution_type,
			   start.occurred_at AS started_at, finish.occurred_at AS finished_at, finish.exit_status
		FROM event AS start
		LEFT JOIN event AS finish
			ON finish.container_id = start.container_id
			AND finish.event = 'CONTAINER_FINISH' AND finish.arrival = 1
		WHERE start.event = 'CONTAINER_START' AND start.arrival = 1
	), step AS (
		SELECT l.container_id, l.started_at AS at, 1 AS kind,
			   l.allocation, l.execution_type, l.queue, l.node
		FROM life AS l
		UNION ALL
		SELECT DISTINCT ON (e.container_id, e.occurred_at)
			   e.container_id, e.occurred_at, 2, e.allocation, e.execution_type, e.queue, e.node
		FROM event AS e
		WHERE e.event = 'CONTAINER_UPDATE'
		  AND num_nonnulls(e.allocation, e.execution_type, e.queue, e.node) > 0
		UNION ALL
		-- a START repeated with a new allocation is an UPDATE; which one it is
		-- depends on what was known then, and only the books know that
		SELECT change.container_id, change.occurred_at, 2,
			   change.allocation, change.execution_type, change.queue, change.node
		FROM yquota.container_change AS change
		WHERE change.repeated_start
		  AND EXISTS (SELECT FROM event AS e
					  WHERE e.container_id = change.container_id
						AND e.event = 'CONTAINER_START' AND e.arrival > 1
						AND greatest(e.recorded_at, e.occurred_at) = change.occurred_at
						AND e.allocation OPERATOR(yquota.=) change.allocation)
	), stretch AS (
		SELECT step.container_id, step.at,
			   lead(step.at) OVER so_far AS next_at,
			   yquota_internal.last_known(step.allocation) OVER so_far AS allocation,
			   yquota_internal.last_known(step.execution_type) OVER so_far AS execution_type,
			   yquota_internal.last_known(step.queue) OVER so_far AS queue,
			   yquota_internal.last_known(step.node) OVER so_far AS node
		FROM step
		WINDOW so_far AS (PARTITION BY step.container_id ORDER BY step.at, step.kind
						  ROWS UNBOUNDED PRECEDING)
	)
	SELECT concerned.container_id, life.project, life.application_id, life.username,
		   stretch.queue, stretch.node, stretch.execution_type, stretch.allocation,
		   life.started_at, life.finished_at, life.exit_status,
		   stretch.at, COALESCE(stretch.next_at, life.finished_at), stretch.next_at IS NULL
	FROM (SELECT event.container_id FROM event WHERE event.event IS NULL) AS concerned
	LEFT JOIN (life JOIN stretch USING (container_id)) USING (container_id);
	END;
COMMENT ON FUNCTION yquota_internal.expected_segment(timestamptz) IS
	'What each unproven container held from when to when, according to the log; "to" is NULL while it runs, everything but the id when the log has no start of it';
REVOKE ALL ON FUNCTION yquota_internal.expected_segment(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.expected_charge(since timestamptz)
	RETURNS TABLE (container_id text, project text, application_id text, username text,
				   queue text, node text, execution_type yquota.execution_type,
				   allocation yquota.resource, started_at timestamptz, exit_status integer,
				   "from" timestamptz, "to" timestamptz, padding interval,
				   settled_by yquota.container_event_type, dominant text, amount numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH segment AS MATERIALIZED (
		SELECT s.*, yquota_internal.factor_names(s.project, s.application_id, s.username, s.queue,
												 s.execution_type) AS factors
		FROM yquota_internal.expected_segment(since) AS s
	)
	SELECT s.container_id, s.project, s.application_id, s.username, s.queue, s.node,
		   s.execution_type, s.allocation, s.started_at,
		   CASE WHEN s.is_last THEN s.exit_status END,
		   s."from", s."to", NULL,
		   CASE WHEN s.is_last THEN 'CONTAINER_FINISH' ELSE 'CONTAINER_UPDATE' END::yquota.container_event_type,
		   yquota_internal.dominant(s.allocation, s.factors, s."from", s."to"),
		   yquota_internal.accrued(s.allocation, s.factors, s."from", s."to")
	FROM segment AS s
	-- a change at the instant of another one, or of the start, settles nothing
	WHERE s."to" IS DISTINCT FROM s."from" OR s.is_last
	UNION ALL
	SELECT s.container_id, s.project, s.application_id, s.username, s.queue, s.node,
		   s.execution_type, s.allocation, s.started_at, s.exit_status,
		   s.finished_at, s.finished_at, short.missing, 'CONTAINER_FINISH',
		   -- nothing changes within a microsecond
		   yquota_internal.dominant(s.allocation, s.factors, s.finished_at,
									s.finished_at + interval '1 microsecond'),
		   yquota_internal.rate(s.allocation, s.factors, s.finished_at)
		   * yquota_internal.microseconds(short.missing) * 0.000001
	FROM segment AS s
	CROSS JOIN LATERAL (
		SELECT rule.minimum_run_time - (s.finished_at - s.started_at) AS missing
		FROM yquota.charging_rule AS rule
		WHERE rule.effective_at <= s.started_at
		ORDER BY rule.effective_at DESC LIMIT 1
	) AS short
	WHERE s.is_last AND short.missing > interval '0';
	END;
COMMENT ON FUNCTION yquota_internal.expected_charge(timestamptz) IS
	'Rows that the ledger should have in effect for unproven containers; "to" and amount are NULL for what still runs, "from" when there is no start';
REVOKE ALL ON FUNCTION yquota_internal.expected_charge(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.verify_lives(since timestamptz)
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH due AS MATERIALIZED (
		SELECT e.*, COALESCE(yquota_internal.microseconds(e.padding), 0) AS padded, 1::bigint AS copy,
			   ROW(e.project COLLATE "C", e.application_id COLLATE "C", e.username COLLATE "C",
				   e.queue COLLATE "C", e.node COLLATE "C", e.execution_type, e.allocation,
				   e.started_at, e.settled_by, e.exit_status) AS content
		FROM yquota_internal.expected_charge(since) AS e
	), posted AS MATERIALIZED (
		SELECT charge.* FROM yquota.charge
		WHERE charge.container_id IN (SELECT due.container_id FROM due)
	), in_effect AS (
		SELECT p.container_id, p.number, p."from", p."to", p.dominant, p.amount,
			   COALESCE(yquota_internal.microseconds(p.padding), 0) AS padded,
			   row_number() OVER (PARTITION BY p.container_id, p."from", p."to", p.padding
								  ORDER BY p.number) AS copy,
			   ROW(p.project, p.application_id, p.username, p.queue, p.node, p.execution_type,
				   p.allocation, p.started_at, p.settled_by, p.exit_status) AS content
		FROM posted AS p
		WHERE p.corrects IS NULL
		  AND NOT EXISTS (SELECT FROM posted AS taking_back
						  WHERE taking_back.container_id = p.container_id
							AND taking_back.corrects = p.number)
	)
	SELECT 'ledger differs from the log', log.container_id,
		   format('%s credits for project %s', trim_scale(log.amount), log.project),
		   format('%s credits for project %s, %s rows up to number %s',
				  trim_scale(ledger.amount), ledger.project, ledger.rows, ledger.last_number)
	FROM (SELECT due.container_id, max(due.project) AS project, sum(due.amount) AS amount
		  FROM due GROUP BY due.container_id) AS log
	LEFT JOIN (SELECT posted.container_id, posted.project, sum(posted.amount) AS amount,
					  count(*) AS rows, max(posted.number) AS last_number
			   FROM posted GROUP BY posted.container_id, posted.project) AS ledger USING (container_id)
	WHERE COALESCE(log.amount, 0) <> COALESCE(ledger.amount, 0)
	   OR ledger.project IS NOT NULL AND ledger.project IS DISTINCT FROM log.project
	   OR ledger.last_number <> ledger.rows
	UNION ALL
	SELECT CASE WHEN log.content IS DISTINCT FROM ledger.content THEN 'charge differs from the log'
		   ELSE 'amount of a charge differs from the timelines' END,
		   format('%s number %s', container_id, ledger.number),
		   format('%s by %s, %s to %s %s', trim_scale(log.amount), log.dominant, log."from", log."to", log.content),
		   format('%s by %s, %s to %s %s', trim_scale(ledger.amount), ledger.dominant, ledger."from", ledger."to", ledger.content)
	FROM (SELECT * FROM due WHERE due."to" IS NOT NULL) AS log
	FULL JOIN in_effect AS ledger USING (container_id, "from", "to", padded, copy)
	WHERE log.content IS DISTINCT FROM ledger.content
	   OR log.amount <> ledger.amount OR log.dominant IS DISTINCT FROM ledger.dominant
	UNION ALL
	SELECT 'running container differs from the log', container_id,
		   format('since %s %s', log."from", log.content),
		   format('since %s %s', running.settled_at, running.content)
	FROM (SELECT due.container_id, due."from",
				 ROW(due.project COLLATE "C", due.application_id COLLATE "C", due.username COLLATE "C",
					 due.queue COLLATE "C", due.node COLLATE "C", due.execution_type, due.allocation,
					 due.started_at, COALESCE(ledger.rows, 0)) AS content
		  FROM due
		  LEFT JOIN (SELECT posted.container_id, count(*)::integer AS rows
					 FROM posted GROUP BY posted.container_id) AS ledger USING (container_id)
		  WHERE due."from" IS NOT NULL AND due."to" IS NULL) AS log
	FULL JOIN (
		SELECT c.container_id, c.settled_at,
			   ROW(c.project, c.application_id, c.username, c.queue, c.node,
				   c.execution_type, c.allocation, c.started_at, c.charges) AS content
		FROM yquota.container AS c
		WHERE c.container_id IN (SELECT due.container_id FROM due)
	) AS running USING (container_id)
	WHERE log.content IS DISTINCT FROM running.content
	   OR log."from" IS DISTINCT FROM running.settled_at;
	END;
COMMENT ON FUNCTION yquota_internal.verify_lives(timestamptz) IS
	'What differs between the log and the books of containers that are not proven';
REVOKE ALL ON FUNCTION yquota_internal.verify_lives(timestamptz) FROM PUBLIC;

--
-- Running containers and counters.  They say how things are, not how they
-- came about, and are compared in full whatever stretch is looked at.
--

CREATE FUNCTION yquota_internal.verify_accruals()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'accrual of a running container differs from the timelines', container.container_id,
		   format('%s under %s', trim_scale(due.amount), due.names),
		   format('%s under %s', trim_scale(container.accrual_base), container.factors)
	FROM yquota.container
	CROSS JOIN LATERAL (
		SELECT names, yquota_internal.accrued(container.allocation, names,
				date_trunc('hour', container.settled_at, 'UTC'), container.settled_at) AS amount
		FROM yquota_internal.factor_names(container.project, container.application_id,
			container.username, container.queue, container.execution_type) AS names
	) AS due
	WHERE due.amount <> container.accrual_base OR due.names IS DISTINCT FROM container.factors
	UNION ALL
	SELECT 'rate class differs from running containers',
		   format('%s %s %s %s', project, shape, factors, reference_at),
		   format('weight %s, accrual base %s', running.weight, trim_scale(running.accrual_base)),
		   format('weight %s, accrual base %s', class.weight, trim_scale(class.accrual_base))
	FROM (SELECT container.project, yquota_internal.shape(container.allocation)::text AS shape,
				 COALESCE(container.factors, '{}') AS factors,
				 date_trunc('hour', container.settled_at, 'UTC') AS reference_at,
				 sum(yquota_internal.weight(container.allocation)) AS weight,
				 sum(container.accrual_base) AS accrual_base
		  FROM yquota.container
		  WHERE yquota_internal.weight(container.allocation) <> 0
		  GROUP BY 1, 2, 3, 4) AS running
	FULL JOIN (
		SELECT rate_class.project, rate_class.shape::text AS shape, COALESCE(rate_class.factors, '{}') AS factors,
			   rate_class.reference_at, rate_class.weight, rate_class.accrual_base
		FROM yquota_internal.rate_class
	) AS class USING (project, shape, factors, reference_at)
	WHERE running.weight IS DISTINCT FROM class.weight
	   OR running.accrual_base IS DISTINCT FROM class.accrual_base;
	END;
COMMENT ON FUNCTION yquota_internal.verify_accruals() IS
	'What differs between running containers, the timelines and the counters of rate classes';
REVOKE ALL ON FUNCTION yquota_internal.verify_accruals() FROM PUBLIC;

CREATE FUNCTION yquota_internal.verify_running_totals()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'running total of a project differs from its rate classes', project,
		   format('%s classes, accrual base %s', due.classes, trim_scale(due.accrual_base)),
		   format('weights %s, accrual base %s', total.weights, trim_scale(total.accrual_base))
	FROM (SELECT class.project, count(*) AS classes,
				 yquota_internal.pack_weights(number.class_id, class.weight)
					 FILTER (WHERE number.class_id IS NOT NULL) AS weights,
				 sum(class.accrual_base)
				 - yquota_internal.accrued_sum(class.shape, class.factors, class.weight, NULL,
											   class.reference_at, reference.reference_at) AS accrual_base
		  FROM yquota_internal.valid_reference AS reference
		  CROSS JOIN yquota_internal.rate_class_counter AS class
		  LEFT JOIN yquota_internal.running_class AS number
			ON number.shape OPERATOR(yquota.=) class.shape
			AND number.factors IS NOT DISTINCT FROM class.factors
		  GROUP BY class.project) AS due
	FULL JOIN (
		SELECT project, counter.accrual_base, running_total.weights
		FROM yquota_internal.project_counter AS counter
		FULL JOIN yquota_internal.running_total USING (project)
		WHERE EXISTS (SELECT FROM yquota_internal.valid_reference)
	) AS total USING (project)
	WHERE COALESCE(due.weights, '') <> COALESCE(total.weights, '')
	   OR COALESCE(due.accrual_base, 0) <> COALESCE(total.accrual_base, 0);
	END;
COMMENT ON FUNCTION yquota_internal.verify_running_totals() IS
	'What differs between the counters of rate classes and the totals that balances are read from';
REVOKE ALL ON FUNCTION yquota_internal.verify_running_totals() FROM PUBLIC;

CREATE FUNCTION yquota_internal.verify_usage()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'usage of a queue differs from running containers',
		   format('%s %s %s %s', queue, label, username, execution_type),
		   format('%s containers %s', running.containers, running.allocation),
		   format('%s containers %s', usage.containers, usage.allocation)
	FROM (SELECT COALESCE(container.queue, '') AS queue, COALESCE(container.label, '') AS label,
				 COALESCE(container.username, '') AS username, container.execution_type,
				 count(*) AS containers, yquota.sum(container.allocation) AS allocation
		  FROM yquota.container GROUP BY 1, 2, 3, 4) AS running
	FULL JOIN (
		SELECT COALESCE(queue_usage.queue, '') AS queue, COALESCE(queue_usage.label, '') AS label,
			   COALESCE(queue_usage.username, '') AS username, queue_usage.execution_type,
			   sum(queue_usage.containers)::bigint AS containers,
			   yquota.sum(queue_usage.allocation) AS allocation
		FROM yquota.queue_usage GROUP BY 1, 2, 3, 4
	) AS usage USING (queue, label, username, execution_type)
	WHERE running.containers IS DISTINCT FROM usage.containers
	   OR running.allocation::text IS DISTINCT FROM usage.allocation::text
	UNION ALL
	SELECT 'usage of a node differs from running containers', node,
		   format('%s containers %s', running.containers, running.allocation),
		   format('%s containers %s', usage.containers, usage.allocation)
	FROM (SELECT container.node, count(*) AS containers, yquota.sum(container.allocation) AS allocation
		  FROM yquota.container WHERE container.node IS NOT NULL GROUP BY 1) AS running
	FULL JOIN (
		SELECT node_usage.node, node_usage.containers,
			   node_usage.guaranteed OPERATOR(yquota.+) node_usage.opportunistic AS allocation
		FROM yquota.node_usage WHERE node_usage.containers <> 0
	) AS usage USING (node)
	WHERE running.containers IS DISTINCT FROM usage.containers
	   OR running.allocation::text IS DISTINCT FROM usage.allocation::text;
	END;
COMMENT ON FUNCTION yquota_internal.verify_usage() IS
	'What differs between running containers and the counters of queues and nodes';
REVOKE ALL ON FUNCTION yquota_internal.verify_usage() FROM PUBLIC;

CREATE VIEW yquota_internal.ledger_total AS
	SELECT part.project, sum(part.charged) AS charged
	FROM (SELECT charge.project, charge.amount AS charged
		  FROM yquota.charge
		  UNION ALL
		  (SELECT DISTINCT ON (opening.project) opening.project, opening.charged
		   FROM yquota.opening_balance AS opening
		   ORDER BY opening.project, opening.archived_through DESC)) AS part
	GROUP BY part.project;
COMMENT ON VIEW yquota_internal.ledger_total IS
	'Credits charged to each project, according to the ledger and the opening balances of what has been archived';

CREATE FUNCTION yquota_internal.verify_totals()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'charged credits of a project differ from the ledger', project,
		   trim_scale(ledger.charged)::text, trim_scale(counter.charged)::text
	FROM yquota_internal.ledger_total AS ledger
	FULL JOIN (
		SELECT part.project, sum(part.charged) AS charged
		FROM (SELECT project_counter.project, project_counter.charged
			  FROM yquota_internal.project_counter
			  UNION ALL
			  SELECT delta.project, delta.charged
			  FROM yquota_internal.counter_delta AS delta
			  WHERE delta.scope IN ('a', 'p') AND delta.charged IS NOT NULL) AS part
		GROUP BY part.project
	) AS counter USING (project)
	WHERE COALESCE(ledger.charged, 0) <> COALESCE(counter.charged, 0);
	END;
COMMENT ON FUNCTION yquota_internal.verify_totals() IS
	'What differs between the ledger and the counters of projects';
REVOKE ALL ON FUNCTION yquota_internal.verify_totals() FROM PUBLIC;

CREATE FUNCTION yquota.verify(since timestamptz DEFAULT NULL)
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, yquota, pg_temp
	-- Whole tables are joined with each other: by hashing, which parallel
	-- workers share and which spills to disk in parts.  Before anybody has
	-- collected statistics, nested loops over the log look cheap.
	SET enable_nestloop = off
	SET enable_mergejoin = off
	-- fewer parts, for every role and session the same
	SET work_mem = '32MB'
	-- would compile hundreds of expressions, longer than most run
	SET jit = off
	AS $$
BEGIN
	RETURN QUERY SELECT * FROM yquota_internal.verify_lives(since);
	RETURN QUERY SELECT * FROM yquota_internal.verify_accruals();
	RETURN QUERY SELECT * FROM yquota_internal.verify_running_totals();
	RETURN QUERY SELECT * FROM yquota_internal.verify_usage();
	RETURN QUERY SELECT * FROM yquota_internal.verify_totals();
END
$$;
COMMENT ON FUNCTION yquota.verify(timestamptz) IS
	'Recompute the books from the log and the timelines and return what differs: no rows when all is well.  With an instant, only lives that run, or ended or were heard of since then, and all counters';
REVOKE ALL ON FUNCTION yquota.verify(timestamptz) FROM PUBLIC;
--
-- Why a container cost what it did.
--

CREATE FUNCTION yquota.explain_charge(container_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, queue text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, factors text[],
		rate numeric, padding interval, amount numeric)
	LANGUAGE sql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
	WITH segment AS (
		SELECT row_number() OVER () AS id, part.*
		FROM (
			SELECT c.project, c.application_id, c.username, c.queue, c.execution_type,
				   c.allocation, c."from", c."to", c.padding
			FROM yquota_internal.charge_in_effect AS c
			WHERE c.container_id = explain_charge.container_id
			UNION ALL
			SELECT c.project, c.application_id, c.username, c.queue, c.execution_type,
				   c.allocation, c.settled_at, yquota.statement_clock(), NULL
			FROM yquota.container AS c
			WHERE c.container_id = explain_charge.container_id
			  AND c.settled_at < yquota.statement_clock()
		) AS part
	), point AS (
		-- every instant at which the price of what the container held could change
		SELECT p.effective_at AS at
		FROM yquota.price AS p
		WHERE p.price_group IN (SELECT t.price_group FROM yquota.resource_type AS t, segment
								WHERE yquota.amount(segment.allocation, t.name) <> 0)
		UNION
		SELECT b.effective_at FROM yquota.base_price AS b
		WHERE EXISTS (SELECT FROM segment WHERE yquota.amount(segment.allocation, b.resource_type) <> 0)
		UNION
		SELECT f.effective_at FROM yquota.price_factor AS f
		UNION
		SELECT e.at FROM yquota.outage AS o, unnest(ARRAY[o.started_at, o.ended_at]) AS e(at)
		WHERE o.forgiven
	), stretch AS (
		SELECT segment.*, cut.at AS since,
			   lead(cut.at, 1, segment."to") OVER (PARTITION BY segment.id ORDER BY cut.at) AS until
		FROM segment
		CROSS JOIN LATERAL (
			SELECT segment."from" AS at
			UNION
			SELECT point.at FROM point WHERE point.at > segment."from" AND point.at < segment."to"
		) AS cut
	)
	SELECT stretch.since, stretch.until, stretch.queue, stretch.allocation,
		   due.dominant, yquota.amount(stretch.allocation, due.dominant),
		   trim_scale(now.multiplier),
		   trim_scale(yquota_internal.divide_half_even(now.multiplier * base.base_price, base.unit, 18)),
		   factor.names, due.rate, stretch.padding,
		   trim_scale(CASE WHEN stretch.padding IS NULL
			   THEN yquota_internal.accrued(stretch.allocation, factor.names, stretch.since, stretch.until)
			   ELSE due.rate * yquota_internal.microseconds(stretch.padding) * 0.000001 END)
	FROM stretch
	CROSS JOIN LATERAL (
		SELECT yquota_internal.factor_names(stretch.project, stretch.application_id,
			stretch.username, stretch.queue, stretch.execution_type) AS names
	) AS factor
	CROSS JOIN LATERAL (
		SELECT yquota_internal.rate(stretch.allocation, factor.names, stretch.since) AS rate,
			   -- nothing changes within a microsecond
			   yquota_internal.dominant(stretch.allocation, factor.names, stretch.since,
										stretch.since + interval '1 microsecond') AS dominant
	) AS due
	LEFT JOIN LATERAL (
		SELECT p.multiplier
		FROM yquota.resource_type AS t
		JOIN yquota.price AS p ON p.price_group = t.price_group
		WHERE t.name = due.dominant AND p.effective_at <= stretch.since
		ORDER BY p.effective_at DESC
		LIMIT 1
	) AS now ON true
	LEFT JOIN LATERAL yquota_internal.base_price_at(due.dominant, stretch.since) AS base ON true
	ORDER BY stretch.since, stretch.until, stretch.padding NULLS FIRST
	$$;
COMMENT ON FUNCTION yquota.explain_charge(text) IS
	'The bill of one container: a row per stretch of constant price and allocation, and one for padding; sums up to its cost in container_cost, to the last digit';
REVOKE ALL ON FUNCTION yquota.explain_charge(text) FROM PUBLIC;
--
-- History: sealing the ledger and the log, and archiving what has been sealed
-- (DESIGN 6).
--
-- Ledger and log are plain tables, because the door is fastest that way.  Their
-- past is kept in children that inherit from them and are never written to:
-- sealing makes two empty children and exchanges their storage with the
-- parents', whatever their size.  Readers of the parents read the children as
-- well.  Nothing needs to be made ahead: what is not sealed simply stays in
-- the parents.
--

CREATE FUNCTION yquota_internal.exchange_storage(parent regclass, child regclass) RETURNS void
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_exchange_storage';
COMMENT ON FUNCTION yquota_internal.exchange_storage(regclass, regclass) IS
	'Let two tables of the same make exchange their rows, indexes included, without touching them';
REVOKE ALL ON FUNCTION yquota_internal.exchange_storage(regclass, regclass) FROM PUBLIC;

--
-- A BRIN index begins with a summary of its first range of blocks, which every
-- row that comes then has to widen; the other ranges are summarized when they
-- are full.  For a Bloom filter that is dear.
--
CREATE FUNCTION yquota_internal.leave_first_range(tablename regclass) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT count(brin_desummarize_range(i.indexrelid, 0))
			FROM pg_index AS i
				JOIN pg_class AS c ON c.oid = i.indexrelid
				JOIN pg_am AS a ON a.oid = c.relam
			WHERE i.indrelid = tablename AND a.amname = 'brin');
COMMENT ON FUNCTION yquota_internal.leave_first_range(regclass) IS
	'Leave the first range of blocks of a table''s BRIN indexes unsummarized until it is full, as all others are';
REVOKE ALL ON FUNCTION yquota_internal.leave_first_range(regclass) FROM PUBLIC;

SELECT yquota_internal.leave_first_range('yquota.container');
SELECT yquota_internal.leave_first_range('yquota.charge');

CREATE FUNCTION yquota_internal.make_child(parent regclass, child_name text, attached boolean)
	RETURNS regclass
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- the place of a table of history is its parent's
	SET default_tablespace = ''
	SET client_min_messages = 'warning'
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	child text := format('yquota_internal.%I', child_name);
	space name;
	owner name;
BEGIN
	SELECT t.spcname, pg_get_userbyid(c.relowner) INTO STRICT space, owner
	FROM pg_class AS c LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace
	WHERE c.oid = parent;
	EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL)%s USING heap%s', child, parent,
				   CASE WHEN attached THEN format(' INHERITS (%s)', parent) ELSE '' END,
				   ' TABLESPACE ' || quote_ident(space));
	EXECUTE format('ALTER TABLE %s OWNER TO %I', child, owner);
	EXECUTE format('COMMENT ON TABLE %s IS %L', child, 'History of ' || parent::text);
	PERFORM yquota_internal.leave_first_range(child::regclass);
	RETURN child::regclass;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_child(regclass, text, boolean) IS
	'Make an empty table of schema yquota_internal like another one, and have it inherit from it';
REVOKE ALL ON FUNCTION yquota_internal.make_child(regclass, text, boolean) FROM PUBLIC;

--
-- Whoever waits for a lock that is stronger than his makes everybody behind
-- him wait, too.  So such locks are asked for briefly and again.
--
CREATE FUNCTION yquota_internal.lock_briefly(
	command text, attempts integer, pause_seconds numeric DEFAULT 0.2) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	patience text := current_setting('lock_timeout');
BEGIN
	FOR attempt IN 1 .. attempts LOOP
		BEGIN
			PERFORM set_config('lock_timeout', '50ms', true);
			EXECUTE command;
			PERFORM set_config('lock_timeout', patience, true);
			RETURN;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			IF attempt = attempts THEN
				RAISE EXCEPTION 'could not lock the history because other transactions use it'
					USING ERRCODE = 'lock_not_available',
						HINT = 'Try again when long transactions that read or write the ledger or the log have ended.';
			END IF;
		END;
		PERFORM pg_sleep(pause_seconds);
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_briefly(text, integer, numeric) IS
	'Run LOCK TABLE without making others wait long: so many attempts of 50 ms, with pauses; lock_not_available after the last';
REVOKE ALL ON FUNCTION yquota_internal.lock_briefly(text, integer, numeric) FROM PUBLIC;

--
-- Sealing
--

CREATE FUNCTION yquota_internal.seal(attempts integer) RETURNS integer
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	stretch yquota.history_stretch;
	ledger regclass;
	log regclass;
BEGIN
	PERFORM yquota_internal.lock_briefly('LOCK TABLE yquota.history_stretch IN SHARE ROW EXCLUSIVE MODE', attempts);
	IF NOT EXISTS (SELECT FROM ONLY yquota.charge)
		AND NOT EXISTS (SELECT FROM ONLY yquota.container_event)
	THEN
		RETURN NULL;
	END IF;
	SELECT coalesce(max(s.number), 0) + 1,
		   coalesce(max(s.sealed_at) FILTER (WHERE s.number > 0), '-infinity')
	INTO stretch.number, stretch.sealed_from
	FROM yquota.history_stretch AS s;
	stretch.ledger_table := 'charge_sealed_' || stretch.number;
	stretch.log_table := 'container_event_sealed_' || stretch.number;

	-- An autovacuum gives up when it is waited for long enough, and nobody else
	-- has to wait for this lock.  Then in the order in which the door locks.
	LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge IN SHARE UPDATE EXCLUSIVE MODE;
	PERFORM yquota_internal.lock_briefly(
		'LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge IN ACCESS EXCLUSIVE MODE', attempts);
	ledger := yquota_internal.make_child('yquota.charge', stretch.ledger_table, true);
	log := yquota_internal.make_child('yquota.container_event', stretch.log_table, true);
	PERFORM yquota_internal.exchange_storage('yquota.container_event', log);
	PERFORM yquota_internal.exchange_storage('yquota.charge', ledger);
	stretch.sealed_at := greatest(yquota.clock(), stretch.sealed_from);
	INSERT INTO yquota.history_stretch SELECT stretch.*;
	RETURN stretch.number;
END
$$;
COMMENT ON FUNCTION yquota_internal.seal(integer) IS
	'Seal what ledger and log hold; so many attempts to get the locks';
REVOKE ALL ON FUNCTION yquota_internal.seal(integer) FROM PUBLIC;

CREATE FUNCTION yquota.seal_history() RETURNS integer
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT yquota_internal.seal(120)
	$$;
COMMENT ON FUNCTION yquota.seal_history() IS
	'Begin a new stretch of history: what ledger and log hold so far becomes ready to be archived, in a moment and whatever its size; returns the number of the stretch, NULL when there was nothing to seal';
REVOKE ALL ON FUNCTION yquota.seal_history() FROM PUBLIC;

-- Rows are appended, so the first one of the log is one of the oldest.
CREATE FUNCTION yquota_internal.worker_seal(now_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	seal_interval interval := yquota_internal.duration('yquota.seal_interval');
	oldest timestamptz;
BEGIN
	IF seal_interval = '0' THEN
		RETURN;
	END IF;
	SELECT e.recorded_at INTO oldest FROM ONLY yquota.container_event AS e LIMIT 1;
	IF oldest <= now_at - seal_interval THEN
		PERFORM yquota_internal.seal(1);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_seal(timestamptz) IS
	'Seals history every yquota.seal_interval; lock_not_available while other transactions use it';
REVOKE ALL ON FUNCTION yquota_internal.worker_seal(timestamptz) FROM PUBLIC;

--
-- Digests.  Whoever holds an archive recomputes them with plain SQL, anywhere:
-- the query uses nothing of yquota and depends on no setting.  OFFSET keeps the
-- hash of a row from being computed for each of its four parts.
--

CREATE FUNCTION yquota.archive_digest_query(source text, history text DEFAULT 'ledger') RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT format(
$query$SELECT %1$s AS project, count(*) AS archived, %2$s AS charged, max(h.last_at) AS last_at,
	   coalesce(sum(('x' || substr(h.hash,  1, 16))::bit(64)::bigint) * 6277101735386680763835789423207666416102355444464034512896
			  + sum(('x' || substr(h.hash, 17, 16))::bit(64)::bigint) * 340282366920938463463374607431768211456
			  + sum(('x' || substr(h.hash, 33, 16))::bit(64)::bigint) * 18446744073709551616
			  + sum(('x' || substr(h.hash, 49, 16))::bit(64)::bigint), 0) AS digest
FROM (SELECT %3$s, encode(sha256(convert_to(ROW(%4$s)::text, 'UTF8')), 'hex') AS hash
	  FROM %5$s AS r
	  OFFSET 0) AS h%6$s$query$,
		CASE history WHEN 'ledger' THEN 'h.project' ELSE 'NULL::text' END,
		CASE history WHEN 'ledger' THEN 'trim_scale(sum(h.amount))' ELSE 'NULL::numeric' END,
		CASE history WHEN 'ledger' THEN 'r.project, r.amount, r."to" AS last_at'
			ELSE 'r.occurred_at AS last_at' END,
		CASE history WHEN 'ledger' THEN
'r.container_id, r.project, r.application_id, r.username, r.queue, r.node,
			r.execution_type, r.allocation, extract(epoch FROM r.started_at), extract(epoch FROM r."from"),
			extract(epoch FROM r."to"), extract(epoch FROM r.booked_at), r.number, r.corrects, r.settled_by,
			r.exit_status, extract(epoch FROM r.padding), r.dominant, trim_scale(r.amount)'
			ELSE
'r.event, r.container_id, extract(epoch FROM r.occurred_at), r.project, r.application_id,
			r.username, r.queue, r.node, r.allocation, r.execution_type, r.exit_status, r.source,
			extract(epoch FROM r.recorded_at)' END,
		source,
		CASE history WHEN 'ledger' THEN E'\nGROUP BY h.project' ELSE '' END)
	$$;
COMMENT ON FUNCTION yquota.archive_digest_query(text, text) IS
	'The SQL that computes the digests of archived rows; source is a table or a query in parentheses, history is ledger or log.  It runs on any server';

CREATE FUNCTION yquota_internal.missing_columns(target regclass, source regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
			FROM pg_attribute AS a
			WHERE a.attrelid = source AND a.attnum > 0 AND NOT a.attisdropped
			  AND NOT EXISTS (SELECT FROM pg_attribute AS b
							  WHERE b.attrelid = target AND b.attname = a.attname
								AND b.attnum > 0 AND NOT b.attisdropped));
COMMENT ON FUNCTION yquota_internal.missing_columns(regclass, regclass) IS
	'Columns of the second table that the first one has not; NULL when it has all';
REVOKE ALL ON FUNCTION yquota_internal.missing_columns(regclass, regclass) FROM PUBLIC;

CREATE FUNCTION yquota.archive_digest(target regclass)
	RETURNS TABLE (project text, archived bigint, charged numeric, last_at timestamptz, digest numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN QUERY EXECUTE yquota.archive_digest_query(target::text,
		CASE WHEN EXISTS (SELECT FROM pg_attribute
						  WHERE attrelid = target AND attname = 'amount' AND NOT attisdropped)
			 THEN 'ledger' ELSE 'log' END);
END
$$;
COMMENT ON FUNCTION yquota.archive_digest(regclass) IS
	'Digests of the rows of an archive: one row per project for a ledger, to be compared with opening_balance, and one row for a log';

--
-- Archiving
--
-- A container leaves as a whole: with its last row of the ledger and the log,
-- when it does not run any more.  What stretches hold of containers that go on
-- is carried over into new children.  So what the books know of a container
-- they know completely, and all that is told of containers stays exact.
--

CREATE FUNCTION yquota_internal.copy_out(query text, target regclass, columns text)
	RETURNS bigint
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_copy_out';
COMMENT ON FUNCTION yquota_internal.copy_out(text, regclass, text) IS
	'Insert what a query returns into a table with the rights of whoever called from outside; returns the number of rows';
REVOKE ALL ON FUNCTION yquota_internal.copy_out(text, regclass, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.archive_horizon() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT coalesce(max(s.horizon), '-infinity') FROM yquota.history_stretch AS s);
COMMENT ON FUNCTION yquota_internal.archive_horizon() IS
	'What was charged before has been archived; -infinity when nothing has';
REVOKE ALL ON FUNCTION yquota_internal.archive_horizon() FROM PUBLIC;

-- What a target is for: ledger or log.
CREATE FUNCTION yquota_internal.archive_kind(target regclass) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	relation pg_class;
	missing text := yquota_internal.missing_columns(target, 'yquota.charge');
BEGIN
	SELECT * INTO STRICT relation FROM pg_class WHERE oid = target;
	IF relation.relkind NOT IN ('r', 'p', 'f') OR relation.relpersistence <> 'p' THEN
		RAISE EXCEPTION 'cannot archive into "%"', target
			USING ERRCODE = 'wrong_object_type',
				DETAIL = 'History leaves its tables for good and needs a table that lasts.',
				HINT = 'Use an ordinary, partitioned or foreign table that is neither temporary nor unlogged.';
	ELSIF relation.relnamespace IN ('yquota'::regnamespace, 'yquota_internal'::regnamespace)
		OR EXISTS (
			WITH RECURSIVE above (oid) AS (
				SELECT target::oid
				UNION
				SELECT i.inhparent FROM pg_inherits AS i JOIN above ON i.inhrelid = above.oid)
			SELECT FROM above
			WHERE oid IN ('yquota.charge'::regclass, 'yquota.container_event'::regclass))
	THEN
		RAISE EXCEPTION 'cannot archive into "%", which belongs to the books', target
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Make a table of your own: CREATE TABLE ... (LIKE yquota.charge).';
	END IF;
	IF missing IS NULL THEN
		RETURN 'ledger';
	ELSIF yquota_internal.missing_columns(target, 'yquota.container_event') IS NULL THEN
		RETURN 'log';
	END IF;
	RAISE EXCEPTION 'table "%" is like neither the ledger nor the log', target
		USING ERRCODE = 'datatype_mismatch',
			DETAIL = format('For the ledger these columns are missing: %s; for the log: %s.', missing,
							yquota_internal.missing_columns(target, 'yquota.container_event')),
			HINT = 'Create it with LIKE yquota.charge or LIKE yquota.container_event.';
END
$$;
COMMENT ON FUNCTION yquota_internal.archive_kind(regclass) IS
	'ledger or log: what a table takes the archive of; an error when neither';
REVOKE ALL ON FUNCTION yquota_internal.archive_kind(regclass) FROM PUBLIC;

CREATE FUNCTION yquota_internal.column_list(source regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = source AND attnum > 0 AND NOT attisdropped);
COMMENT ON FUNCTION yquota_internal.column_list(regclass) IS 'The columns of a table, for a command';
REVOKE ALL ON FUNCTION yquota_internal.column_list(regclass) FROM PUBLIC;

-- One query over several tables of yquota_internal.
CREATE FUNCTION yquota_internal.rows_of(tables text[], condition text, columns text DEFAULT '*')
	RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(format('SELECT %s FROM ONLY yquota_internal.%I AS c WHERE %s', columns, t, condition),
							  E'\nUNION ALL ')
			FROM unnest(tables) AS t);
COMMENT ON FUNCTION yquota_internal.rows_of(text[], text, text) IS
	'The query for the rows of tables of history that meet a condition on c';
REVOKE ALL ON FUNCTION yquota_internal.rows_of(text[], text, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.is_carried(archived_through integer, negated boolean) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN format('%sEXISTS (SELECT FROM yquota_internal.carried_container AS k WHERE k.archived_through = %s AND k.container_id = c.container_id)',
				  CASE WHEN negated THEN 'NOT ' ELSE '' END, archived_through);
COMMENT ON FUNCTION yquota_internal.is_carried(integer, boolean) IS
	'The condition that the container of c is (not) carried over by an archive';
REVOKE ALL ON FUNCTION yquota_internal.is_carried(integer, boolean) FROM PUBLIC;

-- Containers with rows in the stretches to be archived that go on: they run,
-- wait for their START, or have rows elsewhere.
CREATE FUNCTION yquota_internal.find_carried(
	archived_through integer, ledgers text[], logs text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- before anybody has collected statistics, nested loops look cheap
	SET enable_nestloop = off
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	others text[] := (SELECT coalesce(array_agg(t.name), '{}')
					  FROM yquota.history_stretch AS s,
						   unnest(ARRAY[s.ledger_table,
										CASE WHEN s.ledger_table IS NOT NULL OR s.number = 0 THEN s.log_table END]) AS t(name)
					  WHERE t.name <> ALL (ledgers || logs));
BEGIN
	EXECUTE format(
		'INSERT INTO yquota_internal.carried_container (archived_through, container_id)
		 SELECT DISTINCT %s, own.container_id
		 FROM (%s) AS own
		 WHERE own.container_id IN (
			SELECT container_id FROM yquota.container
			UNION ALL SELECT container_id FROM yquota.event_reject WHERE waiting
			UNION ALL SELECT container_id FROM ONLY yquota.charge
			UNION ALL SELECT container_id FROM ONLY yquota.container_event%s)',
		archived_through,
		yquota_internal.rows_of(ledgers || logs, 'true', 'c.container_id'),
		coalesce(E'\nUNION ALL ' || yquota_internal.rows_of(others, 'true', 'c.container_id'), ''));
END
$$;
COMMENT ON FUNCTION yquota_internal.find_carried(integer, text[], text[]) IS
	'Note the containers of stretches that must be carried over when these are archived';
REVOKE ALL ON FUNCTION yquota_internal.find_carried(integer, text[], text[]) FROM PUBLIC;

-- What has been changed of a container that is leaving, since the snapshot that
-- its rows were found complete by.  New rows are in the parents: children do
-- not change.  There are few, so each is looked up in the indexes.
CREATE FUNCTION yquota_internal.check_unchanged(
	archived_through integer, ledgers text[], since xid8) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET enable_hashjoin = off
	SET enable_mergejoin = off
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	changed text;
BEGIN
	EXECUTE format(
		'SELECT c.container_id
		 FROM (SELECT container_id FROM ONLY yquota.container_event WHERE age(xmin) <= age($1::xid)
			   UNION
			   SELECT container_id FROM ONLY yquota.charge WHERE age(xmin) <= age($1::xid)) AS c
		 WHERE %s AND (%s)
		 LIMIT 1',
		yquota_internal.is_carried(archived_through, true),
		(SELECT string_agg(format('EXISTS (SELECT FROM ONLY yquota_internal.%I AS l WHERE l.container_id = c.container_id)', t), ' OR ')
		 FROM unnest(ledgers) AS t))
	INTO changed USING since;
	IF changed IS NOT NULL THEN
		RAISE EXCEPTION 'could not archive container "%" because an event or a correction of it has just arrived', changed
			USING ERRCODE = 'serialization_failure',
				HINT = 'Nothing was archived.  Call archive() again.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_unchanged(integer, text[], xid8) IS
	'Fail when a container that is about to leave has got new rows';
REVOKE ALL ON FUNCTION yquota_internal.check_unchanged(integer, text[], xid8) FROM PUBLIC;

CREATE FUNCTION yquota_internal.check_corrected(horizon timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF EXISTS (SELECT FROM yquota_internal.correction_due AS due WHERE due.changed_from < horizon)
		OR EXISTS (
			SELECT FROM yquota_internal.counter_delta AS delta
			JOIN yquota.pricing_change AS change
				ON change.version > delta.pricing_version
				AND change.effective_from <= delta.priced_through
			WHERE change.effective_from < horizon)
	THEN
		RAISE EXCEPTION 'cannot archive history that is still to be corrected'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'A price became visible after containers had been charged by the one before.',
				HINT = 'Call yquota.quota_compute(), or wait for the worker to do it, and archive again.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_corrected(timestamptz) IS
	'Fail when late prices may still change what was charged before an instant';
REVOKE ALL ON FUNCTION yquota_internal.check_corrected(timestamptz) FROM PUBLIC;

-- Opening balances count all that has ever been archived: newest row + these.
CREATE FUNCTION yquota_internal.post_opening_balances(
	through integer, horizon timestamptz, rows_query text,
	OUT charged numeric, OUT digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	EXECUTE format(
		'WITH own AS MATERIALIZED (%s), posted AS (
			INSERT INTO yquota.opening_balance
				(project, archived_through, archived_before, charged, charges, digest)
			SELECT own.project, $1, $2,
				   trim_scale(own.charged + coalesce(before.charged, 0)),
				   own.archived + coalesce(before.charges, 0),
				   own.digest + coalesce(before.digest, 0)
			FROM own
			LEFT JOIN LATERAL (
				SELECT b.charged, b.charges, b.digest FROM yquota.opening_balance AS b
				WHERE b.project = own.project
				ORDER BY b.archived_through DESC LIMIT 1) AS before ON true
		 )
		 SELECT trim_scale(sum(own.charged)), sum(own.digest) FROM own',
		yquota.archive_digest_query(format('(%s)', rows_query)))
	INTO charged, digest USING through, horizon;
END
$$;
COMMENT ON FUNCTION yquota_internal.post_opening_balances(integer, timestamptz, text) IS
	'Append the opening balances that follow from archiving what a query returns; credits and digest of these rows';
REVOKE ALL ON FUNCTION yquota_internal.post_opening_balances(integer, timestamptz, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.refuse_change_of_balance() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'cannot change table "%"', TG_TABLE_NAME
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'An opening balance stands for history that has left the database.';
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_change_of_balance() IS 'Opening balances are never changed';
REVOKE ALL ON FUNCTION yquota_internal.refuse_change_of_balance() FROM PUBLIC;

CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.opening_balance
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change_of_balance();

-- A child with the rows that are carried over; it is not attached yet.  NULL
-- when nothing is.
CREATE FUNCTION yquota_internal.make_carried(
	parent regclass, tables text[], through integer) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	parent_name text := (SELECT relname FROM pg_class WHERE oid = parent);
	child text := format('%s_carried_%s', parent_name, through);
	columns text := yquota_internal.column_list(parent);
BEGIN
	IF NOT EXISTS (SELECT FROM yquota_internal.carried_container AS k WHERE k.archived_through = through) THEN
		RETURN NULL;
	END IF;
	PERFORM yquota_internal.make_child(parent, child, false);
	EXECUTE format('INSERT INTO yquota_internal.%I (%s) %s', child, columns,
				   yquota_internal.rows_of(tables, yquota_internal.is_carried(through, false), columns));
	RETURN child;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_carried(regclass, text[], integer) IS
	'Copy the rows of carried containers into a new table; returns its name';
REVOKE ALL ON FUNCTION yquota_internal.make_carried(regclass, text[], integer) FROM PUBLIC;

-- From here on it goes quickly.  With these locks nobody is between looking for
-- a container in the books and relying on what was found.  The door is held up
-- while the other locks are asked for: those are not waited for.
CREATE FUNCTION yquota_internal.lock_for_detaching(ledgers text[], logs text[]) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT yquota_internal.lock_briefly(
		'LOCK TABLE yquota.pricing_change IN SHARE ROW EXCLUSIVE MODE;
		 LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge IN SHARE MODE;
		 LOCK TABLE ' || string_agg(format('yquota_internal.%I', t), ', ') || ' IN ACCESS EXCLUSIVE MODE NOWAIT',
		300, 1)
	FROM unnest(logs || ledgers) AS t
	$$;
COMMENT ON FUNCTION yquota_internal.lock_for_detaching(text[], text[]) IS
	'Wait until nobody reads the tables of history that are to go, and hold up events and prices';
REVOKE ALL ON FUNCTION yquota_internal.lock_for_detaching(text[], text[]) FROM PUBLIC;

CREATE FUNCTION yquota_internal.detach(
	through integer, numbers integer[], horizon timestamptz, carried_ledger text, carried_log text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	stretch yquota.history_stretch;
BEGIN
	FOR stretch IN SELECT * FROM yquota.history_stretch AS s WHERE s.number = ANY (numbers || 0) ORDER BY s.number LOOP
		IF stretch.log_table IS NOT NULL THEN
			EXECUTE format('ALTER TABLE yquota_internal.%I NO INHERIT yquota.container_event', stretch.log_table);
			INSERT INTO yquota_internal.released_log (log_table, archived_through, stretch, sealed_at)
			VALUES (stretch.log_table, through, stretch.number, stretch.sealed_at);
		END IF;
		IF stretch.ledger_table IS NOT NULL THEN
			EXECUTE format('DROP TABLE yquota_internal.%I', stretch.ledger_table);
		END IF;
	END LOOP;
	IF carried_ledger IS NOT NULL THEN
		EXECUTE format('ALTER TABLE yquota_internal.%I INHERIT yquota.charge', carried_ledger);
		EXECUTE format('ALTER TABLE yquota_internal.%I INHERIT yquota.container_event', carried_log);
	END IF;
	UPDATE yquota.history_stretch AS s
	SET ledger_table = NULL, ledger_archived_at = yquota.clock(), horizon = detach.horizon
	WHERE s.number = ANY (numbers);
	INSERT INTO yquota.history_stretch AS s (number, sealed_from, sealed_at, ledger_table, log_table)
	SELECT 0, '-infinity', n.sealed_at, carried_ledger, carried_log
	FROM yquota.history_stretch AS n WHERE n.number = through
	ON CONFLICT (number) DO UPDATE
		SET sealed_at = EXCLUDED.sealed_at, ledger_table = EXCLUDED.ledger_table, log_table = EXCLUDED.log_table;
	-- every session reads the horizon anew; no amount differs
	INSERT INTO yquota.pricing_change (version, effective_from, description)
	SELECT coalesce(max(p.version), 0) + 1, 'infinity', format('history before %s archived', horizon)
	FROM yquota.pricing_change AS p;
END
$$;
COMMENT ON FUNCTION yquota_internal.detach(integer, integer[], timestamptz, text, text) IS
	'Take archived stretches off the ledger and the log, put what is carried over in their place, and move the horizon';
REVOKE ALL ON FUNCTION yquota_internal.detach(integer, integer[], timestamptz, text, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.archive_ledger(
	target regclass, before timestamptz,
	OUT stretches integer, OUT archived bigint, OUT horizon timestamptz, OUT charged numeric, OUT digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	since xid8 := pg_snapshot_xmin(pg_current_snapshot());
	numbers integer[];
	through integer;
	ledgers text[];
	logs text[];
	leaving text;
	columns text := yquota_internal.column_list('yquota.charge');
	number_of_table integer;
	rows_of_table bigint;
	last_to timestamptz;
BEGIN
	archived := 0;
	SELECT array_agg(s.number ORDER BY s.number), max(s.number), count(*),
		   greatest(max(s.sealed_at), yquota_internal.archive_horizon())
	INTO numbers, through, stretches, horizon
	FROM yquota.history_stretch AS s
	WHERE s.number > 0 AND s.ledger_table IS NOT NULL AND s.sealed_at <= before;
	IF through IS NULL THEN
		horizon := yquota_internal.archive_horizon();
		RETURN;
	END IF;
	SELECT array_agg(s.ledger_table ORDER BY s.number) FILTER (WHERE s.ledger_table IS NOT NULL),
		   array_agg(s.log_table ORDER BY s.number) FILTER (WHERE s.log_table IS NOT NULL)
	INTO ledgers, logs
	FROM yquota.history_stretch AS s
	WHERE s.number = ANY (numbers || 0);

	PERFORM yquota_internal.find_carried(through, ledgers, logs);
	leaving := yquota_internal.is_carried(through, true);
	EXECUTE format('SELECT max(c."to") FROM (%s) AS c', yquota_internal.rows_of(ledgers, leaving)) INTO last_to;
	-- what happened at the very end of the last charge is before the horizon
	horizon := greatest(horizon, last_to + interval '1 microsecond');
	PERFORM yquota_internal.check_corrected(horizon);

	FOR number_of_table IN SELECT unnest(numbers || 0) LOOP
		SELECT yquota_internal.copy_out(
				   yquota_internal.rows_of(ARRAY[s.ledger_table], leaving, columns), target, columns)
		INTO rows_of_table
		FROM yquota.history_stretch AS s
		WHERE s.number = number_of_table AND s.ledger_table IS NOT NULL;
		archived := archived + coalesce(rows_of_table, 0);
		UPDATE yquota.history_stretch AS s SET charges = rows_of_table
		WHERE s.number = number_of_table AND s.number > 0;
	END LOOP;
	SELECT * INTO charged, digest
	FROM yquota_internal.post_opening_balances(through, horizon, yquota_internal.rows_of(ledgers, leaving));
	EXECUTE format('DELETE FROM yquota.container_change AS d WHERE d.container_id IN (%s)',
				   yquota_internal.rows_of(ledgers, leaving, 'c.container_id'));

	DECLARE
		carried_ledger text := yquota_internal.make_carried('yquota.charge', ledgers, through);
		carried_log text := yquota_internal.make_carried('yquota.container_event', logs, through);
	BEGIN
		PERFORM yquota_internal.lock_for_detaching(ledgers, logs);
		PERFORM yquota_internal.check_unchanged(through, ledgers, since);
		PERFORM yquota_internal.check_corrected(horizon);
		PERFORM yquota_internal.detach(through, numbers, horizon, carried_ledger, carried_log);
	END;
END
$$;
COMMENT ON FUNCTION yquota_internal.archive_ledger(regclass, timestamptz) IS
	'Archive the ledger rows of stretches sealed until an instant';
REVOKE ALL ON FUNCTION yquota_internal.archive_ledger(regclass, timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.archive_log(
	target regclass, before timestamptz,
	OUT stretches integer, OUT archived bigint, OUT horizon timestamptz, OUT digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	released yquota_internal.released_log;
	columns text := yquota_internal.column_list('yquota.container_event');
	leaving text;
	rows_of_table bigint;
	digest_of_table numeric;
BEGIN
	stretches := 0;
	archived := 0;
	FOR released IN
		SELECT * FROM yquota_internal.released_log AS r
		WHERE r.sealed_at <= before
		ORDER BY r.archived_through, r.stretch
	LOOP
		leaving := yquota_internal.rows_of(ARRAY[released.log_table],
										   yquota_internal.is_carried(released.archived_through, true), columns);
		rows_of_table := yquota_internal.copy_out(leaving, target, columns);
		EXECUTE format('SELECT digest FROM (%s) AS d', yquota.archive_digest_query(format('(%s)', leaving), 'log'))
		INTO digest_of_table;
		EXECUTE format('DROP TABLE yquota_internal.%I', released.log_table);
		DELETE FROM yquota_internal.released_log AS r WHERE r.log_table = released.log_table;
		UPDATE yquota.history_stretch AS s
		SET log_table = NULL, log_archived_at = yquota.clock(), events = rows_of_table
		WHERE s.number = released.stretch AND s.number > 0;
		stretches := stretches + (released.stretch > 0)::integer;
		archived := archived + rows_of_table;
		digest := coalesce(digest, 0) + digest_of_table;
		horizon := greatest(horizon, released.sealed_at);
	END LOOP;
	DELETE FROM yquota_internal.carried_container AS k
	WHERE NOT EXISTS (SELECT FROM yquota_internal.released_log AS r
					  WHERE r.archived_through = k.archived_through);
	IF stretches = 0 AND EXISTS (SELECT FROM yquota.history_stretch AS s
								 WHERE s.number > 0 AND s.ledger_table IS NOT NULL AND s.sealed_at <= before)
	THEN
		RAISE NOTICE 'the log of a stretch is archived after its ledger'
			USING HINT = 'Call archive() with a table like yquota.charge first.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.archive_log(regclass, timestamptz) IS
	'Archive the log rows of stretches sealed until an instant whose ledger has been archived';
REVOKE ALL ON FUNCTION yquota_internal.archive_log(regclass, timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota.archive(target regclass, before timestamptz)
	RETURNS TABLE (history text, stretches integer, archived bigint, archived_before timestamptz,
				   charged numeric, digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF target IS NULL OR before IS NULL THEN
		RAISE EXCEPTION 'arguments of archive must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Use infinity for all that is sealed.';
	ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'cannot archive at isolation level %', upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'What has been committed meanwhile must be seen.',
				HINT = 'Use a transaction of isolation level READ COMMITTED.';
	END IF;
	history := yquota_internal.archive_kind(target);
	PERFORM yquota_internal.lock_briefly(
		'LOCK TABLE yquota.history_stretch IN SHARE ROW EXCLUSIVE MODE', 600);
	IF history = 'ledger' THEN
		SELECT l.stretches, l.archived, l.horizon, l.charged, l.digest
		INTO archive.stretches, archive.archived, archived_before, archive.charged, archive.digest
		FROM yquota_internal.archive_ledger(target, before) AS l;
	ELSE
		SELECT l.stretches, l.archived, l.horizon, l.digest
		INTO archive.stretches, archive.archived, archived_before, archive.digest
		FROM yquota_internal.archive_log(target, before) AS l;
	END IF;
	RETURN NEXT;
END
$$;
COMMENT ON FUNCTION yquota.archive(regclass, timestamptz) IS
	'Move the stretches of history sealed until an instant into a table like yquota.charge, then into one like yquota.container_event; what goes on is carried over.  Returns one row: what was archived';
REVOKE ALL ON FUNCTION yquota.archive(regclass, timestamptz) FROM PUBLIC;

SELECT pg_extension_config_dump('yquota.history_stretch', '');
SELECT pg_extension_config_dump('yquota.opening_balance', '');
SELECT pg_extension_config_dump('yquota_internal.carried_container', '');
SELECT pg_extension_config_dump('yquota_internal.released_log', '');
--
-- The worker: what it does to its own state, and how people start, stop and
-- watch it.  worker_state.pid is set from a worker's start until it leaves on
-- purpose: found set by the next one, it means that the last one did not.
--

-- Wakes the worker at commit; without one, its launcher.
CREATE FUNCTION yquota_internal.wake_worker() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_wake_worker';
COMMENT ON FUNCTION yquota_internal.wake_worker() IS
	'Makes the worker look at its state when the transaction commits';
REVOKE ALL ON FUNCTION yquota_internal.wake_worker() FROM PUBLIC;

CREATE FUNCTION yquota_internal.request_worker() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_request_worker';
COMMENT ON FUNCTION yquota_internal.request_worker() IS
	'Starts a worker of this database when the transaction commits';
REVOKE ALL ON FUNCTION yquota_internal.request_worker() FROM PUBLIC;

CREATE FUNCTION yquota_internal.wake_worker_on_drop() RETURNS event_trigger
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_wake_worker_on_drop';
COMMENT ON FUNCTION yquota_internal.wake_worker_on_drop() IS
	'Makes the worker notice a DROP EXTENSION when it commits';
REVOKE ALL ON FUNCTION yquota_internal.wake_worker_on_drop() FROM PUBLIC;

CREATE EVENT TRIGGER yquota_wake_worker_on_drop ON ddl_command_start
	WHEN TAG IN ('DROP EXTENSION', 'DROP OWNED')
	EXECUTE FUNCTION yquota_internal.wake_worker_on_drop();
COMMENT ON EVENT TRIGGER yquota_wake_worker_on_drop IS
	'Lets the worker of yquota leave as soon as the extension is dropped';

--
-- What the worker calls
--

CREATE FUNCTION yquota_internal.note_gap(mark timestamptz, now_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- what has been archived cannot be forgiven any more
	gap_from timestamptz := greatest(mark, yquota_internal.archive_horizon());
	gap interval := now_at - gap_from;
	is_forgiven boolean := gap <= yquota_internal.duration('yquota.outage_max');
	new_outage_id bigint;
BEGIN
	IF mark IS NULL OR gap <= yquota_internal.duration('yquota.outage_threshold')
		OR current_setting('yquota.outage_policy') = 'charge' THEN
		RETURN;
	END IF;

	INSERT INTO yquota.outage (started_at, ended_at, forgiven, reason)
	VALUES (gap_from, now_at, is_forgiven, 'the yquota worker was not running')
	RETURNING outage_id INTO new_outage_id;

	IF NOT is_forgiven THEN
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		VALUES ('outage_undecided', new_outage_id,
				format('The worker was not running from %s to %s, longer than yquota.outage_max. The time is charged unless yquota.decide_outage(%s, true) forgives it.',
					   gap_from, now_at, new_outage_id),
				now_at);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_gap(timestamptz, timestamptz) IS
	'Makes an outage of the time that no worker ran, if it is one (DESIGN 3)';
REVOKE ALL ON FUNCTION yquota_internal.note_gap(timestamptz, timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.worker_start(own_pid integer, now_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	last yquota_internal.worker_state;
	own_system bigint;
	own_database oid;
BEGIN
	INSERT INTO yquota_internal.worker_state DEFAULT VALUES ON CONFLICT DO NOTHING;
	SELECT * INTO STRICT last FROM yquota_internal.worker_state FOR UPDATE;
	SELECT system_identifier INTO STRICT own_system FROM pg_control_system();
	SELECT oid INTO STRICT own_database FROM pg_database WHERE datname = current_database();

	-- The first start, a restored copy, and a worker that left on purpose
	-- make no outage.
	IF last.pid IS NOT NULL AND last.system_identifier = own_system
		AND last.database_oid = own_database THEN
		PERFORM yquota_internal.note_gap(
			(SELECT max(mark.at) FROM yquota_internal.charged_through AS mark), now_at);
	END IF;

	-- In the same transaction, so that the gap is closed exactly once.
	INSERT INTO yquota.container_event (event, occurred_at, source)
	VALUES ('QUOTA_COMPUTE', now_at, 'yquota worker');

	UPDATE yquota_internal.worker_state
	SET pid = own_pid, started_at = now_at, stopped_at = NULL,
		system_identifier = own_system, database_oid = own_database,
		last_compute_at = now_at, failures = 0;
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_start(integer, timestamptz) IS
	'Makes the calling process the worker of record and closes the gap that the last one left';
REVOKE ALL ON FUNCTION yquota_internal.worker_start(integer, timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.worker_leave(own_pid integer, now_at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE yquota_internal.worker_state SET pid = NULL, stopped_at = now_at
	WHERE pid = own_pid;
$$;
COMMENT ON FUNCTION yquota_internal.worker_leave(integer, timestamptz) IS
	'Records that the worker left on purpose';
REVOKE ALL ON FUNCTION yquota_internal.worker_leave(integer, timestamptz) FROM PUBLIC;

-- An administrator's open change of prices is not waited for, but is worth
-- knowing about when it lasts.
CREATE FUNCTION yquota_internal.worker_price(now_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT yquota_internal.try_lock_pricing() THEN
		RAISE lock_not_available USING MESSAGE = 'another change of prices is under way';
	END IF;
	PERFORM FROM yquota.compute_prices(now_at);
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_price(timestamptz) IS
	'Computes and publishes prices; lock_not_available while somebody else changes them';
REVOKE ALL ON FUNCTION yquota_internal.worker_price(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.worker_record(
	failures_now integer, now_at timestamptz, price_at timestamptz, compute_at timestamptz,
	fold_at timestamptz, error text, error_at timestamptz, postponed text[]) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO yquota_internal.worker_state AS state
		(last_price_at, last_compute_at, last_fold_at, last_error, last_error_at, failures)
	VALUES (price_at, compute_at, fold_at, error, error_at, failures_now)
	ON CONFLICT (only_row) DO UPDATE SET
		last_price_at = coalesce(price_at, state.last_price_at),
		last_compute_at = coalesce(compute_at, state.last_compute_at),
		last_fold_at = coalesce(fold_at, state.last_fold_at),
		last_error = coalesce(error, state.last_error),
		last_error_at = coalesce(error_at, state.last_error_at),
		failures = failures_now;

	INSERT INTO yquota.alert (kind, subject, detail, raised_at)
	SELECT 'worker_postponed', task,
		   'Another transaction holds a lock that the worker needs for this; it tries again every second.',
		   now_at
	FROM unnest(postponed) AS task
	ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;

	-- What is over, and what an administrator decided by changing the row
	UPDATE yquota.alert SET cleared_at = now_at
	WHERE cleared_at IS NULL
	  AND (kind = 'worker_postponed' AND subject <> ALL (postponed)
		   OR kind = 'outage_undecided' AND NOT EXISTS (
				SELECT FROM yquota.outage
				WHERE outage_id::text = subject AND NOT forgiven));
$$;
COMMENT ON FUNCTION yquota_internal.worker_record(integer, timestamptz, timestamptz, timestamptz, timestamptz, text, timestamptz, text[]) IS
	'Brings worker_state and the worker''s alerts up to date; null times and errors leave what is there';
REVOKE ALL ON FUNCTION yquota_internal.worker_record(integer, timestamptz, timestamptz, timestamptz, timestamptz, text, timestamptz, text[]) FROM PUBLIC;

--
-- What people call
--

CREATE FUNCTION yquota.start_worker() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO yquota_internal.worker_state DEFAULT VALUES
	ON CONFLICT (only_row) DO UPDATE SET stopped_on_purpose = false;
	SELECT yquota_internal.request_worker();
$$;
COMMENT ON FUNCTION yquota.start_worker() IS
	'Starts the worker of this database when the transaction commits, unless one runs; also undoes stop_worker()';
REVOKE ALL ON FUNCTION yquota.start_worker() FROM PUBLIC;

CREATE FUNCTION yquota.stop_worker() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO yquota_internal.worker_state AS state (stopped_on_purpose, stopped_at)
	VALUES (true, yquota.statement_clock())
	ON CONFLICT (only_row) DO UPDATE
	SET stopped_on_purpose = true, pid = NULL, stopped_at = excluded.stopped_at;
	SELECT yquota_internal.wake_worker();
$$;
COMMENT ON FUNCTION yquota.stop_worker() IS
	'Switches the worker of this database off until start_worker(); the time between is no outage';
REVOKE ALL ON FUNCTION yquota.stop_worker() FROM PUBLIC;

CREATE FUNCTION yquota.decide_outage(outage_id bigint, forgive boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF forgive IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'the decision must not be null';
	END IF;
	PERFORM FROM yquota.outage WHERE outage.outage_id = decide_outage.outage_id FOR UPDATE;
	IF NOT FOUND THEN
		RAISE no_data_found
			USING MESSAGE = format('outage %s does not exist', outage_id),
				  HINT = 'See yquota.outage for those that wait for a decision.';
	END IF;

	UPDATE yquota.outage SET forgiven = forgive
	WHERE outage.outage_id = decide_outage.outage_id
	  AND forgiven <> forgive;
	UPDATE yquota.alert SET cleared_at = yquota.statement_clock()
	WHERE kind = 'outage_undecided' AND subject = outage_id::text
	  AND cleared_at IS NULL;
END
$$;
COMMENT ON FUNCTION yquota.decide_outage(bigint, boolean) IS
	'Decides whether an outage is forgiven, such as one longer than yquota.outage_max that waits for it';
REVOKE ALL ON FUNCTION yquota.decide_outage(bigint, boolean) FROM PUBLIC;

-- With the owner's rights: backend_type is hidden from whoever may read the
-- view but is no member of pg_read_all_stats, and no worker would show.
CREATE FUNCTION yquota_internal.worker_processes()
	RETURNS TABLE (database name, pid integer)
LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT activity.datname, activity.pid
	FROM pg_stat_activity AS activity
	WHERE activity.backend_type = 'yquota worker';
END;
COMMENT ON FUNCTION yquota_internal.worker_processes() IS
	'Processes of the workers of all databases';

CREATE VIEW yquota.worker_status AS
SELECT current_database() AS database,
	   process.pid,
	   CASE WHEN pg_is_in_recovery() THEN 'standby'
			WHEN process.pid IS NULL THEN 'stopped'
			WHEN state.stopped_on_purpose THEN 'stopping'
			WHEN process.pid = state.pid THEN 'running'
			ELSE 'starting'
	   END AS state,
	   state.started_at,
	   state.last_price_at,
	   state.last_compute_at,
	   state.last_fold_at,
	   state.last_error,
	   state.last_error_at,
	   coalesce(state.failures, 0) AS failures,
	   ARRAY(SELECT alert.subject FROM yquota.alert
			 WHERE alert.kind = 'worker_postponed' AND alert.cleared_at IS NULL
			 ORDER BY alert.subject) AS postponed
FROM (VALUES (true)) AS one (row)
LEFT JOIN yquota_internal.worker_state AS state ON true
LEFT JOIN LATERAL (
	SELECT worker.pid
	FROM yquota_internal.worker_processes() AS worker
	WHERE worker.database = current_database()
	ORDER BY worker.pid IS DISTINCT FROM state.pid
	LIMIT 1) AS process ON true
UNION ALL
SELECT worker.database, worker.pid, 'running',
	   NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM yquota_internal.worker_processes() AS worker
WHERE worker.database <> current_database();
COMMENT ON VIEW yquota.worker_status IS
	'The worker of this database and what it last did, and the workers seen in other databases';
COMMENT ON COLUMN yquota.worker_status.state IS
	'running, starting, stopping, stopped, or standby';
COMMENT ON COLUMN yquota.worker_status.last_price_at IS 'clock when prices were last computed';
COMMENT ON COLUMN yquota.worker_status.last_compute_at IS 'clock of the last QUOTA_COMPUTE of a worker';
COMMENT ON COLUMN yquota.worker_status.last_fold_at IS 'clock when counters were last folded';
COMMENT ON COLUMN yquota.worker_status.failures IS 'failed attempts in a row, 0 when all is well';
COMMENT ON COLUMN yquota.worker_status.postponed IS
	'what waits for locks that other transactions hold';
GRANT SELECT ON yquota.worker_status TO pg_monitor;

-- A launcher that waits for this extension need not wait any longer.
SELECT yquota_internal.wake_worker();
