#!/usr/bin/env perl
#
# The test compares promotion by rule with a model: which OPPORTUNISTIC containers become GUARANTEED in a cycle, and in
# which order.
#
# Containers arrive in the queues of nodes, wait, are paused, resume and end. Scheduler queues get other rules and
# other limits, and time passes. The model follows the orders to agents, and adds up how long each container has run.
# At a heartbeat of some nodes, or of all, it considers the containers that have run long enough, the longest first.
# It promotes each container that fits in the node and in each queue above. Two sessions, each of which keeps a
# cluster, take turns. A dry run before each cycle gives the same result.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(sum0);
use Test::More;
use Session;
use Soak;
use Trial;

use constant { STEPS => 100, NODES => 3, MEMORY => 8192 };

my ($seed, $histories) = Trial::plan_run(12);
my $template = "yquota_promotion_$$";
my $database = "${template}_play";
my @leaves = qw(root.a.x root.a.y root.b);
my (@sessions, $session, %total);
my @events = ('promoted', 'no room', 'queued', 'pause', 'kill');

sub one_of { return $_[ rand @_ ]; }
sub chance { return rand() < $_[0]; }
sub between { my ($low, $high) = @_; return $low + int rand($high - $low + 1); }
sub rows { return map { [ split /\|/, $_, -1 ] } split /\n/, $session->run($_[0]); }

# -- the model ----------------------------------------------------------------------------

