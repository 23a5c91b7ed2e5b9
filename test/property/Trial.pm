#
# Trial.pm: plays histories into its own database and into the model, and compares the results.
#
# The seed is printed. YQUOTA_SEED repeats a run and YQUOTA_HISTORIES changes its size. A soak (Soak.pm) runs for its
# time, and plays at least five times as many histories. When a comparison fails, the diagnostics contain the
# statements that reproduce it. These are every change of a timeline and the events of the containers concerned, in
# the order in which they were sent.
#
package Trial;

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t";
use Test::More;
use History;
use Model;
use Session;
use Soak;

# Number of histories for which a database is used. It is low enough that verify() of the whole
# database stays quick, and high enough to pay for CREATE DATABASE.
our $histories_per_database = 25;

my $first_instant = 1_772_000_000 * History::SECOND;

# Parameters: projects, windows, the begin of verify(), first and last day.
my $balances = <<'SQL';
SELECT 'project', project, '', '', '', trim_scale(charged + accrued)::text
  FROM yquota.project_balance WHERE project = ANY (%1$s)
UNION ALL
SELECT 'verify', problem, subject, 'expected ' || expected, 'found ' || found, '1'
  FROM yquota.verify(%3$s)
SQL
my $costs = <<'SQL';
SELECT 'container', container_id, '', '', '', trim_scale(cost)::text
  FROM yquota.container_cost WHERE project = ANY (%1$s)
UNION ALL
SELECT 'window ' || w.number, c.container_id, c.username, c.queue, c.application_id,
       trim_scale(c.amount)::text
  FROM (VALUES %2$s) AS w (number, since, till),
       yquota.cost_between(w.since, w.till, '{project,container_id,username,queue,application_id}') AS c
  WHERE c.project = ANY (%1$s)
UNION ALL
SELECT 'total ' || w.number, c.project, c.username, c.queue, c.application_id,
       trim_scale(c.amount)::text
  FROM (VALUES %2$s) AS w (number, since, till),
       yquota.cost_between(w.since, w.till, '{project,username,queue,application_id}') AS c
  WHERE c.project = ANY (%1$s)
UNION ALL
SELECT 'cost by day', day::text, project, '', '', trim_scale(amount)::text
  FROM yquota.cost_by_day(%4$s, %5$s, '{project}', 'UTC') WHERE project = ANY (%1$s)
UNION ALL
SELECT 'bill less cost', c.container_id, '', '', '', trim_scale(sum(bill.amount) - c.cost)::text
  FROM yquota.container_cost AS c, yquota.explain_charge(c.container_id) AS bill
  WHERE c.project = ANY (%1$s) GROUP BY c.container_id, c.cost
UNION ALL
SELECT 'day', day::text, project, '', '', trim_scale(sum(amount))::text
  FROM yquota.daily_cost WHERE project = ANY (%1$s) GROUP BY day, project
UNION ALL
SELECT 'end', row.container_id, (extract(epoch FROM row."to") * 1000000)::bigint::text,
       coalesce(row.exit_status::text, ''), '', '1'
  FROM yquota_internal.charge_in_effect AS row
  WHERE row.project = ANY (%1$s) AND row.settled_by = 'CONTAINER_FINISH' AND row.padding IS NULL
UNION ALL
SELECT CASE WHEN row.padding IS NULL THEN 'segment' ELSE 'padding' END, row.container_id,
       (extract(epoch FROM row."from") * 1000000)::bigint::text,
       (extract(epoch FROM row."to") * 1000000)::bigint::text,
       CASE WHEN row.padding IS NULL THEN row.dominant ELSE '' END, trim_scale(row.amount)::text
  FROM yquota.charge AS row
  WHERE row.project = ANY (%1$s) AND row.corrects IS NULL AND row.amount <> 0
    AND NOT EXISTS (SELECT FROM yquota.charge AS correction
                    WHERE correction.container_id = row.container_id AND correction.corrects = row.number)
