# Calls of every function that SQL can call, built from the catalog: the functions of both schemas,
# and values of every type that they take.

package Calls;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(SCHEMAS rows_of learn_types functions values_of unknown_types call calls_elsewhere);

use constant SCHEMAS => q(('yquota'::regnamespace, 'yquota_internal'::regnamespace));

# Values of each type; the first value is an ordinary one.
my $huge_text = q(repeat('x', 100000));
my %values = (
	'"any"' => [ '1', 'NULL', $huge_text ],
	anyelement => [ '1', 'NULL::text', $huge_text, 'ARRAY[1]', q('[vcores=1]'::yquota.resource) ],
	bigint => [ '1', 'NULL', '0', '-1', '9223372036854775807', '-9223372036854775808' ],
	boolean => [ 'true', 'NULL', 'false' ],
	bytea => [
		q(decode('0104', 'hex')), 'NULL', q(''::bytea), q('\xff'::bytea), q(decode(repeat('ff', 100000), 'hex')),
		q(decode(repeat('01', 1000000), 'hex')), q(decode('01' || repeat('ff', 18) || '03', 'hex'))
	],
	'bigint[]' => [ 'ARRAY[1::bigint]', 'NULL', q('{}'::bigint[]), q('{NULL}'::bigint[]), q('[-5:-5]={1}'::bigint[]), 'array_fill(1::bigint, ARRAY[100000])' ],
	'character varying' => [ q('[vcores=1]'::varchar), 'NULL', q(''::varchar), q('GUARANTEED'::varchar), "$huge_text" . q(::varchar) ],
	cstring => [ q('[vcores=1]'::cstring), 'NULL', q(''::cstring), q('<'::cstring), qq(textout($huge_text)) ],
	date => [ q('2025-03-03'::date), 'NULL', q('-infinity'::date), q('infinity'::date), q('4714-11-24 BC'::date), q('5874897-12-31'::date) ],
	'"char"' => [ q('p'::"char"), 'NULL', q('u'::"char"), q(''::"char") ],
	integer => [ '1', 'NULL', '0', '-1', '2147483647', '-2147483648' ],
	'double precision' => [ '1', 'NULL', '0', '-1', q('NaN'::float8), q('Infinity'::float8), q('-Infinity'::float8), '1e308::float8', '1e-300::float8' ],
	'double precision[]' => [ q('{1,2.5}'::float8[]), 'NULL', q('{}'::float8[]), q('{NULL}'::float8[]), q('{NaN,Infinity,-1}'::float8[]), q('{{1,2},{3,4}}'::float8[]), 'array_fill(1e308::float8, ARRAY[1000])' ],
	'integer[]' => [ 'ARRAY[1]', 'NULL', q('{}'::integer[]), q('{NULL}'::integer[]), q('{{1,2},{3,4}}'::integer[]), 'array_fill(2147483647, ARRAY[100000])' ],
	internal => ['NULL'],
	interval => [ q('1 hour'::interval), 'NULL', q('0'::interval), q('-178000000 years'::interval), q('178000000 years'::interval), q('-1 microsecond'::interval) ],
	jsonb => [
		q('{"c1": {"allocation": "[vcores=1]"}}'::jsonb), 'NULL', q('null'::jsonb), q('{}'::jsonb), q('[]'::jsonb), q('[{"container_id": "c1"}]'::jsonb),
		q('["c1", "c2", null, 3]'::jsonb), q('{"memory-mb": 1e400}'::jsonb), q('{"vcores": "99999999999999999999"}'::jsonb),
		q('1'::jsonb), q((repeat('[', 1000) || repeat(']', 1000))::jsonb), q(jsonb_build_object('vcores', repeat('9', 100000)))
	],
	'jsonb[]' => [
		q(ARRAY['{"ann": 1, "bob": 2}'::jsonb]), 'NULL', q('{}'::jsonb[]), q('{NULL}'::jsonb[]), q('{null,1,"[]"}'::jsonb[]),
		q(array_fill('{}'::jsonb, ARRAY[10000]))
	],
	name => [ q('charge'::name), 'NULL', q(''::name), q('"; DROP TABLE x; --'::name) ],
	numeric => [
		'1', 'NULL', '0', '-1', '0.5', q('NaN'::numeric), q('Infinity'::numeric), q('-Infinity'::numeric),
		'1e130000', '-1e130000', '1e-16000', '0.000000000000000000000000000000000000000000000000001', '340282366920938463463374607431768211456'
	],
	'numeric[]' => [ 'ARRAY[1.5]', 'NULL', q('{}'::numeric[]), q('{NULL}'::numeric[]), q('{NaN,Infinity,-1}'::numeric[]), q('{{1,2},{3,4}}'::numeric[]), 'array_fill(1e1000::numeric, ARRAY[1000])' ],
	oid => [ q('pg_class'::regclass::oid), 'NULL', '0', '4294967295' ],
	regclass => [
		q('yquota.charge'::regclass), 'NULL', '0::regclass', '4294967295::regclass', q('pg_class'::regclass),
		q('public.archived_charge'::regclass), q('public.archived_event'::regclass), q('yquota.container_event'::regclass),
		q('yquota.project_balance'::regclass), q('pg_class_oid_index'::regclass), q('yquota_internal.counter_delta'::regclass)
	],
	regrole => [ q('stranger'::regrole), 'NULL', '0::regrole', '4294967295::regrole', q('postgres'::regrole), q('pg_monitor'::regrole) ],
	record => [ q(ROW(1, 'x')), 'NULL', 'ROW()' ],
	text => [
		q('c1'::text), 'NULL', q(''::text), q('GENERAL'::text), q('vcores'::text), q('p1'::text), q('__'::text), q('%s%n$1'::text),
		q('"; DROP TABLE x; --'::text), q($q$'; SELECT 1; --$q$), q(E'\x01\n\t'), q(U&'\00e9\+01F600'), "$huge_text"
	],
	'text[]' => [
		q(ARRAY['queue', 'root.a']), 'NULL', q('{}'::text[]), q('{NULL}'::text[]), q('{{queue,root.a},{user,u1}}'::text[]), q(ARRAY['queue']),
		q(ARRAY['c1', 'c2', '', NULL, 'c1']), q('[-3:-3]={x}'::text[]), q(array_fill('x'::text, ARRAY[10000])), "ARRAY[$huge_text, $huge_text]"
	],
	'yquota.reservation_contract' => [
		q(yquota.reservation_contract('2025-03-04 00:00+00', '2025-03-04 02:00+00', ARRAY[yquota.reservation_request('[memory-mb=1]', 1, '1 hour')])), 'NULL',
		q(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL)::yquota.reservation_contract),
		q(yquota.reservation_contract('infinity', '-infinity', '{}')),
		q(yquota.reservation_contract('1970-01-01 00:00+00', '294246-12-31 00:00+00', ARRAY[yquota.reservation_request('[memory-mb=9223372036854775807]', 1, '1 ms')], 'ANY')),
		q(yquota.reservation_contract('2025-03-04 00:00+00', '2025-03-05 00:00+00', array_fill(yquota.reservation_request('[vcores=1]', 2147483647, '1 ms', -2147483648), '{1000}'), 'ORDER_NO_GAP', '1 day')),
		q(yquota.reservation_contract('2025-03-05 00:00+00', '2025-03-04 00:00+00', ARRAY[yquota.reservation_request('[memory-mb=1]', 2147483647, '1 ms', 2147483647)], 'ANY', '1 ms'))
	],
	'timestamp with time zone' => [
		q('2025-03-03 09:30+00'::timestamptz), 'NULL', q('-infinity'::timestamptz), q('infinity'::timestamptz),
		q('4714-11-24 00:00+00 BC'::timestamptz), q('294276-12-31 23:59:59.999999+00'::timestamptz), q('2025-03-03 12:00+00'::timestamptz)
	],
	'timestamp with time zone[]' => [
		q('{2025-03-03 09:30+00,2025-03-03 12:00+00}'::timestamptz[]), 'NULL', q('{}'::timestamptz[]), q('{NULL}'::timestamptz[]),
		q('{infinity,-infinity}'::timestamptz[]), q('{{2025-03-03 09:30+00},{2025-03-03 12:00+00}}'::timestamptz[]), q('[-3:-3]={2025-03-03 12:00+00}'::timestamptz[])
	],
	xid => [ q('1000'::xid), 'NULL', q('0'::xid), q('2'::xid), q('4294967295'::xid) ],
	json => [ q('{"a": 1}'::json), 'NULL', q('null'::json), q('[]'::json), q((repeat('[', 1000) || repeat(']', 1000))::json) ],
	xml => [
		q(xml '<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property></configuration>'),
		'NULL', q(xml ''), q(xml 'x'), q(xml '<a/>'), q(xmlelement(name a, repeat('x', 1000000))), q((repeat('<a>', 200) || repeat('</a>', 200))::xml)
	],
	tid => [ q('(0,1)'::tid), 'NULL', q('(4294967295,65535)'::tid) ],
	pg_snapshot => [ q('10:20:10,14,15'::pg_snapshot), 'NULL', q('1:1:'::pg_snapshot), q('9223372036854775807:9223372036854775807:'::pg_snapshot) ],
	xid8 => [ q('1'::xid8), 'NULL', q('0'::xid8), q('18446744073709551615'::xid8) ],
	'yquota.resource' => [
		q('[memory-mb=1024,vcores=2]'::yquota.resource), 'NULL', q('[]'::yquota.resource), q('[vcores=-1]'::yquota.resource),
		q('[memory-mb=9223372036854775807,vcores=9223372036854775807]'::yquota.resource),
		q('[a=-9223372036854775808]'::yquota.resource), q('[unheard/of=3]'::yquota.resource),
		q((SELECT format('[%s]', string_agg(repeat(chr(48 + n / 8), 1 + n % 8) || repeat('x', 247) || '=' || n + 1, ','))::yquota.resource FROM generate_series(0, 63) AS n))
	],
);

