--
-- The type yquota.resource
--
SET search_path = yquota, yquota_internal, pg_catalog;

-- Return the result of an expression as text, or its SQLSTATE, message, detail and hint.
CREATE FUNCTION pg_temp.attempt(expression text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	result text;
	state text;
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE 'SELECT (' || expression || ')::text' INTO result;
	RETURN coalesce(result, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
		message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', state || ': ' || message, nullif(detail, ''),
					 'HINT: ' || nullif(hint, ''));
END $$;

-- Return the result of reading the text form.
CREATE FUNCTION pg_temp.read(input text) RETURNS text
LANGUAGE sql AS $$ SELECT pg_temp.attempt(format('%L::yquota.resource', input)) $$;

--
-- Text: forms, order, white space, aliases
--
SELECT input, pg_temp.read(input) AS resource
FROM (VALUES
	(1, '[memory-mb=4096,vcores=2,yarn.io/gpu=1]'),
	(2, '[yarn.io/gpu=1,vcores=2,memory-mb=4096]'),
	(3, E' \t[ memory-mb = 4096 ,\r\n vcores=2 ]\f\x0B '),
	(4, '[memory=4096,vCores=2]'),
	(5, '<memory:4096, vCores:2>'),
	(6, '<memory:4096, vCores:2, yarn.io/gpu: 1>'),
	(7, '<memory:0, vCores:0>'),
	(8, '[]'),
	(9, '<>'),
	(10, ' [ ] '),
	(11, '[a=0,b=-0,c=1]'),
	(12, '[b=1,aa=2,a=3,B=4,~=5,!=6,a/b.c_d-e{f}"''\=7]'),
	(13, '[vcores=-3,memory-mb=+5]'),
	(14, '[vcores=007]'),
	(15, ' {"vcores": 2, "memory": "4Gi"} '),
	(16, '{}')
) v(n, input) ORDER BY n;

-- Amounts: the suffixes of bytes, of whole cores, and of native units
SELECT name || '=' || amount AS input,
	pg_temp.read(format('[%s=%s]', name, amount)) AS resource
FROM (VALUES
	(1, 'memory-mb', '4Gi'), (2, 'memory-mb', '512Mi'), (3, 'memory-mb', '1Ti'),
	(4, 'memory-mb', '2048Ki'), (5, 'memory-mb', '1.5Gi'),
	(6, 'memory-mb', '1048576k'), (7, 'memory-mb', '65536M'),
	(8, 'memory-mb', '1048576000m'), (9, 'memory', '4Gi'), (10, 'memory-mb', '2.0'),
	(11, 'memory-mb', '0k'), (12, 'memory-mb', '-4Gi'),
	(20, 'vcores', '2000m'), (21, 'vcores', '1.50k'), (22, 'vcores', '2Ki'),
	(23, 'vCores', '3'), (24, 'vcores', '0.000000000000000001E'),
	(30, 'cpu-milli', '500'), (31, 'cpu-milli', '500m'), (32, 'cpu-milli', '2k'),
	(33, 'cpu-milli', '0.5k'), (34, 'gpu-milli', '250m'), (35, 'x-milli', '1Ki'),
	(36, '-milli', '1Ki'),
	(40, 'x', '1k'), (41, 'x', '1M'), (42, 'x', '1G'), (43, 'x', '1T'),
	(44, 'x', '1P'), (45, 'x', '1E'), (46, 'x', '1Ki'), (47, 'x', '1Mi'),
	(48, 'x', '1Gi'), (49, 'x', '1Ti'), (50, 'x', '1Pi'), (51, 'x', '1Ei'),
	(60, 'x', '9223372036854775807'), (61, 'x', '-9223372036854775808'),
	(62, 'memory-mb', '9223372036854775807Mi'),
	(63, 'memory-mb', '9671406556917033396600832000m'),
	(64, 'x', '0.00000000000000000000000'),
	(65, 'x', '9.223372036854775807000E'), (66, 'x', '-8Ei'),
	(67, 'x', '0.00000095367431640625Mi'), (68, 'memory-mb', '1.048576M')
) v(n, name, amount) ORDER BY n;

-- Refused: not whole
SELECT pg_temp.read(input) AS not_whole
FROM (VALUES
	(1, '[vcores=500m]'), (2, '[memory-mb=4G,vcores=1]'), (3, '[memory=500m]'),
	(4, '[memory-mb=0.5]'), (5, '[yarn.io/gpu=0.5]'), (6, '[cpu-milli=0.5m]'),
	(7, '<memory:4096, vCores:1.5>'), (8, '[x=0.1]'),
	(9, '[x=0.0000000000000000001E]'), (10, '[x=0.00000095367431640626Mi]'),
	(11, '[x=0.00000000000000000000000000001E]')
) v(n, input) ORDER BY n;

-- Refused: out of range
SELECT pg_temp.read(input) AS out_of_range
FROM (VALUES
	(1, '[vcores=9223372036854775808]'), (2, '[x=1,vcores=-9223372036854775809]'),
	(3, '[x=8Ei]'), (4, '[x=9.3E]'), (5, '[cpu-milli=10P]'), (6, '[memory-mb=8796093022208Ei]'),
	(7, '[x=' || repeat('9', 39) || ']'), (8, '[x=' || repeat('9', 38) || 'Ei]'),
	(9, '[x=' || repeat('9', 30) || '.' || repeat('9', 18) || ']')
) v(n, input) ORDER BY n;

-- Refused: syntax
SELECT replace(pg_temp.read(input), repeat('n', 256), '<256 n>') AS syntax
FROM (VALUES
	(1, ''), (2, '   '), (3, 'vcores=1'), (4, '['), (5, '[vcores'), (6, '[vcores='),
	(7, '[vcores=1'), (8, '[vcores=1,'), (9, '[vcores=1,]'), (10, '[,vcores=1]'),
	(11, '[=1]'), (12, '[vcores:1]'), (13, '<vcores=1>'), (14, '[vcores=1>'),
	(15, '<memory:1]'), (16, '[vcores=1]]'), (17, '[vcores=1] x'), (18, '[vcores 1]'),
	(19, '[v cores=1]'), (20, '[vcores=1 2]'), (21, '[vcores=1 memory=2]'),
	(22, '[vcores==1]'), (23, '[vcores=one]'), (24, '[vcores=0x10]'), (25, '[vcores=1e3]'),
	(26, '[vcores=1K]'), (27, '[vcores=1kk]'), (28, '[vcores=1 k]'), (29, '[vcores=.5]'),
	(30, '[vcores=5.]'), (31, '[vcores=--1]'), (32, '[vcores=-]'), (33, '[vcores=1.2.3]'),
	(34, '[vcores=1,memory-mb=2,vcores=1]'), (35, '[memory=1,memory-mb=1]'),
	(36, '<vCores:0, vcores:0>'), (37, E'[a\x01b=1]'), (38, '{"vcores": [1]}'),
	(39, '[' || repeat('n', 256) || '=1]'), (40, '{"vcores": 1'), (41, '{"vcores": 1.5}'), (42, '{"a": {"vcores": 1}}')
) v(n, input) ORDER BY n;

-- Characters that are not ASCII: error positions count characters
SELECT convert_from('\x5bc3a9c3a93d315d', 'UTF8') AS name,
	convert_from('\x5b613dc3a95d', 'UTF8') AS amount,
	convert_from('\x5b613d315d20c3a92078', 'UTF8') AS after_end,
	convert_from('\x5bc3a9c3a920315d', 'UTF8') AS between \gset
SELECT replace(replace(pg_temp.read(input), input, '<input>'), amount, '<amount>') AS not_ascii
FROM (VALUES (1, :'name'), (2, :'after_end'), (3, :'between'), (4, :'amount')) v(n, input),
	substr(:'amount', 4, 1) amount ORDER BY n;

-- Servers with soft errors return these errors from pg_input_is_valid()
DO $$
DECLARE
	input text;
	valid boolean;
BEGIN
	IF to_regprocedure('pg_catalog.pg_input_is_valid(text, text)') IS NULL THEN
		RETURN;
	END IF;
	FOREACH input IN ARRAY '{"","{","[","[a","[a=","[a=1","[a=1,]","[a=x]","[a=1]x",
		"[a=1,a=1]","[a=0.5]","[a=8Ei]","[a b=1]","{\"a\": 1"}'::text[] LOOP
		EXECUTE 'SELECT pg_catalog.pg_input_is_valid($1, ''yquota.resource'')'
			INTO valid USING input;
		ASSERT NOT valid, input;
	END LOOP;
