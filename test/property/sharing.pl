#!/usr/bin/env perl
#
# The test compares limits of sharing with a model: how many OPPORTUNISTIC containers an application gets, and which
# limit refuses the rest.
#
# Applications of several users in a hierarchy of queues request containers of several sizes. Containers end, are
# promoted and demoted, shrink, and arrive from other sources. Limits are added, changed and removed. The model keeps
# the containers, and considers the requests of an application one by one. It gives as many containers as each limit
# has room for. Nodes have room for all. Afterwards the view agrees with the model. Then several sessions allocate at
# once, in transactions that are sometimes rolled back, and no limit that was kept before is exceeded.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(min sum0);
use Test::More;
use Session;
use Soak;
use Trial;

use constant { STEPS => 60, APPLICATIONS => 4, SESSIONS => 4 };

my ($seed, $histories) = Trial::plan_run(6);
my $template = "yquota_sharing_$$";
my $database = "${template}_play";
my @leaf = (undef, 'root.a.x', 'root.a.y', 'root.b', 'root.a.x');
my @user = (undef, 'ann', 'bob', 'ann', 'bob');
my ($session, %total);
my @events = ('given', 'refused', 'came within');

sub one_of { return $_[ rand @_ ]; }
sub chance { return rand() < $_[0]; }
sub between { my ($low, $high) = @_; return $low + int rand($high - $low + 1); }
sub rows { return map { [ split /\|/, $_, -1 ] } split /\n/, $session->run($_[0]); }
sub id { return sprintf 'application_1_%04d', $_[0]; }

# -- the model ----------------------------------------------------------------------------

sub is_within { my ($queue, $above) = @_; return $queue eq $above || index($queue, "$above.") == 0; }

# Return the limits of an application in the order in which they are checked: queues, user,
# application.
sub limits_of
{
	my ($model, $application) = @_;
	my @limits = map { { scope => 'queue', name => $_, %{ $model->{queue}{$_} } } } grep { $model->{queue}{$_} && is_within($leaf[$application], $_) } sort keys %{ $model->{queue} };

	push @limits, { scope => 'user', name => $user[$application], %{ $model->{user} } } if $model->{user};
	push @limits, { scope => 'application', name => id($application), %{ $model->{application} } } if $model->{application};
	return @limits;
}

sub held
{
	my ($model, $limit) = @_;

	return grep {
		$_->{opportunistic} && ($limit->{scope} eq 'queue' ? is_within($leaf[ $_->{application} ], $limit->{name})
			: $limit->{scope} eq 'user' ? $user[ $_->{application} ] eq $limit->{name} : id($_->{application}) eq $limit->{name})
	} values %{ $model->{containers} };
}

sub room
{
	my ($model, $limit, $memory) = @_;
	my @held = held($model, $limit);
	my @rooms;

	push @rooms, $limit->{containers} - @held if defined $limit->{containers};
	push @rooms, int(($limit->{memory} - sum0 map { $_->{memory} } @held) / $memory) if defined $limit->{memory};
	return min(map { $_ < 0 ? 0 : $_ } @rooms);
}

# Return the containers that a call gives for each request, highest priority first, and the limit that
# refuses.
sub expected
{
	my ($model, $application) = @_;
	my (@given, @refused);

	foreach my $priority (sort { $b <=> $a } keys %{ $model->{asked}{$application} })
	{
		my $request = $model->{asked}{$application}{$priority};
		my $count = $request->{count};
		my $refusing;

		foreach my $limit (limits_of($model, $application))
		{
			my $room = room($model, $limit, $request->{memory});
			($count, $refusing) = ($room, "$limit->{scope} $limit->{name}") if $room < $count;
		}
		push @given, $priority => $count if $count > 0;
		push @refused, "$priority $refusing" if defined $refusing;
		$model->{containers}{ ++$model->{number} } = { application => $application, memory => $request->{memory}, opportunistic => 1 } foreach 1 .. $count;
		$request->{count} -= $count;
		delete $model->{asked}{$application}{$priority} if $request->{count} == 0;
	}
	return (\@given, \@refused);
}

# -- events -------------------------------------------------------------------------------

sub ask
{
	my ($model) = @_;
	my $application = between(1, APPLICATIONS);
	my @requests;

	foreach my $priority (grep { chance(0.4) } 1 .. 3)
	{
		# each priority has a single size
		my $request = $model->{asked}{$application}{$priority} //= { memory => 1024 * $priority };

		$request->{count} = between(1, 4);
		push @requests, sprintf q(ROW('*', '[memory-mb=%d,vcores=1]', %d, %d, %d, true, NULL, 'OPPORTUNISTIC', NULL)), $request->{memory}, $request->{count}, $priority, $priority;
	}
	my @answer = rows(sprintf q(SELECT decision, priority, container_id, stopped_at FROM yquota.allocate_opportunistic('%s', ARRAY[%s]::yquota.container_request[])), id($application), join(', ', @requests));
	my ($given, $refused) = expected($model, $application);
	my %given;

	$given{ $_->[1] }++ foreach grep { $_->[0] eq 'allocated' } @answer;
	my @ids = map { $_->[2] } grep { $_->[0] eq 'allocated' } @answer;
	# the model's new containers get the ids that were given, in order
	my @new = grep { !defined $model->{containers}{$_}{id} } sort { $a <=> $b } keys %{ $model->{containers} };
	$model->{containers}{$_}{id} = shift(@ids) foreach @new;
	$total{given} += @new;
	$total{refused} += @$refused;
	my %expected = @$given;
	my $found = join ', ', map { "$_: $given{$_}" } sort keys %given;
	my $right = join ', ', map { "$_: $expected{$_}" } sort keys %expected;
	my $stops = join ', ', map { "$_->[1] $_->[3]" } grep { $_->[0] ne 'allocated' } @answer;
	return ($found eq $right ? () : id($application) . " got $found, not $right", $stops eq join(', ', @$refused) ? () : "refused were $stops, not @$refused");
}

