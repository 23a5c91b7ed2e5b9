#
# The example client sends a stream, and the server is killed in the meantime. The client itself is killed, too, and
# sends again to a standby that lacks the last commits. Each time the books must have the same amounts for each
# container as after one undisturbed statement: docs/design.md 1.1 and 1.7.
#
use strict;
use warnings;

use JSON::PP;
use POSIX qw(strftime);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $client    = 'docs/examples/yquota_feed';
my $patience  = $PostgreSQL::Test::Utils::timeout_default;
my @feeders;

srand(20260302);

#
# The stream has containers of two projects, some updated, most finished. Its order is not the order
# of time.
#
sub instant { return strftime('2026-03-02T%H:%M:%SZ', gmtime($_[0])) }

sub make_stream
{
	my @stream;

	foreach my $number (1 .. 400)
	{
		my %same    = (container_id => "container_$number", source => "rm\x{e9}'\\");
		my $start   = int(rand(20000));
		my $minutes = 1 + int(rand(200));

		push @stream,
		  {
			%same, event => 'CONTAINER_START', occurred_at => instant($start),
			project => $number % 3 ? 'lab' : 'ops', queue => "root.a\tb\\c", username => "Zo\x{eb}",
			allocation => { 'memory-mb' => 512 * (1 + $number % 5), vcores => 1 + $number % 4 },
			priority => $number % 7, allocation_request_id => $number, asked_label => 'gpu', is_am => $number % 5 ? JSON::PP::false : JSON::PP::true, is_running => 't'
		  };
		push @stream,
		  {
			%same, event => 'CONTAINER_UPDATE', occurred_at => instant($start + 30),
			allocation => '[vcores=' . (2 + $number % 7) . ']'
		  } if $number % 2;
		push @stream,
		  { %same, event => 'CONTAINER_FINISH', occurred_at => instant($start + 60 * $minutes), exit_status => 0 }
		  if $number % 10;
	}
	# neighbouring events are swapped, so a FINISH may come long before its START
	for my $i (0 .. $#stream)
	{
		my $j = $i + int(rand(60));
		@stream[ $i, $j ] = @stream[ $j, $i ] if $j < @stream;
	}
	return map { JSON::PP->new->canonical->utf8->encode($_) . "\n" } @stream;
}

#
# Running the client
#
sub client_environment
{
	my ($node, $database) = @_;
	return (PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => $database, PGUSER => 'feeder', YQUOTA_FEED_BATCH => 10);
}

sub spool
{
	my ($spool, @lines) = @_;
	open(my $pipe, '|-', "perl $client '$spool' spool > '$spool.acknowledged'") or die "could not run $client: $!";
	print $pipe @lines;
	close($pipe) or die "$client spool failed";
	return (split(' ', slurp_file("$spool.acknowledged")))[-1];
}

sub run_client
{
	my ($node, $database, @arguments) = @_;
	local %ENV = (%ENV, client_environment($node, $database));
	return system('timeout', $patience, 'perl', $client, @arguments) == 0;
}

# Start a client that follows the spool. Return its process, which can be killed or waited for.
sub follow
{
	my ($node, $database, $spool) = @_;
	my $pid = fork() // die "could not fork: $!";

	if ($pid == 0)
	{
		%ENV = (%ENV, client_environment($node, $database));
		open(STDERR, '>>', "$spool.log");
		exec('perl', $client, $spool, 'send', '--follow') or POSIX::_exit(1);
	}
	push @feeders, $pid;
	return $pid;
}

sub kill_client
{
	my ($pid) = @_;
	kill 'KILL', $pid;
	waitpid($pid, 0);
	@feeders = grep { $_ != $pid } @feeders;
}

END { kill 'KILL', @feeders if @feeders }

# Wait until everything up to the last spooled line is in the database.
sub wait_until_sent
{
	my ($spool) = @_;
	my @files = sort glob("$spool/events-*.jsonl");
	my $end   = (split('/', $files[-1]))[-1] . ' ' . -s $files[-1];

	foreach (1 .. 10 * $patience)
	{
		return 1 if -e "$spool/position" && slurp_file("$spool/position") eq "$end\n";
		select(undef, undef, undef, 0.1);
	}
	return 0;
}

sub make_database
{
	my ($node, $database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, q{
		CREATE EXTENSION IF NOT EXISTS yquota;
		SELECT yquota.set_multiplier('GENERAL', 1.25, '2026-03-02 03:00:00+00');
		SELECT yquota.set_clock('2026-03-03 00:00:00+00');
		INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
		SELECT yquota.allow_role('feeder', 'operator')});
}

sub costs
{
	my ($node, $database) = @_;
	return [ split("\n", $node->safe_psql($database, q(SELECT * FROM yquota.container_cost ORDER BY container_id))) ];
}

sub books_are
{
	my ($node, $database, $expected, $what) = @_;
	is_deeply(costs($node, $database), $expected, "$what: the costs are the same, container by container");
	is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', "$what: the books prove themselves");
	is($node->safe_psql($database, 'SELECT count(*) FROM yquota.event_reject'), 0, "$what: nothing is set aside");
}

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "restart_after_crash = on\ntimezone = 'UTC'");
$primary->start;
$primary->safe_psql('postgres', 'CREATE ROLE feeder LOGIN');

