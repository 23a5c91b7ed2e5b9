# Load on a database from several clients at once, for tests that kill servers. A journal records the outcome of every
# statement.
#
# Clients send events of containers of the same few projects: single rows, batches, COPY, transactions, rolled back
# transactions, and repetitions. Events come late, early and in any order, so one client may send a FINISH long before
# another client sends the START. In between the clients set multipliers and base prices, read balances and seal
# history. Where the test sets the clock, they also move it.
#
# The journal is written before a statement is sent, and when its outcome is known: "acknowledged"; "failed" with the
# SQLSTATE; or "unknown", because the connection was lost. Events that failed or are unknown are sent again. The
# driver looks up whether a price was set, and where the clock is. Acknowledged events go to Books.pm, which computes
# what is owed for them.
#
# All randomness comes from rand(), which the caller seeds.

package Driver;

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../property";
use Books;
use Client;
use History;
use IO::Select;
use Test::More;
use Time::HiRes qw(time sleep);

use constant { PATIENCE_S => 180, DUE => 150 };

# Actions of clients and their relative frequencies.
my %weights = (single => 40, few => 15, batch => 8, copy => 6, transaction => 6, rolled_back => 3,
	repeat => 6, multiplier => 3, base_price => 2, balance => 3, seal => 0.3);

# SQLSTATEs of actions that may fail without harm: a price in the past, two changes at once, a table
# in use.
my %may_fail = (multiplier => qr/^(?:55000|40001)$/, base_price => qr/^(?:55000|40001)$/, seal => qr/^55/);

my @shapes = (
	{ 'memory-mb' => 1024, vcores => 1 }, { 'memory-mb' => 4096, vcores => 2 }, { 'memory-mb' => 2048, vcores => 4 },
	{ 'memory-mb' => 1536, vcores => 1, 'cpu-milli' => 1700 }, { 'memory-mb' => 8192, vcores => 2, 'yarn.io/gpu' => 1 },
	{ 'yarn.io/gpu' => 3 }, { 'memory-mb' => 777, 'yarn.io/fpga' => 1 }, {});

# new(NODE, DATABASE, JOURNAL, CLIENTS, AT): create the database and connect. AT is the clock's
# initial time in microseconds, or undef for the system's clock.
sub new
{
	my ($class, $node, $database, $journal, $clients, $at) = @_;
	my $self = bless {
		node => $node, database => $database, size => $clients, clock => $at,
		books => Books->new, projects => [ map { "project$_" } 1 .. 4 ],
		statements => 0, containers => 0, running => {}, due => [], again => [], unknown => [], sent => [],
		acknowledged => {}, rows => {}, last => {}, counts => {}, unexpected => [], most => 0,
	}, $class;

	open $self->{journal}, '>>', $journal or die "could not open \"$journal\": $!\n";
	$self->{journal}->autoflush(1);
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0");
	$node->safe_psql($database, $self->first_statements);
	$self->connect;
	return $self;
}

# The test sets the prices of GENERAL and FPGA, and the worker computes that of GPU.
sub first_statements
{
	my ($self) = @_;
	my $now = $self->now;
	my @points = map { [ 'multiplier', $now, $_, '1' ] } qw(GENERAL FPGA);
	my $set_clock = defined $self->{clock} ? 'SELECT yquota.set_clock(' . instant($now) . ')' : 'SELECT 1';

	$self->{books}->take_point($_) foreach @points;
	return join(";\n", 'BEGIN', 'CREATE EXTENSION yquota', $set_clock, Books::settings(),
		map({ "INSERT INTO yquota.project (name) VALUES ('$_')" } @{ $self->{projects} }),
		q(INSERT INTO yquota.node (name, total) VALUES ('node1', '[memory-mb=500000,vcores=200,yarn.io/gpu=40]')),
		map({ History::change_statement($_) } @points), 'COMMIT');
}

sub instant { return History::quoted(History::timestamp($_[0])); }