END $$;

-- The longest name and the most entries
SELECT amount(format('[%s=7]', repeat('n', 255))::resource, repeat('n', 255));
SELECT count(*), sum(e.amount)
FROM (SELECT ('[' || string_agg('n' || n || '=' || n, ',') || ']')::resource AS r
	  FROM generate_series(1, 64) n) s, resource_entries(r) e;
SELECT right(pg_temp.read('[' || string_agg('n' || n || '=' || n, ',') || ']'), 34) AS too_many
FROM generate_series(1, 65) n;
SELECT pg_temp.attempt(format('%L::yquota.resource + %L::yquota.resource',
	'[' || string_agg('a' || n || '=1', ',') || ']',
	'[' || string_agg('b' || n || '=1', ',') || ']')) AS too_many
FROM generate_series(1, 33) n;
SELECT count(*) AS just_fits FROM resource_entries((
	SELECT ('[' || string_agg('a' || n || '=1', ',') || ']')::resource
		+ ('[' || string_agg('a' || n || '=1,b' || n || '=1', ',') || ']')::resource
	FROM generate_series(1, 32) n));

--
-- Canonical form: equal values have equal bytes, and well-known names are stored as codes
--
SELECT r, r = '[vcores=2,memory-mb=4096]' AS equal,
	pg_column_size(r) AS bytes_with_header,
	resource_hash(r) = resource_hash('[memory-mb=4096,vcores=2]') AS same_hash