sub some_container { my ($model, $of) = @_; my @keys = grep { $of->($model->{containers}{$_}) } sort { $a <=> $b } keys %{ $model->{containers} }; return one_of(@keys); }

sub event
{
	my ($model, $key, $event, $columns, $values) = @_;

	$session->run(sprintf q(SELECT yquota.set_clock('2026-03-02 10:00+00'::timestamptz + %d * interval '1 ms');
		INSERT INTO yquota.container_event (event, container_id, occurred_at%s) VALUES ('%s', '%s', yquota.clock()%s)),
		++$model->{now}, $columns, $event, $model->{containers}{$key}{id}, $values);
	return;
}

sub end_one
{
	my ($model) = @_;
	my $key = some_container($model, sub { 1 }) // return;

	event($model, $key, 'CONTAINER_FINISH', '', '');
	delete $model->{containers}{$key};
	return;
}

sub change_type
{
	my ($model) = @_;
	my $key = some_container($model, sub { 1 }) // return;
	my $container = $model->{containers}{$key};

	$container->{opportunistic} = !$container->{opportunistic};
	event($model, $key, 'CONTAINER_UPDATE', ', execution_type', $container->{opportunistic} ? ", 'OPPORTUNISTIC'" : ", 'GUARANTEED'");
	return;
}

sub change_size
{
	my ($model) = @_;
	my $key = some_container($model, sub { 1 }) // return;

	$model->{containers}{$key}{memory} = 512 * between(1, 6);
	event($model, $key, 'CONTAINER_UPDATE', ', allocation', ", '[memory-mb=$model->{containers}{$key}{memory},vcores=1]'");
	return;
}

sub start_elsewhere
{
	my ($model) = @_;
	my $application = between(1, APPLICATIONS);
	my $key = ++$model->{number};
	my $container = $model->{containers}{$key} = { application => $application, memory => 1024, opportunistic => 1, id => "other_$key" };

	event($model, $key, 'CONTAINER_START', ', project, application_id, username, queue, node, allocation, execution_type',
		sprintf(q(, 'p', '%s', '%s', '%s', 'n1', '[memory-mb=1024,vcores=1]', 'OPPORTUNISTIC'), id($application), $user[$application], $leaf[$application]));
	return;
}

sub value_of { my ($limit, $what) = @_; return !$limit || !defined $limit->{$what} ? 'NULL' : $what eq 'memory' ? "'[memory-mb=$limit->{memory}]'" : $limit->{$what}; }

sub change_limits
{
	my ($model) = @_;
	my $limit = chance(0.35) ? undef : one_of({ containers => between(0, 9) }, { memory => 1024 * between(1, 12) }, { containers => between(1, 9), memory => 1024 * between(2, 12) });
	my $scope = one_of('queue', 'queue', 'user', 'application');

	if ($scope eq 'queue')
	{
		my $queue = one_of('root', 'root.a', 'root.a.x', 'root.b');

		$model->{queue}{$queue} = $limit;
		$session->run(sprintf q(UPDATE yquota.queue SET opportunistic_maximum_containers = %s, opportunistic_maximum_resource = %s WHERE path = '%s'), value_of($limit, 'containers'), value_of($limit, 'memory'), $queue);
	}
	else
	{
		$model->{$scope} = $limit;
		$session->run(sprintf q(UPDATE yquota.scheduler_setting SET opportunistic_%1$s_maximum_containers = %2$s, opportunistic_%1$s_maximum_resource = %3$s), $scope, value_of($limit, 'containers'), value_of($limit, 'memory'));
	}
	return;
}

# -- checks -------------------------------------------------------------------------------

sub all_limits { my ($model) = @_; my %found; $found{"$_->{scope} $_->{name}"} = $_ foreach map { limits_of($model, $_) } 1 .. APPLICATIONS; return values %found; }

sub check_usage
{
	my ($model) = @_;
	my %expected;

	foreach my $limit (all_limits($model))
	{
		my @held = held($model, $limit);

		$expected{"$limit->{scope} $limit->{name}"} = @held . ' ' . sum0(map { $_->{memory} } @held) if $limit->{scope} eq 'queue' || @held;
	}
	my $found = join ', ', map { "@$_" } rows(q(SELECT scope, name, containers, yquota.amount(allocation, 'memory-mb') FROM yquota.opportunistic_limit_usage ORDER BY scope COLLATE "C", name COLLATE "C"));
	my $right = join ', ', map { "$_ $expected{$_}" } sort keys %expected;
	return $found eq $right ? () : "the view has $found, not $right";
}

