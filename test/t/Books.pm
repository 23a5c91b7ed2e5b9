# The expected books of a database after any fault of its server. The model of the property tests
# (test/property/Model.pm, exact integers) computes the amounts from the acknowledged events and from the timelines.
#
# A test knows the points of the timelines that it has set. Points that the worker computed, and outages that it made,
# are read from the database. Once the test has seen them, they must stay.
#
# Amounts are compared at the clock of the statement that shows them, so a test may use the system's clock.

package Books;

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../property";
use History;
use Model;

my $microseconds = '(extract(epoch FROM %s) * 1000000)::bigint';

sub us { return sprintf($microseconds, $_[0]); }

my $amounts = "SELECT 'clock', '', " . us('yquota.statement_clock()') . <<'SQL';
::text
UNION ALL SELECT 'project', project, trim_scale(charged + accrued)::text FROM yquota.project_balance
UNION ALL SELECT 'container', container_id, trim_scale(cost)::text FROM yquota.container_cost
SQL

my $timelines = "SELECT 'multiplier', price_group, " . us('effective_at') . <<"SQL";
, trim_scale(multiplier), 1, pinned
FROM yquota.price WHERE effective_at > '-infinity'
UNION ALL
SELECT 'base_price', resource_type, ${\ us('effective_at') }, trim_scale(base_price), unit, true
FROM yquota.base_price WHERE effective_at > '-infinity'
UNION ALL
SELECT 'outage', project, ${\ us('started_at') }, ${\ us('ended_at') }, 1, false FROM yquota.outage WHERE forgiven
SQL

# The prices in force, and the instant of the clock.
sub current_prices
{
	return <<~"SQL";
		SELECT ${\ us('yquota.statement_clock()') }, price_group, resource_type, multiplier, base_price, unit
		FROM yquota.current_price WHERE price_group <> 'GPU'
		SQL
}

# The settings of each database of these tests, as SQL and for the model.
my $minimum_run_time = 3 * History::SECOND;
my $waiting_factor = '0.3';
my %queue_factor = ('root.prod' => '1.5', 'root.prod.night' => '0.25');

sub settings
{
	return join(";\n",
		"INSERT INTO yquota.price_group (name) VALUES ('FPGA')",
		map({ "INSERT INTO yquota.resource_type (name, price_group, base_price, unit) VALUES ('$_->[0]', '$_->[1]', $_->[2], $_->[3])" }
			grep { $_->[0] =~ /^(?:cpu-milli|yarn.io\/fpga)$/ } @History::resource_types),
		"INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, waiting_factor) VALUES ('-infinity', interval '1 microsecond' * $minimum_run_time, $waiting_factor) "
		  . 'ON CONFLICT (project, effective_at) DO UPDATE SET minimum_run_time = EXCLUDED.minimum_run_time, waiting_factor = EXCLUDED.waiting_factor',
		map({ "INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', '$_', '-infinity', $queue_factor{$_})" }
			sort keys %queue_factor));
}

sub new
{
	my ($class) = @_;

	return bless {
		events => {},      # container -> its acknowledged events
		set => {},         # "kind name instant" -> "value unit": points that the test has set
		computed => {},    # the same for points that the worker has computed
		outages => {},     # "project from to" -> 1
		known => {},       # points and outages when the model was last made
		final => {},       # finished container -> what it owes
		compared => 0,     # number of compared amounts
	}, $class;
}

# Add an event that was acknowledged.
sub take
{
	my ($self, $event) = @_;

	push @{ $self->{events}{ $event->{id} } }, $event;
	delete $self->{final}{ $event->{id} };
	return;
}

