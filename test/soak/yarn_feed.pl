# The feed of src/connectors/yarn runs in a real cluster. It has a pair of ResourceManagers, each in its own
# process, with one state store, and the nodes of Hadoop's MiniYARNCluster. The active ResourceManager is killed while
# PostgreSQL is down, comes back as standby, takes over again, and is killed and restarted. A node is lost and comes
# back. A separate account reads the ResourceManagers' own objects, in milliseconds, and every container must be
# charged as this account says. Before that, the feed is tested alone: a full spool, refused calls, and applications
# whose admission yquota decides.

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
use Time::HiRes qw(sleep time);
use WorkerNode;

foreach my $program (qw(mvn javac))
{
	plan skip_all => "$program is not installed" if system("command -v $program >/dev/null") != 0;
}

my $directory = PostgreSQL::Test::Utils::tempdir;
my $project = "$directory/yarn-feed";
my %program;

END { kill 'KILL', map { $_->{pid} } values %program }

# Build a copy of the project, because its own files must not change.
system_or_bail('cp', '-r', getcwd() . '/src/connectors/yarn', $project);
my @maven = ('mvn', '-q', '-B', '-f', "$project/pom.xml");
is(system(@maven, 'test-compile', 'dependency:build-classpath', '-Dmdep.includeScope=test', "-Dmdep.outputFile=$directory/class-path"), 0,
	'the feed builds') or BAIL_OUT('there is no feed to test');

