# The feed of docs/examples/yarn-feed in a real cluster: Hadoop's MiniYARNCluster, whose
# ResourceManager is restarted twice and loses a node, while PostgreSQL is killed in the middle.
# Every container is charged as an account has it that is kept beside the feed, from
# the ResourceManager's own objects, in milliseconds.  Before that, the feed by itself:
# a spool that is full, and applications that yquota is asked about.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use Cwd qw(getcwd);
use IPC::Open2;
use List::Util qw(max shuffle sum);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use WorkerNode;

foreach my $program (qw(mvn javac))
{
	plan skip_all => "$program is not installed" if system("command -v $program >/dev/null") != 0;
}

my $directory = PostgreSQL::Test::Utils::tempdir;
my $project = "$directory/yarn-feed";
my $pid;

END { kill 'KILL', $pid if $pid }

# The project is built in a copy: its own files are not written to.
system_or_bail('cp', '-r', getcwd() . '/docs/examples/yarn-feed', $project);
my @maven = ('mvn', '-q', '-B', '-f', "$project/pom.xml");
is(system(@maven, 'test-compile', 'dependency:build-classpath', '-Dmdep.includeScope=test', "-Dmdep.outputFile=$directory/class-path"), 0,
	'the feed builds') or BAIL_OUT('there is no feed to test');