# Let sessions allocate at once; amounts within their limits must stay within them.
sub crowd
{
	my ($model) = @_;
	my @sessions = map { Session->new($database) } 1 .. SESSIONS;
	my %within = map { $_->[0] => 1 } rows(q(SELECT scope || ' ' || name FROM yquota.opportunistic_limit_usage WHERE containers <= coalesce(maximum_containers, containers)
		AND yquota.amount(allocation, 'memory-mb') <= coalesce(nullif(yquota.amount(maximum_resource, 'memory-mb'), 0), yquota.amount(allocation, 'memory-mb'))));
	my @wrong;

	foreach my $number (0 .. $#sessions)
	{
		my $call = sprintf q(SELECT count(*) FROM yquota.allocate_opportunistic('%s', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', %d, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)]::yquota.container_request[])), id($number + 1), between(1, 3);

		$sessions[$number]->send(join ";\n", map { one_of($call, $call, "BEGIN; $call; ROLLBACK", "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM yquota.container; $call; COMMIT") } 1 .. 3);
	}
	foreach my $client (@sessions)
	{
		push @wrong, $1 while $client->receive =~ /^(?:ERROR|FATAL|PANIC):  (?!40001)(.*)$/mg;
		$client->close;
	}
	foreach my $row (rows(q(SELECT scope || ' ' || name, containers, maximum_containers, allocation, maximum_resource FROM yquota.opportunistic_limit_usage
		WHERE containers > maximum_containers OR yquota_internal.exceeds(allocation, maximum_resource))))
	{
		push @wrong, "beyond its limit: @$row" if $within{ $row->[0] };
	}
	$total{'came within'} += keys %within;
	push @wrong, map { "counted wrong: @$_" } rows(q(SELECT u.scope, u.name, u.containers FROM yquota.opportunistic_limit_usage AS u
		WHERE u.containers <> (SELECT count(*) FROM yquota.container AS c WHERE c.execution_type = 'OPPORTUNISTIC' AND CASE u.scope WHEN 'queue' THEN c.queue = u.name OR starts_with(c.queue, u.name || '.')
			WHEN 'user' THEN c.username = u.name ELSE c.application_id = u.name END)));
	return @wrong;
}

sub play
{
	Session::administer("CREATE DATABASE $database TEMPLATE $template");
	$session = Session->new($database);
	my $model = { now => 0, number => 0, containers => {}, queue => {}, asked => {} };
	my @wrong;

	foreach (1 .. STEPS)
	{
		push @wrong, grep { defined } one_of(\&ask, \&ask, \&ask, \&end_one, \&change_type, \&change_size, \&start_elsewhere, \&change_limits, \&change_limits)->($model);
		push @wrong, check_usage($model) if chance(0.3);
		last if @wrong;
	}
	push @wrong, check_usage($model) if !@wrong;
	push @wrong, crowd($model) if !@wrong;
	push @wrong, map { "@$_" } rows('SELECT * FROM yquota.verify()');
	$session->close;
	Session::administer("DROP DATABASE $database WITH (FORCE)");
	return @wrong;
}

Session::administer("CREATE DATABASE $template");
$session = Session->new($template);
$session->run(<<~'SQL');
	SET client_min_messages = error;
	CREATE EXTENSION IF NOT EXISTS yquota;
	SELECT yquota.set_clock('2026-03-02 10:00+00');
	INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.a.x', '50'), ('root.a.y', '50'), ('root.b', '50');
	INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, opportunistic_queue_capacity, allocation_expiry) VALUES (1, true, 10000, '1 day');
	INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=8192,vcores=8]');
	SELECT count(*) FROM generate_series(1, 4) AS n,
		LATERAL yquota.submit_application('application_1_000' || n, (ARRAY['ann', 'bob', 'ann', 'bob'])[n], NULL, (ARRAY['x', 'y', 'b', 'x'])[n], project => 'p', unmanaged => true);
	SELECT count(*) FROM yquota.report_nodes(ARRAY[ROW('n1', 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL)]::yquota.node_report[]);
	SQL
$session->close;

my $failed = 0;
for (my $done = 0; !$failed && (soak_goes_on($done, $histories, 5 * $histories) || soak_lacks($done, $histories, @total{@events})); $done++)
{
	srand($seed + $done);
	my @wrong = play() or next;

	$failed++;
	diag("history of YQUOTA_SEED=@{[ $seed + $done ]} YQUOTA_HISTORIES=1: " . join("\n  ", @wrong));
}
Session::administer("DROP DATABASE $template");
is($failed, 0, 'applications get what the model gives');
cmp_ok($total{$_} // 0, '>', 0, "$_: it happened") foreach @events;
note("$_: $total{$_}") foreach sort keys %total;
done_testing();