my $node = new_node('feed', q(listen_addresses = '127.0.0.1'));
$node->safe_psql('postgres', 'CREATE DATABASE work');
$node->safe_psql('work', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
SET password_encryption = 'scram-sha-256';
CREATE ROLE feeder LOGIN PASSWORD 'not to be told&';
SELECT yquota.allow_role('feeder', 'operator');
INSERT INTO yquota.project (name) VALUES ('lab');
SQL
# The feed must send its password, which is in the URL.
my $hba = $node->data_dir . '/pg_hba.conf';
my $rules = slurp_file($hba);
unlink $hba;
append_to_file($hba, "host all feeder 127.0.0.1/32 scram-sha-256\n$rules");
$node->reload;

sub configure
{
	my ($database) = @_;

	$node->safe_psql($database, sprintf 'SELECT yquota.import_hadoop_configuration(ARRAY[$xml$%s$xml$, $xml$%s$xml$])',
		map { scalar slurp_file("$project/src/test/resources/$_.xml") } qw(capacity-scheduler yarn-site));
	return;
}
configure('work');

sub sql { return $node->safe_psql('work', $_[0]); }

sub lines { return map { [ split /\|/, $_, -1 ] } split /\n/, sql($_[0]); }

my @opens = `java -version 2>&1` =~ /version "1\./ ? () : ('--add-opens', 'java.base/java.lang=ALL-UNNAMED');
my $class_path = join ':', "$project/target/classes", "$project/target/test-classes", slurp_file("$directory/class-path");

# Start a program of the project. It reports each place that it reaches, and continues when it is
# told to.
sub begin
{
	my ($class, $name, @arguments) = @_;
	my %new = (name => $name);

	open my $errors, '>>', "$directory/$name.out" or die "could not write: $!";
	open my $saved, '>&', \*STDERR or die "could not keep standard error: $!";
	open STDERR, '>&', $errors or die "could not redirect standard error: $!";
	chdir $directory or die "could not enter $directory: $!";
	$new{pid} = open2($new{said}, $new{told}, 'java', '-Xmx1000m', @opens, "-Dcluster.log=$directory/$name.log", '-cp', $class_path, "org.yquota.yarn.$class", @arguments);
	open STDERR, '>&', $saved or die "could not restore standard error: $!";
	$program{$name} = \%new;
	return;
}

sub url { return sprintf 'jdbc:postgresql://127.0.0.1:%d/%s?user=feeder&password=not+to+be+told%%26', $node->port, $_[0]; }

# Return the next place that the program reaches.
sub next_place
{
	my ($name) = @_;
	my $said = $program{$name}{said};

	while (my $line = <$said>)
	{
		return $1 if $line =~ /^reached (.*)/;
	}
	diag(scalar slurp_file("$directory/$name.out"));
	BAIL_OUT("$name has ended");
}

sub reach { return is(next_place($_[0]), $_[1], "$_[0] reached $_[1]"); }

sub go_on
{
	my ($name, $line) = @_;

	syswrite $program{$name}{told}, ($line // '') . "\n" or die "could not tell $name: $!";
	return;
}

# Send a command to a ResourceManager, and wait until it is done.
sub command
{
	my ($name, $line) = @_;

	go_on($name, $line);
	return reach($name, $line);
}

sub ends
{
	my ($name) = @_;

	go_on($name);
	close $program{$name}{told};
	waitpid $program{$name}{pid}, 0;
	is($?, 0, "$name ends");
	delete $program{$name};
	return;
}

sub kill_program
{
	my ($name) = @_;

	kill 'KILL', $program{$name}{pid};
	waitpid $program{$name}{pid}, 0;
	delete $program{$name};
	return;
}

command_ok([ 'java', "-Dcluster.log=$directory/unit.log", '-cp', $class_path, 'org.junit.runner.JUnitCore', map { "org.yquota.yarn.$_" } qw(ApplicationRecordsTest FeedConfigurationTest RecordsTest SpoolTest) ],
	'the records, the configuration and the spool by themselves');

# The database does not exist yet when the feed gets more than its spool may hold.
begin('FullSpoolRun', 'FullSpoolRun', "$directory/full", url('outgrown'));
reach('FullSpoolRun', 'a full spool');
my $size = sum(map { -s } glob "$directory/full/records-*");
cmp_ok($size, '>=', 1 << 20, 'the spool is as large as it may be');
cmp_ok($size, '<', 3 << 20, 'the spool is not much larger than its limit');
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
cmp_ok($lost, '<', 60000 - $kept + 1000, 'besides the containers the spool has only signs of life');
is($node->safe_psql('outgrown', "SELECT string_agg(container_id, ' ' ORDER BY container_id) FROM yquota.container"), 'container_0 container_59999',
	'running containers are those of the ResourceManager');
is($node->safe_psql('outgrown', "SELECT source FROM yquota.container_event WHERE container_id = 'container_59999'"), 'reconcile', 'a lost start is made up for');
is(-s "$directory/full/refused", undef, 'nothing is refused');
go_on('FullSpoolRun');
reach('FullSpoolRun', 'room again');
ends('FullSpoolRun');

# An application of a project without credit is refused, and one with credit is admitted. No
# application is admitted while yquota is down.
$node->safe_psql('postgres', 'CREATE DATABASE ask');
$node->safe_psql('ask', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
SELECT yquota.allow_role('feeder', 'operator');
INSERT INTO yquota.project (name, on_exhausted) VALUES ('lab', 'refuse_submission');
SQL
configure('ask');
begin('AskRun', 'AskRun', $directory, url('ask'));
reach('AskRun', 'a submission');
go_on('AskRun');
like(next_place('AskRun'), qr/^FAILED: .*Project lab has no credit left \(0\), cannot accept submission of application: application_/, 'an application that yquota refuses has the reason in its diagnostics');
is($node->safe_psql('ask', "SELECT state FROM yquota.application"), 'REJECTED', 'yquota has it as rejected');
$node->safe_psql('ask', "INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000, 'test')");
go_on('AskRun');
reach('AskRun', 'a submission');
go_on('AskRun');
like(next_place('AskRun'), qr/^ACCEPTED: /, 'an accepted submission is accepted by the ResourceManager');
$node->stop;
go_on('AskRun');
reach('AskRun', 'a submission');
go_on('AskRun');
like(next_place('AskRun'), qr/^FAILED: .*yquota does not answer/, 'a submission without an answer is refused, as the setting wants');
$node->start;
foreach my $try (1 .. 2)
{
	go_on('AskRun');
	reach('AskRun', 'answer null true');
}
is($node->safe_psql('ask', "SELECT lifetime, priority FROM yquota.application WHERE application_id = 'application_1_0001'"), '3600|1',
	'a submission that is asked about twice comes in once');
ends('AskRun');

# An event that the server always refuses does not stop later events. When an administrator can correct an
# error, the feed waits for that.
$node->safe_psql('postgres', 'CREATE DATABASE refusing');
$node->safe_psql('refusing', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
SELECT yquota.allow_role('feeder', 'operator');
INSERT INTO yquota.project (name) VALUES ('lab');
REVOKE EXECUTE ON FUNCTION yquota.register_node(text, yquota.resource, text, text, timestamptz) FROM feeder;
SQL
begin('RefusedRun', 'RefusedRun', "$directory/refusing", url('refusing'));
reach('RefusedRun', 'the end');
ok($node->poll_query_until('refusing', "SELECT EXISTS (SELECT FROM yquota.feed_status WHERE source = 'refused' AND problem ~ '^42501: .*register_node')"),
	'a missing privilege is reported');
is($node->safe_psql('refusing', "SELECT count(*) FROM yquota.container_event WHERE container_id = 'after'"), 0, 'the feed waits for the privilege: nothing that comes later is sent');
$node->safe_psql('refusing', 'GRANT EXECUTE ON FUNCTION yquota.register_node(text, yquota.resource, text, text, timestamptz) TO feeder');
ok($node->poll_query_until('refusing', "SELECT EXISTS (SELECT FROM yquota.container WHERE container_id = 'after')"), 'all that comes later arrives once it is there');
ok($node->poll_query_until('refusing', "SELECT problem IS NULL FROM yquota.feed_status WHERE source = 'refused'"), 'the feed tells that it goes on');
is($node->safe_psql('refusing', 'SELECT sqlstate, call FROM yquota.feed_reject ORDER BY reject_id'), <<'OUT' =~ s/\n\z//r, 'a refused event is set aside, and nothing else');
42704|{"function": "yquota.finish_application", "arguments": ["application_1_0001", "FINISHED", "never\theard of"]}
42704|{"function": "yquota.move_application", "arguments": ["application_1_0001", "root.batch"]}
22P02|{"row": {"event": "CONTAINER_END", "source": "refused", "occurred_at": "2026-03-02T10:00:00Z", "container_id": "unreadable"}, "table": "yquota.container_event"}
22023|{"function": "novelty", "arguments": ["1"]}
OUT
is($node->safe_psql('refusing', "SELECT container_id, sqlstate FROM yquota.event_reject"), 'unpaid|23503', 'a bad container of a list is set aside by itself');
is($node->safe_psql('refusing', "SELECT count(*) FROM yquota.container WHERE container_id = 'listed'"), 1, 'the other containers of the list are started');
is($node->safe_psql('refusing', "SELECT rejected_calls FROM yquota.feed_status WHERE source = 'refused'"), 4, 'the other containers of the list are counted');
is(-s "$directory/refusing/refused", undef, 'no file tells of it');
ends('RefusedRun');

my $ports = join ',', map { PostgreSQL::Test::Cluster::get_free_port() } 1 .. 10;

sub begin_manager
{
	my ($id, $database, $spool) = @_;

	begin('ResourceManagerRun', $id, $directory, url($database // 'work'), $id, $ports, $spool // "spool.$id");
	return reach($id, 'standby');
}

sub application
{
	my ($name, $columns) = @_;

	return sql("SELECT $columns FROM yquota.application WHERE application_name = '$name'");
}

# Let the active ResourceManager compare running containers. Its later reports come after that comparison.
sub compare
{
	my ($id) = @_;
	my $file = "$directory/spool.$id/reconcile";

	append_to_file($file, 'now');
	for (my $tries = 0; -e $file && $tries < 10 * $PostgreSQL::Test::Utils::timeout_default; $tries++)
	{
		sleep 0.1;
	}
	my $later = time + 3;
	return ok($node->poll_query_until('work', "SELECT max(occurred_at) > to_timestamp($later) FROM yquota.container_event WHERE source = 'mini'"),
		"$id has compared what runs");
}

# Containers already run when the feed is installed. Until then the feed has another database, which does not exist.
begin_manager('rm1', 'nowhere', 'spool.before');
command('rm1', 'active');
begin('ClusterRun', 'ClusterRun', $directory, $ports);
reach('ClusterRun', 'the installation of the feed');
kill_program('rm1');
rename "$directory/account.rm1", "$directory/before" or die "could not rename: $!";
begin_manager($_) foreach qw(rm1 rm2);
command('rm1', 'active');
go_on('ClusterRun');
reach('ClusterRun', 'the middle of the first life');
ok($node->poll_query_until('work', "SELECT count(*) > 60 FROM yquota.container_event WHERE event = 'CONTAINER_START'"), 'containers came');
$node->kill9;
go_on('ClusterRun');
reach('ClusterRun', 'a failover while PostgreSQL is away');
kill_program('rm1');
command('rm2', 'active');
go_on('ClusterRun');
reach('ClusterRun', 'the second life');
$node->start;
ok($node->poll_query_until('work', "SELECT count(*) = 1 FROM yquota.outage"), 'the database hears of the failover');
my $too_early = sql("SELECT started_at FROM yquota.outage");
begin_manager('rm1');
ok($node->poll_query_until('work', "SELECT started_at > '$too_early' FROM yquota.outage"),
	'the spool of the other ResourceManager arrives while that is on standby, and shortens the outage');
compare('rm2');
go_on('ClusterRun');
my ($victim) = next_place('ClusterRun') =~ /^lose (.*)/ or BAIL_OUT('no node to lose');
command('rm2', "lose $victim");
go_on('ClusterRun');
reach('ClusterRun', 'a handover');
command('rm2', 'standby');
command('rm1', 'active');
go_on('ClusterRun');
reach('ClusterRun', 'a restart without the feed');
compare('rm1');
kill_program('rm1');
# Changes of applications are not sent now, because the feed has the other database again.
begin_manager('rm1', 'nowhere', 'spool.before');
command('rm1', 'active');
go_on('ClusterRun');
my ($expiry) = next_place('ClusterRun') =~ /^a restart, expiry ([0-9]+)/ or BAIL_OUT('no expiry was told');
kill_program('rm1');
is(application('changes unheard', 'queue, priority'), 'root.batch|7', 'changes from before the feed are known, and no later ones yet');
is(application('ends unheard', 'state'), 'ACTIVE', 'an end from before the feed is not known yet');
begin_manager('rm1');
command('rm1', 'active');
go_on('ClusterRun');
reach('ClusterRun', 'containers that run');
compare('rm1');
is(application('changes unheard', "queue, priority, abs(extract(epoch FROM expires_at) - $expiry / 1000.0) < 1"), 'root.default|3|t',
	'a move, a priority and a lifetime that were not told are told by the next ResourceManager');
is(application('ends unheard', 'state'), 'KILLED', 'an end is known when running containers are compared');
go_on('ClusterRun');
reach('ClusterRun', 'the end');

# A container that was not at its node yet when the feed was installed is not reported by any feed.
my @account = map { split /\n/, slurp_file($_) } glob "$directory/account.rm*";
my %is_heard_of = map { (split / /)[2] => 1 } @account;
push @account, grep { $is_heard_of{ (split / /)[2] } } split /\n/, slurp_file("$directory/before");
my (%container, %updates);
foreach my $line (sort { ($a =~ /^(\d+)/)[0] <=> ($b =~ /^(\d+)/)[0] } @account)
{
	my (undef, $kind, $id, @values) = split / /, $line;
	if ($kind eq 'started')
	{
		@{ $container{$id} }{qw(started memory vcores type)} = @values;
	}
	elsif ($kind eq 'finished')
	{
		# nodes report ends again to the next ResourceManager
		next if $container{$id}{finished} && $container{$id}{finished} <= $values[0];
		@{ $container{$id} }{qw(finished is_master exit_status)} = @values;
	}
	else
	{
		my %update;
		@update{qw(before after memory vcores type)} = @values;
		push @{ $updates{$id} }, \%update;
	}
}
# Nodes report when containers were created, which the ResourceManager does not know for opportunistic
# containers.
my %made = map { split / / } split /\n/, slurp_file("$directory/creation-times");
$container{$_}{started} = $made{$_} foreach grep { $container{$_} } keys %made;
cmp_ok(scalar keys %container, '>=', 300, 'three hundred containers and more came and went');
my @unfinished = grep { !$container{$_}{finished} } sort keys %container;
cmp_ok(scalar @unfinished, '>=', 1, 'restarts have lost containers that were not at their nodes yet');
ok($node->poll_query_until('work', <<'SQL'), 'all ends reach the books');
SELECT NOT EXISTS (SELECT FROM yquota.container) AND NOT EXISTS (SELECT FROM yquota.application WHERE finished_at IS NULL)
SQL
is(sql("SELECT rejected, waiting, differing_ends, rejected_calls, problem IS NULL FROM yquota.feed_status WHERE source = 'mini'"), '0|0|0|0|t',
	'nothing was set aside, no ends differ');
is(sql('SELECT count(*) FROM yquota.suspect_container'), 0, 'no container is suspect');
ok(!-s "$directory/spool.$_/refused", "$_ has refused nothing") foreach qw(rm1 rm2);
foreach my $file (glob "$directory/*.log $directory/*.out")
{
	unlike(slurp_file($file), qr/not.to.be.told/, (split m{/}, $file)[-1] . ' does not tell the password');
}

# The events in the books, to be compared with the account.
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
is_deeply([ sort keys %told ], [ sort keys %container ], 'the reported containers are equal: none is missing, no part of an update is one');
my @early = grep { $told{$_}[0]{source} eq 'reconcile' } sort keys %told;
is_deeply(\@early, [ sort grep { $container{$_} } keys %made ], 'containers that ran before the feed are started when it finds them');
cmp_ok(scalar @early, '>=', 4, 'among them those that do not wait');
my %early_runs = map { $_ => 1 } map { $told{$_}[0]{is_running} } grep { $told{$_}[0]{type} eq 'OPPORTUNISTIC' } @early;
is_deeply([ sort keys %early_runs ], [qw(f t)], 'opportunistic ones that wait do so from then on, and others run');
is(scalar(grep { $_->[0]{event} ne 'CONTAINER_START' || $_->[0]{source} !~ /^(mini|reconcile)$/ } values %told), 0, 'each begins with its START');

# A container that was lost in a restart ends where the outage began.
my %end = map { $_ => (grep { $_->{event} eq 'CONTAINER_FINISH' } @{ $told{$_} })[0] } keys %told;
is_deeply([ grep { $end{$_}{source} ne 'mini' } sort keys %end ], \@unfinished, 'containers that a restart has lost, and no others, end by reconcile()');
my @outages = lines("SELECT trim_scale(${\ $ms->('started_at') }), trim_scale(${\ $ms->('ended_at') }) FROM yquota.outage WHERE forgiven ORDER BY started_at");
foreach my $id (@unfinished)
{
	my ($outage) = grep { $_->[1] > $container{$id}{started} } @outages;
	@{ $container{$id} }{qw(finished exit_status is_master)} = ($outage->[0], '', 'false');
}

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
is_deeply([ sort keys %kinds ], [qw(decreased demoted increased promoted)], 'updates of all kinds are told');
cmp_ok(sql("SELECT count(*) FROM yquota.container_event WHERE event = 'CONTAINER_UPDATE' AND queue = 'root.batch'"), '>=', 10, 'containers move with their application');
cmp_ok(sql("SELECT count(*) FROM yquota.container_event WHERE is_running"), '>', 0, 'nodes began to run opportunistic containers');
is(sql("SELECT count(*) FROM yquota.node"), 4, 'the nodes are known');
cmp_ok(scalar(grep { $_->{exit_status} == -100 } values %container), '>=', 1, 'containers ended with their node');
is(sql("SELECT application_name, state FROM yquota.application ORDER BY application_id"), <<'OUT' =~ s/\n\z//r, 'applications are told with their ends, also one that came in while PostgreSQL was away');
all kinds of lives|FINISHED
changes unheard|KILLED
ends unheard|KILLED
a master that fails|FAILED
while nothing answers|KILLED
OUT
is(application('all kinds of lives', "queue, priority, expires_at - submitted_at > interval '110 min'"), 'root.batch|7|t',
	'moves, priorities and lifetimes are told');

# No project pays for the time from the last sign of life to the recovery.
is(scalar @outages, 3, 'each recovery but the first ends an outage');
is(sql(<<'SQL'), 'f', 'each outage begins with the last event before it, of any ResourceManager');
SELECT EXISTS (
	SELECT FROM yquota.outage AS o
	WHERE o.started_at IS DISTINCT FROM (
		SELECT max(e.occurred_at) FROM yquota.container_event AS e
		WHERE e.source = 'mini' AND e.occurred_at < o.ended_at))
SQL

# Opportunistic containers that waited while no ResourceManager ran, and started afterwards.
cmp_ok(scalar(grep {
		(grep { $_->{is_running} eq 'f' && $_->{at} < $outages[0][0] } @$_) && (grep { $_->{is_running} eq 't' && $_->{at} > $outages[0][1] } @$_)
	} values %told), '>=', 1, 'a container that waited through the failover is told to run');

# The cost of each container, in 1 / 1024000 credits, follows from its events. It is 1 credit a second for each vcore
# or each 1024 MB, whichever is more.
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

# The events are sent again in another order, split into other statements.
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
is(sql('SELECT count(*) FROM yquota.verify()'), 0, 'the books are right after the second stream');

ends($_) foreach qw(ClusterRun rm1 rm2);
$node->stop;
done_testing();
