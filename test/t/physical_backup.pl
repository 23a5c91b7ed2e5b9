# Physical backups and recovery to a point in time. One session keeps a journal of statements while the server is
# backed up. Each minute a container starts, the container that started seven minutes before finishes, and in between
# the price doubles. A recovered server must have exactly the statements before its target, and the charges that
# this file computes, to the last digit. On the recovered server verify() finds no fault, the last price is in force,
# and the worker continues with that price. The time from the target to the start of the worker is an outage.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use POSIX qw(WNOHANG);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use WorkerNode;

use constant LIFE => 7;    # minutes that a container runs

my $primary = PostgreSQL::Test::Cluster->new('primary');

# A worker must not see yquota before the clock is set, so do not use a copied cluster.
$primary->init(has_archiving => 1, allows_streaming => 1, extra => ['--no-instructions']);
$primary->append_conf('postgresql.conf', <<~'CONF');
	shared_preload_libraries = 'yquota'
	yquota.databases = 'postgres'
	CONF
$primary->start;
start_at($primary, 'postgres', '2026-03-02 00:00+00');
$primary->safe_psql('postgres', "INSERT INTO yquota.project (name) VALUES ('lab')");

my $session = $primary->background_psql('postgres', on_error_stop => 1);
my $written = 0;    # statements of the journal that were acknowledged
my $price_from;     # minute from which the price is doubled
my @lsn;            # end of the WAL after each statement

sub minute { return "timestamptz '2026-03-02 00:00+00' + $_[0] * interval '1 min'"; }

# Write the next statement of the journal, and return the id of its transaction.
sub write_next
{
	my $next = $written + 1;
	my $finished = $next - LIFE;
	my $now = minute($next);

	$session->query_safe("SELECT yquota.set_clock($now)");
	my $xid = $session->query_safe("BEGIN;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'c$next', $now, 'lab', '[vcores=1]')"
		. ($finished > 0 ? ", ('CONTAINER_FINISH', 'c$finished', $now, 'lab', NULL)" : '') . ";
		SELECT pg_current_xact_id();
		COMMIT");

	$written = $next;
	$lsn[$written] = $session->query_safe('SELECT pg_current_wal_insert_lsn()');
	return $xid;
}

sub write_some { write_next() foreach 1 .. $_[0]; return; }

# Return the cost of a container. Each minute from $number until $until costs 60 credits, and 120
# credits from the minute $doubled_from on.
sub cost
{
	my ($number, $until, $doubled_from) = @_;
	my $cost = 0;

	foreach my $minute ($number .. $until - 1)
	{
		$cost += defined $doubled_from && $minute >= $doubled_from ? 120 : 60;
	}
	return $cost;
}

# is_journal(NODE, NUMBER, DOUBLED_FROM, NAME): test that the server has exactly the first NUMBER
# statements of the journal.
sub is_journal
{
	my ($node, $number, $doubled_from, $name) = @_;
	my ($charged, $accrued) = (0, 0);

	$charged += cost($_, $_ + LIFE, $doubled_from) foreach 1 .. $number - LIFE;
	$accrued += cost($_, $number, $doubled_from) foreach $number - LIFE + 1 .. $number;
	set_clock($node, 'postgres', $node->safe_psql('postgres', "SELECT ${\ minute($number)}"));
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $node->safe_psql('postgres', <<~'SQL'), join('|', $number, $number, $number - LIFE, LIFE), "$name: all statements before the target are there, and no other");
		SELECT count(DISTINCT container_id) FILTER (WHERE event = 'CONTAINER_START'), max(substr(container_id, 2)::integer),
			   count(DISTINCT container_id) FILTER (WHERE event = 'CONTAINER_FINISH'), (SELECT count(*) FROM yquota.container)
		FROM yquota.container_event WHERE event <> 'QUOTA_COMPUTE'
		SQL
	is($node->safe_psql('postgres', 'SELECT charged, accrued FROM yquota.project_balance'), "$charged|$accrued", "$name: the charges are exact to the last digit");
	is( $node->safe_psql('postgres', "SELECT price FROM yquota.current_price WHERE resource_type = 'vcores'"),
		defined $doubled_from ? 2 : 1, "$name: the last computed price is in force");
	is($node->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', "$name: the books prove themselves");
	return;
}

# goes_on(NODE, NUMBER, DOUBLED_FROM, NAME): send later statements again, and new ones, while the
# worker runs.
sub goes_on
{
	my ($node, $number, $doubled_from, $name) = @_;
	my $values = join ",\n", map { sprintf "('CONTAINER_START', 'c%d', %s, 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'c%d', %s, 'lab', NULL)",
		  $_, minute($_), $_ - LIFE, minute($_) } $number - 2 .. $number + 5;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	set_clock($node, 'postgres', $node->safe_psql('postgres', "SELECT ${\ minute($number + 5)}"));
	is_soon($node, 'postgres', mark() . ' = yquota.clock()', "$name: the worker goes on");
	$node->safe_psql('postgres', "INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES $values");
	is_journal($node, $number + 5, $doubled_from, "$name, two statements repeated and five more");
	return;
}

# recovered(NAME, SETTING...): return a server that is recovered to its target. Its clock may be
# ahead of the last mark of the primary's worker, which must not be an outage.
sub recovered
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init_from_backup($primary, 'backup', @settings ? (has_restoring => 1, standby => 0) : ());
	$node->append_conf('postgresql.conf', join("\n", 'archive_mode = off', 'fsync = off', "yquota.outage_policy = 'charge'", @settings ? "recovery_target_action = 'promote'" : (), @settings, ''));
	$node->start;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die "recovery does not end";
	return $node;
}