# Add a point of a timeline that was acknowledged: [kind, instant, name, value, unit].
sub take_point
{
	my ($self, $point) = @_;
	my ($kind, $at, $name, $value, $unit) = @$point;

	$self->{set}{"$kind $name $at"} = decimal($value) . ' ' . ($unit // 1);
	return;
}

sub decimal { return Model::text(Model::scaled($_[0], 18) * Math::BigInt->new(10)->bpow(Model::DECIMALS - 18)); }

# Forget points of the timelines that were lost with their server. Return the lost points that the test had set,
# which may be set again.
sub lose
{
	my ($self, $client) = @_;
	my %shown = map { ("$_->[0] $_->[1] $_->[2]" => 1) } rows($client->run($timelines));
	my %lost = map { ($_ => delete $self->{set}{$_}) } grep { !$shown{$_} } keys %{ $self->{set} };

	$self->{computed} = {};
	$self->{outages} = {};
	return map { [ (split ' ')[ 0, 2, 1 ], split(' ', $lost{$_}) ] } sort keys %lost;
}

sub rows { return map { [ split /\|/, $_, -1 ] } split /\n/, $_[0]; }

# differences(CLIENT): return lines that name the wrong figures of the database.
sub differences
{
	my ($self, $client) = @_;
	my $version = 'SELECT max(version) FROM yquota.pricing_change';
	my ($before, $found, $points);

	# repeat this while the worker changes prices in between
	do
	{
		$before = $client->run($version);
		$found = $client->run($amounts);
		$points = $client->run($timelines);
	} while $client->run($version) ne $before;
	my ($now) = map { $_->[2] } grep { $_->[0] eq 'clock' } rows($found);

	return ($self->learn($now, rows($points)), $self->compare($now, grep { $_->[0] ne 'clock' } rows($found)));
}

# Learn the timelines that the database shows at an instant, and return what is wrong in them. A
# computed point must stay after it has taken effect. While the clock stands still, the worker may
# measure again and replace a point that lies ahead.
sub learn
{
	my ($self, $now, @rows) = @_;
	my (@lines, %shown, %computed, %outages);

	foreach my $row (@rows)
	{
		my ($kind, $name, $at, $value, $unit, $is_set) = @$row;

		if ($kind eq 'outage')
		{
			$outages{"$name $at $value"} = 1;
			next;
		}
		my $point = decimal($value) . " $unit";
		my $key = "$kind $name $at";

		$shown{$key} = $point;
		$computed{$key} = $point if $is_set eq 'f' && $at <= $now;
		push @lines, "nobody set $key: $point" if $is_set eq 't' && !exists $self->{set}{$key};
	}
	my %wanted = (%{ $self->{computed} }, %{ $self->{set} });
	foreach my $key (sort keys %wanted)
	{
		push @lines, "$key: expected $wanted{$key}, found " . ($shown{$key} // 'nothing')
		  if ($shown{$key} // '') ne $wanted{$key};
	}
	push @lines, map { "outage $_ is gone" } grep { !$outages{$_} } sort keys %{ $self->{outages} };
	$self->{computed} = \%computed;
	$self->{outages} = \%outages;
	$self->forget_finals({ %shown, map { ("outage $_" => 1) } keys %outages });
	return @lines;
}

# Charges of finished containers must stay the same, unless a change of the past affects them.
sub forget_finals
{
	my ($self, $known) = @_;
	my $earliest = Model::FOREVER;
	my $last = $self->{known};

	foreach my $key (keys %{ { %$known, %$last } })
	{
		next if ($known->{$key} // '') eq ($last->{$key} // '');
		my ($at) = $key =~ /^\S+ \S* (-?\d+)/;

		$earliest = $at if $at < $earliest;
	}
	foreach my $id (keys %{ $self->{final} })
	{
		delete $self->{final}{$id} if $self->{final}{$id}{at} >= $earliest;
	}
	$self->{known} = $known;
	return;
}

# Return the rows of current_prices() that differ from what the test has set.
sub wrong_prices
{
	my ($self, @rows) = @_;
	my @lines;

	foreach my $row (@rows)
	{
		my ($now, $group, $type, $multiplier, $base_price, $unit) = split /\|/, $row;
		my ($initial) = grep { $_->[0] eq $type } @History::resource_types;

		push @lines, map { "$type at $now: $_" } (
			$self->wrong_point('multiplier', $group, $now, '1 1', decimal($multiplier) . ' 1'),
			$self->wrong_point('base_price', $type, $now, decimal($initial->[2]) . " $initial->[3]", decimal($base_price) . " $unit"));
	}
	return @lines ? @lines : @rows ? () : 'no prices';
}

sub wrong_point
{
	my ($self, $kind, $name, $now, $wanted, $found) = @_;
	my $last = -Model::FOREVER;

	foreach my $key (keys %{ $self->{set} })
	{
		my ($its_kind, $its_name, $at) = split / /, $key;

		($last, $wanted) = ($at, $self->{set}{$key})
		  if $its_kind eq $kind && $its_name eq $name && $at <= $now && $at > $last;
	}
	return $found eq $wanted ? () : "$kind is $found, not $wanted";
}

sub model
{
	my ($self) = @_;
	my $model = Model->new;

	$model->add_resource_type(@$_) foreach @History::resource_types;
	$model->set_rule(-Model::FOREVER, $minimum_run_time, 0, 0, $waiting_factor);
	$model->set_factor('queue', $_, -Model::FOREVER, $queue_factor{$_}) foreach keys %queue_factor;
	foreach my $key (keys %{ $self->{known} })
	{
		my ($kind, $name, $at, $to) = split / /, $key;
		my ($value, $unit) = split / /, $self->{known}{$key};

		$model->add_outage($name eq '' ? undef : $name, $at, $to) if $kind eq 'outage';
		$model->set_multiplier($name, $at, $value) if $kind eq 'multiplier';
		$model->set_base_price($name, $at, $value, $unit) if $kind eq 'base_price';
	}
	return $model;
}

# Compare the amounts that are owed at an instant with the rows of projects and containers.
sub compare
{
	my ($self, $now, @rows) = @_;
	my %found = map { ("$_->[0] $_->[1]" => $_->[2]) } @rows;
	my $model = $self->model;
	my (%owed, @lines);

	foreach my $id (keys %{ $self->{events} })
	{
		my @events = @{ $self->{events}{$id} };
		my ($start) = grep { $_->{event} eq 'START' } @events;
		my ($finish) = grep { $_->{event} eq 'FINISH' } @events;

		next if !$start;
		my $cost = $self->{final}{$id} && $self->{final}{$id}{cost};
		if (!defined $cost)
		{
			$model->take($_) foreach @events;
			$cost = Model::cost($model->pieces($id, $now), -Model::FOREVER, $now + 1);
			$self->{final}{$id} = { cost => $cost, at => $finish->{at} } if $finish;
		}
		$owed{"container $id"} = $cost;
		$owed{"project $start->{project}"} = ($owed{"project $start->{project}"} // 0) + $cost;
	}
	foreach my $key (sort keys %{ { %owed, %found } })
	{
		my $want = exists $owed{$key} ? Model::text($owed{$key}) : 'nothing';

		$self->{compared}++;
		next if $key =~ /^project / && $want eq 'nothing' && $found{$key} eq '0';
		push @lines, "$key owes $want, found " . ($found{$key} // 'nothing') if $want ne ($found{$key} // '');
	}
	return @lines;
}

1;