# Return the clock in microseconds.
sub now { return $_[0]{clock} // int(time * 1_000_000); }

sub connect
{
	my ($self) = @_;

	$self->{clients} = [
		map {
			my $client = Client->new($self->{node}, $self->{database});

			$client->run("SET client_min_messages = warning; SET timezone = 'UTC'; SET yquota.on_bad_event = 'set_aside'");
			$client->{source} = "client$_";
			chomp($client->{backend} = $client->run('SELECT pg_backend_pid()'));
			$client;
		} 1 .. $self->{size} ];
	return;
}

sub disconnect
{
	my ($self) = @_;

	$_->close foreach @{ $self->{clients} };
	$self->{clients} = [];
	return;
}

# Continue at another server, without connecting to it yet.
sub move
{
	my ($self, $node) = @_;

	$self->disconnect;
	$self->{node} = $node;
	return;
}

# Drop the database, and add the number of its events to counts.
sub finish
{
	my ($self, $total) = @_;

	$self->disconnect;
	$self->{node}->safe_psql('postgres', "DROP DATABASE $self->{database} WITH (FORCE)");
	$total->{$_} += $self->{counts}{$_} foreach keys %{ $self->{counts} };
	$total->{statements} += $self->{statements};
	$total->{events} += keys %{ $self->{acknowledged} };
	$total->{containers} += $self->{containers};
	$total->{amounts_compared} += $self->{books}{compared};
	return;
}

# Wait until a worker has started and has charged up to now.
sub has_worker
{
	my ($self) = @_;
	my $now = instant($self->now);

	return $self->{node}->poll_query_until($self->{database}, <<~SQL);
		SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'yquota worker' AND datname = current_database())
		   AND EXISTS (SELECT FROM yquota.container_event WHERE source = 'yquota worker' AND occurred_at >= $now)
		SQL
}

#
# Events
#
sub common
{
	my ($self, $id) = @_;

	return (id => $id, without_project => History::chance(0.7));
}

sub random_change
{
	my ($self) = @_;

	return (allocation => History::pick(@shapes), queue => History::chance(0.2) ? 'root.prod.night' : undef,
		execution_type => History::chance(0.1) ? 'OPPORTUNISTIC' : undef,
		is_running => History::chance(0.2) ? History::pick(0, 1) : undef);
}

# Return the events of a new container, which has ended within the last hours or still runs.
sub new_container
{
	my ($self) = @_;
	my $now = $self->now;
	my $id = sprintf 'container_%06d', ++$self->{containers};
	my $is_over = History::chance(0.6);
	my $start = $now - ($is_over ? History::between(2 * History::SECOND, 2 * History::HOUR) : History::between(0, History::SECOND));
	my %at = $is_over ? map { (History::between($start + 1, $now) => 1) } 0 .. History::pick(0, 0, 1, 2, 4) : ();
	my @instants = sort { $a <=> $b } keys %at;
	my $finish = pop @instants;
	my $project = History::pick(@{ $self->{projects} });
	my @events = ({ id => $id, project => $project, event => 'START', at => $start,
		application => 'application_' . int($self->{containers} / 20), username => History::pick(qw(ann bob cyd)),
		queue => History::pick(undef, 'root.test', 'root.prod', 'root.prod.night'), node => History::pick(undef, 'node1'),
		allocation => History::pick(@shapes), execution_type => History::pick(undef, 'GUARANTEED', 'OPPORTUNISTIC') });

	push @events, map { { %{ $events[0] }, $self->random_change, event => 'UPDATE', at => $_, node => undef } } @instants;
	push @events, { $self->common($id), project => $project, event => 'FINISH', at => $finish } if $is_over;
	$self->{running}{$id} = { project => $project, last => $start } if !$is_over;
	return @events;
}

# Return the next event of a running container.
sub next_event
{
	my ($self) = @_;
	my $id = History::pick(sort keys %{ $self->{running} });
	my $container = $self->{running}{$id};
	my $now = $self->now;
	my %common = ($self->common($id), project => $container->{project}, at => $now);

	return () if $now <= $container->{last};
	$container->{last} = $now;
	return ({ %common, $self->random_change, event => 'UPDATE' }) if History::chance(0.4);
	delete $self->{running}{$id};
	return ({ %common, event => 'FINISH' });
}

# Return up to so many events that are due, in any order. If there are few, create new containers.
sub take_due
{
	my ($self, $size) = @_;

	while (@{ $self->{due} } < ($size > DUE ? $size : DUE) && $self->{containers} < $self->{most})
	{
		my $running = keys %{ $self->{running} };
		my @events = $running > 40 || $running && History::chance(0.3) ? $self->next_event : ();

		push @{ $self->{due} }, @events ? @events : $self->new_container;
	}
	my @taken;
	while (@taken < $size && @{ $self->{due} })
	{
		push @taken, splice @{ $self->{due} }, rand @{ $self->{due} }, 1;
	}
	return @taken;
}

