#!/usr/bin/env perl
#
# Events about containers are wrong, as a whole or in part. They are voided and sent again, correctly or wrongly
# once more. The voided events, the reversed charges, and the cost in between must be right. In the end the totals
# are those of the true stream. The clock stands still, moves forward, or is set back. Voids come in a transaction
# with the repeated events, are rolled back, or are repeated. They also run at the same time as other voids and as
# the events of two feeds.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Trial;

my ($seed, $histories) = Trial::plan_run(10);
my %count = (voids => 0, voided => 0, repeated => 0, collisions => 0);

# Return whether an event changes anything of a container that has started.
sub says_something
{
	my ($event) = @_;

	return $event->{event} ne 'UPDATE'
	  || grep { defined $event->{$_} } qw(allocation execution_type queue node is_running);
}

# Return the instants of all events of a container that count, or none if it has not started.
sub instants
{
	my ($container) = @_;

	return () unless $container->{START};
	my $end = $container->{FINISH} ? $container->{FINISH}{at} : Model::FOREVER;

	return grep { $_ <= $end } map { $_->{at} } grep { defined $_ && says_something($_) }
	  $container->{START}, $container->{FINISH}, values %{ $container->{update} };
}

# Choose containers: the arguments of void_events(), and the ids that the model expects for them.
sub choose
{
	my ($trial) = @_;
	my $history = $trial->{history};
	my $containers = $trial->{model}{container};
	my @started = grep { $containers->{$_}{START} } sort keys %{ $trial->{taken} };
	my $project = History::pick(@{ $history->{projects} });
	my ($from, $to) = sort { $a <=> $b } $history->instant, $history->instant;
	my $window = sprintf('"from" => %s, "to" => %s',
		map { History::quoted(History::timestamp($_)) } $from, $to);
	my @in_window = grep {
		grep { $from <= $_ && $_ < $to } instants($containers->{$_})
	} @started;

	return History::pick(
		sub {
			my $id = History::pick(sort keys %{ $trial->{taken} });

			("container_id => '$id'", grep { $_ eq $id } @started);
		},
		sub {
			my $application = History::pick(grep { defined } @{ $history->{applications} });

			("application_id => '$application'",
				grep { ($containers->{$_}{START}{application} || '') eq $application } @started);
		},
		sub { ($window, @in_window) },
		sub {
			("$window, project => '$project'",
				grep { $containers->{$_}{START}{project} eq $project } @in_window);
		})->();
}

# Return the rows that void_events() should return, in its format.
sub expected_rows
{
	my ($trial, @ids) = @_;
	my $model = $trial->{model};
	my @rows;

	foreach my $id (@ids)
	{
		my $amount = Math::BigInt->new(0);

		$amount += $_->[2] foreach $model->settled($id, $trial->{clock});
		push @rows, join('|', $id, $model->{container}{$id}{START}{project}, Model::text($amount),
			$model->{container}{$id}{FINISH} ? 'f' : 't');
	}
	return join('', map { "$_\n" } @rows);
}

# Void the events that the arguments select, in one of several ways; "again" are events that follow
# in the same transaction.
sub void
{
	my ($trial, $arguments, $ids, @again) = @_;
	my $session = $trial->{session};
	my $call = 'SELECT container_id, project, amount, was_running '
	  . "FROM yquota.void_events($arguments, reason => 'wrong') ORDER BY container_id";
	my $expected = expected_rows($trial, @$ids);
	my $rollback = History::chance(0.15);

	if ($rollback)
	{
		push @{ $trial->{log} }, { sql => "BEGIN; $call; ROLLBACK" };
		is_answer($trial, $session->run("BEGIN;\n$call;\nROLLBACK"), $expected);
	}
	push @{ $trial->{log} }, { sql => 'BEGIN' }, { sql => $call };
	is_answer($trial, $session->run("BEGIN;\n$call"), $expected);
	$trial->{model}->forget($_) foreach @$ids;
	$count{voids}++;
	$count{voided} += @$ids;
	if (History::chance(0.2))
	{
		push @{ $trial->{log} }, { sql => $call };
		is_answer($trial, $session->run($call), '');
		$count{repeated}++;
	}
	$trial->deliver($session, History::statement(@again), @again) if @again;
	$trial->log_sql($session, 'COMMIT');
	return;
}

sub is_answer
{
	my ($trial, $answer, $expected) = @_;

	$trial->mismatch("void_events() returned\n${answer}instead of\n$expected") if $answer ne $expected;
	return;
}

# Return the events of a container in an order of arrival. Of a wrong container, sometimes return
# only some events.
sub arrival
{
	my ($whole, $start, @others) = @_;

	@others = grep { History::chance(0.7) } @others if !$whole;
	return History::chance(0.6) ? ($start, @others) : $whole ? History::shuffle($start, @others) : ($start, History::shuffle(@others));
}

sub deliver
{
	my ($trial, @events) = @_;

	while (@events)
	{
		my @part = splice @events, 0, History::between(1, 5);

		$trial->deliver($trial->{session}, History::statement(@part), @part);
	}
	return;
}

