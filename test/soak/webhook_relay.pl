# The example of a webhook relay sends to a receiver that answers 500, redirects, hangs, closes connections, loses
# answers and is restarted. In the meantime alerts are raised and cleared, also in a transaction that stays open for
# long, and relay and server are killed. Every notification arrives, in order and with the right signature. If it
# arrives again, it has the same key and body.
#
# WEBHOOK_SEED repeats the choices of test and receiver, but not their timing.

use strict;
use warnings;

use Cwd qw(getcwd);
use Digest::SHA qw(hmac_sha256_hex);
use FindBin;
use lib "$FindBin::RealBin/../t";
use IO::Socket::INET;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use Time::HiRes qw(time sleep);
use WorkerNode;

# Use the distribution's interpreter, because its psycopg package is built for it.
use constant PYTHON => '/usr/bin/python3';
use constant { SECRET => 'a key', TIMEOUT_S => 0.5, ALERTS_PER_ROUND => 12, GIVE_UP_S => 180 };

plan skip_all => 'psycopg 3 is not installed' if system(PYTHON . " -c 'import psycopg' 2>/dev/null") != 0;

my $seed = $ENV{WEBHOOK_SEED} // int(rand 1_000_000_000);
note("WEBHOOK_SEED=$seed");
srand($seed);

my $directory = PostgreSQL::Test::Utils::tempdir;
my $relay_program = getcwd() . '/docs/examples/webhook_relay/webhook_relay.py';
my $port = PostgreSQL::Test::Cluster::get_free_port();
my ($receiver, $relay);
my $node = new_node('alerts', 'log_statement = none');

END { kill 'KILL', grep { defined } $receiver, $relay }

# Send an answer, or none. Output to a connection that the relay has closed is lost.
sub answer { my ($connection, $text) = @_; print {$connection} $text if $text; close $connection; return; }

# read_request(CONNECTION): return headers and body, or nothing if the relay has closed the
# connection.
sub read_request
{
	my ($connection) = @_;
	my (%header, $body);

	while (defined(my $line = readline $connection))
	{
		$line =~ s/\r?\n\z//;
		if ($line eq '')
		{
			read $connection, $body, $header{'content-length'} // 0;
			return (\%header, $body);
		}
		$header{ lc $1 } = $2 if $line =~ /^([^:]+): (.*)$/;
	}
	return;
}

# take(REQUEST): record what has arrived, and whether its signature is right.
sub take
{
	my ($header, $body) = @_;
	my ($time, $signature) = ($header->{'x-yquota-signature'} // '') =~ /^t=([0-9]+),v1=([0-9a-f]{64})$/;
	my $is_right = defined $time && $signature eq hmac_sha256_hex("$time.$body", SECRET) && abs(time - $time) < 60;

	append_to_file("$directory/taken", join("\t", $is_right ? 'right' : 'wrong', $header->{'idempotency-key'}, $body) . "\n");
	return;
}

sub receive
{
	my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 5, ReuseAddr => 1)
	  or die "cannot listen: $!\n";

	local $SIG{PIPE} = 'IGNORE';
	while (my $connection = $listener->accept)
	{
		my $choice = rand;
		next if $choice < 0.05;
		my ($header, $body) = read_request($connection) or next;

		if ($choice < 0.15) { answer($connection, "HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n") }
		elsif ($choice < 0.20) { answer($connection, "HTTP/1.1 302 Elsewhere\r\nLocation: http://127.0.0.1:$port/\r\nContent-Length: 0\r\n\r\n") }
		elsif ($choice < 0.25) { answer($connection, "no answer of HTTP\r\n\r\n") }
		elsif ($choice < 0.30) { sleep 2 * TIMEOUT_S }
		else
		{
			take($header, $body);
			# the answer may be lost, and the answer to a slow request is lost
			sleep 2 * TIMEOUT_S if $choice < 0.34;
			answer($connection, $choice < 0.40 ? '' : "HTTP/1.1 204 Taken\r\n\r\n");
		}
	}
	return;
}

sub start_receiver
{
	my $own_seed = int rand 1_000_000_000;

	$receiver = fork() // die "could not fork: $!";
	if ($receiver == 0)
	{
		srand($own_seed);
		eval { receive() };
		POSIX::_exit(1);
	}
	return;
}

