#!/usr/bin/env perl
#
# A stream of events goes into two databases with the same timelines. One database charges events at once. In the
# other, charging is deferred for random intervals. The test calls charge_deferred() at any time, for any number of
# events, and sometimes rolls it back. Events that arrive while charging is on may overtake deferred events. In the
# end both databases agree with the model, and have the same books.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Session;
use Stream;
use Trial;

my ($seed, $histories) = Trial::plan_run(15);
my %count = (deferred => 0, calls => 0, overtaking => 0);
my $twin;		# session of the database that defers
my $last_trial = '';

# The books on which both databases must agree. They do not include whether rows of the ledger were corrected on
# the way.
my %books = (
	'charges in effect' => 'SELECT container_id, project, application_id, username, queue, node, execution_type, '
	  . 'allocation, started_at, "from", "to", settled_by, exit_status, padding, dominant, trim_scale(amount), waiting_factor '
	  . 'FROM yquota_internal.charge_in_effect',
	'ledger sums' => 'SELECT project, trim_scale(sum(amount)) FROM yquota.charge GROUP BY project',
	'containers' => 'SELECT container_id, project, application_id, username, queue, node, label, allocation, '
	  . 'execution_type, started_at, settled_at, factors, trim_scale(accrual_base), is_running, waiting_factor FROM yquota.container',
	# An UPDATE after the end is included if it arrived before the end. Events that are sent again
	# have other numbers.
	'changes' => 'SELECT change.container_id, change.event, change.occurred_at, change.allocation, change.execution_type, '
	  . 'change.queue, change.node, change.repeated_start, change.priority, change.allocation_request_id, '
	  . 'change.asked_label, change.is_am, change.is_running FROM yquota.container_change AS change '
	  . 'LEFT JOIN yquota_internal.charge_in_effect AS charge ON charge.container_id = change.container_id '
	  . "AND charge.settled_by = 'CONTAINER_FINISH' AND charge.padding IS NULL "
	  . "WHERE change.event = 'CONTAINER_UPDATE' AND (charge.\"to\" >= change.occurred_at) IS NOT FALSE",
	'ends' => 'SELECT DISTINCT container_id, occurred_at, exit_status, is_own FROM yquota_internal.reported_end',
	'balances' => 'SELECT project, trim_scale(charged), trim_scale(accrued), burn_rate FROM yquota.project_balance',
	'rate classes' => 'SELECT project, shape, factors, reference_at, weight, trim_scale(accrual_base) FROM yquota_internal.rate_class',
	'usage of queues' => 'SELECT * FROM yquota.queue_usage',
	'usage of nodes' => 'SELECT * FROM yquota.node_usage',
	'feeds' => 'SELECT source, events, last_event_at, waiting, rejected, deferred FROM yquota.feed_status',
	'log' => 'SELECT event, container_id, occurred_at, source FROM yquota.container_event',
	'mark' => 'SELECT * FROM yquota.charged_through',
	'rejects' => 'SELECT event, container_id, occurred_at, waiting FROM yquota.event_reject');

# Create the database that defers, as empty as the trial's database was at the beginning.
sub begin_twin
{
	my ($trial) = @_;

	drop_twin();
	Session::administer("CREATE DATABASE $trial->{database}_deferred");
	$twin = Session->new("$trial->{database}_deferred");
	$twin->run('CREATE EXTENSION IF NOT EXISTS yquota');
	$twin->run("INSERT INTO yquota.price_group (name) VALUES ('FPGA')");
	$twin->run("INSERT INTO yquota.resource_type (name, price_group, base_price, unit) "
		. "VALUES ('$_->[0]', '$_->[1]', $_->[2], $_->[3]) ON CONFLICT DO NOTHING")
	  foreach @History::resource_types;
	$last_trial = $trial;
	return;
}

sub drop_twin
{
	return unless $twin;
	$twin->close;
	Session::administer("DROP DATABASE $twin->{database} WITH (FORCE)");
	undef $twin;
	return;
}

END { drop_twin(); }

# Send a statement to the database that defers; it is shown when a comparison fails.
sub to_twin
{
	my ($trial, $sql) = @_;

	push @{ $trial->{log} }, { sql => "deferred: $sql" };
	return $twin->run($sql);
}