my $node = new_node('feed', q(listen_addresses = '127.0.0.1'));
$node->safe_psql('postgres', 'CREATE DATABASE work');
$node->safe_psql('work', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
CREATE ROLE feeder LOGIN;
SELECT yquota.allow_role('feeder', 'operator');
INSERT INTO yquota.project (name) VALUES ('lab');
SQL
$node->safe_psql('work', sprintf 'SELECT yquota.import_hadoop_configuration($xml$%s$xml$::text)',
	scalar slurp_file("$project/src/test/resources/capacity-scheduler.xml"));

sub sql { return $node->safe_psql('work', $_[0]); }

sub lines { return map { [ split /\|/, $_, -1 ] } split /\n/, sql($_[0]); }

my @opens = `java -version 2>&1` =~ /version "1\./ ? () : ('--add-opens', 'java.base/java.lang=ALL-UNNAMED');
my $class_path = join ':', "$project/target/classes", "$project/target/test-classes", slurp_file("$directory/class-path");
my ($name, $said, $told);

# Begin a program of the project, which says where it is, and goes on when it is told.
sub begin
{
	my ($program, @arguments) = @_;

	$name = $program;
	open my $errors, '>', "$directory/$name.out" or die "could not write: $!";
	open my $saved, '>&', \*STDERR or die "could not keep standard error: $!";
	open STDERR, '>&', $errors or die "could not redirect standard error: $!";
	chdir $directory or die "could not enter $directory: $!";
	$pid = open2($said, $told, 'java', '-Xmx1500m', @opens, "-Dcluster.log=$directory/$name.log", '-cp', $class_path, "org.yquota.yarn.$name", @arguments);
	open STDERR, '>&', $saved or die "could not restore standard error: $!";
	return;
}

sub url { return sprintf 'jdbc:postgresql://127.0.0.1:%d/%s?user=feeder', $node->port, $_[0]; }

# The next place that the program reaches.
sub next_place
{
	while (my $line = <$said>)
	{
		return $1 if $line =~ /^reached (.*)/;
	}
	diag(scalar slurp_file("$directory/$name.out"));
	BAIL_OUT("$name has ended");
}

sub reach { return is(next_place(), $_[0], "$name reached $_[0]"); }

sub go_on
{
	syswrite $told, "\n" or die "could not tell the cluster: $!";
	return;
}

sub ends
{
	go_on();
	waitpid $pid, 0;
	is($?, 0, "$name ends");
	$pid = undef;
	return;
}

command_ok([ 'java', "-Dcluster.log=$directory/unit.log", '-cp', $class_path, 'org.junit.runner.JUnitCore', 'org.yquota.yarn.SpoolTest' ], 'the spool by itself');

# The database does not exist yet when the feed is told more than its spool may have.
begin('FullSpoolRun', "$directory/full", url('outgrown'));
reach('a full spool');
my $size = sum(map { -s } glob "$directory/full/records-*");
cmp_ok($size, '>=', 1 << 20, 'the spool is as large as it may be');
cmp_ok($size, '<', 3 << 20, 'and not much larger');
like(slurp_file("$directory/FullSpoolRun.log"), qr/The spool .* has 1 MB; records are lost/, 'the log says that records are lost');
$node->safe_psql('postgres', 'CREATE DATABASE outgrown');
$node->safe_psql('outgrown', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
SELECT yquota.allow_role('feeder', 'operator');
INSERT INTO yquota.project (name) VALUES ('lab');
SQL
ok($node->poll_query_until('outgrown', "SELECT EXISTS (SELECT FROM yquota.container WHERE container_id = 'container_59999')"),
	'containers are compared once there is room again');
my ($kept, $last) = split /\|/, $node->safe_psql('outgrown', <<'SQL');
SELECT count(*), max(substr(container_id, 11)::integer) FROM yquota.container_event WHERE event = 'CONTAINER_START' AND source = 'full'
SQL
is($last, $kept - 1, 'the oldest records are kept, without a gap');
cmp_ok($kept, '<', 59999, 'newer ones are lost');
my ($lost) = slurp_file("$directory/FullSpoolRun.log") =~ /(\d+) records are lost; the containers that run are compared/;
cmp_ok($lost, '>=', 60000 - $kept, 'the log says how many');
cmp_ok($lost, '<', 60000 - $kept + 1000, 'and besides the containers only signs of life');
is($node->safe_psql('outgrown', "SELECT string_agg(container_id, ' ' ORDER BY container_id) FROM yquota.container"), 'container_0 container_59999',
	'what runs is what the ResourceManager says');
is($node->safe_psql('outgrown', "SELECT source FROM yquota.container_event WHERE container_id = 'container_59999'"), 'reconcile', 'a lost start is made up for');
is(-s "$directory/full/refused", undef, 'nothing is refused');
go_on();
reach('room again');
ends();

# A project without credit is refused, one with credit comes in, and none while yquota is away.
$node->safe_psql('postgres', 'CREATE DATABASE ask');
$node->safe_psql('ask', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
SELECT yquota.allow_role('feeder', 'operator');
INSERT INTO yquota.project (name, on_exhausted) VALUES ('lab', 'refuse_submission');
SQL
$node->safe_psql('ask', sprintf 'SELECT yquota.import_hadoop_configuration($xml$%s$xml$::text)',
	scalar slurp_file("$project/src/test/resources/capacity-scheduler.xml"));
begin('AskRun', $directory, url('ask'));
reach('a submission');
go_on();
like(next_place(), qr/^FAILED: .*Project lab has no credit left \(0\), cannot accept submission of application: application_/, 'an application that yquota refuses has the reason in its diagnostics');
is($node->safe_psql('ask', "SELECT state FROM yquota.application"), 'REJECTED', 'yquota has it as rejected');
$node->safe_psql('ask', "INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000, 'test')");
go_on();
reach('a submission');
go_on();
like(next_place(), qr/^ACCEPTED: /, 'one that it lets in is accepted');
$node->stop;
go_on();
reach('a submission');
go_on();
like(next_place(), qr/^FAILED: .*yquota does not answer/, 'one of which it says nothing is refused, as the setting wants');
$node->start;
ends();

my $account = "$directory/account";
begin('ClusterRun', $directory, url('work'), $account);
reach('the middle of the first life');
is(sql("SELECT count(*) > 60 FROM yquota.container_event WHERE event = 'CONTAINER_START'"), 't', 'containers came');
$node->kill9;
go_on();
sleep 5;
$node->start;
reach('the second life');
go_on();
reach('containers that run');
go_on();
reach('the end');

my (%container, %updates);
foreach my $line (split /\n/, slurp_file($account))
{
	my ($kind, $id, @values) = split / /, $line;
	if ($kind eq 'container')
	{
		@{ $container{$id} }{qw(started finished memory vcores type is_master exit_status)} = @values;
	}
	else
	{
		my %update;
		@update{qw(before after memory vcores type)} = @values;
		push @{ $updates{$id} }, \%update;
	}
}
cmp_ok(scalar keys %container, '>=', 200, 'two hundred containers and more came and went');
my @lost = grep { !$container{$_}{finished} } sort keys %container;
cmp_ok(scalar @lost, '>=', 1, 'a restart has lost containers that were not at their nodes yet');
$node->poll_query_until('work', "SELECT count(*) = " . keys(%container) . " FROM yquota.container_cost WHERE finished_at IS NOT NULL")
  or fail('all ends reach the books');
is(sql("SELECT rejected, waiting FROM yquota.feed_status WHERE source = 'mini'"), '0|0', 'nothing was set aside');
ok(!-s "$directory/spool/refused", 'and nothing refused');

# Events as the books have them, beside the account.
my $milliseconds = '(extract(epoch FROM %s) * 1000)::numeric';
my $ms = sub { return sprintf $milliseconds, $_[0] };
my %told;
foreach (lines(<<"SQL"))
	SELECT event, container_id, trim_scale(${\ $ms->('occurred_at') }), yquota.amount(allocation, 'memory-mb'), yquota.amount(allocation, 'vcores'),
		   execution_type, is_am, is_running, exit_status, queue, source
	FROM yquota.container_event WHERE container_id IS NOT NULL
	ORDER BY occurred_at, event = 'CONTAINER_FINISH', event_id
SQL
{
	my %event;
	@event{qw(event id at memory vcores type is_master is_running exit_status queue source)} = @$_;
	push @{ $told{ $event{id} } }, \%event;
}
is_deeply([ sort keys %told ], [ sort keys %container ], 'the same containers are told: none is missing, no part of an update is one');
is(scalar(grep { $_->[0]{event} ne 'CONTAINER_START' || $_->[0]{source} ne 'mini' } values %told), 0, 'each one from the feed, beginning with its START');

# A container that a restart has lost ends when the feed compares what runs.
my %end = map { $_ => (grep { $_->{event} eq 'CONTAINER_FINISH' } @{ $told{$_} })[0] } keys %told;
is_deeply([ grep { $end{$_}{source} ne 'mini' } sort keys %end ], \@lost, 'what a restart has lost, and nothing else, ends by reconcile()');
@{ $container{$_} }{qw(finished exit_status)} = @{ $end{$_} }{qw(at exit_status)} foreach @lost;

sub differs
{
	my ($id) = @_;
	my ($is, $start, $end) = ($container{$id}, $told{$id}[0], $end{$id});

	return join ' ', $id, map { "$_->[0]: $_->[1] for $_->[2]" } grep { $_->[1] ne $_->[2] } (
		[ started => $start->{at}, $is->{started} ],
		[ memory => $start->{memory}, $is->{memory} ],
		[ vcores => $start->{vcores}, $is->{vcores} ],
		[ type => $start->{type}, $is->{type} ],
		[ master => $start->{is_master} eq 't' ? 'true' : 'false', $is->{is_master} ],
		[ finished => $end->{at}, $is->{finished} ],
		[ 'exit status' => $end->{exit_status}, $is->{exit_status} ]);
}
is_deeply([ grep { / / } map { differs($_) } sort keys %container ], [], 'with the times, sizes and ends that the ResourceManager has');

my @wrong;
foreach my $id (sort keys %container)
{
	my @told = grep { $_->{event} eq 'CONTAINER_UPDATE' && $_->{memory} ne '' } @{ $told{$id} };
	my @made = @{ $updates{$id} // [] };

	push @wrong, "$id: " . @told . ' for ' . @made and next if @told != @made;
	foreach my $i (0 .. $#made)
	{
		push @wrong, "$id: update $i"
		  if $told[$i]{at} < $made[$i]{before} || $told[$i]{at} > $made[$i]{after} || "@{$told[$i]}{qw(memory vcores type)}" ne "@{$made[$i]}{qw(memory vcores type)}";
	}
}
is_deeply(\@wrong, [], 'updates are told with the time at which they were made');
my @all = map { @$_ } values %updates;
my %kinds;
foreach my $id (keys %updates)
{
	my ($memory, $type) = @{ $container{$id} }{qw(memory type)};
	foreach my $update (@{ $updates{$id} })
	{
		$kinds{ $update->{type} eq 'GUARANTEED' ? 'promoted' : 'demoted' }++ if $update->{type} ne $type;
		$kinds{ $update->{memory} > $memory ? 'increased' : 'decreased' }++ if $update->{memory} != $memory;
		($memory, $type) = @$update{qw(memory type)};
	}
}
is_deeply([ sort keys %kinds ], [qw(decreased demoted increased promoted)], 'of all kinds');
cmp_ok(sql("SELECT count(*) FROM yquota.container_event WHERE event = 'CONTAINER_UPDATE' AND queue = 'root.batch'"), '>=', 20, 'containers move with their application');
cmp_ok(sql("SELECT count(*) FROM yquota.container_event WHERE is_running"), '>', 0, 'nodes began to run opportunistic containers');
is(sql("SELECT count(*) FROM yquota.node"), 4, 'the nodes are known');
cmp_ok(scalar(grep { $_->{exit_status} == -100 } values %container), '>=', 1, 'containers ended with their node');
is(sql("SELECT string_agg(state::text, ' ' ORDER BY application_id) FROM yquota.application"), 'FINISHED FAILED', 'applications are told with their ends');

# Nobody pays for the time from the last sign of life to the recovery.
my @outages = lines("SELECT trim_scale(${\ $ms->('started_at') }), trim_scale(${\ $ms->('ended_at') }) FROM yquota.outage WHERE forgiven ORDER BY started_at");
is(scalar @outages, 2, 'each restart is an outage');
is(sql(<<'SQL'), 'f', 'that begins with the last QUOTA_COMPUTE before it');
SELECT EXISTS (
	SELECT FROM yquota.outage AS o
	WHERE o.started_at IS DISTINCT FROM (
		SELECT max(e.occurred_at) FROM yquota.container_event AS e
		WHERE e.event = 'QUOTA_COMPUTE' AND e.source = 'mini' AND e.occurred_at < o.ended_at))
SQL

# What each container costs, in 1 / 1024000 credits, from its events: 1 credit a second for a vcore or for 1024 MB,
# whichever is more.
sub cost
{
	my ($id) = @_;
	my ($cost, %now, $since) = (0);

	foreach my $event (@{ $told{$id} })
	{
		if ($since)
		{
			my $paid = $event->{at} - $since;
			foreach (@outages)
			{
				my ($from, $to) = ($_->[0] > $since ? $_->[0] : $since, $_->[1] < $event->{at} ? $_->[1] : $event->{at});
				$paid -= $to - $from if $to > $from;
			}
			$cost += $paid * max($now{memory}, 1024 * $now{vcores}) unless $now{type} eq 'OPPORTUNISTIC' && $now{is_running} eq 'f';
		}
		last if $event->{event} eq 'CONTAINER_FINISH';
		$now{$_} = $event->{$_} foreach grep { $event->{$_} ne '' } qw(memory vcores type is_running);
		$now{is_running} //= 't';
		$since = $event->{at};
	}
	return $cost;
}
my %charged = map { $_->[0] => $_->[1] } lines('SELECT container_id, trim_scale(cost * 1024000) FROM yquota.container_cost');
is_deeply([ map { "$_: $charged{$_}" } sort keys %container ], [ map { "$_: " . cost($_) } sort keys %container ], 'every container costs what the account says, to the last digit');

# The stream again, in another order and other cuts.
my $books = "SELECT project, charged, accrued FROM yquota.project_balance";
my $before = sql($books);
my @columns = split /\|/, sql(<<'SQL');
SELECT string_agg(attname, '|' ORDER BY attnum) FROM pg_attribute
WHERE attrelid = 'yquota.container_event'::regclass AND attnum > 0 AND attname NOT IN ('recorded_at', 'event_id')
SQL
my $columns = join ', ', @columns;
my @stream = shuffle(split /\n/, sql("COPY (SELECT $columns FROM yquota.container_event WHERE source = 'mini') TO STDOUT"));
while (my @cut = splice @stream, 0, 1 + int rand 90)
{
	$node->safe_psql('work', "COPY yquota.container_event ($columns) FROM STDIN;\n" . join("\n", @cut) . "\n\\.\n", extra_params => [ '-U', 'feeder' ]);
}
is(sql($books), $before, 'the stream sent again changes nothing');
is(sql('SELECT count(*) FROM yquota.verify()'), 0, 'and the books are right');

ends();
$node->stop;
done_testing();