#
# Statements are hashes of kind, sql, and events, point or clock
#
sub insert
{
	my ($source, @events) = @_;

	return @events ? History::insert_statement(map { { %$_, source => $source } } @events) : 'SELECT 1';
}

# Return several statements in one transaction. The transaction takes containers in the order of their ids, so that
# two transactions do not wait for each other.
sub several
{
	my ($source, @events) = @_;
	my @sorted = sort { $a->{id} cmp $b->{id} || $a->{at} <=> $b->{at} } @events;
	my @part = splice @sorted, 0, @sorted / 2;

	return insert($source, @part) . ";\nSAVEPOINT a;\n" . insert($source, @sorted) . ";\nROLLBACK TO a;\n" . insert($source, @sorted);
}

sub any_kind
{
	my ($self) = @_;
	my %weight = (%weights, defined $self->{clock} ? (clock => 4) : ());
	my $at = 0;

	$at += $_ foreach values %weight;
	$at = rand $at;
	foreach my $kind (sort keys %weight)
	{
		return $kind if ($at -= $weight{$kind}) < 0;
	}
	return 'single';
}

sub statement
{
	my ($self, $kind, $source) = @_;
	my %size = (single => 1, few => History::between(2, 10), batch => 100, copy => History::between(50, 200),
		transaction => 8, rolled_back => 5);
	my @events = $size{$kind} ? $self->take_due($size{$kind}) : ();
	my $with_events = sub { return { kind => $kind, events => \@events, sql => $_[0] } };

	return undef if $size{$kind} && !@events;
	return $with_events->(History::copy_statement(map { { %$_, source => $source } } @events)) if $kind eq 'copy';
	return $with_events->("BEGIN;\n" . several($source, @events) . ";\nCOMMIT") if $kind eq 'transaction';
	return $with_events->("BEGIN;\n" . several($source, @events) . ";\nROLLBACK") if $kind eq 'rolled_back';
	return $with_events->(insert($source, @events)) if $size{$kind};
	return $self->repetition($source) if $kind eq 'repeat';
	return $self->price($kind) if $kind eq 'multiplier' || $kind eq 'base_price';
	return { kind => $kind, sql => 'SELECT * FROM yquota.project_balance' } if $kind eq 'balance';
	return { kind => $kind, sql => 'SELECT yquota.seal_history()' } if $kind eq 'seal';
	return $self->clock_move;
}

# Move the clock. Only one client does this at a time, so that the clock does not go back.
sub clock_move
{
	my ($self) = @_;
	my $clock = $self->{clock} + History::between(1, 20 * History::MINUTE);

	return undef if grep { $_->{statement} && defined $_->{statement}{clock} } @{ $self->{clients} };
	return { kind => 'clock', clock => $clock, sql => 'SELECT yquota.set_clock(' . instant($clock) . ')' };
}

# Return events again that were acknowledged before.
sub repetition
{
	my ($self, $source) = @_;
	my @events = map { History::pick(@{ $self->{sent} }) } 1 .. History::pick(1, 10, 60);

	return @{ $self->{sent} } ? { kind => 'repeat', events => \@events, sql => insert($source, @events) } : undef;
}

