# Locks are taken in one order, which the table in docs/internals.md lists.
#
# The test calls once every statement that changes state, as listed in Statements.pm. Each exclusive lock that the
# statement holds at its end must be in the table. Then another session takes one of these locks, and the statement
# is called again. If the statement waits, all locks that it holds, including row locks, must come before the lock
# that it waits for. No statement may request a stronger mode of a lock that it holds. The test does not depend on
# timing.
#
# LOCK_ORDER_ONLY is a pattern of names that selects statements.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Client;
use IO::Select;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Statements;
use Test::More;
use Time::HiRes qw(time);
use WorkerNode;

use constant PATIENCE_S => 60;

# Positions of locks in the order, by name: a table, "rows of" a table, or "objects of" a table.
my %place = map { /^\| (\d+) \| (rows of |objects of |)`([\w.]+)` \|/ ? ("$2$3" => $1) : () } split /\n/, slurp_file('docs/internals.md');
cmp_ok(scalar keys %place, '>', 20, 'the table of locks was found');

# For each lock mode, a mode that conflicts with it and with no weaker mode.
my %opposite = (
	RowExclusiveLock => 'SHARE', ShareUpdateExclusiveLock => 'SHARE UPDATE EXCLUSIVE', ShareLock => 'ROW EXCLUSIVE',
	ShareRowExclusiveLock => 'ROW EXCLUSIVE', ExclusiveLock => 'ROW EXCLUSIVE', AccessExclusiveLock => 'ROW EXCLUSIVE');
my @modes = qw(AccessShareLock RowShareLock RowExclusiveLock ShareUpdateExclusiveLock ShareLock ShareRowExclusiveLock ExclusiveLock AccessExclusiveLock);
my %strength = map { $modes[$_] => $_ } 0 .. $#modes;

# How another session takes certain locks. A statement locks the tables of a group together under
# one name, and releases them in between. Objects of a table are locked by a function.
my %block_tables = ('yquota_internal.federated_report' => 'LOCK TABLE yquota_internal.federated_status IN ACCESS EXCLUSIVE MODE');
my %block_objects = (
	'yquota.application' => 'SELECT yquota_internal.lock_passes()',
	'yquota_internal.application_counter' => 'SELECT yquota_internal.lock_leaves()',
	'yquota.reservation_definition' => q(SELECT * FROM yquota.delete_reservation('reservation_1_0001', 'ann', '{}')),
	'yquota.node_queue' => q(SELECT yquota_internal.lock_node_queue('h1'), yquota_internal.lock_node_queue('q1')),
	'yquota_internal.opportunistic_counter' => 'SELECT yquota_internal.lock_sharing()',
	'yquota_internal.opportunistic_slot' => q(SELECT * FROM yquota.allocate_opportunistic('application_1_11')),
	'yquota.hold' => q(SELECT yquota_internal.lock_credit('p'), yquota_internal.lock_credit('s')));

my $node = new_node('lock_order', 'fsync = off', 'max_connections = 20', "client_min_messages = 'error'", 'deadlock_timeout = 30s', 'autovacuum = off');
load_books($node, 'books');
is(join(', ', missing_statements($node, 'books')), '', 'there is a call of every statement');
is($node->safe_psql('books', 'SELECT outcome FROM yquota.preempt_containers(dry_run => true)'), 'killed', 'a round of preemption kills');

my ($session, $blocker, $watcher) = map { Client->new($node, 'books') } 1 .. 3;
$watcher->run(q(SET lock_timeout = '100ms'));
my $pid = $session->run('SELECT pg_backend_pid()') + 0;

# Locked rows are found by their xmax. This does not work in tables that foreign keys refer to, because their
# weakest locks look like other locks.
my @row_tables = grep { exists $place{"rows of $_"} } split /\n/, $watcher->run(<<~'SQL');
	SELECT c.oid::regclass FROM pg_class AS c
	WHERE c.relkind = 'r' AND c.relnamespace IN ('yquota'::regnamespace, 'yquota_internal'::regnamespace)
	  AND NOT EXISTS (SELECT FROM pg_constraint AS k WHERE k.contype = 'f' AND k.confrelid = c.oid)
	SQL
is(join(', ', sort map { "rows of $_" } @row_tables), join(', ', sort grep { /^rows/ } keys %place), 'the locks of rows with a rank can be read');
my $locked_rows = join ' UNION ALL ', map { "(SELECT 'rows of $_' FROM $_ WHERE xmax = ANY (ARRAY(SELECT transactionid FROM pg_locks WHERE pid = $pid AND locktype = 'transactionid' AND granted)) LIMIT 1)" } @row_tables;

# Return whether a lock conflicts with statements other than DROP and the like. The lock of a statement that changes
# rows counts only on tables on which other statements take stronger locks.
sub matters
{
	my ($name, $mode, $kind) = @$_;

	return $kind eq 'object' || $strength{$mode} > $strength{RowExclusiveLock} || $mode eq 'RowExclusiveLock' && exists $place{$name};
}