sub start_relay
{
	$relay = fork() // die "could not fork: $!";
	if ($relay == 0)
	{
		open STDERR, '>>', "$directory/relay.log";
		@ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = ($node->host, $node->port, 'relay', 'postgres');
		@ENV{qw(WEBHOOK_SECRET WEBHOOK_TIMEOUT WEBHOOK_LONGEST_PAUSE WEBHOOK_POLL)} = (SECRET, TIMEOUT_S, 0.4, 0.3);
		exec PYTHON, $relay_program, "http://127.0.0.1:$port/hook", "$directory/position" or POSIX::_exit(1);
	}
	return;
}

sub end_program
{
	my ($pid) = @_;

	kill 'KILL', $pid;
	waitpid $pid, 0;
	return;
}

# Raise an alert, or clear one that the open transaction has not cleared.
sub change
{
	my ($number) = @_;

	return rand() < 0.3
	  ? 'UPDATE yquota.alert SET cleared_at = yquota.clock() WHERE alert_id = (SELECT alert_id FROM yquota.alert '
	  . 'WHERE cleared_at IS NULL ORDER BY alert_id LIMIT 1 FOR UPDATE SKIP LOCKED)'
	  : "INSERT INTO yquota.alert (kind, subject, detail, raised_at) VALUES ('test', '$number', 'By \"hand\", € $number.', yquota.clock())";
}

$node->safe_psql('postgres', <<~'SQL');
	CREATE EXTENSION IF NOT EXISTS yquota;
	CREATE ROLE relay LOGIN;
	SELECT yquota.allow_role('relay', 'viewer');
	SQL
start_receiver();
start_relay();

my ($rounds, $changes) = (0, 0);
for (; soak_goes_on($rounds, 3, 8); $rounds++)
{
	# This transaction writes first and commits last.
	my $open = $node->background_psql('postgres');
	$open->query_safe('BEGIN; ' . change('open ' . ++$changes));

	foreach (1 .. ALERTS_PER_ROUND)
	{
		$node->safe_psql('postgres', change(++$changes) . (rand() < 0.5 ? "; NOTIFY yquota, '{}'" : ''));
		sleep rand 0.2;
		if (rand() < 0.15) { end_program($relay); start_relay() }
		if (rand() < 0.1) { end_program($receiver); sleep rand 0.5; start_receiver() }
		$node->safe_psql('postgres', q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'relay')) if rand() < 0.1;
	}
	$open->query_safe('COMMIT');
	$open->quit;
	if (rand() < 0.3)
	{
		$node->stop('immediate');
		sleep rand 1;
		$node->start;
	}
}

my @expected = map { [ split /\t/, $_, 2 ] } split /\n/,
  $node->safe_psql('postgres', q(SELECT position || E'\t' || to_jsonb(n)::text FROM yquota.read_notifications(NULL, 10000) AS n));
my $last = $expected[-1][0];
my $give_up_at = time + GIVE_UP_S;
sleep 0.1 until time > $give_up_at || -e "$directory/position" && slurp_file("$directory/position") eq "$last\n";
is(slurp_file("$directory/position"), "$last\n", 'the relay has come to the end')
  or diag(slurp_file("$directory/relay.log"));

my (%first, @arrived);
my ($wrong, $changed) = (0, 0);
foreach my $line (split /\n/, slurp_file("$directory/taken"))
{
	my ($signature, $key, $body) = split /\t/, $line, 3;

	$wrong++ if $signature ne 'right';
	push @arrived, [ $key, $body ] if !exists $first{$key};
	$changed++ if ($first{$key} //= $body) ne $body;
}
cmp_ok(scalar @expected, '>=', $changes / 2, 'there are notifications');
is_deeply(\@arrived, \@expected, 'each has arrived, in order');
is($wrong, 0, 'with a signature that is right');
is($changed, 0, 'and again only with the same body');
is(JSON::PP->new->decode($expected[0][1])->{position}, $expected[0][0], 'the body names the position');
my $times = () = slurp_file("$directory/taken") =~ /\n/g;
note("$changes changes in $rounds rounds, ", scalar @expected, " notifications, $times times");
$node->stop;
done_testing();