FROM (VALUES
	('<memory:4096, vCores:2>'::resource),
	(resource(vcores => 2, memory_mb => 4096)),
	(resource('{"vcores": "2000m", "memory": "4Gi"}'::jsonb)),
	('[vcores=1,memory-mb=2048]'::resource * 2),
	('[vcores=1,memory-mb=1]'::resource + '[vcores=1,memory-mb=4095]'),
	('[vcores=3,memory-mb=4096,x=5]'::resource - '[vcores=1,x=5]')) v(r);

CREATE TEMP TABLE stored (name text, r resource);
INSERT INTO stored
SELECT name, format('[%s=1]', name)::resource
FROM unnest('{amd.com/gpu,cpu-milli,ephemeral-storage,gpu-milli,memory-mb,
	nvidia.com/gpu,vcores,yarn.io/fpga,yarn.io/gpu,other}'::text[]) name;
SELECT name, pg_column_size(r) FROM stored ORDER BY name COLLATE "C";

-- Alignment and storage: a short header, no padding
SELECT typlen, typbyval, typalign, typstorage FROM pg_type
WHERE oid = 'resource'::regtype;

-- The bytes on disk must never change
CREATE CAST (resource AS bytea) WITHOUT FUNCTION;
SELECT r, r::bytea AS stored
FROM unnest('{"[]","[amd.com/gpu=1,cpu-milli=1,ephemeral-storage=1,gpu-milli=1,memory-mb=1]",
	"[nvidia.com/gpu=1,vcores=1,yarn.io/fpga=1,yarn.io/gpu=1]",
	"[a=-1,memory-mb=4096,vcore=63,vcores=64,vcores2=-64,z=-65]",
	"[x=9223372036854775807,y=-9223372036854775808]"}'::resource[]) r;

-- Bytes that are not canonical are reported as corrupt
CREATE CAST (bytea AS resource) WITHOUT FUNCTION;
SELECT stored, pg_temp.attempt(format('%L::bytea::yquota.resource', stored)) AS read
FROM (VALUES
	(1, '\x0502'), (2, '\x00016102'), (3, '\x0a02'), (4, '\x05'), (5, '\x00'), (6, '\x0000'),
	(7, '\x000261'), (8, '\x000161'), (9, '\x0500'), (10, '\x058200'), (11, '\x0582'),
	(12, '\x05ffffffffffffffffff01'), (13, '\x05ffffffffffffffffff02'),
	(14, '\x05ffffffffffffffffffff01'), (15, '\x07020502'), (16, '\x05020502')
) v(n, stored) ORDER BY n;
DO $$
DECLARE
	good bytea := '[a=1,memory-mb=4096,x=-9223372036854775808]'::yquota.resource::bytea;
	read yquota.resource;
	cut int := 0;
BEGIN
	FOR length IN 1 .. length(good) - 1 LOOP
		BEGIN
			read := substr(good, 1, length)::yquota.resource;
			PERFORM read::text;
			cut := cut + 1;
		EXCEPTION WHEN data_corrupted THEN
			NULL;
		END;
	END LOOP;
	RAISE NOTICE '% of the beginnings can be read', cut;
END $$;
DROP CAST (bytea AS resource);
DROP CAST (resource AS bytea);