# Back up under load: statements continue from before the backup until it has ended.
write_some(20);
$primary->safe_psql('postgres', 'SELECT yquota.seal_history()');
write_some(20);

my $before_backup = $written;
my $directory = $primary->backup_dir . '/backup';
my $backup = fork // die "could not fork: $!";

exec('pg_basebackup', '-D', $directory, '-h', $primary->host, '-p', $primary->port, '--checkpoint', 'fast', '--no-sync', '--max-rate', '16M')
	or die "could not run pg_basebackup: $!"
	if !$backup;
write_next() while waitpid($backup, WNOHANG) == 0;
is($?, 0, 'pg_basebackup');
my $after_backup = $written;
cmp_ok($after_backup - $before_backup, '>', 10, 'statements were written during the backup');
note($after_backup - $before_backup, ' statements written while pg_basebackup ran');
command_ok([ 'pg_verifybackup', $directory ], 'pg_verifybackup');

# Four targets in the journal after the backup
my %target;

write_some(11);
$primary->safe_psql('postgres', "SELECT pg_create_restore_point('before the price')");
$target{name} = $written;
$price_from = $written + 1;
$primary->safe_psql('postgres', "SELECT yquota.set_multiplier('GENERAL', 2, ${\ minute($price_from)})");
write_some(9);
$primary->safe_psql('postgres', 'SELECT yquota.seal_history()');
write_some(9);
write_some(9);
my $xid = write_next();
$target{xid} = $written - 1;
write_some(9);
# charges after the mark would be forgiven, too
is_soon($primary, 'postgres', mark() . ' = yquota.clock()', 'the worker of the primary has kept up with the time to be recovered');
my $time = $primary->safe_psql('postgres', 'SELECT clock_timestamp()');
$target{time} = $written;
write_some(9);
is_soon($primary, 'postgres', mark() . ' = yquota.clock()', 'the worker of the primary has kept up');
is_journal($primary, $written, $price_from, 'the primary');
$session->quit;
my $last = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
$primary->poll_query_until('postgres', "SELECT last_archived_wal >= '$last' FROM pg_stat_archiver") or die "WAL is not archived";
$primary->stop;

# The backup without further WAL ends where pg_basebackup ended.
my $copy = recovered('copy');
my $held = $copy->safe_psql('postgres', "SELECT count(*) FROM yquota.container_event WHERE event = 'CONTAINER_START'");

cmp_ok($held, '>=', $before_backup, 'a backup has all statements that were acknowledged before it began');
cmp_ok($held, '<=', $after_backup, 'a backup has no statement from after its end');
is_journal($copy, $held, undef, 'a backup by itself');
goes_on($copy, $held, undef, 'a backup by itself');
$copy->stop;

my %recovered_to = (
	name => [ undef, "recovery_target_name = 'before the price'" ],
	xid => [ $price_from, "recovery_target_xid = '$xid'", 'recovery_target_inclusive = off' ],
	time => [ $price_from, "recovery_target_time = '$time'" ]);

foreach my $kind (qw(name xid))
{
	my ($doubled_from, @settings) = @{ $recovered_to{$kind} };
	my $node = recovered("to_$kind", @settings);

	is_journal($node, $target{$kind}, $doubled_from, "recovered to a $kind");
	goes_on($node, $target{$kind}, $doubled_from, "recovered to a $kind");
	$node->stop;
}

# Recover to the ends of random statements after the backup
my @recovered;

for (my $done = 0; soak_goes_on($done, 2, 20); $done++)
{
	my $number = $after_backup + 1 + int(rand($written - $after_backup));
	my $doubled_from = $number >= $price_from ? $price_from : undef;
	my $node = recovered("to_lsn_$done", "recovery_target_lsn = '$lsn[$number]'");

	is_journal($node, $number, $doubled_from, "recovered to the end of statement $number");
	goes_on($node, $number, $doubled_from, "recovered to the end of statement $number");
	$node->stop;
	$node->clean_node;
	push @recovered, $number;
}

# Half an hour passes before the recovered server gets a worker. The time from the recovered mark to that instant is
# an outage, for which no project pays.
my ($doubled_from, @settings) = @{ $recovered_to{time} };
my $node = recovered('to_time', @settings, "yquota.databases = ''", "yquota.outage_policy = 'forgive'");

is_journal($node, $target{time}, $doubled_from, 'recovered to a time');
my $mark = $node->safe_psql('postgres', "SELECT ${\ mark()}");
my $charged = $node->safe_psql('postgres', 'SELECT charged + accrued FROM yquota.project_balance');
my $reopened = $node->safe_psql('postgres', "SELECT ${\ minute($target{time} + 30)}");
set_clock($node, 'postgres', $reopened);
$node->append_conf('postgresql.conf', "yquota.databases = 'postgres'");
$node->reload;
is_soon($node, 'postgres', mark() . ' = yquota.clock()', 'recovered to a time: the worker comes back half an hour later');
is( $node->safe_psql('postgres', 'SELECT started_at, ended_at, forgiven FROM yquota.outage'), "$mark|$reopened|t",
	'recovered to a time: one outage since the mark');
is($node->safe_psql('postgres', 'SELECT charged + accrued FROM yquota.project_balance'), $charged, 'recovered to a time: no project pays for the outage');
is($node->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', 'recovered to a time: the books prove themselves after it');
$node->restart;
is_soon($node, 'postgres', "(SELECT state = 'running' FROM yquota.worker_status)", 'recovered to a time: the worker starts again');
is($node->safe_psql('postgres', 'SELECT count(*) FROM yquota.outage'), 1, 'recovered to a time: the new start makes no second outage');
$node->stop;

note("$written statements in the journal, recovered to " . join(', ', $held, @recovered, map { $target{$_} } qw(name xid time)));
done_testing();