# Set a price from an instant in the near future. The number of prices is limited, because the model
# splits each container's life at each price.
sub price
{
	my ($self, $kind) = @_;
	my ($name, undef, undef, $unit) = @{ History::pick(@History::resource_types) };
	my $at = $self->now + History::between(0, defined $self->{clock} ? 10 * History::MINUTE : 300_000);

	return undef if time < ($self->{next_price} // 0);
	$self->{next_price} = time + rand 0.1;
	my $point =
	    $kind eq 'multiplier'
	  ? [ $kind, $at, History::pick('GENERAL', 'GENERAL', 'FPGA'), History::random_multiplier() ]
	  : [ $kind, $at, $name, History::random_multiplier(), $unit ];

	return { kind => $kind, point => $point, sql => History::change_statement($point) };
}

#
# Sending statements, and their outcomes
#
sub note_outcome
{
	my ($self, $statement, $outcome) = @_;
	my $journal = $self->{journal};

	printf $journal "%.6f %s s%d %s\n", time, $self->{database}, $statement->{number}, $outcome;
	$self->{counts}{ (split ' ', $outcome)[0] }++;
	return;
}

sub send
{
	my ($self, $client, $statement) = @_;
	my $journal = $self->{journal};

	$statement->{number} = ++$self->{statements};
	$statement->{source} = $client->{source};
	printf $journal "%.6f %s s%d sent by %s: %s, %d events\n%s\n", time, $self->{database}, $statement->{number},
	  $client->{source}, $statement->{kind}, scalar @{ $statement->{events} // [] }, $statement->{sql};
	$client->{statement} = $statement;
	$client->send($statement->{sql});
	return;
}

sub receive
{
	my ($self, $client) = @_;
	my $outcome = $client->read or return;
	my $statement = delete $client->{statement};

	$client->{is_lost} = $outcome->{lost};
	if ($outcome->{lost} || !defined $outcome->{sqlstate} && !is_proof($statement, $outcome->{answer}))
	{
		$self->note_outcome($statement, 'unknown');
		push @{ $self->{unknown} }, $statement;
	}
	elsif (defined $outcome->{sqlstate})
	{
		$self->note_outcome($statement, "failed $outcome->{sqlstate}");
		$self->failed($statement, $outcome);
	}
	else
	{
		$self->note_outcome($statement, 'acknowledged');
		$self->acknowledged($statement);
	}
	return;
}

# Return whether the answer shows that the server has executed the statement.
sub is_proof
{
	my ($statement, $answer) = @_;

	return $answer =~ /^(?:INSERT 0|COPY) \d+\n\z|^(?:COMMIT|ROLLBACK)\n\z/m if $statement->{events};
	return $answer ne '';
}

sub failed
{
	my ($self, $statement, $outcome) = @_;
	my $kind = $statement->{kind};

	push @{ $self->{again} }, $statement if $statement->{events};
	return if $may_fail{$kind} && $outcome->{sqlstate} =~ $may_fail{$kind};
	return if $outcome->{sqlstate} =~ /^57P/;
	push @{ $self->{unexpected} }, "s$statement->{number}, $kind: " . substr($outcome->{answer}, 0, 1000);
	return;
}

sub acknowledged
{
	my ($self, $statement) = @_;
	my $events = $statement->{events} // [];

	$self->{clock} = $statement->{clock} if defined $statement->{clock} && $statement->{clock} > $self->{clock};
	$self->{books}->take_point($statement->{point}) if $statement->{point};
	if ($statement->{kind} eq 'rolled_back')
	{
		push @{ $self->{due} }, @$events;
		return;
	}
	$self->{rows}{ $statement->{source} } += @$events;
	foreach my $event (@$events)
	{
		my $last = \$self->{last}{ $statement->{source} };

		$$last = $event->{at} if $event->{at} > ($$last // $event->{at} - 1);
		next if $self->{acknowledged}{ key($event) }++;
		$self->{books}->take($event);
		push @{ $self->{sent} }, $event;
	}
	return;
}

sub key { return "$_[0]{id} $_[0]{event} $_[0]{at}"; }

# Return the next statement of an idle client: first statements that must be sent again, then any statement if the
# driver makes load.
sub next_statement
{
	my ($self, $client, $makes_load) = @_;
	my $statement = shift @{ $self->{again} };

	return { %$statement, sql => insert($client->{source}, @{ $statement->{events} }), kind => 'again' } if $statement;
	return $makes_load ? $self->statement($self->any_kind, $client->{source}) : undef;
}

# pump(SECONDS, MAKES_LOAD, DRIVER...): let clients work for a time. Without load, they work until
# nothing must be sent again. Clients that lose their connection stay away.
sub pump
{
	my ($seconds, $makes_load, @drivers) = @_;
	my $end = time + $seconds;
	my $is_at_work = 1;

	while ($makes_load ? time < $end : $is_at_work)
	{
		my (%by_handle, $select);

		die "clients are at work after $seconds s\n" if time > $end + PATIENCE_S;
		$select = IO::Select->new;
		foreach my $driver (@drivers)
		{
			foreach my $client (grep { !$_->{is_lost} } @{ $driver->{clients} })
			{
				my $statement = $client->is_busy ? undef : $driver->next_statement($client, $makes_load);

				$driver->send($client, $statement) if $statement;
				next if !$client->is_busy;
				$by_handle{ $client->handle } = [ $driver, $client ];
				$select->add($client->handle);
			}
		}
		$is_at_work = $select->count;
		foreach my $handle ($select->can_read(0.01))
		{
			my ($driver, $client) = @{ $by_handle{$handle} };

			$driver->receive($client);
		}
	}
	return;
}

# Wait until all statements under way have ended, successfully or not.
sub drain
{
	my (@drivers) = @_;
	my @again = map { $_->{again} } @drivers;

	$_->{again} = [] foreach @drivers;
	pump(0, 0, @drivers);
	push @{ $drivers[$_]{again} }, @{ $again[$_] } foreach 0 .. $#drivers;
	return;
}

#
# Afterwards
#

# Read the keys of the log by a new connection. Return a hash of keys, and the number of rows of
# each source.
sub read_log
{
	my ($self, $client) = @_;
	my (%log, %rows);

	foreach my $line (split /\n/, $client->run("SELECT container_id, substr(event::text, 11), " . Books::us('occurred_at')
			. ", source FROM yquota.container_event WHERE event <> 'QUOTA_COMPUTE'"))
	{
		my ($id, $event, $at, $source) = split /\|/, $line;

		$log{"$id $event $at"} = 1;
		$rows{$source}++;
	}
	return (\%log, \%rows);
}

# Report lost statements after the server is back, before any statement is sent again. These are acknowledged
# statements that are missing, and statements of which only a part was kept. Statements of unknown outcome will be
# sent again, or their outcome is found here.
sub recover
{
	my ($self) = @_;
	my $client = Client->new($self->{node}, $self->{database});
	my ($log) = $self->read_log($client);
	my @lines = map { "acknowledged, but not in the log: $_" } grep { !$log->{$_} } sort keys %{ $self->{acknowledged} };

	if (defined $self->{clock})
	{
		chomp($self->{clock} = $client->run('SELECT ' . Books::us('yquota.clock()')));
	}
	foreach my $statement (splice @{ $self->{unknown} })
	{
		push @lines, $self->incomplete($statement, $log);
		$self->resolve($statement, $client);
	}
	$client->close;
	return @lines;
}

# Return outages that are wrong: a worker's outage must be a gap between two marks, and each gap has only one outage.
sub wrong_outages
{
	my ($client) = @_;

	return split /\n/, $client->run(<<~'SQL' =~ s/\n\z//r);
		SELECT 'outage is no gap between marks: ' || o FROM yquota.outage AS o
		WHERE NOT EXISTS (SELECT FROM yquota.container_event AS e WHERE e.event = 'QUOTA_COMPUTE' AND e.occurred_at = o.started_at)
		   OR EXISTS (SELECT FROM yquota.container_event AS e WHERE e.event = 'QUOTA_COMPUTE'
					  AND e.occurred_at > o.started_at AND e.occurred_at < o.ended_at)
		   OR EXISTS (SELECT FROM yquota.outage AS other WHERE other.outage_id <> o.outage_id
					  AND other.started_at < o.ended_at AND o.started_at < other.ended_at)
		SQL
}

sub incomplete
{
	my ($self, $statement, $log) = @_;
	my @new = grep { !$self->{acknowledged}{ key($_) } } @{ $statement->{events} // [] };
	my $there = grep { $log->{ key($_) } } @new;

	$self->{counts}{unknown_committed}++ if @new && $there;
	return "statement s$statement->{number}: $there of " . @new . ' new events in the log'
	  if $there && ($there < @new || $statement->{kind} eq 'rolled_back');
	return ();
}

sub resolve
{
	my ($self, $statement, $client) = @_;

	if ($statement->{point})
	{
		my ($kind, $at, $name) = @{ $statement->{point} };
		my ($table, $column) = $kind eq 'multiplier' ? ('price', 'price_group') : ('base_price', 'resource_type');

		$self->{books}->take_point($statement->{point})
		  if $client->run("SELECT 1 FROM yquota.$table WHERE $column = '$name' AND effective_at = " . instant($at)) ne '';
	}
	elsif ($statement->{kind} eq 'rolled_back')
	{
		push @{ $self->{due} }, @{ $statement->{events} };
	}
	elsif ($statement->{events})
	{
		push @{ $self->{again} }, $statement;
	}
	return;
}

#
# Loss of acknowledged events
#

# Let every source send a last event, by which feed_status can show a loss.
sub say_hello
{
	my ($self) = @_;

	$self->{clock} += History::SECOND if defined $self->{clock};
	$self->{clients}[0]->run('SELECT yquota.set_clock(' . instant($self->{clock}) . ')') if defined $self->{clock};
	foreach my $client (@{ $self->{clients} })
	{
		my ($start) = grep { $_->{event} eq 'START' } $self->new_container;

		$start->{at} = $self->now;
		$self->{running}{ $start->{id} } = { project => $start->{project}, last => $start->{at} };
		$self->send($client, { kind => 'single', events => [$start], sql => insert($client->{source}, $start) });
	}
	return;
}

# lose(): continue at a new primary that lacks some commits, when no outcome is unknown. Set the
# clock again and, where that is still allowed, the prices. Return how many events and points are
# lost, and for which sources feed_status does not show the loss (unseen).
sub lose
{
	my ($self) = @_;
	my $client = Client->new($self->{node}, $self->{database});
	my ($log) = $self->read_log($client);
	my %last = %{ $self->{last} };
	my %status = map { my ($source, @rest) = split /\|/; ($source => \@rest) } split /\n/, $client->run(
		'SELECT source, events, ' . Books::us('last_event_at') . " FROM yquota.feed_status WHERE source LIKE 'client%'");
	my @unseen = grep { $status{$_} && ($status{$_}[0] >= $self->{rows}{$_} || $status{$_}[1] >= $last{$_}) } sort keys %last;
	my @points = $self->{books}->lose($client);

	$client->run('SELECT yquota.set_clock(' . instant($self->{clock}) . ')') if defined $self->{clock};
	$self->set_again($client, @points);
	(undef, $self->{rows}) = $self->read_log($client);
	$client->close;
	return { events => scalar(grep { !$log->{$_} } keys %{ $self->{acknowledged} }), points => scalar @points, unseen => \@unseen };
}

sub set_again
{
	my ($self, $client, @points) = @_;

	foreach my $point (@points)
	{
		my $outcome;

		$client->send(History::change_statement($point));
		1 until $outcome = $client->read;
		$self->{books}->take_point($point) if !defined $outcome->{sqlstate};
		push @{ $self->{unexpected} }, $outcome->{answer} if $outcome->{lost} || ($outcome->{sqlstate} // '55000') ne '55000';
	}
	return;
}

# Send all acknowledged events again, in any order and split into any statements.
sub replay
{
	my ($self) = @_;
	my @events = History::shuffle(@{ $self->{sent} });

	while (@events)
	{
		push @{ $self->{again} }, { events => [ splice @events, 0, History::between(1, History::pick(5, 100, 500)) ] };
	}
	return;
}

# Return sources whose number of rows in the log is wrong. The number must equal that of feed_status, and be at least
# the number of acknowledged rows. An event that waited for its START may be in the log twice.
sub wrong_rows
{
	my ($self, $client) = @_;
	my (%found, @lines);

	foreach my $line (split /\n/, $client->run(<<~'SQL' =~ s/\n\z//r))
		SELECT source, log.rows, status.events
		FROM (SELECT source, count(*) AS rows FROM yquota.container_event GROUP BY source) AS log
		FULL JOIN yquota.feed_status AS status USING (source)
		WHERE source LIKE 'client%'
		SQL
	{
		my ($source, $logged, $told) = split /\|/, $line;

		$found{$source} = $logged || 0;
		push @lines, "$source: $logged rows in the log, $told in feed_status" if $logged ne $told;
	}
	foreach my $source (sort keys %{ $self->{rows} })
	{
		my $logged = $found{$source} // 0;

		push @lines, "$source: $self->{rows}{$source} rows acknowledged, $logged in the log" if $logged < $self->{rows}{$source};
	}
	return @lines;
}

# Return all faults that a check of the books finds, as lines. Only the worker may run during the
# check.
sub wrong
{
	my ($self) = @_;
	my $client = Client->new($self->{node}, $self->{database});

	# the worker would call these functions sooner or later
	$client->run('SELECT yquota_internal.apply_waiting()');
	$client->run('SELECT yquota.quota_compute()');
	my @lines = ($self->{books}->differences($client), wrong_outages($client));

	push @lines, map { "verify(): $_" } split /\n/, $client->run('SELECT * FROM yquota.verify()');
	push @lines, map { "set aside: $_" } split /\n/, $client->run('SELECT * FROM yquota.event_reject WHERE NOT waiting');
	push @lines, $self->wrong_rows($client);
	push @lines, splice @{ $self->{unexpected} };
	$client->close;
	return @lines;
}

1;
