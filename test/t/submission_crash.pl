# Many clients submit, end, move and start the same applications in the same queues, while the server is killed.
#
# Single statements never deadlock and need not be repeated, at any isolation level. Transactions that take queues in
# opposite orders may deadlock, and succeed when they are repeated. After each recovery all acknowledged changes
# exist, and no change that was rolled back. No limit is exceeded, and the counters agree with the applications.
#
# SUBMISSION_SEED repeats the calls of clients, but not their timing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Client;
use IO::Select;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use Time::HiRes qw(time sleep);
use WorkerNode;

use constant { CLIENTS => 8, SYSTEM_LIMIT => 45, ENOUGH => 50 };

my $seed = $ENV{SUBMISSION_SEED} // int(rand 1_000_000_000);
note("SUBMISSION_SEED=$seed");
srand($seed);

my $node = new_node('submission_crash', 'max_connections = 40', 'deadlock_timeout = 20ms', 'log_statement = none', 'restart_after_crash = on');
my $database = 'queues';
my %total = (statements => 0, acknowledged => 0, unknown => 0, kills => 0);

# Every limit applies: of the cluster, of queues, of users in queues, of parallel applications of a
# queue and of users, and of application masters. Credit limits apply, too, because some submissions
# hold credit.
$node->safe_psql('postgres', "CREATE DATABASE $database");
$node->safe_psql($database, <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_applications, user_max_parallel_apps, maximum_am_resource_percent) VALUES (1000000, 9, 0.5);
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=40960,vcores=400]');
INSERT INTO yquota.queue (path, capacity, maximum_applications, max_parallel_apps, user_limit_factor) VALUES
	('root', NULL, NULL, NULL, NULL), ('root.a', '25', 10, NULL, 3), ('root.b', '50', NULL, 7, NULL), ('root.b.c', '50', 8, 4, 2),
	('root.b.d', '50', 20, NULL, 2), ('root.e', '25', 30, NULL, NULL);
COMMIT;
INSERT INTO yquota.project (name) VALUES ('lab');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 100, 'budget');
CREATE SEQUENCE submitted;
CREATE FUNCTION any_application() RETURNS text VOLATILE LANGUAGE sql AS
	'SELECT application_id FROM yquota.application WHERE finished_at IS NULL ORDER BY random() LIMIT 1';
-- what a client may be refused is no failure of it
CREATE FUNCTION attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE statement INTO answer;
	RETURN answer;
EXCEPTION WHEN null_value_not_allowed OR object_not_in_prerequisite_state OR configuration_limit_exceeded THEN
	RETURN NULL;
END
$$;
SQL

# Return limits that are exceeded, and counters that are wrong.
my $wrong = <<'SQL';
WITH live AS (
	SELECT a.*, a.state IN ('ACCEPTED', 'ACTIVE') AS runs FROM yquota.application AS a WHERE a.finished_at IS NULL
)
SELECT 'cluster has ' || count(*) FROM live HAVING count(*) > (SELECT s.maximum_applications FROM yquota.scheduler_setting AS s)
UNION ALL
SELECT format('queue %s has %s', q.path, count(*)) FROM live AS a JOIN yquota.queue AS q ON q.path = a.queue
GROUP BY q.path HAVING count(*) > min(q.maximum_applications)
UNION ALL
SELECT format('in queue %s run %s', q.path, count(*)) FROM live AS a JOIN yquota.queue AS q ON a.queue = q.path OR a.queue LIKE q.path || '.%'
WHERE a.runs GROUP BY q.path HAVING count(*) > min(q.max_parallel_apps)
UNION ALL
SELECT format('of user %s run %s', a.username, count(*)) FROM live AS a WHERE a.runs
GROUP BY a.username HAVING count(*) > (SELECT s.user_max_parallel_apps FROM yquota.scheduler_setting AS s)
UNION ALL
SELECT format('application masters of %s use %s', e.queue, sum((a.am_resource::jsonb ->> 'memory-mb')::bigint))
FROM live AS a JOIN yquota.effective_queue AS e ON e.queue = a.queue
WHERE a.state = 'ACTIVE' GROUP BY e.queue HAVING count(*) > 1 AND sum((a.am_resource::jsonb ->> 'memory-mb')::bigint) > min((e.am_limit::jsonb ->> 'memory-mb')::bigint)
UNION ALL
SELECT 'holds are ' || sum(h.amount) FROM yquota.hold AS h WHERE h.released_at IS NULL HAVING sum(h.amount) > 100
UNION ALL
SELECT format('%s holds %s', a.application_id, h.amount) FROM live AS a FULL JOIN (SELECT * FROM yquota.hold WHERE released_at IS NULL) AS h USING (hold_id)
WHERE a.project = 'lab' AND h.hold_id IS NULL OR h.hold_id IS NOT NULL AND a.project IS DISTINCT FROM 'lab'
UNION ALL
SELECT 'verify: ' || v::text FROM yquota.verify() AS v
SQL