UNION ALL
SELECT 'given back', bill.container_id, (extract(epoch FROM bill.since) * 1000000)::bigint::text, '', '', trim_scale(bill.given_back)::text
  FROM (SELECT c.container_id, min(bill."from") AS since, sum(bill.given_back) AS given_back
        FROM yquota.container_cost AS c, yquota.explain_charge(c.container_id) AS bill
        WHERE c.project = ANY (%1$s) AND bill.given_back IS NOT NULL GROUP BY 1) AS bill
UNION ALL
SELECT 'lost', lost.queue, lost.project, lost.username, value.name, trim_scale(value.amount)::text
  FROM yquota.preemption_cost('-infinity', 'infinity') AS lost
  CROSS JOIN LATERAL (VALUES ('containers', lost.containers), ('gross', lost.gross), ('given back', lost.given_back)) AS value (name, amount)
  WHERE lost.project = ANY (%1$s)
SQL

# Prepare a run of a test script: seed, number of histories.
sub plan_run
{
	my ($histories) = @_;
	my $seed = defined $ENV{YQUOTA_SEED} ? $ENV{YQUOTA_SEED} : int(rand 1_000_000_000);

	$histories = $ENV{YQUOTA_HISTORIES} if defined $ENV{YQUOTA_HISTORIES};
	note("YQUOTA_SEED=$seed YQUOTA_HISTORIES=$histories");
	return ($seed, $histories);
}

# Play so many histories, or more in a soak. The callback "play" gets a trial that has just begun a
# history. A history depends only on the seed, its number, and the timelines that earlier histories
# of its database left behind.
sub run_histories
{
	my ($seed, $histories, $play) = @_;
	my $trial;
	my $failed = 0;
	my $containers = 0;
	my $number = 0;

	for (my $goes_on = 1; $goes_on && $failed < 3;)
	{
		$goes_on = soak_goes_on(++$number, $histories, 10 * $histories);
		if (!$trial)
		{
			srand($seed + $number);
			$trial = Trial->new;
		}
		$trial->begin_history("h$number");
		eval { $play->($trial); 1 } or $trial->mismatch("$@");
		$failed++ if $trial->{mismatches};
		if ($trial->{mismatches} || $number % $histories_per_database == 0 || !$goes_on)
		{
			if (!$trial->{mismatches})
			{
				$trial->begin_history("end$number");
				eval { $trial->check_everything; 1 } or $trial->mismatch("$@");
				$failed++ if $trial->{mismatches};
			}
			$containers += keys %{ $trial->{model}{container} };
			$trial->finish;
			undef $trial;
		}
	}
	note("$number histories of $containers containers");
	return $failed;
}

sub new
{
	my ($class) = @_;
	my $database = "yquota_property_$$" . '_' . int(rand 1_000_000);
	my $self = bless { database => $database, model => Model->new, clock => $first_instant }, $class;

	Session::administer("CREATE DATABASE $database");
	$self->{session} = Session->new($database);
	$self->{session}->run('CREATE EXTENSION IF NOT EXISTS yquota');
	$self->{session}->run("INSERT INTO yquota.price_group (name) VALUES ('FPGA')");
	foreach my $type (@History::resource_types)
	{
		my ($name, $group, $base_price, $unit) = @$type;

		$self->{model}->add_resource_type($name, $group, $base_price, $unit);
		$self->{session}->run("INSERT INTO yquota.resource_type (name, price_group, base_price, unit) "
			. "VALUES ('$name', '$group', $base_price, $unit)")
		  unless $name =~ /^(?:memory-mb|vcores|yarn.io\/gpu)$/;
	}
	return $self;
}

sub finish
{
	my ($self) = @_;

	$_->close foreach $self->{session}, @{ $self->{helpers} || [] };
	Session::administer("DROP DATABASE $self->{database} WITH (FORCE)");
	return;
}

# Open a further session on the same database.
sub helper
{
	my ($self, $number) = @_;

	return $self->{helpers}[$number] ||= Session->new($self->{database});
}