-- A value that is too long for a page, stored compressed and out of line
CREATE TEMP TABLE long_value (r resource);
INSERT INTO long_value
SELECT ('[' || string_agg(repeat('x', 250) || n || '=' || n, ',') || ']')::resource
FROM generate_series(1, 63) n;
ALTER TABLE long_value ALTER r SET STORAGE EXTERNAL;
INSERT INTO long_value SELECT r + '[vcores=1]' - '[vcores=1]' FROM long_value;
SELECT count(DISTINCT r), count(DISTINCT resource_hash(r)),
	sum((SELECT sum(e.amount) FROM resource_entries(r) e)) FROM long_value;

--
-- Binary
--
SELECT resource_send('[memory-mb=4096,vcores=-1,z=9223372036854775807]');
SELECT resource_send('[]');

CREATE TEMP TABLE received (r resource);
SELECT current_setting('data_directory') || '/yquota_resource_test.bin' AS file \gset

-- Let the server receive a value by a binary COPY of one row.
CREATE FUNCTION pg_temp.receive(file text, value bytea) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	copy bytea := '\x5047434f50590aff0d0a000000000000000000'
		|| int2send(1::int2) || int4send(length(value)) || value || int2send(-1::int2);
	lo oid := lo_from_bytea(0, copy);
	result text;
	state text;
	message text;
	detail text;
BEGIN
	PERFORM lo_export(lo, file);
	PERFORM lo_unlink(lo);
	EXECUTE format('COPY pg_temp.received FROM %L (FORMAT binary)', file);
	DELETE FROM pg_temp.received RETURNING r::text INTO STRICT result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
		message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(E'\n', state || ': ' || message, nullif(detail, ''));
END $$;

SELECT pg_temp.receive(:'file', value) AS received
FROM (VALUES
	(1, resource_send('[memory-mb=4096,vcores=-1,z=9223372036854775807]')),
	(2, resource_send('[]')),
	(3, '\x'),
	(4, '\x01'),
	(5, '\x0200'),
	(6, '\x0141'),
	(7, '\x010101'),
	(8, '\x01010161000000000000'),
	(9, '\x010101610000000000000000'),
	(10, '\x0101000000000000000001'),
	(11, '\x010101200000000000000001'),
	(12, '\x010101ff0000000000000001'),
	(13, '\x0101066d656d6f72790000000000000001'),
	(14, '\x0102016200000000000000010161' || '\x0000000000000001'::bytea),
	(15, '\x0102016100000000000000010161' || '\x0000000000000002'::bytea),
	(16, '\x01010161000000000000000100'),
	(17, '\x0102016100000000000000010162' || '\xffffffffffffffff'::bytea)
) v(n, value) ORDER BY n;

--
-- JSON
--
SELECT value, pg_temp.attempt(format('%L::jsonb::yquota.resource', value)) AS resource
FROM (VALUES
	(1, '{"memory-mb": 4096, "vcores": 2}'),
	(2, '{"memory": "4Gi", "vCores": "2000m", "cpu-milli": "500m"}'),
	(3, '{}'), (4, '{"x": 0, "y": -1, "z": 1e3, "zz": 2.0}'),
	(5, '{"x": 9223372036854775807}')
) v(n, value) ORDER BY n;
SELECT pg_temp.attempt(format('yquota.resource(%L::jsonb)', value)) AS refused
FROM (VALUES
	(1, '{"vcores": null}'), (2, '{"vcores": true}'), (3, '{"vcores": {"a": 1}}'),
	(4, '{"vcores": [1]}'), (5, '[1]'), (6, '[]'), (7, '7'), (8, 'null'),
	(9, '"[vcores=1]"'), (10, '{"vcores": 1.5}'), (11, '{"vcores": 1e30}'),
	(12, '{"vcores": 1e100}'), (13, '{"vcores": "two"}'), (14, '{"vcores": ""}'),
	(15, '{"vcores": " 2"}'), (16, '{"": 1}'), (17, '{"a b": 1}'),
	(18, '{"memory": 1, "memory-mb": 1}'), (19, '{"vcores": "500m"}')
) v(n, value) ORDER BY n;
SELECT '[yarn.io/gpu=1,memory-mb=4096,x=-9223372036854775808]'::resource::jsonb,
	'[]'::resource::jsonb;
-- within a row the value becomes its text form, which can be read again
SELECT to_jsonb(t), (jsonb_populate_record(NULL::stored, to_jsonb(t))).r
FROM stored t WHERE name = 'vcores';

