#
# History.pm: random histories, and the SQL for them.
#
# A history is a window of time, the timelines that change in it, and a valid stream of events of a few containers.
# Instants are drawn from a pool that grows with every draw. So they often coincide or differ by a microsecond, and
# often are full hours or midnights.
#
# Prices are global, so the histories of one database follow each other in time. Each has its own names of projects,
# queues, users and applications. All randomness comes from rand(), which the caller seeds.
#
package History;

use strict;
use warnings;
use POSIX ();

use constant { SECOND => 1_000_000, MINUTE => 60_000_000, HOUR => 3_600_000_000, DAY => 86_400_000_000 };

our @resource_types = (
	[ 'memory-mb', 'GENERAL', '1', 1024 ],
	[ 'vcores', 'GENERAL', '1', 1 ],
	[ 'cpu-milli', 'GENERAL', '1', 1000 ],
	[ 'yarn.io/gpu', 'GPU', '1', 1 ],
	[ 'yarn.io/fpga', 'FPGA', '0.35', 3 ]);

sub pick { return $_[ rand @_ ] }
sub chance { return rand() < $_[0] }
sub between { my ($low, $high) = @_; return $low + int(rand($high - $low + 1)) }

sub shuffle
{
	my @list = @_;

	for (my $i = $#list; $i > 0; $i--)
	{
		my $j = int(rand($i + 1));

		@list[ $i, $j ] = @list[ $j, $i ];
	}
	return @list;
}

# Return the text of an instant; microseconds never pass through a float.
sub timestamp
{
	my ($at) = @_;
	my $seconds = POSIX::floor($at / SECOND);

	$seconds-- if $seconds * SECOND > $at;
	return POSIX::strftime('%Y-%m-%d %H:%M:%S', gmtime $seconds)
	  . sprintf('.%06d+00', $at - $seconds * SECOND);
}

sub allocation_text
{
	my ($allocation) = @_;

	return '[' . join(',', map { "$_=$allocation->{$_}" } sort keys %$allocation) . ']';
}

sub quoted
{
	my ($text) = @_;

	return 'NULL' unless defined $text;
	$text =~ s/'/''/g;
	return "'$text'";
}

sub decimal
{
	my ($whole, $decimals) = @_;
	my $text = between(0, $whole);

	$text .= '.' . join('', map { int(rand 10) } 1 .. $decimals) if $decimals;
	return $text;
}

sub random_multiplier
{
	return pick(
		sub { '1' },
		sub { decimal(3, 2) },
		sub { decimal(3, between(1, 17)) . '5' },
		sub { decimal(20, 18) },
		sub { '0' },
		sub { decimal(100000, between(0, 18)) })->();
}

sub random_factor
{
	return pick(sub { '0' }, sub { '1' }, sub { decimal(2, 1) }, sub { decimal(3, 6) }, sub { decimal(999, 6) }, sub { 'NULL' })->();
}

sub random_allocation
{
	my %allocation;

	return {} if chance(0.03);
	return { 'memory-mb' => 1024, vcores => 1 } if chance(0.15);
	$allocation{'memory-mb'} = pick(1024 * between(1, 16), between(1, 100000), 0) if chance(0.9);
	$allocation{vcores} = pick(between(1, 8), between(1, 500)) if chance(0.8);
	$allocation{'cpu-milli'} = between(0, 20000) if chance(0.2);
	$allocation{'yarn.io/gpu'} = between(1, 8) if chance(0.3);
	$allocation{'yarn.io/fpga'} = between(0, 5) if chance(0.2);
	$allocation{ pick(keys %allocation) } = between(1, 1_000_000_000)
	  if %allocation && chance(0.03);
	return \%allocation;
}

# Create a history that begins at an instant; "name" makes its names unique.
sub new
{
	my ($class, $name, $from) = @_;
	my $length = pick(30 * SECOND, 10 * MINUTE, between(1, 4) * HOUR, 30 * HOUR);
	my $self = bless { name => $name, from => $from, to => $from + $length }, $class;

	$self->{pool} = [ $from, $from + int($length / 2) ];
	$self->{projects} = [ map { "$name-$_" } qw(a b c) ];
	$self->{queues} = [ undef, map { "root.$name$_" } '', '.x', '.x.y', '.xy', '.x.y.z' ];
	$self->{nodes} = [ map { "$name-n$_" } 1, 2 ];
	$self->{labels} = [ '', map { "$name-$_" } qw(gpu spot) ];
	$self->{users} = [ map { "$name$_" } qw(ann bob cyd) ];
	$self->{applications} = [ undef, map { "application_${name}_$_" } 1, 2 ];
	$self->{changes} = [ map { $self->random_change } 1 .. pick(0, between(1, 6), between(4, 24)) ];
	$self->{outages} = [ map { $self->random_outage } 1 .. pick(0, 0, 1, between(1, 4)) ];
	$self->{events} = [ map { $self->random_container($_) } 1 .. pick(1, between(3, 8), between(6, 16)) ];
	return $self;
}

sub instant
{
	my ($self) = @_;
	my ($from, $to) = @$self{qw(from to)};
	my $at = pick(
		sub { between($from, $to - 1) },
		sub { $from + SECOND * int(rand(($to - $from) / SECOND)) },
		sub { HOUR * int(between($from, $to - 1) / HOUR) },
		sub { DAY * int($to / DAY) },
		sub { pick(@{ $self->{pool} }) },
		sub { pick(@{ $self->{pool} }) + pick(-1, 1) },
		sub { pick(@{ $self->{pool} }) + pick(1, 5, 10, 60) * SECOND })->();

	$at = between($from, $to - 1) if $at < $from || $at >= $to;
	push @{ $self->{pool} }, $at;
	return $at;
}

# Return the length of the free time before a preemption, and whether every source may report one.
sub random_free_time
{
	return (pick(0, 1, 10 * SECOND, between(1, 30 * MINUTE), HOUR), pick(0, 0, 1));
}

# Return a random waiting_factor, which is the part of the price that a waiting container pays.
sub random_waiting_factor
{
	return pick('0', '0', '1', '0.5', decimal(0, 6));
}

# Return the charging mode of all projects, and a charging mode of one project, which may end.
sub random_mode
{
	return pick('dearest', 'sum', 'sum_of_groups');
}

sub random_project_mode
{
	return chance(0.3) ? undef : random_mode();
}

# Return a container's is_running, as an event reports it or leaves it out. A container that may
# wait often does.
sub random_running
{
	my ($execution_type) = @_;

	return ($execution_type || '') eq 'OPPORTUNISTIC' ? pick(undef, 0, 0, 0, 1) : pick(undef, undef, undef, 0, 1);
}

# Return a change of a timeline: [kind, instant, ...].
sub random_change
{
	my ($self) = @_;
	my $at = $self->instant;

	return pick(
		sub { [ 'multiplier', $at, pick('GENERAL', 'GENERAL', 'GPU', 'FPGA'), random_multiplier() ] },
		sub { [ 'multiplier', $at, pick('GENERAL', 'GENERAL', 'GPU', 'FPGA'), random_multiplier() ] },
		sub {
			my ($name, undef, undef, $unit) = @{ pick(@resource_types) };

			[ 'base_price', $at, $name, random_multiplier(), pick($unit, $unit, between(1, 5000)) ];
		},
		sub {
			my $dimension = pick(qw(queue queue application username project label label execution_type));
			my $name =
			    $dimension eq 'queue' ? pick('root', grep { defined } @{ $self->{queues} })
			  : $dimension eq 'application' ? pick(grep { defined } @{ $self->{applications} })
			  : $dimension eq 'username' ? pick(@{ $self->{users} })
			  : $dimension eq 'project' ? pick(@{ $self->{projects} })
			  : $dimension eq 'label' ? pick(grep { $_ ne '' } @{ $self->{labels} })
			  : pick('GUARANTEED', 'OPPORTUNISTIC');

			[ 'factor', $at, $dimension, $name, random_factor() ];
		},
		sub { [ 'rule', $at, pick(0, 1, 10 * SECOND, between(1, 30 * MINUTE)), random_free_time(), random_waiting_factor(), random_mode() ] },
		sub { [ 'mode', $at, pick(@{ $self->{projects} }), random_project_mode() ] })->();
}

# Return an outage: [project or undef for all, from, to, how it is reported]. An outage that is not
# forgiven is charged.
sub random_outage
{
	my ($self) = @_;
	my ($from, $to) = sort { $a <=> $b } $self->instant, $self->instant;

	return [ chance(0.5) ? undef : pick(@{ $self->{projects} }), $from, $from == $to ? $to + 1 : $to,
		pick(qw(report report forgive charge)) ];
}

# Return the events of one container in order of time, all valid and with at most one update at each instant. Some
# containers end several times. A second end is at another instant, after which updates continue, or at the same
# instant with another status. Some ends come from yquota itself, and many containers are preempted.
sub random_container
{
	my ($self, $number) = @_;
	my @instants = sort { $a <=> $b } map { $self->instant } 0 .. pick(1, 1, 2, 3, between(2, 7));
	my $finished = @instants > 1 && chance(0.75);
	my %common = (id => "container_$self->{name}_$number", project => pick(@{ $self->{projects} }));
	my $execution_type = pick(undef, 'GUARANTEED', 'OPPORTUNISTIC', 'OPPORTUNISTIC');
	my @events = ({ %common, event => 'START', at => shift @instants,
		username => pick(@{ $self->{users} }), owner_in_username => chance(0.2),
		application => pick(@{ $self->{applications} }), queue => pick(@{ $self->{queues} }),
		node => pick(undef, 'node1', @{ $self->{nodes} }), allocation => random_allocation(),
		execution_type => $execution_type, is_running => random_running($execution_type) });
	my $finish = $finished ? pop @instants : undef;
	my %seen;

	foreach my $at (grep { !$seen{$_}++ } @instants)
	{
		push @events, { %common, event => 'UPDATE', at => $at, without_project => chance(0.5),
			allocation => chance(0.7) ? random_allocation() : undef,
			queue => chance(0.2) ? pick(@{ $self->{queues} }) : undef,
			node => chance(0.2) ? pick('node2', @{ $self->{nodes} }) : undef,
			execution_type => chance(0.2) ? pick('GUARANTEED', 'OPPORTUNISTIC') : undef,
			is_running => chance(0.5) ? pick(0, 1) : undef };
	}
	return @events unless $finished;
	foreach my $at ($finish, map { pick($finish, between($events[0]{at}, $self->{to} - 1), pick(@{ $self->{pool} })) } 1 .. pick(0, 0, 0, 1, 3))
	{
		push @events, { %common, event => 'FINISH', at => $at, without_project => chance(0.5),
			exit_status => pick(0, 0, 143, -100, undef, -102, -102, -102), source => pick(undef, undef, undef, 'scheduler', 'scheduler', 'node_lost') }
		  if $at >= $events[0]{at};
	}
	return sort { $a->{at} <=> $b->{at} } @events;
}

#
# Rendering
#
our $columns = 'event, container_id, occurred_at, project, application_id, username, queue, node, '
  . 'allocation, execution_type, exit_status, is_running, source';

# Return the columns of an event as texts, with NULL as undef.
sub fields
{
	my ($event) = @_;
	my $username = $event->{username};

	$username = "$event->{project}__$username" if $event->{owner_in_username};
	return ($event->{event} eq 'COMPUTE' ? 'QUOTA_COMPUTE' : "CONTAINER_$event->{event}", $event->{id}, timestamp($event->{at}),
		$event->{owner_in_username} || $event->{without_project} ? undef : $event->{project},
		$event->{application}, $username, $event->{queue}, $event->{node},
		defined $event->{allocation} ? allocation_text($event->{allocation}) : undef,
		$event->{execution_type}, $event->{exit_status},
		defined $event->{is_running} ? ($event->{is_running} ? 't' : 'f') : undef,
		defined $event->{source} ? $event->{source} : 'feed' . int(rand 3));
}

sub insert_statement
{
	my @rows = map { '(' . join(', ', map { quoted($_) } fields($_)) . ')' } @_;

	return "INSERT INTO yquota.container_event ($columns) VALUES\n" . join(",\n", @rows);
}

sub copy_statement
{
	return "COPY yquota.container_event ($columns) FROM STDIN;\n"
	  . join('', map { join("\t", map { defined $_ ? $_ : '\N' } fields($_)) . "\n" } @_) . "\\.\n";
}

# Return a statement that inserts the events, in one of several forms.
sub statement
{
	my @events = @_;
	my $form = int(rand 5);

	return copy_statement(@events) if $form == 0;
	if ($form == 1 && @events > 1)
	{
		my $first = insert_statement(splice @events, 0, int(@events / 2));

		return "WITH first AS ($first)\n" . insert_statement(@events);
	}
	return insert_statement(@events);
}

# Return SQL that makes a change of a timeline.
sub change_statement
{
	my ($change) = @_;
	my ($kind, $at, @values) = @$change;
	my $instant = quoted(timestamp($at));

	return "SELECT yquota.set_multiplier('$values[0]', $values[1], $instant)" if $kind eq 'multiplier';
	return "SELECT yquota.set_base_price('$values[0]', $values[1], $values[2], $instant)" if $kind eq 'base_price';
	return "INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) "
	  . "VALUES ('$values[0]', '$values[1]', $instant, $values[2]) "
	  . "ON CONFLICT (dimension, name, effective_at) DO UPDATE SET factor = EXCLUDED.factor"
	  if $kind eq 'factor';
	return "INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) "
	  . "VALUES ('$values[0]', $instant, ${\ quoted($values[1])}) "
	  . "ON CONFLICT (project, effective_at) DO UPDATE SET charging_mode = EXCLUDED.charging_mode"
	  if $kind eq 'mode';
	return "INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, free_before_preemption, any_preemption_source, waiting_factor, charging_mode) "
	  . "VALUES ($instant, interval '1 microsecond' * $values[0], interval '1 microsecond' * $values[1], $values[2] <> 0, $values[3], '$values[4]') "
	  . "ON CONFLICT (project, effective_at) DO UPDATE SET minimum_run_time = EXCLUDED.minimum_run_time, "
	  . "free_before_preemption = EXCLUDED.free_before_preemption, any_preemption_source = EXCLUDED.any_preemption_source, "
	  . "waiting_factor = EXCLUDED.waiting_factor, charging_mode = EXCLUDED.charging_mode";
}

# Make the same change in the model.
sub change_model
{
	my ($model, $change) = @_;
	my ($kind, $at, @values) = @$change;

	return $model->set_multiplier($values[0], $at, $values[1]) if $kind eq 'multiplier';
	return $model->set_base_price($values[0], $at, $values[1], $values[2]) if $kind eq 'base_price';
	return $model->set_factor($values[0], $values[1], $at, $values[2]) if $kind eq 'factor';
	return $model->set_mode($values[0], $at, $values[1]) if $kind eq 'mode';
	return $model->set_rule($at, @values);
}

sub outage_statement
{
	my ($outage) = @_;
	my ($project, $from, $to, $how) = @$outage;
	my ($from_text, $to_text, $project_text) = (quoted(timestamp($from)), quoted(timestamp($to)), quoted($project));
	my $report = "SELECT yquota.report_outage($from_text, $to_text, 'outage of a test', $project_text)";
	my $note = "INSERT INTO yquota.outage (started_at, ended_at, reason, project, forgiven) "
	  . "VALUES ($from_text, $to_text, 'gap of a test', $project_text, false)";

	return $report if $how eq 'report';
	return $note if $how eq 'charge';
	return "$note;\n$report";
}

# Add the same outage to the model.
sub outage_model
{
	my ($model, $outage) = @_;
	my ($project, $from, $to, $how) = @$outage;

	$model->add_outage($project, $from, $to) if $how ne 'charge';
	return;
}

1;
