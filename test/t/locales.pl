# The extension is the same in every encoding that a server can have. It can be created, its texts can be sent to any
# client, and names of users and projects come back as they were written. "make check" tests two encodings, and "make
# soak" tests all.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Calls;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX qw(strftime);
use Soak;
use Statements;
use Test::More;
use Time::Local qw(timegm);

my $node = PostgreSQL::Test::Cluster->new('locales');

$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
# Autovacuum's work would differ from database to database.
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;

# asked(DATABASE, SQL): return the answer to a client that uses UTF-8.
sub asked
{
	my ($database, $sql) = @_;

	return $node->safe_psql($database, "SET client_encoding = 'UTF8';\n$sql");
}

my %names = (EUC_JP => 'カタカナ', EUC_KR => '한국', EUC_CN => '中国', EUC_TW => '臺灣', LATIN2 => 'Łódź', KOI8R => 'Москва');
foreach my $encoding (is_soak() ? sort keys %names : qw(EUC_JP KOI8R))
{
	my $name = $names{$encoding};
	my $database = lc $encoding;

	$node->safe_psql('postgres', "CREATE DATABASE $database ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
	$node->safe_psql($database, 'CREATE EXTENSION yquota');
	is(asked($database, <<~SQL), "$name|$name|10", "$encoding: the extension works");
		SELECT yquota.set_clock('2030-01-01 00:00+00') \\g /dev/null
		INSERT INTO yquota.project (name) VALUES ('$name');
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, allocation)
		VALUES ('CONTAINER_START', 'c1', '2029-12-31 23:59:50+00', '$name', '$name', '[vcores=1]');
		SELECT project, username, trim_scale(amount) FROM yquota.cost_between('2029-12-31 00:00+00', '2030-01-01 00:00+00', '{project,username}');
		SQL
	like(asked($database, q(SELECT yquota.report_html('2029-12-31', '2030-01-01'))), qr/<td>\Q$name\E<\/td>/, 'the report has the name of the project');
}

# pg_dump converts the texts that it reads from the catalog to the encoding of the dump.
$node->safe_psql('postgres', 'CREATE DATABASE utf8');
asked('utf8', q(CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.project (name) VALUES ('Orléans')));
like((run_command([ 'pg_dump', '-E', 'LATIN1', '-d', $node->connstr('utf8') ]))[0], qr/^Orl\xe9ans\t/m, 'the database is dumped in another encoding');
foreach my $encoding (qw(LATIN1 EUC_JP))
{
	command_ok([ 'pg_dump', '--binary-upgrade', '--schema-only', '-E', $encoding, '-f', '/dev/null', '-d', $node->connstr('utf8') ], "the copy has all texts of the extension, in $encoding");
}

