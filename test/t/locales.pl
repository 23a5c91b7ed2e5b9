# The extension is the same in every encoding that a server can have: it can be
# created, its texts can be sent to any client, and names of users and projects
# come back as they were written.  "make check" takes two encodings, "make soak" all.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('locales');

$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;

# asked(DATABASE, SQL): what a client that speaks UTF-8 gets.
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
	like(asked($database, q(SELECT yquota.report_html('2029-12-31', '2030-01-01'))), qr/<td>\Q$name\E<\/td>/, 'and its report has the name');
}

# What pg_dump reads of the catalog goes through the encoding of the dump.
$node->safe_psql('postgres', 'CREATE DATABASE utf8');
asked('utf8', q(CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.project (name) VALUES ('Orléans')));
like((run_command([ 'pg_dump', '-E', 'LATIN1', '-d', $node->connstr('utf8') ]))[0], qr/^Orl\xe9ans\t/m, 'a dump in another encoding');
foreach my $encoding (qw(LATIN1 EUC_JP))
{
	command_ok([ 'pg_dump', '--binary-upgrade', '--schema-only', '-E', $encoding, '-f', '/dev/null', '-d', $node->connstr('utf8') ], "with all of the extension's texts, in $encoding");
}

# Keywords are made upper and lower case as in English, and a backslash is one, whatever the locale and the settings.
$node->safe_psql('postgres', q(CREATE DATABASE turkish TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'));
$node->safe_psql('postgres', 'ALTER DATABASE turkish SET standard_conforming_strings = off; ALTER DATABASE turkish SET datestyle = "Postgres, DMY"');
is($node->safe_psql('turkish', q(SELECT upper('i') <> 'I', lower('I') <> 'i')), 't|t', 'a locale with two more letters');
is($node->safe_psql('turkish', <<~'SQL'), "finish\n1|1|0\n1|1|0\nyquota budget: p, month from 2030-01-01 on\nt\n2030-01-01 08:00:00+00", 'in which keywords are as everywhere');
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

done_testing();