--
-- Constructor, access
--
SELECT resource(), resource(memory_mb => 4096, vcores => 2, gpu => 1),
	resource(1, 2), resource(cpu_milli => 1500, gpu_milli => 250, fpga => 1),
	resource(vcores => NULL) IS NULL AS null_if_null;
SELECT amount(r, 'memory-mb'), amount(r, 'memory'), amount(r, 'vCores'),
	amount(r, 'x'), amount(r, 'yarn.io/gpu'), amount(r, 'memor'), amount(r, 'memory-mb2')
FROM (SELECT '[memory-mb=4096,vcores=2,x=-5]'::resource AS r) s;
SELECT replace(pg_temp.attempt(format('yquota.amount(%L, %L)', '[x=1]', name)), repeat('n', 256), '<256 n>') AS amount
FROM (VALUES (1, 'x'), (2, ''), (3, 'a b'), (4, 'a=b'), (5, repeat('n', 256))) v(n, name) ORDER BY n;
SELECT * FROM resource_entries('[x=-5,vcores=2,memory-mb=4096]');
SELECT * FROM resource_entries('[]');
SELECT * FROM resource_entries(NULL);

--
-- Arithmetic
--
SELECT a + b AS sum, a - b AS difference, b - a AS reversed, -a AS negated,
	a * 3 AS times, 3 * a AS times_left, a * 0 AS nothing
FROM (SELECT '[memory-mb=1024,vcores=1,x=7]'::resource AS a,
			 '[memory-mb=1024,vcores=3,yarn.io/gpu=1]'::resource AS b) s;
SELECT pg_temp.attempt(expression) AS result
FROM (VALUES
	(1, $$'[x=9223372036854775807]'::yquota.resource OPERATOR(yquota.+) '[x=1]'$$),
	(2, $$'[x=-9223372036854775808]'::yquota.resource OPERATOR(yquota.+) '[x=-1]'$$),
	(3, $$'[x=9223372036854775806]'::yquota.resource OPERATOR(yquota.+) '[x=1]'$$),
	(4, $$'[y=1]'::yquota.resource OPERATOR(yquota.-) '[x=-9223372036854775808]'$$),
	(5, $$'[x=-1]'::yquota.resource OPERATOR(yquota.-) '[x=9223372036854775807]'$$),
	(6, $$OPERATOR(yquota.-) '[x=-9223372036854775808]'::yquota.resource$$),
	(7, $$OPERATOR(yquota.-) '[x=9223372036854775807]'::yquota.resource$$),
	(8, $$'[x=4611686018427387904]'::yquota.resource OPERATOR(yquota.*) 2$$),
	(9, $$'[x=4611686018427387904]'::yquota.resource OPERATOR(yquota.*) -2$$),
	(10, $$9223372036854775807 OPERATOR(yquota.*) '[x=1]'::yquota.resource$$),
	(11, $$'[x=9223372036854775807]'::yquota.resource OPERATOR(yquota.*) 0$$)
) v(n, expression) ORDER BY n;

--
-- fits_in
--
SELECT a, b, a <@ b AS fits, b @> a AS has_room, fits_in(a, b), has_room_for(b, a)
FROM (VALUES
	('[]'::resource, '[]'::resource), ('[vcores=1]', '[vcores=1]'),
	('[vcores=2]', '[vcores=1]'), ('[vcores=1]', '[memory-mb=1]'),
	('[vcores=1]', '[memory-mb=1,vcores=2]'), ('[]', '[vcores=1]'),
	('[vcores=1]', '[]'), ('[]', '[vcores=-1]'), ('[vcores=-1]', '[]'),
	('[x=-9223372036854775808]', '[x=9223372036854775807]')) v(a, b);

--
-- dominant_share
--
SELECT r, total, dominant_share(r, total)
FROM (VALUES
	('[memory-mb=1024,vcores=2]'::resource, '[memory-mb=4096,vcores=4]'::resource),
	('[memory-mb=1024,vcores=1]', '[memory-mb=2048,vcores=3]'),
	('[vcores=1]', '[vcores=3]'), ('[vcores=6]', '[vcores=4,memory-mb=9]'),
	('[]', '[vcores=1]'), ('[]', '[]'), ('[vcores=-1]', '[vcores=4]'),
	('[vcores=-1]', '[]'), ('[x=1]', '[vcores=1]'), ('[x=1,vcores=1]', '[vcores=1]'),
	('[x=1]', '[x=-1]'),
	('[a=9223372036854775806,b=9223372036854775807]',
	 '[a=9223372036854775807,b=9223372036854775807]'),
	('[a=9223372036854775806,b=9223372036854775805]',
	 '[a=9223372036854775807,b=9223372036854775806]')) v(r, total);