sub way { my ($queue) = @_; my @way; for (; $queue ne ''; $queue =~ s/\.?[^.]*$//) { push @way, $queue; } return @way; }

sub used_by { my ($model, $of) = @_; return sum0 map { $_->{memory} } grep { $_->{guaranteed} && $of->($_) } values %{ $model->{containers} }; }

sub fits
{
	my ($model, $container) = @_;

	return 0 if used_by($model, sub { $_[0]{node} eq $container->{node} }) + $container->{memory} > MEMORY;
	foreach my $queue (way($container->{queue}))
	{
		my $limit = NODES * MEMORY * ($model->{percent}{$queue} // 100) / 100;

		# the maximum is a share of the parent's share
		$limit = $limit * ($model->{percent}{'root.a'} // 100) / 100 if $queue =~ /^root\.a\./;
		return 0 if used_by($model, sub { $_[0]{queue} eq $queue || index($_[0]{queue}, "$queue.") == 0 }) + $container->{memory} > $limit;
	}
	return 1;
}

sub ran { my ($model, $container) = @_; return $container->{ran} + (defined $container->{since} ? $model->{now} - $container->{since} : 0); }

sub rule { my ($model, $queue) = @_; foreach (way($queue)) { return $model->{rule}{$_} if $model->{rule}{$_}; } return; }

# Return the containers that a heartbeat promotes, at most so many.
sub promoted
{
	my ($model, $nodes, $most) = @_;
	my @due = grep { my $rule = rule($model, $_->{queue}); !$_->{guaranteed} && defined $_->{since} && $nodes->{ $_->{node} } && $rule && ran($model, $_) >= $rule } values %{ $model->{containers} };
	my @promoted;

	foreach my $container (sort { ran($model, $b) <=> ran($model, $a) || $a->{id} cmp $b->{id} } @due)
	{
		last if @promoted == $most;
		$total{'no room'}++, next if !fits($model, $container);
		$container->{guaranteed} = 1;
		push @promoted, $container->{id};
	}
	return @promoted;
}

# -- events -------------------------------------------------------------------------------

sub stop_running { my ($model, $container) = @_; $container->{ran} = ran($model, $container); delete $container->{since}; return; }

# Carry out the orders to an agent at once.
sub obey
{
	my ($model, $node, $call) = @_;

	foreach my $row (rows("SELECT action, container_id FROM $call"))
	{
		my ($action, $id) = @$row;
		my $container = $model->{containers}{$id} or next;

		$total{$action}++;
		$container->{since} = $model->{now} if $action =~ /^(start|resume)$/;
		delete $model->{containers}{$id} if $action =~ /^(rejected|shed|stop)$/;
		if ($action eq 'kill')
		{
			delete $model->{containers}{$id};
			obey($model, $node, "yquota.container_ended('$node', '$id', exit_status => -108)");
		}
		elsif ($action eq 'pause')
		{
			stop_running($model, $container);
			obey($model, $node, "yquota.container_paused('$node', '$id')");
		}
	}
	return;
}

sub arrive
{
	my ($model) = @_;
	my $application = between(1, 3);
	my %container = (id => sprintf('container_1_%04d_01_%06d', $application, 1000 + ++$model->{number}), queue => $leaves[ $application - 1 ],
		node => 'n' . between(1, NODES), memory => 1024 * between(1, 3), guaranteed => chance(0.25), ran => 0);

	$session->run(sprintf q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running)
		VALUES ('CONTAINER_START', '%s', yquota.clock(), 'p', 'application_1_%04d', 'u%d', '%s', '%s', '[memory-mb=%d,vcores=1]', '%s', %s)),
		$container{id}, $application, $application, @container{qw(queue node memory)}, $container{guaranteed} ? ('GUARANTEED', 'true') : ('OPPORTUNISTIC', 'false'));
	$model->{containers}{ $container{id} } = \%container;
	obey($model, $container{node}, "yquota.enqueue_container('$container{node}', '$container{id}')");
	return;
}

sub end_one
{
	my ($model) = @_;
	my @ids = sort keys %{ $model->{containers} };
	my @guaranteed = grep { $model->{containers}{$_}{guaranteed} } @ids;
	# the room of an ended container goes to others
	my $container = $model->{containers}{ one_of(@guaranteed && chance(0.7) ? @guaranteed : @ids) // '' } or return;

	delete $model->{containers}{ $container->{id} };
	obey($model, $container->{node}, "yquota.container_ended('$container->{node}', '$container->{id}')");
	return;
}

sub change_rules
{
	my ($model) = @_;
	my $queue = one_of('root', 'root.a', @leaves);

	$model->{rule}{$queue} = chance(0.3) ? undef : one_of(1, 30, 60.5, 300);
	$session->run(sprintf q(UPDATE yquota.queue SET auto_promote_after = %s WHERE path = '%s'), defined $model->{rule}{$queue} ? "'$model->{rule}{$queue} s'" : 'NULL', $queue);
	$queue = one_of('root.a', @leaves);
	$model->{percent}{$queue} = one_of(50, 75, 100);
	$session->run("UPDATE yquota.queue SET maximum_capacity = '$model->{percent}{$queue}' WHERE path = '$queue'");
	return;
}

sub pass_time
{
	my ($model) = @_;

	$model->{now} += one_of(0.5, 1, 10, 45, 120);
	$session->run("SELECT yquota.set_clock('2026-03-02 10:00+00'::timestamptz + $model->{now} * interval '1 s')");
	return;
}

sub cycle
{
	my ($model) = @_;
	my @nodes = chance(0.3) ? () : map { 'n' . $_ } grep { chance(0.6) } 1 .. NODES;
	my $most = chance(0.2) ? between(0, 2) : undef;
	my %on = map { $_ => 1 } @nodes ? @nodes : map { "n$_" } 1 .. NODES;
	my $arguments = sprintf 'nodes => %s, max_containers => %s', @nodes ? "'{" . join(',', @nodes) . "}'" : 'NULL', $most // 'NULL';
	my $ids = sub { my ($more) = @_; return join ' ', map { $_->[0] } rows("SELECT container_id FROM yquota.schedule($arguments$more) WHERE decision = 'promoted'"); };
	my $seen = chance(0.5) ? $ids->(', dry_run => true') : undef;
	my $found = $ids->('');
	my $expected = join ' ', promoted($model, \%on, $most // 100);

	$total{promoted} += () = $expected =~ /\S+/g;
	obey($model, "n$_", "yquota.advance_node_queue('n$_')") foreach 1 .. NODES;
	return ($found eq $expected ? () : "promoted were \"$found\", not \"$expected\"",
		!defined $seen || $seen eq $expected ? () : "a cycle that only looks would promote \"$seen\", not \"$expected\"");
}

sub check_usage
{
	my ($model) = @_;
	my $found = join ' ', map { "@$_" } rows(q(SELECT queue, yquota.amount(allocation, 'memory-mb') FROM yquota.queue_usage WHERE execution_type = 'GUARANTEED' AND containers > 0 ORDER BY 1));
	my $expected = join ' ', map { my $leaf = $_; my $used = used_by($model, sub { $_[0]{queue} eq $leaf }); $used ? "$leaf $used" : () } @leaves;

	return $found eq $expected ? () : "queues use $found, not $expected";
}

sub play
{
	Session::administer("CREATE DATABASE $database TEMPLATE $template");
	@sessions = map { Session->new($database) } 1, 2;
	$session = $sessions[0];
	my $model = { now => 0, number => 0, containers => {}, rule => {}, percent => {} };
	my @wrong;

	$session->run(sprintf q(UPDATE yquota.scheduler_setting SET uses_pause_for_preemption = %s), one_of('true', 'true', 'false'));
	foreach (1 .. STEPS)
	{
		$session = one_of(@sessions);
		one_of(\&arrive, \&arrive, \&arrive, \&end_one, \&change_rules, \&pass_time, \&pass_time)->($model);
		push @wrong, cycle($model) if chance(0.4);
		last if @wrong;
	}
	push @wrong, check_usage($model), map { "@$_" } rows('SELECT * FROM yquota.verify()');
	push @wrong, map { "left behind: @$_" } rows('SELECT container_id FROM yquota.container_update UNION ALL SELECT node FROM yquota.reserved_container');
	$_->close foreach @sessions;
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
	INSERT INTO yquota.queue (path, capacity, user_limit_factor) VALUES ('root', NULL, NULL), ('root.a', '50', NULL), ('root.a.x', '50', 100), ('root.a.y', '50', 100), ('root.b', '50', 100);
	INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_queue_capacity) VALUES (1, 6);
	INSERT INTO yquota.node (name, total) SELECT 'n' || n, '[memory-mb=8192,vcores=64]' FROM generate_series(1, 3) AS n;
	SELECT count(*) FROM generate_series(1, 3) AS n,
		LATERAL yquota.submit_application('application_1_000' || n, 'u' || n, NULL, (ARRAY['x', 'y', 'b'])[n], project => 'p', unmanaged => true);
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
is($failed, 0, 'cycles promote what the model promotes');
cmp_ok($total{$_} // 0, '>', 0, "$_: it happened") foreach @events;
note("$_: $total{$_}") foreach sort keys %total;
done_testing();