# Make changes that may happen at any time.
sub disturb
{
	my ($trial, $goes_on, $outages) = @_;

	$trial->set_clock(History::chance(0.2) ? $trial->{history}{to} : $trial->{clock} + History::pick(1, History::SECOND))
	  if $goes_on && History::chance(0.6);
	$trial->report_outage(shift @$outages) if @$outages && History::chance(0.1);
	$trial->log_sql($trial->{session}, 'SELECT yquota_internal.compact_counters()') if History::chance(0.1);
	$trial->log_sql($trial->{session}, 'SELECT yquota.seal_history()') if History::chance(0.03);
	$trial->check('on the way') if History::chance(0.15);
	return;
}

# Return statements of a feed, each a transaction, with events of these containers.
sub random_feed
{
	my ($lives) = @_;
	my $sql = '';

	foreach (1 .. History::between(3, 8))
	{
		my @events = map { History::pick(@$_) } map { History::pick(@$lives) } 1 .. History::between(1, 6);

		$sql .= in_transaction(History::insert_statement(@events));
	}
	return $sql;
}

sub in_transaction
{
	my ($sql) = @_;

	return History::pick("$sql;\n", "BEGIN;\n$sql;\nSELECT pg_sleep(0.002);\nCOMMIT;\n");
}

# Let two feeds and two administrators work at once. The result depends on their order, but no statement may fail and
# the books must be right. Then everything is voided.
sub collide
{
	my ($trial, $true) = @_;
	my $history = $trial->{history};
	my $window = sprintf('"from" => %s, "to" => %s',
		map { History::quoted(History::timestamp($_)) } $history->{from}, $history->{to} + 1);
	my @sessions = map { $trial->helper($_) } 0 .. 3;
	my @sql = map {
		# the two feeds contradict each other if one of them is wrong
		my @lives = map { History::chance(0.5) ? $true->{$_} : [ $history->random_container(/(\d+)$/) ] } sort keys %$true;

		random_feed(\@lives);
	} 0 .. 1;

	push @sql, join('', map {
		my ($arguments) = choose($trial);

		in_transaction("SELECT count(*) FROM yquota.void_events($arguments, reason => 'collision')");
	} 1 .. History::between(2, 6)) foreach 2 .. 3;
	push @{ $trial->{log} }, { sql => join("-- together with:\n", @sql) };
	$sessions[$_]->run("SET yquota.on_bad_event = 'set_aside'") foreach 0 .. 1;
	$sessions[$_]->send($sql[$_]) foreach History::shuffle(0 .. 3);
	my @answers = map { $_->receive } @sessions;

	foreach my $number (0 .. 3)
	{
		my $error = Session::error($answers[$number]);

		$trial->mismatch("session $number: $error") if defined $error;
	}
	$trial->mismatch('verify() says ' . join(', ', @$_)) foreach $trial->{session}->rows('SELECT * FROM yquota.verify()');
	$trial->log_sql($trial->{session}, "SELECT count(*) FROM yquota.void_events($window, reason => 'collision')");
	$trial->log_sql($trial->{session}, 'DELETE FROM yquota.event_reject WHERE waiting');
	$trial->{model}->forget($_) foreach keys %$true;
	$count{collisions}++;
	return;
}

sub play
{
	my ($trial) = @_;
	my $history = $trial->{history};
	my @outages = @{ $history->{outages} };
	my $goes_on = History::chance(0.5);
	my %true;
	my %state;

	push @{ $true{ $_->{id} } }, $_ foreach @{ $history->{events} };
	$trial->change($_) foreach @{ $history->{changes} };
	$trial->set_clock($history->{to});
	$trial->log_sql($trial->{session}, "SET yquota.on_bad_event = 'set_aside'");

	# a container has state wrong or true from its START until it is voided
	foreach (1 .. History::between(2, 4) * keys %true)
	{
		my $id = History::pick(sort keys %true);
		my ($number) = $id =~ /(\d+)$/;

		if (!$state{$id})
		{
			my $wrong = History::chance(0.7);

			deliver($trial, arrival(!$wrong, $wrong ? $history->random_container($number) : @{ $true{$id} }));
			$state{$id} = $wrong ? 'wrong' : 'true';
		}
		elsif (History::chance(0.7))
		{
			my ($arguments, @ids) = choose($trial);

			void($trial, $arguments, \@ids, map({ @{ $true{$_} } } grep { History::chance(0.3) } @ids));
			$state{$_} = $trial->{model}{container}{$_}{START} ? 'true' : undef foreach @ids;
		}
		elsif ($state{$id} eq 'true')
		{
			# known already
			deliver($trial, arrival(1, @{ $true{$id} }));
		}
		disturb($trial, $goes_on, \@outages);
		return if $trial->{mismatches};
	}

	if (History::chance(0.3))
	{
		collide($trial, \%true);
		%state = ();
	}
	foreach my $id (sort keys %true)
	{
		void($trial, "container_id => '$id'", [$id]) if ($state{$id} || '') eq 'wrong';
	}
	$trial->report_outage($_) foreach @outages;
	deliver($trial, arrival(1, @{ $true{$_} })) foreach History::shuffle(sort keys %true);
	$trial->check('after the true stream');
	return;
}

is(Trial::run_histories($seed, $histories, \&play), 0, "$histories histories with wrong facts");
note("$count{voids} voids of $count{voided} containers, $count{repeated} repeated at once; $count{collisions} collisions of feeds and voids");
cmp_ok($count{voided}, '>', 0, 'containers were voided');
done_testing();