--
-- Order: the first differing name decides, and the order extends fits_in()
--
SELECT r FROM unnest('{"[vcores=1]","[]","[memory-mb=1]","[vcores=-1]","[memory-mb=-1]",
	"[memory-mb=1,vcores=-1]","[memory-mb=2]","[a=1]","[memory-mb=1,vcores=1]"}'::resource[]) r
ORDER BY r;
SELECT a < b AS lt, a <= b AS le, a = b AS eq, a <> b AS ne, a >= b AS ge, a > b AS gt,
	resource_cmp(a, b)
FROM (VALUES ('[x=1]'::resource, '[x=2]'::resource), ('[x=1]', '[x=1]'),
			 ('[x=1]', '[y=1]'), ('[]', '[x=1]')) v(a, b);

--
-- Properties of random vectors
--
SELECT setseed(0.42);
CREATE TEMP TABLE vector (id int PRIMARY KEY, r resource NOT NULL);
INSERT INTO vector
SELECT v.id, coalesce((
	SELECT jsonb_object_agg(name, trunc((random() - 0.5) * 10 ^ floor(random() * 18)))::resource
	FROM unnest('{memory-mb,vcores,yarn.io/gpu,cpu-milli,aa,zz,memory,mm}'::text[]) name
	WHERE v.id > 0 AND random() < 0.5 AND name <> 'memory'), '[]')
FROM generate_series(1, 2000) v(id);
-- small amounts, so that many pairs are equal or ordered
INSERT INTO vector
SELECT 2000 + v.id, resource(trunc(random() * 3)::bigint, trunc(random() * 3)::bigint,
	trunc(random() * 3 - 1)::bigint)
FROM generate_series(1, 1000) v(id);
ANALYZE vector;
SELECT count(*) AS vectors, count(*) FILTER (WHERE r <> '[]') > 2500 AS mostly_filled FROM vector;

SELECT count(*) AS broken_round_trips FROM vector
WHERE r::text::resource <> r OR r::jsonb::resource <> r
	OR replace(replace(translate(r::text, '=[]', ':<>'), 'vcores', 'vCores'), 'memory-mb', 'memory')::resource <> r
	OR resource_send(r::text::resource) <> resource_send(r)
	OR - - r <> r OR r + r <> r * 2 OR r - r <> '[]' OR r * -1 <> -r
	OR r::text <> '[' || coalesce((SELECT string_agg(name || '=' || amount, ',' ORDER BY name COLLATE "C")
								   FROM resource_entries(r)), '') || ']';

CREATE TEMP VIEW pair AS
SELECT a.r AS a, b.r AS b
FROM vector a JOIN vector b ON b.id IN ((a.id * 7) % 3000 + 1, (a.id * 13) % 3000 + 1, a.id % 3000 + 1);
SELECT count(*) AS pairs, count(*) FILTER (WHERE a = b) > 100 AS some_equal,
	count(*) FILTER (WHERE a <@ b) > 100 AS some_fit FROM pair;

-- sum, comparison and order equal those computed with relations
WITH compared AS (
	SELECT a, b, o.*
	FROM pair, LATERAL (
		SELECT coalesce(jsonb_object_agg(name, coalesce(x.amount, 0) + coalesce(y.amount, 0)), '{}')::resource AS sum,
			coalesce(bool_and(coalesce(x.amount, 0) <= coalesce(y.amount, 0)), true) AS fits,
			coalesce((array_agg(sign(coalesce(x.amount, 0) - coalesce(y.amount, 0)) ORDER BY name COLLATE "C")
					  FILTER (WHERE coalesce(x.amount, 0) <> coalesce(y.amount, 0)))[1], 0) AS cmp
		FROM resource_entries(a) x FULL JOIN resource_entries(b) y USING (name)) o)
SELECT count(*) FILTER (WHERE a + b <> sum OR sum - b <> a) AS wrong_sums,
	count(*) FILTER (WHERE (a <@ b) <> fits OR (b @> a) <> fits) AS wrong_fits,
	count(*) FILTER (WHERE resource_cmp(a, b) <> cmp OR (a < b) <> (cmp < 0)
		OR (a <= b) <> (cmp <= 0) OR (a = b) <> (cmp = 0) OR (a <> b) <> (cmp <> 0)
		OR (a >= b) <> (cmp >= 0) OR (a > b) <> (cmp > 0)) AS wrong_order,
	count(*) FILTER (WHERE a = b AND (resource_hash(a) <> resource_hash(b)
		OR resource_hash_extended(a, 42) <> resource_hash_extended(b, 42)
		OR resource_send(a) <> resource_send(b) OR a::text <> b::text)) AS wrong_equality,
	count(*) FILTER (WHERE a <@ b AND a > b) AS fits_but_sorts_later