#
# Without a crash
#

# run_clients(LEVEL, TRIES, TRANSACTIONS, NAME => SCRIPT...): run pgbench.
sub run_clients
{
	my ($level, $tries, $transactions, %scripts) = @_;
	my @files;

	foreach my $name (sort keys %scripts)
	{
		my $file = PostgreSQL::Test::Utils::tempdir() . "/$name.sql";

		unlink $file;
		append_to_file($file, $scripts{$name});
		push @files, '-f', $file . ($name =~ /(\@\d+)$/ ? $1 : '');
	}
	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=' . ($level =~ s/ /\\ /r);
	my ($out, $error) = run_command(
		[ 'pgbench', '-n', '-c', CLIENTS, '-j', 2, '-t', $transactions, '--max-tries', $tries, '--failures-detailed',
			'--random-seed', $seed, '-h', $node->host, '-p', $node->port, @files, $database ]);
	my %count;

	($count{done}) = $out =~ /transactions actually processed: (\d+)/;
	($count{conflicts}) = $out =~ /number of serialization failures: (\d+)/;
	($count{deadlocks}) = $out =~ /number of deadlock failures: (\d+)/;
	($count{retries}) = $out =~ /total number of retries: (\d+)/;
	$total{statements} += $count{done} // 0;
	diag($error) if $error =~ /ERROR|aborted|FATAL/;
	return \%count;
}

my $submit = <<'SQL';
\set user random(1, 6)
\set leaf random(1, 4)
SELECT attempt(format('SELECT state FROM yquota.submit_application(%L, %L, NULL, %L, am_resource => %L' ||
	CASE WHEN :user > 3 THEN ')' ELSE format(', project => %L, hold_amount => %s)', 'lab', 4 * :user) END, 'application_1_' || nextval('submitted'), 'u' || :user,
	('{root.a,root.b.c,root.b.d,root.e}'::text[])[:leaf], '[memory-mb=1024,vcores=1]'));
SQL
my $finish = "SELECT attempt(format('SELECT yquota.finish_application(%L)', any_application()));\n";
# A move does not check max-parallel-apps, so no application is moved to a queue with that limit.
my $move = <<'SQL';
\set leaf random(1, 2)
SELECT attempt(format('SELECT yquota.move_application(%L, %L)', any_application(), ('{root.a,root.e}'::text[])[:leaf]));
SQL
my $look = 'SELECT count(*) FROM yquota.activate_applications();';

for (my $round = 0; soak_goes_on($round, 2, 10, 40); $round++)
{
	my $level = ('read committed', 'repeatable read')[ $round % 2 ];
	my $count = run_clients($level, 1, is_soak() ? 400 : 80,
		'submit@10' => $submit, 'finish@6' => $finish, 'move@4' => $move, 'look@1' => $look);

	is($count->{deadlocks}, 0, "$level: statements about the same queues cause no deadlock");
	is($count->{conflicts}, 0, "$level: no statement has to be repeated");
	is($count->{done}, CLIENTS * (is_soak() ? 400 : 80), "$level: every statement succeeded");
	is($node->safe_psql($database, $wrong), '', "$level: no limit is exceeded, counters are right");
}

