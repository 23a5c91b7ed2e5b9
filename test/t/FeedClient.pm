# The common test of each program of docs/examples/clients. The program sends a file of events as a role with no other
# rights. In the meantime a privilege is missing, transactions are rolled back, connections are terminated, commits
# are not answered, and the server is killed. One run connects to the server itself, and another through PgBouncer in
# transaction mode. Every container must be charged to the last digit, and sending the file again must change nothing.

package FeedClient;

use strict;
use warnings;

use Cwd qw(abs_path getcwd);
use Exporter 'import';
use IPC::Run;
use List::Util qw(max shuffle);
use POSIX qw(strftime);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use Time::HiRes qw(sleep);
use WorkerNode;

our @EXPORT = qw(skip_without copy_of_example test_feed_client);

use constant PGBOUNCER => '/usr/sbin/pgbouncer';
use constant CONTAINERS => 1200;
# The instant at which the events begin, in seconds, and the time in microseconds after which the price rises.
use constant BEGINNING => 1743328800;
use constant DEARER_AFTER_US => 1_800_000_000;
use constant ROUNDS => { short => 1, least => 3 };

my $directory = abs_path(PostgreSQL::Test::Utils::tempdir);
my $pgbouncer;

END { kill 'KILL', $pgbouncer if $pgbouncer }

# skip_without(PROGRAM...): skip the test if a program is missing that the test does not install
# itself.
sub skip_without
{
	foreach my $program (@_)
	{
		plan skip_all => "$program is not installed" if system("command -v $program >/dev/null") != 0;
	}
	return;
}

# copy_of_example(NAME): return a directory to build in, because the example's own directory must
# not change.
sub copy_of_example
{
	my ($name) = @_;

	system_or_bail('cp', '-r', getcwd() . "/docs/examples/clients/$name", "$directory/$name");
	return "$directory/$name";
}

sub at { return strftime('%Y-%m-%dT%H:%M:%S', gmtime(BEGINNING + int($_[0] / 1_000_000))) . sprintf '.%06dZ', $_[0] % 1_000_000; }

# events(PREFIX): return the lines of a feed in order of time, and the cost of each container in 1 / 4096000000
# credits. A container costs 1 credit a second for each vcore or each 1024 MB, whichever is more, and 1.25 credits
# after the price rises.
sub events
{
	my ($prefix) = @_;
	my (@lines, %cost);

	foreach my $i (1 .. CONTAINERS)
	{
		my ($id, $time) = ("$prefix-$i", int rand 3_600_000_000);
		my @life;

		foreach my $event ('CONTAINER_START', ('CONTAINER_UPDATE') x int(rand 2), 'CONTAINER_FINISH')
		{
			push @life, { event => $event, at => $time, memory => 512 * (1 + int rand 16), vcores => 1 + int rand 4 };
			$time += 1 + int rand 1_200_000_000;
		}
		foreach my $now (0 .. $#life - 1)
		{
			my ($from, $to) = map { $life[$_]{at} } $now, $now + 1;
			my $dearer = max(0, $to - max($from, DEARER_AFTER_US));
			$cost{$id} += (4 * ($to - $from) + $dearer) * max($life[$now]{memory}, 1024 * $life[$now]{vcores});
		}
		foreach my $event (@life)
		{
			my $is_start = $event->{event} eq 'CONTAINER_START';
			my $is_finish = $event->{event} eq 'CONTAINER_FINISH';
			my @start = ('lab', "application-" . $i % 40, 'ann', 'root.default', 'node-' . $i % 9);

			push @lines, [ $event->{at}, join "\t", $event->{event}, $id, at($event->{at}), ($is_start ? @start : ('') x @start),
				$is_finish ? '' : sprintf('{"memory-mb": %d, "vcores": %d}', @$event{qw(memory vcores)}),
				$is_start ? (qw(GUARANTEED OPPORTUNISTIC))[ $i % 2 ] : '', $is_finish ? 0 : '' ];
		}
	}
	return ([ map { $_->[1] } sort { $a->[0] <=> $b->[0] || $a->[1] cmp $b->[1] } @lines ], \%cost);
}

sub write_lines
{
	my ($name, @lines) = @_;

	append_to_file("$directory/$name", join "\n", @lines, '');
	return "$directory/$name";
}

# Create a database with a role for the feed. The role's statements are first rolled back, and then wait to be
# terminated.
sub make_database
{
	my ($node, $database) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, sprintf <<'SQL', at(DEARER_AFTER_US));
CREATE EXTENSION IF NOT EXISTS yquota;
DO $$
BEGIN
	IF to_regrole('feeder') IS NULL THEN
		CREATE ROLE feeder LOGIN;
		ALTER ROLE feeder SET yquota.on_bad_event = 'set_aside';
	END IF;
END
$$;
SELECT yquota.allow_role('feeder', 'operator');
INSERT INTO yquota.project (name) VALUES ('lab');
SELECT yquota.set_multiplier('GENERAL', 1.25, '%s');
CREATE SEQUENCE statement;
CREATE FUNCTION disturb() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	CASE nextval('public.statement')
		WHEN 1 THEN RAISE 'permission denied' USING ERRCODE = '42501';
		WHEN 2 THEN RAISE 'could not serialize access' USING ERRCODE = '40001';
		WHEN 3 THEN RAISE 'deadlock detected' USING ERRCODE = '40P01';
		WHEN 4 THEN PERFORM pg_sleep(600);
		ELSE
	END CASE;
	RETURN NULL;
END
$$;
CREATE TRIGGER disturb BEFORE INSERT ON yquota.container_event EXECUTE FUNCTION disturb();
-- what the feed has told, also when it has gone on
CREATE TABLE told (source text, problem text);
CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	INSERT INTO public.told VALUES (NEW.source, NEW.problem);
	RETURN NULL;
END
$$;
CREATE TRIGGER remember AFTER INSERT ON yquota_internal.feed_problem FOR EACH ROW EXECUTE FUNCTION remember();
SQL
	return;
}