sub begin_history
{
	my ($self, $name) = @_;
	my $history = History->new($name, $self->{clock} + History::pick(1, History::SECOND, History::HOUR));

	$self->{history} = $history;
	$self->{log} = [];
	$self->{mismatches} = 0;
	$self->{taken} = {};
	push @{ $self->{histories} }, $history;
	$self->{session}->run(join('', map {
		"INSERT INTO yquota.project (name, quota_mode) VALUES ('$_', '"
		  . History::pick('PREPAID', 'NOLIMIT') . "');\n"
	} @{ $history->{projects} }));
	$self->set_clock($history->{from});
	$history->{calendar_sql} = [ $self->change_calendars ];
	$self->log_sql($self->{session}, $_) foreach @{ $history->{calendar_sql} };
	return $history;
}

# At the beginning of a history, add, change and remove calendars, and make missing points of the other calendars.
# Return the statements.
sub change_calendars
{
	my ($self) = @_;
	my @sql = 'SELECT yquota_internal.extend_calendars()';

	foreach my $group (qw(GENERAL GPU))
	{
		my $name = History::pick('night', 'weekend');

		if (History::chance(0.35))
		{
			my $calendar = History::chance(0.25) ? undef : Calendar::random($name, $self->{clock}, $self->{clock} + 2 * History::DAY);

			push @sql, Calendar::statement($group, $name, $calendar);
			$self->{calendars}{$group}{$name} = $calendar;
		}
		$self->{model}->set_calendars($group, $self->{clock}, [ grep { $_ } values %{ $self->{calendars}{$group} } ],
			$self->{clock} + 14 * History::DAY);
	}
	return @sql;
}

sub set_clock
{
	my ($self, $at) = @_;

	$self->{clock} = $at;
	$self->log_sql($self->{session}, sprintf('SELECT yquota.set_clock(%s)', History::quoted(History::timestamp($at))));
	return;
}

sub log_sql
{
	my ($self, $session, $sql) = @_;

	push @{ $self->{log} }, { sql => $sql };
	$session->run($sql);
	return;
}

# Make a change of a timeline. It must be accepted unless the caller says that it may be refused. A
# refused change does not reach the model.
sub change
{
	my ($self, $change, $may_be_refused) = @_;
	my $sql = History::change_statement($change);

	if ($may_be_refused)
	{
		my (undef, $error) = $self->{session}->attempt($sql);

		die $error if defined $error && $error !~ /^ERROR:  YQ|^ERROR:  (?:22|23|55)/;
		return 0 if defined $error;
		push @{ $self->{log} }, { sql => $sql };
	}
	else
	{
		$self->log_sql($self->{session}, $sql);
	}
	History::change_model($self->{model}, $change);
	return 1;
}

# Add the nodes of the history to the cluster.
sub add_nodes
{
	my ($self) = @_;

	foreach my $node (@{ $self->{history}{nodes} })
	{
		my $label = History::pick(@{ $self->{history}{labels} });

		$self->log_sql($self->{session}, "INSERT INTO yquota.node (name, label, total) VALUES ('$node', '$label', '[vcores=1]')");
		$self->{model}->add_node($node, $self->{clock}, $label);
	}
	return;
}

# Change the label of a node.
sub relabel
{
	my ($self) = @_;
	my $node = History::pick(@{ $self->{history}{nodes} });
	my $label = History::pick(@{ $self->{history}{labels} });

	$self->log_sql($self->{session}, "UPDATE yquota.node SET label = '$label' WHERE name = '$node'");
	$self->{model}->set_label($node, $self->{clock}, $label);
	return;
}

sub report_outage
{
	my ($self, $outage) = @_;

	$self->log_sql($self->{session}, History::outage_statement($outage));
	History::outage_model($self->{model}, $outage);
	return;
}

# Send one statement or transaction that inserts events.
sub deliver
{
	my ($self, $session, $sql, @events) = @_;

	push @{ $self->{log} }, { sql => $sql, events => \@events };
	$session->run($sql);
	$self->taken(@events);
	$self->roll_up if History::chance(0.3);
	return;
}

# Roll up. This must not change reports, whatever happens in between.
sub roll_up
{
	my ($self) = @_;

	$self->log_sql($self->{session}, $_) foreach roll_up_statements();
	return;
}