my $directory = PostgreSQL::Test::Utils::tempdir;
my @stream    = make_stream();
my $half      = int(@stream / 2);

#
# The expected books: one statement, in order of time
#
make_database($primary, 'undisturbed');
{
	my $spool = "$directory/undisturbed";
	mkdir $spool;
	is(spool($spool, sort { JSON::PP::decode_json($a)->{occurred_at} cmp JSON::PP::decode_json($b)->{occurred_at} } @stream),
		scalar(@stream), 'every spooled line is acknowledged');
	local $ENV{YQUOTA_FEED_BATCH} = 100000;
	ok(run_client($primary, 'undisturbed', $spool, 'send'), 'the client sends all lines and ends');
}
my $expected = costs($primary, 'undisturbed');
is($primary->safe_psql('undisturbed', q(SELECT count(*), count(finished_at), sum(cost) > 0 FROM yquota.container_cost)),
	'400|360|t', 'the stream has the cases that the test needs');
is($primary->safe_psql('undisturbed', 'SELECT * FROM yquota.verify()'), '', 'the books prove themselves');
is( $primary->safe_psql('undisturbed', q(SELECT DISTINCT username || queue FROM yquota.container_event WHERE event = 'CONTAINER_START')),
	"Zo\xc3\xabroot.a\tb\\c", 'tabs, backslashes and letters beyond ASCII arrive');
is($primary->safe_psql('undisturbed', q(SELECT source, events, waiting, rejected FROM yquota.feed_status)),
	"rm\xc3\xa9'\\|" . @stream . '|0|0', 'feed_status shows the progress');
is($primary->safe_psql('undisturbed', q(SELECT priority, allocation_request_id, asked_label, is_am, is_running FROM yquota.container_event WHERE event = 'CONTAINER_START' AND container_id = 'container_10')),
	'3|10|gpu|t|t', 'all columns of an event arrive');