# Upper and lower case of keywords follow the rules of English, and a backslash is an ordinary character, in every
# locale and under every setting.
$node->safe_psql('postgres', q(CREATE DATABASE turkish TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'));
$node->safe_psql('postgres', 'ALTER DATABASE turkish SET standard_conforming_strings = off; ALTER DATABASE turkish SET datestyle = "Postgres, DMY"');
is($node->safe_psql('turkish', q(SELECT upper('i') <> 'I', lower('I') <> 'i')), 't|t', 'the locale has two more letters');
is($node->safe_psql('turkish', <<~'SQL'), "finish\n1|1|0\n1|1|0\nyquota budget: p, month from 2030-01-01 on\nt\n2030-01-01 08:00:00+00", 'in this locale keywords are recognized as in every other');
	CREATE EXTENSION yquota;
	SELECT yquota.set_clock('2030-01-01 10:00+00') \g /dev/null
	INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'c1', '2030-01-01 09:00+00', 'p', '[vcores=1]');
	SELECT action FROM yquota.reconcile('[]', yquota.clock(), dry_run => false);
	SELECT lines, starts, unknown FROM yquota.import_rm_audit(E'2030-01-01 09:00:00,125 INFO resourcemanager.RMAuditLogger: USER=p__ann\tOPERATION=AM Allocated Container\tTARGET=SchedulerApp\tRESULT=SUCCESS\tAPPID=application_9_0001\tCONTAINERID=container_9_0001_01_000001\tRESOURCE=<memory:2048, vCores:1>\tQUEUENAME=root.feed');
	-- with an offset
	SELECT lines, starts, unknown FROM yquota.import_rm_audit(E'2030-01-01 09:00:00,125+0100 INFO resourcemanager.RMAuditLogger: USER=p__ann\tOPERATION=AM Allocated Container\tTARGET=SchedulerApp\tRESULT=SUCCESS\tAPPID=application_9_0001\tCONTAINERID=container_9_0001_01_000002\tRESOURCE=<memory:2048, vCores:1>\tQUEUENAME=root.feed');
	-- the abbreviation of a time zone is that of another one, too
	SET timezone = 'Asia/Kolkata';
	INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES ('p', 'month', 10, '2030-01-01');
	SELECT external_id FROM yquota.quota_grant;
	SELECT voided_at = yquota.clock() FROM yquota.void_events('c1', 'wrong');
	SET datestyle = ISO;
	SET timezone = 'UTC';
	SELECT date_trunc('second', started_at) FROM yquota.container WHERE container_id = 'container_9_0001_01_000002';
	SQL

my $today = $node->safe_psql('postgres', 'SELECT CURRENT_DATE');

# Settings of a session that change how SQL is read or written.
my %odd = (
	standard_conforming_strings => 'off', escape_string_warning => 'off', backslash_quote => 'off', array_nulls => 'off',
	transform_null_equals => 'on', quote_all_identifiers => 'on', datestyle => 'Postgres, DMY', intervalstyle => 'iso_8601',
	timezone => 'Asia/Kolkata', extra_float_digits => '-15', bytea_output => 'escape', xmloption => 'document', xmlbinary => 'hex',
	lc_messages => 'C.UTF-8', lc_monetary => 'C.UTF-8', lc_numeric => 'C.UTF-8', lc_time => 'C.UTF-8', search_path => 'public',
	parallel_setup_cost => '0', parallel_tuple_cost => '0', min_parallel_table_scan_size => '0', min_parallel_index_scan_size => '0',
	max_parallel_workers_per_gather => '1',
	$node->safe_psql('postgres', q(SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query'))) => 'on'
);
my %plain = map { split /\|/, $_, 2 } split /\n/, $node->safe_psql('postgres', sprintf "SELECT name, quote_literal(setting) FROM pg_settings WHERE lower(name) IN (%s)", join ', ', map { "'$_'" } keys %odd);
%plain = map { lc $_ => $plain{$_} } keys %plain;
# search_path is a list of names, not one quoted text
$plain{search_path} =~ s/^'(.*)'$/$1/;
$_ = "'$_'" foreach values %odd;

# script(NAMES, SETTINGS): return each statement with its answer and the rows that it has written. Both are shown as
# in a session with default settings, whatever the database sets.
sub script
{
	my ($names, @settings) = @_;
	my $reset = join '\;', map { "SET LOCAL $_ = $plain{$_}" } @settings;

	$reset .= ";\n" if $reset;
	return join '', map {
		my $sql = /^(?:SELECT|TABLE) / ? $_ : sql_of($_);
		my $is_query = $sql =~ /^(?:SELECT|TABLE) / && $sql !~ /;/;

		"\\echo == $_\nBEGIN;\n" . ($is_query ? "SAVEPOINT before;\nCREATE TEMPORARY TABLE answer AS $sql;\n\\if :ERROR\nROLLBACK TO before;\n$sql;\n\\else\n"
		. "${reset}TABLE answer;\nDROP TABLE answer;\n\\endif\n" : "$sql;\n") . "SET CONSTRAINTS ALL IMMEDIATE;\n${reset}\\echo -- written\n\\i $ENV{TESTDATADIR}/digests.sql\nROLLBACK;\nSELECT pg_stat_force_next_flush() \\g /dev/null\n"
	} @$names;
}

# For each table that the transaction has changed, return the number of rows and the rows that it wrote, without
# columns of transaction numbers. The statistics of a transaction are flushed after it, even if it aborts, because
# otherwise they would count for the next transaction.
append_to_file("$ENV{TESTDATADIR}/digests.sql", <<~'SQL');
	SELECT format('SELECT ''%1$s'', (SELECT count(*) FROM ONLY %1$s), (SELECT string_agg(r::text, chr(10) ORDER BY r::text COLLATE "C") FROM (SELECT %2$s FROM ONLY %1$s WHERE xmin::text::bigint >= pg_current_xact_id()::xid::text::bigint) AS r)', s.relid::regclass, c.names)
	FROM pg_stat_xact_user_tables AS s
	CROSS JOIN LATERAL (
		SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS names FROM pg_attribute AS a
		WHERE a.attrelid = s.relid AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid <> ALL ('{xid,xid8,oid,pg_lsn,bytea}'::regtype[])) AS c
	WHERE s.schemaname ~ '^yquota' AND s.n_tup_ins + s.n_tup_upd + s.n_tup_del > 0
	ORDER BY s.relid::regclass::text COLLATE "C" \gexec
	SQL

# Answers that contain SQL, and a message of the server. With quote_all_identifiers the names in them are quoted, and
# therefore in another order. Quotes and the order of words are not compared.
my $is_sql = qr/publication_commands|sequence_commands|_query\(|column_list|shared_columns|missing_for_digest|rows_of|tend_leases/;

my %month;
@month{qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec)} = 0 .. 11;

# The offset of India's time from UTC in seconds
use constant INDIA => 19800;

# in_utc(TIME, SEPARATOR, FRACTION): return an instant as a session with default settings writes it. In
# JSON the separator is T.
sub in_utc
{
	my ($time, $separator, $fraction) = @_;

	return strftime("%Y-%m-%d${separator}%H:%M:%S", gmtime $time) . ($fraction // '') . ($separator eq 'T' ? '+00:00' : '+00');
}

# Statements that return a single row, or rows in an order that docs/reference.md promises.
my $is_ordered = qr/^SELECT yquota|yquota[.](?:(?:top_costs|federated_top_costs|preemption_cost|schedule|allocate_distributed|place_application)[(]|(?:scheduler_queue|preemption_state|configuration_mutation)$)/;

# Names of functions whose result is a transaction.
my %is_transaction;

# canonical(NAME, ANSWER): return the answer in a form that can be compared. Lines are sorted where no order is
# promised, because parallel plans have none. Instants in texts for people and in JSON are converted to UTC, but
# not in the written rows. Values that differ between databases or runs are removed.
sub canonical
{
	my ($name, $answer) = @_;

	# errors of statements in a transaction that has failed already
	$answer =~ s/^\S*ERROR:  25P02\n//mg;
	($answer, my $written) = split /^-- written\n/m, $answer, 2;
	$answer =~ s{\b[A-Z][a-z]{2} (\d\d) ([A-Z][a-z]{2}) (\d\d):(\d\d):(\d\d)(\.\d+)? (\d{4}) (IST|UTC)\b}
		{in_utc(timegm($5, $4, $3, $1, $month{$2}, $7) - ($8 eq 'IST' ? INDIA : 0), ' ', $6)}ge;
	$answer =~ s{\b(\d{4})-(\d\d)-(\d\d)([T ])(\d\d):(\d\d):(\d\d)(\.\d+)?\+05:30}{in_utc(timegm($7, $6, $5, $3, $2 - 1, $1) - INDIA, $4, $8)}ge;
	$answer .= "-- written\n$written";
	# the system's clock, and elapsed times
	$answer =~ s/\b$today[ T]\d\d:\d\d:\d\d(?:\.\d+)?\+00(?::00)?/now/g;
	$answer =~ s/(?<!\d[ T])\b\d\d:\d\d:\d\d\.\d{1,6}\b/took/g;
	# names of databases, numbers of processes, roles and transactions, snapshots, names of timelines, random
	# identifiers
	$answer =~ s/^\w+\|/database|/mg if $name eq 'TABLE yquota.worker_status';
	$answer =~ s/\bworker_state\|1\|\(t,\K\d+/process/g;
	$answer =~ s/\blocales\.pl,\d+\)/locales.pl)/g;
	$answer =~ s/""role_oid"": ""\d+""/role_oid/g;
	$answer =~ s/^(\d+\|now\|)\d+\|/$1transaction|/mg;
	$answer =~ s/^\d+$/transaction/m if $name =~ /^SELECT ([\w.]+)\(/ && $is_transaction{$1};
	$answer =~ s/\{\},"?\d+:\d+:[\d,]*"?/{},snapshot/g;
	$answer =~ s/\b\d{19}\/\d+\/\d+/history/g;
	$answer =~ s/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/uuid/g;
	$answer =~ s/\buuid\/\d+\//uuid\/transaction\//g;
	return join "\n", sort split /[\s,()]+/, $answer =~ tr/"//dr if $name =~ $is_sql;
	($answer, $written) = split /^-- written\n/m, $answer, 2;
	$answer = join '', sort $answer =~ /.*\n/g if $name !~ $is_ordered;
	return $answer . join '', sort $written =~ /.*\n/g;
}

# Statements for each session. The number is limited, because each rollback visits all plans that
# the session has cached.
use constant STATEMENTS => 150;

# answers(DATABASE, NAMES, SETTINGS): return the answers by name.
sub answers
{
	my ($database, $names, @settings) = @_;
	my $output = '';

	for (my $i = 0; $i < @$names; $i += STATEMENTS)
	{
		my $last = $i + STATEMENTS - 1;
		my $script = script([ @$names[ $i .. ($last > $#$names ? $#$names : $last) ] ], @settings);

		IPC::Run::run([ 'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d', $node->connstr($database) ], '<', \$script, '>&', \my $part);
		$output .= $part;
	}
	return { map { /^([^\n]*)\n(.*)\z/s ? ($1 => canonical($1, $2)) : () } split /^== /m, $output };
}

# set_for(DATABASE, SETTINGS): change the settings for all sessions of the database.
sub set_for
{
	my ($database, @settings) = @_;

	return $node->safe_psql('postgres', join '', map { "ALTER DATABASE $database SET $_ = $odd{$_};\n" } @settings);
}

$node->safe_psql('postgres', q(CREATE DATABASE plain));
$node->safe_psql('postgres', q(CREATE DATABASE odd TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'));
set_for('odd', sort keys %odd);
foreach my $database ('plain', 'odd')
{
	load_books($node, $database);
	# The trimming of changes depends on the system's clock.
	$node->safe_psql($database, q(UPDATE yquota_internal.scheduler_change_horizon SET noted_at = 'infinity'));
}

learn_types($node, 'plain');
# settled_after() returns one of several containers; the plan decides which one.
my @functions = grep { $_->{name} ne 'yquota_internal.settled_after' } functions($node, 'plain');
%is_transaction = map { $_->{name} => 1 } grep { $_->{result} eq 'xid8' } @functions;
my @names = (statements(),
	(map { "TABLE $_" } split /\n/, $node->safe_psql('plain', q(SELECT c.oid::regclass FROM pg_class AS c WHERE c.relkind = 'v' AND c.relnamespace = 'yquota'::regnamespace ORDER BY 1))),
	(map { call($_, map { (values_of($_))[0] } @{ $_->{types} }) } @functions));
my $expected = answers('plain', \@names);
cmp_ok(scalar keys %$expected, '>', 500, 'many calls are made');
note scalar(keys %$expected), ' calls, ', scalar(grep { /$is_sql/ } keys %$expected), ' of them texts of SQL, ', scalar(grep { /ERROR:/ } values %$expected), ' refused';

# The number of differences that are shown with both answers
use constant SHOWN => 20;

# compare(DATABASE, WHAT, SETTINGS)
sub compare
{
	my ($database, $what, @settings) = @_;
	my $found = answers($database, \@names, @settings);
	my @different = grep { ($found->{$_} // 'nothing') ne $expected->{$_} } sort keys %$expected;

	is_deeply(\@different, [], $what);
	foreach my $name (@different[ 0 .. ($#different > SHOWN ? SHOWN : $#different) ])
	{
		my %in_plain = map { $_ => 1 } split /\n/, $expected->{$name};
		my %in_found = map { $_ => 1 } split /\n/, $found->{$name} // 'nothing';

		diag $name, map { "\n  plain: " . substr $_, 0, 500 } grep { !$in_found{$_} } sort keys %in_plain;
		diag map { "\n  found: " . substr $_, 0, 500 } grep { !$in_plain{$_} } sort keys %in_found;
	}
	return;
}

compare('odd', 'answers are the same with all settings, in Turkish', sort keys %odd);
if (is_soak())
{
	foreach my $setting (sort keys %odd)
	{
		load_books($node, 'single');
		set_for('single', $setting);
		compare('single', "every call succeeds with $setting", $setting);
		$node->safe_psql('postgres', 'DROP DATABASE single');
	}
}

done_testing();