# Return statements that roll up all days, or some.
sub roll_up_statements
{
	return ('UPDATE yquota_internal.rollup_state SET charges_per_sum = ' . History::pick(0, 1, 5), 'SELECT yquota.roll_up_charges()');
}

# Add events that arrived to the model.
sub taken
{
	my ($self, @events) = @_;

	foreach my $event (@events)
	{
		next if $event->{event} eq 'COMPUTE';
		$self->{model}->take($event);
		$self->{taken}{ $event->{id} } = 1;
	}
	return;
}

# Return the model's figures of containers, with the keys of the database's rows.
sub expected_balances
{
	my ($self, @ids) = @_;
	my %expected;
	my $now = $self->{clock};

	foreach my $id (@ids)
	{
		my $start = $self->{model}{container}{$id}{START} or next;
		# the server has already charged costs that are settled ahead of the clock
		my $cost = Model::cost($self->{model}->pieces($id, $now), -Model::FOREVER, Model::FOREVER);

		add(\%expected, $cost, 'project', $start->{project});
	}
	return \%expected;
}

sub expected_costs
{
	my ($self, $windows, @ids) = @_;
	my %expected;
	my $now = $self->{clock};

	foreach my $id (@ids)
	{
		my $start = $self->{model}{container}{$id}{START} or next;
		my $pieces = $self->{model}->pieces($id, $now);

		add(\%expected, Model::cost($pieces, -Model::FOREVER, Model::FOREVER), 'container', $id);
		foreach my $i (0 .. $#$windows)
		{
			my ($since, $till) = @{ $windows->[$i] };

			foreach my $piece (@$pieces)
			{
				my $held = $piece->[3];

				add(\%expected, Model::cost([$piece], $since, $till), "window $i",
					$id, map { defined $_ ? $_ : '' } @$held{qw(username queue application)});
				add(\%expected, Model::cost([$piece], $since, $till), "total $i",
					$start->{project}, map { defined $_ ? $_ : '' } @$held{qw(username queue application)});
			}
		}
		add_days(\%expected, $pieces, $start->{project});
		if (my $finish = $self->{model}{container}{$id}{FINISH})
		{
			add(\%expected, Model::amount(1), 'end', $id, $finish->{at},
				defined $finish->{exit_status} ? $finish->{exit_status} : '');
		}
		add_lost(\%expected, $self->{model}, $id, $now);
		foreach my $row ($self->{model}->settled($id, $now))
		{
			my ($from, $to, $amount, $dominant) = @$row;

			add(\%expected, $amount, $from == $to ? 'padding' : 'segment', $id, $from, $to,
				defined $dominant ? $dominant : '');
		}
	}
	return \%expected;
}

# Add what a container lost by preemption.
sub add_lost
{
	my ($sums, $model, $id, $now) = @_;
	my ($gross, $given_back) = $model->lost($id, $now) or return;
	my $container = $model->{container}{$id};
	my $free_from = $model->free_from($container);
	my ($held) = map { $_->[2] } (Model::segments($container, $now))[-1];
	my @key = ('lost', map { defined $_ ? $_ : '' } @$held{qw(queue project username)});

	add($sums, Model::amount(1), @key, 'containers');
	add($sums, $gross, @key, 'gross');
	add($sums, $given_back, @key, 'given back');
	add($sums, $given_back, 'given back', $id, $free_from) if defined $free_from;
	return;
}

# Add the cost by UTC days.
sub add_days
{
	my ($sums, $pieces, $project) = @_;

	foreach my $piece (@$pieces)
	{
		my ($from, $to) = @$piece;

		for (my $day = int($from / History::DAY); $day * History::DAY <= $to; $day++)
		{
			my $midnight = $day * History::DAY;

			add($sums, Model::cost([$piece], $midnight, $midnight + History::DAY),
				$_, substr(History::timestamp($midnight), 0, 10), $project) foreach 'day', 'cost by day';
		}
	}
	return;
}

sub add
{
	my ($sums, $amount, @key) = @_;
	my $key = join('|', @key, ('') x (5 - @key));

	return if $amount->is_zero;
	$sums->{$key} = ($sums->{$key} || 0) + $amount;
	return;
}

# Compare all figures of the current history.
sub check
{
	my ($self, $when) = @_;

	$self->check_balances($when);
	$self->compare_costs($when, $self->{history}{projects}, keys %{ $self->{taken} });
	return;
}

# Compare only the balances of the current history.
sub check_balances
{
	my ($self, $when) = @_;

	$self->compare_balances($when, History::timestamp($self->{history}{from}),
		$self->{history}{projects}, keys %{ $self->{taken} });
	return;
}

# Compare all figures of every history of the database. Reports are compared only while nothing has
# been archived.
sub check_everything
{
	my ($self) = @_;
	my @projects = map { @{ $_->{projects} } } @{ $self->{histories} };
	my @ids = keys %{ $self->{model}{container} };

	$self->compare_balances('at the end of the database', '-infinity', \@projects, @ids);
	$self->compare_costs('at the end of the database', \@projects, @ids) unless $self->{has_archive};
	return;
}

sub compare_balances
{
	my ($self, $when, $verify_since, $projects, @ids) = @_;

	$self->compare($when, $self->expected_balances(@ids),
		sprintf($balances, texts(@$projects), undef, History::quoted($verify_since)));
	return;
}

# Compare costs of windows, which may end at any instant, even ahead of the clock.
sub compare_costs
{
	my ($self, $when, $projects, @ids) = @_;
	my ($first, $second) = sort { $a <=> $b } map { $self->{history}->instant } 1 .. 2;
	my $end = $second > $self->{clock} ? $second : $self->{clock} + 1;
	my @windows = ([ $first, $second ], [ History::DAY * int($first / History::DAY), $end ]);

	$self->roll_up if History::chance(0.3);
	$self->compare($when, $self->expected_costs(\@windows, @ids),
		sprintf($costs, texts(@$projects), join(', ', map {
			sprintf('(%d, timestamptz %s, timestamptz %s)', $_,
				map { History::quoted(History::timestamp($_)) } @{ $windows[$_] })
		} 0 .. $#windows), undef,
		map { History::quoted(substr(History::timestamp($_), 0, 10)) } $first_instant, $self->{clock} + History::DAY));
	return;
}

sub texts
{
	return "ARRAY[" . join(', ', map { History::quoted($_) } @_) . "]::text[]";
}

# Compare the rows of a query, keyed by all columns but the last, with sums.
sub compare
{
	my ($self, $when, $expected, $sql) = @_;
	my %found;

	foreach my $row ($self->{session}->rows("$sql;\n"))
	{
		my $amount = pop @$row;

		if ($row->[0] eq 'verify')
		{
			$self->mismatch("$when: verify() says " . join(', ', @$row), $row->[2]);
			next;
		}
		add(\%found, Model::amount($amount), @$row);
	}
	foreach my $key (sort keys %{ { %$expected, %found } })
	{
		my ($want, $got) = map { Model::text(defined $_ ? $_ : Math::BigInt->new(0)) } $expected->{$key}, $found{$key};

		$self->mismatch("$when: $key: expected $want, found $got", $key) if $want ne $got;
	}
	return;
}

# Record a difference and the statements that reproduce it.
sub mismatch
{
	my ($self, $text, $subject) = @_;

	$self->report($text, $subject) if $self->{mismatches}++ < 3;
	return;
}

# Print a failure and the log of the history. If the subject contains the id of a container, print
# only the events of that container.
sub report
{
	my ($self, $text, $subject) = @_;
	my ($id) = ($subject || '') =~ /(container_\w+)/;

	diag("history $self->{history}{name}: $text");
	foreach my $entry (@{ $self->{log} })
	{
		my @events = grep { !defined $id || ($_->{id} || '') eq $id } @{ $entry->{events} || [] };

		if (!$entry->{events})
		{
			diag("  $entry->{sql};");
		}
		elsif (@events)
		{
			diag('  ' . (defined $id ? History::insert_statement(@events) : $entry->{sql}) . ';');
		}
	}
	$self->{log} = [] if !defined $id;
	return 0;
}

1;