FROM compared;
SELECT count(DISTINCT r) = count(DISTINCT r::text)
	AND count(DISTINCT resource_hash(r)) > 0.99 * count(DISTINCT r)
	AND count(DISTINCT resource_hash_extended(r, 1)) = count(DISTINCT r)
	AND bool_and(resource_hash_extended(r, 0) & 4294967295 = resource_hash(r)::bigint & 4294967295)
	AND bool_or(resource_hash_extended(r, 1) <> resource_hash_extended(r, 2)) AS hashes_well
FROM vector;
SELECT count(*) AS wrong_shares
FROM pair CROSS JOIN LATERAL (
	SELECT coalesce(max(CASE WHEN y.amount > 0 THEN x.amount::numeric / y.amount ELSE 'Infinity' END), 0) AS share
	FROM resource_entries(a) x LEFT JOIN resource_entries(b) y USING (name)
	WHERE x.amount > 0) o
WHERE dominant_share(a, b) IS DISTINCT FROM share;

-- all vectors are sent through binary COPY
COPY (SELECT r FROM vector ORDER BY id) TO :'file' (FORMAT binary);
COPY received FROM :'file' (FORMAT binary);
SELECT count(*), sum(n) AS difference
FROM (SELECT r, sum(n) AS n
	  FROM (SELECT r, 1 AS n FROM vector UNION ALL SELECT r, -1 FROM received) s
	  GROUP BY r HAVING sum(n) <> 0) t;
COPY (SELECT) TO PROGRAM 'cat && rm yquota_resource_test.bin';

--
-- Plans with indexes, joins and grouping
--
CREATE INDEX vector_btree ON vector (r);
CREATE INDEX vector_hash ON vector USING hash (r);
SELECT count(*) AS wanted FROM vector WHERE r::text = '[memory-mb=1,vcores=2]' \gset
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT r FROM vector WHERE r < '[memory-mb=1]' ORDER BY r;
SELECT count(*) = :wanted AND :wanted > 10 AS btree_finds FROM vector WHERE r = '[memory-mb=1,vcores=2]';
DROP INDEX vector_btree;
EXPLAIN (COSTS OFF) SELECT * FROM vector WHERE r = '[memory-mb=1,vcores=2]';
SELECT count(*) = :wanted AS hash_finds FROM vector WHERE r = '[vcores=2,memory-mb=1]';
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP INDEX vector_hash;

-- equal values have equal images, so a btree may deduplicate
CREATE INDEX vector_btree ON vector (r);
SELECT opcname, amprocnum, amproc::regproc FROM pg_amproc p
JOIN pg_opclass c ON c.opcfamily = p.amprocfamily
WHERE opcintype = 'resource'::regtype ORDER BY 1, 2;

SET enable_nestloop = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM vector a JOIN vector b USING (r);
SELECT count(*) AS hashed FROM vector a JOIN vector b USING (r) \gset
SET enable_hashjoin = off;
SET enable_mergejoin = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM vector a JOIN vector b USING (r);
SELECT count(*) AS merged FROM vector a JOIN vector b USING (r) \gset
RESET ALL;
SET search_path = yquota, pg_catalog;
SELECT :hashed = :merged AND :hashed = count(*) AS joins_agree
FROM vector a JOIN vector b ON a.r::text = b.r::text;

SET enable_sort = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT r, count(*) FROM vector GROUP BY r;
SELECT count(*) AS hash_groups FROM (SELECT r FROM vector GROUP BY r OFFSET 0) s \gset
RESET enable_sort;
SET enable_hashagg = off;
SELECT count(*) = :hash_groups AND :hash_groups = (SELECT count(DISTINCT r::text) FROM vector) AS groups_agree
FROM (SELECT r FROM vector GROUP BY r OFFSET 0) s;
RESET ALL;
SET search_path = yquota, pg_catalog;