# Types of arguments for which %values has no values.
my %unknown_types;

# rows_of(NODE, DATABASE, QUERY): return the rows of a query, each as a list of columns.
sub rows_of
{
	my ($node, $database, $query) = @_;

	return map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql($database, $query);
}

# Add values of enums, rows and other types of yquota's own.
sub learn_types
{
	my ($node, $database) = @_;
	my $schemas = SCHEMAS;

	foreach my $row (rows_of($node, $database, qq(
		SELECT format_type(oid, NULL), typtype, typcategory, (SELECT min(enumlabel) FROM pg_enum WHERE enumtypid = type.oid)
		  FROM pg_type AS type
		 WHERE typnamespace IN $schemas AND typname <> 'resource')))
	{
		my ($name, $kind, $category, $label) = @$row;

		$values{$name} = $kind eq 'e' ? [ "'$label'::$name", 'NULL' ]
		  : $kind eq 'c' ? [ "NULL::$name", "(SELECT r FROM $name AS r LIMIT 1)" ]
		  : $category eq 'A' ? [ "'{}'::$name", 'NULL', "'{NULL}'::$name" ]
		  : [ "NULL::$name" ]
		  if !$values{$name};
	}
	return;
}

# Return the functions, aggregates and procedures of both schemas.
sub functions
{
	my ($node, $database) = @_;
	my $schemas = SCHEMAS;

	return map {
		{ oid => $_->[0], name => $_->[1], kind => $_->[2], result => $_->[3], set => $_->[4] eq 't', volatile => $_->[5] eq 'v', defaults => $_->[6],
			types => [ split /;/, $_->[7] ], arguments => [ split /;/, $_->[8] ] }
	} rows_of($node, $database, qq(
		SELECT oid, format('%I.%I', pronamespace::regnamespace, proname), prokind, format_type(prorettype, NULL), proretset, provolatile, pronargdefaults,
			   array_to_string(ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) WITH ORDINALITY AS a (t, n) ORDER BY n), ';'),
			   array_to_string(proargnames[1:pronargs], ';')
		  FROM pg_proc
		 WHERE pronamespace IN $schemas
		   -- the server's own functions under a name of ours
		   AND NOT (prokind = 'f' AND prolang = (SELECT oid FROM pg_language WHERE lanname = 'internal'))
		 ORDER BY 2, oid));
}

sub values_of
{
	my ($type) = @_;

	$unknown_types{$type} = 1 if !$values{$type};
	return @{ $values{$type} // ["NULL::$type"] };
}

sub unknown_types
{
	return sort keys %unknown_types;
}

# Return a call of a function, aggregate or procedure.
sub call
{
	my ($function, @arguments) = @_;
	my $list = join ', ', @arguments;

	return "CALL $function->{name}($list)" if $function->{kind} eq 'p';
	return in_from($function, @arguments) if $function->{set};
	return in_select_list($function, @arguments);
}

sub in_from
{
	my ($function, @arguments) = @_;

	return "SELECT * FROM $function->{name}(" . join(', ', @arguments) . ') AS result';
}

sub in_select_list
{
	my ($function, @arguments) = @_;

	return "SELECT $function->{name}(" . join(', ', @arguments) . ')';
}

# Repeat the call in places where a query rarely calls a function, because the executor prepares such calls
# differently.
sub calls_elsewhere
{
	my ($function, @arguments) = @_;

	return if $function->{kind} eq 'p';
	return in_select_list($function, @arguments) if $function->{set};
	return in_from($function, @arguments), 'SELECT (' . in_select_list($function, @arguments) . ') FROM generate_series(1, 2)';
}

1;