# Transactions that take several queues may meet a transaction that takes them in the opposite
# order.
for (my $round = 0; soak_goes_on($round, 1, 5, 50); $round++)
{
	my $count = run_clients('read committed', 1000, 4, two => "BEGIN;\n$submit\\sleep 1 ms\n${submit}COMMIT;\n");

	is($count->{done}, CLIENTS * 4, "transactions about several queues succeed in the end ($count->{retries} repetitions)");
	is($node->safe_psql($database, $wrong), '', 'no limit is exceeded, counters are right');
}

#
# With crashes
#

# From now on the limit of the cluster applies, too.
$node->safe_psql($database, 'SELECT yquota.finish_application(application_id) FROM yquota.application WHERE finished_at IS NULL');
$node->safe_psql($database, 'UPDATE yquota.scheduler_setting SET maximum_applications = ' . SYSTEM_LIMIT);

# Known state of each application: it exists, does not exist (rolled back), or is unknown while the outcome of its
# statement is unknown. The state also says whether the application has ended.
my (%is_there, %is_over);
my $number = 0;
my @clients;

sub connect_clients
{
	@clients = map { { client => Client->new($node, $database), own => [] } } 1 .. CLIENTS;
	return;
}

sub submission
{
	my ($id) = @_;
	my $queue = (qw(root.a root.b.c root.b.d root.e))[ int rand 4 ];

	my $hold = rand() < 0.8 ? '' : sprintf ", project => 'lab', hold_amount => %d", 1 + int rand 20;

	return sprintf q(SELECT state FROM yquota.submit_application('%s', 'u%d', NULL, '%s', am_resource => '[memory-mb=1024,vcores=1]'%s)), $id, 1 + int rand 6, $queue, $hold;
}

# Return a statement of a client, with its effect: the applications that it creates and ends. Each id is submitted
# once, and any client may end its application.
sub next_statement
{
	my ($own) = @_;
	my $what = rand;
	my @new = map { 'application_2_' . ++$number } 1, 2;
	my $old = @$own ? $own->[ int rand @$own ] : undef;

	return { sql => submission($new[0]), there => [ $new[0] ] } if $what < 0.4 || !defined $old;
	return { sql => 'BEGIN; ' . join('; ', map { submission($_) } @new) . '; COMMIT', there => \@new } if $what < 0.5;
	return { sql => 'BEGIN; ' . submission($new[0]) . '; ROLLBACK', never => [ $new[0] ] } if $what < 0.55;
	return { sql => "SELECT yquota.finish_application('$old', 'KILLED')", over => [$old] } if $what < 0.8;
	return { sql => "SELECT yquota.move_application('$old', '" . (qw(root.a root.e))[ int rand 2 ] . "')" } if $what < 0.9;
	return { sql => "SELECT yquota.set_outstanding_requests('$old', " . (rand() < 0.5 ? 'true' : 'false') . ')' } if $what < 0.95;
	return { sql => 'SELECT count(*) FROM yquota.activate_applications()' };
}