-- hash partitions use the extended hash
CREATE TEMP TABLE partitioned (r resource) PARTITION BY HASH (r);
CREATE TEMP TABLE partitioned_0 PARTITION OF partitioned FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TEMP TABLE partitioned_1 PARTITION OF partitioned FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO partitioned SELECT r FROM vector;
SELECT count(DISTINCT tableoid) AS partitions, count(*) FROM partitioned;
SELECT count(*) = :wanted AS pruned_finds FROM partitioned WHERE r = '[memory-mb=1,vcores=2]';

--
-- sum()
--
SELECT sum(r) FROM (VALUES ('[vcores=1]'::resource), (NULL), ('[vcores=2,memory-mb=5]')) v(r);
SELECT sum(r) IS NULL AS null_of_none FROM vector WHERE false;
SELECT sum(r) IS NULL AS null_of_nulls FROM (VALUES (NULL::resource), (NULL)) v(r);
SELECT sum(r) FROM (VALUES ('[vcores=1]'::resource), ('[vcores=-1]')) v(r);
-- only the final sum must fit, in every order of the rows
SELECT sum(r ORDER BY n) AS ascending, sum(r ORDER BY n DESC) AS descending
FROM (VALUES (1, '[x=9223372036854775807]'::resource), (2, '[x=9223372036854775807]'),
			 (3, '[x=-9223372036854775807]')) v(n, r);
SELECT pg_temp.attempt($$(SELECT yquota.sum(r) FROM (VALUES ('[x=9223372036854775807]'::yquota.resource), ('[x=1]')) v(r))$$);
SELECT pg_temp.attempt($$(SELECT yquota.sum(r) FROM (VALUES ('[x=-9223372036854775808]'::yquota.resource), ('[x=-1]')) v(r))$$);
SELECT count(*) AS names
FROM resource_entries((SELECT sum(format('[n%s=1]', n % 64)::resource) FROM generate_series(1, 640) n));
SELECT pg_temp.attempt($$(SELECT yquota.sum(format('[n%s=1]', n)::yquota.resource) FROM generate_series(1, 65) n)$$);
-- moving frames
SELECT n, r, sum(r) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW),
	sum(r) OVER (ORDER BY n ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS following
FROM (VALUES (1, '[x=9223372036854775807]'::resource), (2, '[y=1]'), (3, NULL), (4, NULL),
			 (5, '[x=-3]'), (6, '[x=3,y=2]')) v(n, r);
WITH framed AS (
	SELECT id, sum(r) OVER (ORDER BY id ROWS BETWEEN 4 PRECEDING AND CURRENT ROW) AS moving FROM vector)
SELECT count(*) AS wrong_frames FROM framed f
WHERE id % 10 = 0
	AND moving <> (SELECT sum(r) FROM vector v WHERE v.id BETWEEN f.id - 4 AND f.id);

-- in parallel
CREATE TABLE public.resource_test_parallel AS SELECT id, r FROM vector;
INSERT INTO public.resource_test_parallel
SELECT id, NULL::resource FROM vector UNION ALL SELECT 0, '[x=9223372036854775807]' FROM generate_series(1, 5000)
UNION ALL SELECT 0, '[x=-9223372036854775807]' FROM generate_series(1, 5000);
ANALYZE public.resource_test_parallel;
SELECT sum(r) AS serial FROM vector \gset
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT sum(r) FROM public.resource_test_parallel;
SELECT sum(r) = :'serial' AS parallel_sum_agrees FROM public.resource_test_parallel;
SELECT sum(r) IS NULL AS null_of_none FROM public.resource_test_parallel WHERE id < 0;
SELECT pg_temp.attempt('(SELECT yquota.sum(r) FROM public.resource_test_parallel WHERE yquota.amount(r, ''x'') > 0)');
RESET ALL;
SET search_path = yquota, pg_catalog;
DROP TABLE public.resource_test_parallel;

--
-- Properties that the catalog entries must have
--
SELECT p.oid::regprocedure AS not_labelled
FROM pg_proc p
WHERE p.pronamespace = 'yquota'::regnamespace AND p.prokind = 'f'
	AND ('resource'::regtype = ANY (p.proargtypes) OR p.prorettype = 'resource'::regtype)
	AND p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')
	AND p.prosrc ~ '^yq_sql_(resource|amount|dominant|fits_in|has_room)'
	AND (p.provolatile <> 'i' OR p.proparallel <> 's'
		OR obj_description(p.oid, 'pg_proc') IS NULL
		OR NOT has_function_privilege('public', p.oid, 'EXECUTE'));
SELECT castsource::regtype, casttarget::regtype, castcontext FROM pg_cast
WHERE 'resource'::regtype IN (castsource, casttarget) ORDER BY 1, 2;