# Return the locks of a reader of the ledger that conflict with statements which post to the ledger. A reader whose
# other locks prevent sealing has no such lock.
sub reads_ledger
{
	my (@held) = @_;

	return () if grep { $_->[0] =~ /^yquota\.(?:pricing_change|history_segment)$/ && $strength{ $_->[1] } >= $strength{ShareLock} } @held;
	return grep { $_->[0] eq 'yquota.charge' && $_->[1] eq 'AccessShareLock' } @held;
}

# A query of the state of the books that a session reports.
my $told = q(SELECT (SELECT json_agg(v) FROM yquota.verify() AS v) AS problems, (SELECT json_agg(c) FROM yquota.cost_between('-infinity', 'infinity', '{project,queue}') AS c),
	(SELECT json_agg(b) FROM yquota.project AS p, yquota.balance_at(p.name, yquota.clock()) AS b), (SELECT count(*) FROM yquota.container_event), (SELECT count(*) FROM yquota.charge));
my $told_before;
my $replanned = 0;

# Return the locks that the statement holds at its end, or undef if it failed. Plans that were made while tables
# were created or dropped are made again after the rollback.
sub call_alone
{
	my ($name) = @_;
	my $outcome;

	$session->send(call_of($name));
	1 until $outcome = $session->read;
	my @held = locks_of($watcher, $pid, 'true');
	my $changes_tables = !defined $outcome->{sqlstate} && grep { $_->[1] eq 'AccessExclusiveLock' } @held;

	$session->run($told) if $changes_tables;
	$session->run('ROLLBACK');
	is($session->run($told), $told_before, "$name: the session reads on after its statement was rolled back") if $changes_tables;
	$replanned++ if $changes_tables;
	return \@held if !defined $outcome->{sqlstate};
	diag(substr $outcome->{answer}, 0, 1000);
	return undef;
}

# call_blocked(NAME): wait until the statement has ended or waits for a lock. Return the lock that it waits for and
# the locks that it then holds, or nothing if it has ended.
sub call_blocked
{
	my ($name) = @_;
	my $select = IO::Select->new($session->handle);
	my $until = time + PATIENCE_S;
	my (@waits, @held, $outcome);

	$session->send(call_of($name));
	while (!@waits && time < $until)
	{
		if ($select->can_read(0.002))
		{
			last if $outcome = $session->read;
			next;
		}
		@waits = locks_of($watcher, $pid, 'false') or next;
		@held = locks_of($watcher, $pid, 'true');
		push @held, map { [ $_, '', 'rows' ] } split /\n/, $watcher->run($locked_rows);
	}
	$watcher->run("SELECT pg_cancel_backend($pid)") if !$outcome;
	1 until $outcome // $session->read;
	$session->run('ROLLBACK');
	return (\@waits, \@held);
}

$told_before = $session->run($told);
like($told_before, qr/^\|/, 'the books have no fault');
my ($calls, $waited) = (0, 0);
foreach my $name (grep { !defined $ENV{LOCK_ORDER_ONLY} || /$ENV{LOCK_ORDER_ONLY}/ } statements())
{
	my $held = call_alone($name);
	my @wrong;
	my %blocked;

	$calls++;
	foreach my $lock (grep { matters } @{ $held // [] })
	{
		my ($lock_name, $mode, $kind) = @$lock;

		push @wrong, "$lock_name in $mode has no place in the table" if !exists $place{$lock_name};
		my $block = $kind eq 'object' ? $block_objects{ $lock_name =~ s/^objects of //r } :
		  $block_tables{$lock_name} // "LOCK TABLE ONLY $lock_name IN $opposite{$mode} MODE";
		# no statement locks only the ledger
		next if !defined $block || $blocked{$block}++ || $lock_name eq 'yquota.charge';
		$blocker->run("BEGIN; $block");
		my ($waits, $before) = call_blocked($name);
		$blocker->run('ROLLBACK');
		next if !@$waits;
		$waited++;
		foreach my $wait (@$waits)
		{
			my $at = $place{ $wait->[0] };

			push @wrong, "waits for $wait->[0], which has no place in the table" if !defined $at;
			push @wrong, map { "holds $_->[0] when it waits for $wait->[0]" }
			  grep { defined $at && ($place{ $_->[0] } // 0) >= $at && !($_->[0] eq $wait->[0] && ($_->[2] eq 'object' || exists $block_tables{ $_->[0] })) }
			  reads_ledger(@$before), grep { $_->[2] eq 'rows' || matters } @$before;
		}
	}
	ok(defined $held && !@wrong, $name) or diag(join "\n", @wrong);
}
note("lock order: $calls statements, which waited $waited times");
cmp_ok($replanned, '>', 1, 'statements have changed tables') if !defined $ENV{LOCK_ORDER_ONLY};
cmp_ok($waited, '>', 1.5 * $calls, 'statements have waited') if !defined $ENV{LOCK_ORDER_ONLY};

$_->close foreach $session, $blocker, $watcher;
$node->stop;
done_testing();