#
# The server is killed while the client sends, and then the client
#
make_database($primary, 'disturbed');
my $spool = "$directory/disturbed";
mkdir $spool;
spool($spool, @stream[ 0 .. $half ]);
my $feeder = follow($primary, 'disturbed', $spool);
ok($primary->poll_query_until('disturbed', 'SELECT count(*) > 100 FROM yquota.container_event'), 'events arrive');
$primary->stop('immediate');
spool($spool, @stream[ $half + 1 .. $#stream ]);
$primary->start;
my $arrived = $primary->safe_psql('disturbed', 'SELECT count(*) FROM yquota.container_event');
ok($arrived < $half, "the server was killed in the middle of the stream");
ok($primary->poll_query_until('disturbed', "SELECT count(*) > $arrived + 100 FROM yquota.container_event"),
	'the client goes on when the server is back');
kill_client($feeder);
$feeder = follow($primary, 'disturbed', $spool);
ok(wait_until_sent($spool), 'a new client continues where the killed client was');
books_are($primary, 'disturbed', $expected, 'after two kills');
kill_client($feeder);

ok(run_client($primary, 'disturbed', $spool, 'rewind', 1), 'the position of the client is set back');
ok(run_client($primary, 'disturbed', $spool, 'send'), 'the client sends everything again');
cmp_ok($primary->safe_psql('disturbed', 'SELECT count(*) FROM yquota.container_event'),
	'>=', 2 * @stream, 'the log keeps the events that arrived twice');
books_are($primary, 'disturbed', $expected, 'sent twice');

#
# Three lines are bad: one is not JSON, one has no time, and one cannot be read by the server. A fourth line only
# has to wait for its project
#
my @bad = (
	"CONTAINER_START container_9\n",
	qq({"event": "CONTAINER_START", "container_id": "container_9", "project": "lab"}\n),
	qq({"event": "CONTAINER_START", "container_id": "container_9", "occurred_at": "soon", "project": "lab"}\n),
	qq({"event": "CONTAINER_START", "container_id": "new_1", "occurred_at": "2026-03-02T01:00:00Z", "project": "new", "allocation": "[vcores=1]", "source": "rm"}\n),
	qq({"event": "CONTAINER_FINISH", "container_id": "new_1", "occurred_at": "2026-03-02T02:00:00Z", "source": "rm"}\n));
spool($spool, $stream[0], @bad, $stream[1]);
ok(run_client($primary, 'disturbed', $spool, 'send'), 'the client does not stop at bad lines');
is($primary->safe_psql('disturbed', q(SELECT source, sqlstate, call -> 'row', regexp_replace(message, ',.*', '') FROM yquota.feed_reject ORDER BY reject_id)), <<'OUT' =~ s/\n\z//r, 'an unreadable line is set aside, with the reason');
|22P02|"CONTAINER_START container_9"|malformed JSON string
|22P02|{"event": "CONTAINER_START", "project": "lab", "container_id": "container_9"}|"occurred_at" is missing
|22007|{"event": "CONTAINER_START", "project": "lab", "occurred_at": "soon", "container_id": "container_9"}|invalid input syntax for type timestamp with time zone: "soon"
OUT
ok(!-e "$spool/refused.jsonl", 'nothing of the bad lines is kept in a file');
is( $primary->safe_psql('disturbed', 'SELECT container_id, waiting, sqlstate FROM yquota.event_reject ORDER BY reject_id'),
	"new_1|f|23503\nnew_1|t|23503", 'an event of an unknown project is set aside, and its FINISH waits');
is( $primary->safe_psql('disturbed', q(INSERT INTO yquota.project (name) VALUES ('new'); SELECT * FROM yquota.retry_rejects())),
	'1|1|0', 'after the project is created, the events that were set aside are tried again');
is($primary->safe_psql('disturbed', q(SELECT cost FROM yquota.container_cost WHERE container_id = 'new_1')),
	'3600', 'the container is charged');
is($primary->safe_psql('disturbed', 'SELECT count(*) FROM yquota.event_reject'), 0, 'nothing is set aside any more');

# A value with a NUL, which no text of the database can have, stays in the file and does not affect other
# lines.
my $sent = $primary->safe_psql('disturbed', 'SELECT count(*) FROM yquota.container_event');
my $nul = '"container_id": "nul", "occurred_at": "2026-03-02T01:00:00Z", "project": "lab", "allocation": "[vcores=1]"';
spool($spool, $stream[0], qq({"event": "CONTAINER_START\\u0000", "source": "rm", $nul}\n), $stream[1],
	qq({"event": "CONTAINER_START", "source": "rm\\u0000", $nul}\n), $stream[2], qq({"event": "CONTAINER_START", "sou\\u0000rce": "rm", $nul}\n), $stream[3]);
ok(run_client($primary, 'disturbed', $spool, 'send'), 'the client does not stop at a NUL');
is($primary->safe_psql('disturbed', "SELECT count(*) - $sent, count(*) FILTER (WHERE container_id = 'nul') FROM yquota.container_event"), '4|0', 'the client sends the lines before and after the line with a NUL');
my @kept = split /\n/, slurp_file("$spool/refused.jsonl");
is(scalar @kept, 3, 'the lines are kept in the file');
like($kept[$_], (qr/a value has a NUL/, qr/a value has a NUL/, qr/unknown: sou/)[$_], 'with the reason') foreach 0 .. 2;

#
# Errors that only an administrator can correct: the client reports them and waits
#
$primary->safe_psql('disturbed', 'REVOKE INSERT ON yquota.container_event FROM feeder');
spool($spool, qq({"event": "CONTAINER_START", "container_id": "later", "occurred_at": "2026-03-02T01:00:00Z", "project": "lab", "allocation": "[vcores=1]", "source": "rm\xc3\xa9'\\\\"}\n));
ok(!run_client($primary, 'disturbed', $spool, 'send'), 'without the privilege the client ends');
is($? >> 8, 3, 'it ends with an exit status of its own');
my $problem = 'SELECT source, problem ~ $$^42501: .*permission denied for table container_event$$ FROM yquota.feed_status WHERE problem IS NOT NULL';
is($primary->safe_psql('disturbed', $problem), "rm\xc3\xa9'\\|t", 'the client has reported the reason');
$feeder = follow($primary, 'disturbed', $spool);
for (my $tries = 0; $tries < 10 * $patience && (!-s "$spool.log" || slurp_file("$spool.log") !~ /42501.*container_event/); $tries++)
{
	select(undef, undef, undef, 0.1);
}
like(slurp_file("$spool.log"), qr/trying again in .*42501: permission denied for table container_event/, 'a client that follows the spool reports the error and waits');
$primary->safe_psql('disturbed', 'GRANT INSERT ON yquota.container_event TO feeder');
ok(wait_until_sent($spool), 'the client waits until it has the privilege');
ok($primary->poll_query_until('disturbed', 'SELECT NOT EXISTS (SELECT FROM yquota.feed_status WHERE problem IS NOT NULL)'), 'the client reports that it goes on');
is($primary->safe_psql('disturbed', q(SELECT count(*) FROM yquota.container WHERE container_id = 'later')), 1, 'the client has lost nothing');
kill_client($feeder);

#
# Failover to a standby that lacks the last commits
#
make_database($primary, 'failover');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$spool = "$directory/failover";
mkdir $spool;
spool($spool, @stream[ 0 .. $half ]);
ok(run_client($primary, 'failover', $spool, 'send'), 'half of the stream is sent');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
$standby->safe_psql('postgres', q(ALTER SYSTEM SET primary_conninfo = ''));
$standby->reload;
ok($primary->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_replication'), 'the standby is cut off');
spool($spool, @stream[ $half + 1 .. $#stream ]);
ok(run_client($primary, 'failover', $spool, 'send'), 'the other half is sent and committed');
$primary->stop('immediate');
$standby->promote;
cmp_ok($standby->safe_psql('failover', 'SELECT count(*) FROM yquota.container_event'),
	'<', scalar(@stream), 'the new primary lacks events that were committed');
ok(run_client($standby, 'failover', $spool, 'send'), 'the client has nothing left to send');
ok(run_client($standby, 'failover', $spool, 'rewind', 6), 'the client goes back to the old file');
ok(run_client($standby, 'failover', $spool, 'send'), 'the client sends the events of the last hours again');
books_are($standby, 'failover', $expected, 'after the failover');

$standby->stop;
done_testing();