sub charge_deferred
{
	my ($trial, $most) = @_;
	my $sql = sprintf('SELECT charged + set_aside, remaining FROM yquota.charge_deferred(%s)', $most);

	to_twin($trial, "BEGIN;\n$sql;\nROLLBACK") if History::chance(0.1);
	my ($charged, $remaining) = split /\||\n/, to_twin($trial, $sql);
	$count{deferred} += $charged;
	$count{calls}++;
	return $remaining;
}

sub catch_up
{
	my ($trial) = @_;

	1 while charge_deferred($trial, History::pick('NULL', 1, History::between(1, 20))) > 0;
	return;
}

# Switch charging on or off. A careful administrator calls charge_deferred() first.
sub switch
{
	my ($trial, $mode, $is_careful) = @_;

	if ($mode eq 'on')
	{
		catch_up($trial) if $is_careful;
		$count{overtaking} += $twin->run('SELECT count(*) FROM yquota_internal.deferred_event') > 0;
	}
	to_twin($trial, "SET yquota.charging = $mode");
	return;
}

sub compare
{
	my ($trial, $when) = @_;

	foreach my $what (sort keys %books)
	{
		my ($found, $expected) = map {
			join "\n", sort split /\n/, $_->run($books{$what})
		} $twin, $trial->{session};

		$trial->mismatch("$when: $what differ: expected\n$expected\nfound\n$found") if $found ne $expected;
	}
	return;
}

sub begin_history
{
	my ($trial) = @_;
	my $history = $trial->{history};

	begin_twin($trial) if $trial ne $last_trial;
	to_twin($trial, "INSERT INTO yquota.project (name) VALUES ('$_')") foreach @{ $history->{projects} };
	to_twin($trial, $_) foreach sprintf('SELECT yquota.set_clock(%s)', History::quoted(History::timestamp($history->{from}))), @{ $history->{calendar_sql} };
	foreach my $change (@{ $history->{changes} })
	{
		$trial->change($change);
		to_twin($trial, History::change_statement($change));
	}
	$trial->set_clock($history->{to});
	to_twin($trial, sprintf('SELECT yquota.set_clock(%s)', History::quoted(History::timestamp($history->{to}))));
	return;
}

sub report_outage
{
	my ($trial, $outage) = @_;

	$trial->report_outage($outage);
	to_twin($trial, History::outage_statement($outage));
	return;
}

sub play
{
	my ($trial) = @_;
	my $history = $trial->{history};
	my ($waits, @events) = Stream::arrange($history);
	my $is_careful = !$waits && History::chance(0.5);
	my @outages = @{ $history->{outages} };
	my $mode = History::pick('on', 'deferred');

	begin_history($trial);
	$trial->log_sql($trial->{session}, 'SET yquota.on_bad_event = ' . ($waits ? 'set_aside' : 'error'));
	to_twin($trial, 'SET yquota.on_bad_event = ' . ($is_careful ? 'error' : 'set_aside'));
	switch($trial, $mode, $is_careful);
	foreach my $transaction (Stream::in_transactions(Stream::cut(Stream::repeat($history, @events))))
	{
		my ($sql, @brought) = @$transaction;

		switch($trial, $mode = $mode eq 'on' ? 'deferred' : 'on', $is_careful) if History::chance(0.3);
		$trial->deliver($trial->{session}, $sql, @brought);
		to_twin($trial, $sql);
		charge_deferred($trial, History::pick('NULL', 1, History::between(1, 20))) if History::chance(0.15);
		report_outage($trial, shift @outages) if @outages && History::chance(0.2);
		to_twin($trial, 'SELECT yquota.seal_history()') if History::chance(0.05);
		to_twin($trial, 'SELECT yquota_internal.compact_counters()') if History::chance(0.1);
	}
	report_outage($trial, $_) foreach @outages;
	if (my $problem = $twin->run('SELECT * FROM yquota.verify()'))
	{
		$trial->mismatch("while events are deferred: verify() says $problem");
	}
	catch_up($trial);
	to_twin($trial, 'RESET yquota.charging');
	$trial->check('charged at once');
	compare($trial, 'charged at once and later');
	local $trial->{session} = $twin;
	$trial->check('charged later');
	return;
}

is(Trial::run_histories($seed, $histories, \&play), 0, "$histories histories cost the same, charged at once and later");
note("$count{deferred} events deferred, $count{calls} calls of charge_deferred(), $count{overtaking} times charging was on while events were deferred");
cmp_ok($count{$_}, '>', 0, "$_ was tried") foreach sort keys %count;
done_testing();