# Start PgBouncer in transaction mode in front of the server, and return its port.
sub start_pgbouncer
{
	my ($node) = @_;
	my $port = PostgreSQL::Test::Cluster::get_free_port();

	append_to_file("$directory/users", qq("feeder" ""\n));
	append_to_file("$directory/pgbouncer.ini", sprintf <<'INI', $node->port, $port, ($directory) x 2);
[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s/users
logfile = %s/pgbouncer.log
pool_mode = transaction
default_pool_size = 2
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
INI
	$pgbouncer = fork() // die "could not fork: $!";
	if ($pgbouncer == 0)
	{
		open STDERR, '>', "$directory/pgbouncer.err";
		exec PGBOUNCER, '-q', "$directory/pgbouncer.ini" or POSIX::_exit(1);
	}
	return $port;
}

# start_client(COMMAND, PORT, DATABASE, FILE): start the program in the background.
sub start_client
{
	my ($command, $port, $database, $file) = @_;
	my %client = (out => '', log => '');
	my @command = $command->("jdbc:postgresql://127.0.0.1:$port/$database?user=feeder");

	local @ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = ('127.0.0.1', $port, 'feeder', $database);
	$client{handle} = IPC::Run::start([ @command, 'example', $file ], '<', \undef, '>', \$client{out}, '2>', \$client{log});
	return \%client;
}

# finished(CLIENT, NAME): test that the program ends by itself and successfully.
sub finished
{
	my ($client, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(IPC::Run::finish($client->{handle}), $name) or diag($client->{log});
	return;
}

# terminate_when(NODE, EVENT): terminate the feed's backend as soon as it waits for EVENT.
sub terminate_when
{
	my ($node, $event) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($node->poll_query_until('postgres', <<"SQL"), "a statement is terminated in $event");
SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity WHERE usename = 'feeder' AND wait_event = '$event'
SQL
	return;
}

sub is_charged
{
	my ($node, $database, $cost, $name) = @_;
	my %charged = map { split /\|/ } split /\n/, $node->safe_psql($database, 'SELECT container_id, trim_scale(cost * 4096000000) FROM yquota.container_cost');

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_deeply([ map { "$_: $charged{$_}" } sort keys %charged ], [ map { "$_: $cost->{$_}" } sort keys %$cost ], $name);
	return;
}

# disturbed(NODE, COMMAND, PORT, DATABASE): run the whole test in one database.
sub disturbed
{
	my ($node, $command, $port, $database) = @_;
	my $is_direct = $port == $node->port;

	make_database($node, $database);
	my ($lines, $cost) = events('first');
	my $middle = @$lines >> 1;
	my $file = write_lines("$database.first", @{$lines}[ 0 .. $middle - 1 ],
		join("\t", 'CONTAINER_START', 'unpaid', at(7), 'nobody', ('') x 4, '{"vcores": 1}', '', ''),
		join("\t", 'CONTAINER_END', 'unreadable', at(8), 'lab', ('') x 4, '{"vcores": 1}', '', ''),
		'no event', @{$lines}[ $middle .. $#$lines ]);

	my $client = start_client($command, $port, $database, $file);
	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'feeder' AND wait_event = 'PgSleep'");
	# From now on commits wait for a standby that does not exist, so a batch may be committed without an
	# answer.
	$node->append_conf('postgresql.conf', "synchronous_standby_names = 'absent'");
	$node->reload;
	terminate_when($node, 'PgSleep');
	is($node->safe_psql($database, 'SELECT count(*) FROM yquota.container_event'), 0, 'and is gone');
	terminate_when($node, 'SyncRep');
	$node->poll_query_until($database, 'SELECT count(*) > 0 FROM yquota.container_event');
	my $known = $node->safe_psql($database, 'SELECT count(*) FROM yquota.container_event');
	cmp_ok($known, '>', 0, 'a batch is committed that the client knows nothing of');
	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'feeder' AND wait_event = 'SyncRep'");
	$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
	my @pids = server_pids($node);
	$node->kill9;
	wait_until_gone(@pids);
	$node->start;
	finished($client, 'the client goes on after a kill of the server');

	like($client->{log}, qr/$_/, "$_ was seen") foreach qw(42501 40001 40P01), ('57P01|administrator command') x $is_direct;
	like($client->{log}, qr/refused: .*22P02.*CONTAINER_END/, 'an event that the server cannot read is refused, and no other');
	like($client->{log}, qr/refused: .*no event/m, 'so is a line that is no event');
	is(scalar(() = $client->{log} =~ /refused: /g), 2, 'and nothing else');
	like($client->{log}, qr/WARNING: .* set aside/, 'the server warns of events that it sets aside');
	like($client->{out}, qr/^[0-9]+ events received, 0 waiting, 1 rejected, 2 set aside\n/, 'and the client can tell how many');
	like($client->{out}, qr/^rejected: $_$/m, 'and which') foreach 'unpaid CONTAINER_START 23503 project "nobody" does not exist', '.*CONTAINER_END.*22P02 .*', '.*no event.* 22P02 .*';
	like($node->safe_psql($database, 'SELECT source, problem FROM told'), qr/\Aexample\|42501: .*permission denied/, 'it has told what it waited for');
	is($node->safe_psql($database, q(SELECT problem IS NULL FROM yquota.feed_status WHERE source = 'example')), 't', 'and that it goes on');
	is($node->safe_psql($database, <<'SQL'), @$lines + 1, 'all events arrived');
SELECT count(*) FROM (SELECT DISTINCT event, container_id, occurred_at FROM yquota.container_event) AS event
SQL
	is_charged($node, $database, $cost, 'every container is charged to the last digit');

	my $books = 'SELECT charged, accrued, remaining FROM yquota.project_balance';
	my $before = $node->safe_psql($database, $books);
	finished(start_client($command, $port, $database, write_lines("$database.again", shuffle @$lines)), 'all of it is sent again, shuffled');
	is($node->safe_psql($database, $books), $before, 'which changes nothing');

	for (my $round = 0; soak_goes_on($round, ROUNDS->{short}, ROUNDS->{least}, $is_direct ? 50 : 100); $round++)
	{
		my ($more, $costs) = events("round-$round");
		my $killed = 0;

		%$cost = (%$cost, %$costs);
		$client = start_client($command, $port, $database, write_lines("$database.$round", @$more));
		$node->poll_query_until($database, "SELECT count(*) > 0 FROM yquota.container_event WHERE container_id LIKE 'round-$round-%'");
		foreach (1 .. 10)
		{
			$killed += $node->safe_psql('postgres', "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'feeder'");
			sleep rand 0.1;
		}
		finished($client, "the client goes on after $killed connections that broke");
		is_charged($node, $database, $cost, 'every container is charged to the last digit');
	}
	is($node->safe_psql($database, 'SELECT count(*) FROM yquota.verify()'), 0, 'the books are right');
	return;
}

# test_feed_client(COMMAND): run all tests. COMMAND(URL) is the program with its first arguments.
# JDBC needs the URL, and the other programs read libpq's environment variables.
sub test_feed_client
{
	my ($command) = @_;
	my $node = new_node('feed', q(listen_addresses = '127.0.0.1'));

	subtest 'connected to the server' => sub { disturbed($node, $command, $node->port, 'direct'); };
	subtest 'connected to PgBouncer' => sub {
		plan skip_all => 'pgbouncer is not installed' if !-x PGBOUNCER;
		disturbed($node, $command, start_pgbouncer($node), 'pooled');
	};
	$node->stop;
	return;
}

1;
