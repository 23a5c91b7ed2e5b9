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

done_testing();
