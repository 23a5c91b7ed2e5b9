# The worker raises and clears each alert of a low balance once, even if the server is killed in between and a standby
# takes over. A reader of notifications who keeps the position misses none and sees none twice: on the primary, on the
# standby, and after the failover. In a database restored from a dump the reader starts with the notifications of the
# new server.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('primary', "shared_preload_libraries = 'yquota'", "yquota.databases = 'work'", 'autovacuum = off');
my $position;

# read_on(NODE, DATABASE, NUMBER, EXPECTED, NAME): test that so many notifications arrive, and that they are the
# expected ones.
sub read_on
{
	my ($server, $database, $number, $expected, $name) = @_;
	my $after = defined $position ? "'$position'" : 'NULL';

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_soon($server, $database, "(SELECT count(*) >= $number FROM yquota.read_notifications($after) AS n WHERE n.kind = 'spending_threshold')", "$name: the notifications arrive");
	my @rows = map { [ split /\|/ ] } split /\n/,
	  $server->safe_psql($database, "SELECT n.position, n.event, n.subject FROM yquota.read_notifications($after) AS n");
	# other notifications are about the new cluster
	is_deeply([ map { "$_->[1] $_->[2]" } grep { $_->[2] =~ /^lab / } @rows ], $expected, $name);
	$position = $rows[-1][0] if @rows;
	return;
}

sub spend
{
	my ($id, $at, $credits) = @_;

	$node->safe_psql('work', <<~SQL);
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
			('CONTAINER_START', '$id', timestamptz '$at' - interval '1 second', 'lab', '[vcores=$credits]'),
			('CONTAINER_FINISH', '$id', '$at', NULL, NULL);
		SQL
	return;
}

$node->safe_psql('postgres', 'CREATE DATABASE work TEMPLATE template0');
start_at($node, 'work', '2030-01-01 00:00 UTC');
$node->safe_psql('work', <<~'SQL');
	INSERT INTO yquota.project (name) VALUES ('lab');
	INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('lab', 1000, 'January', '2030-02-01 00:00 UTC');
	INSERT INTO yquota.spending_threshold (fraction, remaining, before_expiry, lasts_less_than) VALUES
		(10, NULL, NULL, NULL), (NULL, 400, NULL, NULL), (NULL, NULL, '7 days', NULL), (NULL, NULL, NULL, '1 day');
	SQL
is_soon($node, 'work', mark() . " = '2030-01-01 00:00 UTC'", 'the worker is at work');

# Remaining credit is checked at the next compute interval
spend('c1', '2030-01-01 00:00 UTC', 600);
set_clock($node, 'work', '2030-01-01 00:01 UTC');
read_on($node, 'work', 1, ['raised lab 400 credits'], 'credit is low');

# A job checks every quarter of an hour for credit that lasts for little time. When the server is killed, no alert
# is repeated.
set_clock($node, 'work', '2030-01-01 00:15 UTC');
read_on($node, 'work', 1, ['raised lab lasts less than 1 day'], 'credit will last only for a short time');
my @gone = server_pids($node);
$node->kill9;
wait_until_gone(@gone);
$node->start;
set_clock($node, 'work', '2030-01-01 00:30 UTC');
is_soon($node, 'work', mark() . " = '2030-01-01 00:30 UTC'", 'after a crash a worker is at work');
is_soon($node, 'work', q((SELECT started_at = '2030-01-01 00:30 UTC' FROM yquota_internal.job_run WHERE job = 'forecast')), 'after a crash the job goes on');
read_on($node, 'work', 0, [], 'no alert is notified again');

# A grant clears both alerts. On a standby the reader continues.
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
$node->safe_psql('work', q(INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000, 'more')));
set_clock($node, 'work', '2030-01-01 00:45 UTC');
is_soon($node, 'work', q((SELECT count(*) = 2 FROM yquota.alert WHERE kind = 'spending_threshold' AND cleared_at IS NOT NULL)), 'a grant clears the alerts');
$node->wait_for_catchup($standby);
# two processes clear the alerts, one for quick tasks and one for slow tasks
my $after = $position;
my @cleared = sort split /\n/, $node->safe_psql('work', "SELECT subject FROM yquota.read_notifications('$after') WHERE event = 'cleared' AND subject LIKE 'lab %'");
is_deeply(\@cleared, [ 'lab 400 credits', 'lab lasts less than 1 day' ], 'the clearing is notified');
is_soon($standby, 'work', "(SELECT count(*) = 2 FROM yquota.read_notifications('$after') AS n WHERE n.event = 'cleared' AND n.subject LIKE 'lab %')", 'the standby notifies, too');
$position = $standby->safe_psql('work', "SELECT position FROM yquota.read_notifications('$after') AS n OFFSET (SELECT count(*) - 1 FROM yquota.read_notifications('$after'))");

# The standby takes over, and reports the coming expiry. Its transactions come after those of the old primary.
my $dump = $node->backup_dir . '/work.dump';
system_or_bail('pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('work'));
@gone = server_pids($node);
$node->kill9;
wait_until_gone(@gone);
$standby->promote;
$node = $standby;
set_clock($node, 'work', '2030-01-25 00:00 UTC');
read_on($node, 'work', 1, ['raised lab grant 1, 7 days'], 'the new primary notifies the expiry');
is($node->safe_psql('work', 'SELECT count(*) FROM yquota_internal.notification_epoch'), 2, 'the new primary has an epoch of its own');
spend('c2', '2030-01-25 00:00 UTC', 1000);
set_clock($node, 'work', '2030-01-25 00:15 UTC');
# either of the two processes may be first
is_soon($node, 'work', q((SELECT string_agg(subject, ', ' ORDER BY subject COLLATE "C") = 'lab 400 credits, lab lasts less than 1 day' FROM yquota.alert WHERE kind = 'spending_threshold' AND cleared_at IS NULL)),
	'the alerts are raised again, and the alert of the spent grant is over');
is($node->safe_psql('work', q(SELECT * FROM yquota.verify())), '', 'the books are right');

# A dump has alerts but no notifications. In the restored database the reader's position belongs to another server.
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
system_or_bail('pg_restore', '-d', $node->connstr('restored'), $dump);
is($node->safe_psql('restored', q(SELECT count(*) FROM yquota.alert WHERE kind = 'spending_threshold')), 2, 'a dump contains the alerts');
is($node->safe_psql('restored', q(SELECT count(*) FROM yquota_internal.notification)), 0, 'restored alerts are not notified again');
$node->safe_psql('restored', q(UPDATE yquota.alert SET cleared_at = NULL WHERE subject = 'lab 400 credits'));
read_on($node, 'restored', 1, ['raised lab 400 credits'], 'a reader of the copy gets new alerts');

$node->stop;
done_testing();