sub note_outcome
{
	my ($slot, $outcome) = @_;
	my $statement = $slot->{statement};
	# a crash does not count as a failure of the statement
	my $is_unknown = $outcome->{lost};
	my $is_done = !$is_unknown && !defined $outcome->{sqlstate};

	$total{$is_unknown ? 'unknown' : 'acknowledged'}++;
	foreach my $id (@{ $statement->{there} // [] })
	{
		$is_there{$id} = $is_unknown ? undef : $is_done;
		push @{ $slot->{own} }, $id if $is_done;
	}
	$is_there{$_} = 0 foreach @{ $statement->{never} // [] };
	foreach my $id (@{ $statement->{over} // [] })
	{
		$is_over{$id} = $is_unknown ? undef : 1 if $is_done || $is_unknown;
	}
	return if !defined $outcome->{sqlstate} || $is_unknown;
	# a move may be refused, and transactions of two submissions may deadlock
	push @{ $total{unexpected} }, "$statement->{sql}: $outcome->{answer}"
	  if $outcome->{sqlstate} !~ ($statement->{sql} =~ /move/ ? qr/^(?:55000|53400|40P01)$/ : qr/^40P01$/);
	$slot->{client}->run('ROLLBACK') if $statement->{sql} =~ /^BEGIN/;
	return;
}

# work(SECONDS, GOES_ON): let clients work, however slow they are, until enough statements are acknowledged.
# Without GOES_ON, only wait for their answers.
sub work
{
	my ($seconds, $goes_on) = @_;
	my $until = time + $seconds;
	my $enough = $total{acknowledged} + ENOUGH;
	my $is_over = sub { time >= $until && $total{acknowledged} > $enough };

	while (1)
	{
		my $is_late = !$goes_on || $is_over->();
		my $select = IO::Select->new;

		foreach my $slot (@clients)
		{
			if (!$slot->{client}->is_busy && !$is_late && !$slot->{is_lost})
			{
				$slot->{statement} = next_statement($slot->{own});
				$slot->{client}->send($slot->{statement}{sql});
				$total{statements}++;
			}
			$select->add([ $slot->{client}->handle, $slot ]) if $slot->{client}->is_busy;
		}
		return if !$select->count || ($goes_on && $is_over->());
		foreach my $ready ($select->can_read(1))
		{
			my $slot = $ready->[1];
			my $outcome = $slot->{client}->read or next;

			$slot->{is_lost} ||= $outcome->{lost};
			note_outcome($slot, $outcome);
		}
	}
}

# Compare the database with the known state. A refused application has ended, although no client has ended
# it.
sub differences
{
	my %state = map { split /\|/ } split /\n/, $node->safe_psql($database,
		q(SELECT application_id, state FROM yquota.application WHERE application_id LIKE 'application_2_%'));
	my @wrong;

	foreach my $id (sort keys %is_there)
	{
		push @wrong, "$id is lost" if $is_there{$id} && !exists $state{$id};
		push @wrong, "$id was rolled back" if defined $is_there{$id} && !$is_there{$id} && exists $state{$id};
	}
	foreach my $id (grep { $is_over{$_} } sort keys %is_over)
	{
		push @wrong, "$id is $state{$id}" if $state{$id} !~ /^(?:KILLED|FINISHED|REJECTED)$/;
	}
	return join "\n", @wrong;
}

my $cycles = 0;
for (; soak_goes_on($cycles, 3, 60); $cycles++)
{
	my $is_postmaster = $cycles % 2 == 0;

	connect_clients(); 	my @gone = map { split /\n/, $_->{client}->run('SELECT pg_backend_pid()') } @clients;
	work(0.3 + rand(0.7), 1); 	if ($is_postmaster)
	{
		push @gone, server_pids($node);
		$node->kill9;
	}
	else
	{
		kill 'KILL', $gone[ int rand @gone ];
	}
	$total{kills}++;
	# take the answers that are still to come
	work(0, 0);
	$_->{client}->close foreach @clients;
	wait_until_gone(@gone);
	$node->start if $is_postmaster;
	wait_until_up($node);
	is(differences(), '', "cycle $cycles: acknowledged statements are there, rolled back ones are not");
	is($node->safe_psql($database, $wrong), '', "cycle $cycles: no limit is exceeded, counters are right");
	# make room for new applications
	$node->safe_psql($database, q(SELECT yquota.finish_application(application_id) FROM yquota.application WHERE finished_at IS NULL ORDER BY random() LIMIT 25));
}
is(join("\n", @{ $total{unexpected} // [] }), '', 'no statement failed for another reason');
cmp_ok($total{acknowledged}, '>', ENOUGH * $cycles, 'many statements were acknowledged before the crashes');
note("$total{statements} statements, $total{acknowledged} acknowledged and $total{unknown} unknown in $total{kills} kills");
$node->stop;
done_testing();
