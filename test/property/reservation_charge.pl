#!/usr/bin/env perl
#
# Reservations pay the charges of an independent model. It computes second by second from the accepted calls, the
# prices, the factors, the rules and the forgiven time, all of them random. Charges are posted at random times,
# periods closed, prices published ahead, and time forgiven afterwards. Reservations are updated, used by containers,
# deleted and removed. Credit is granted, and history archived. At every check the ledger and the accruing amounts add
# up to the model's sum for each reservation and container. Balances, reports and bills add up to the same amount, and
# verify() finds nothing. When history is archived, every report of money is the same before and after. Balances at
# random instants, with the holds of that time, stay the same, too.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(max min sum0);
use Math::BigInt;
use Reports;
use Session;
use Soak;
use Test::More;
use Trial;

my ($seed, $histories) = Trial::plan_run(6);
my $steps = 30;
my $number = 0;
my %count = map { $_ => 0 } qw(accepted updated deleted used granted posted forgiven closed archived compared reports held);

# Amounts are in units of 10^-6 credits, because multipliers, rules and factors have two decimals each.
use constant DECIMALS => 6;
use constant BEGIN_AT => 1_772_409_600 * History::SECOND;    # 2026-03-02
my @projects = qw(lab laser web);

sub one_of { return $_[ rand @_ ]; }
sub value { my ($session, $sql) = @_; return $session->run($sql =~ s/\n\z//r) =~ s/\n\z//r; }
sub instant { my ($second) = @_; return BEGIN_AT + $second * History::SECOND; }
sub at { my ($second) = @_; return "('2026-03-02 00:00+00'::timestamptz + interval '$second s')"; }

# Return the value in force at a second in a timeline of [second, value].
sub in_force
{
	my ($points, $second) = @_;
	my $found = $points->[0][1];

	foreach my $point (@$points)
	{
		$found = $point->[1] if $point->[0] <= $second;
	}
	return $found;
}

sub is_forgiven
{
	my ($model, $project, $second) = @_;

	return grep { $_->{from} <= $second && $second < $_->{to} && (!defined $_->{project} || $_->{project} eq $project) } @{ $model->{forgiven} };
}

# Return the charged amount at a second: the dearer of gigabytes and cores, which are in one price group, or their
# sum.
sub charged
{
	my ($model, $project, $second, $piece) = @_;
	my $mode = in_force($model->{modes}{$project} // [ [ -1, undef ] ], $second) // in_force($model->{modes}{''}, $second);

	return $mode eq 'sum' ? $piece->{gigabytes} + $piece->{vcores} : max($piece->{gigabytes}, $piece->{vcores});
}

# Return the cost of a reservation up to a second, in units.
sub cost
{
	my ($model, $reservation, $until) = @_;
	my $sum = Math::BigInt->new(0);

	foreach my $version (@{ $reservation->{versions} })
	{
		my $end = min($until, grep { defined } $version->{ended});

		foreach my $piece (@{ $version->{pieces} })
		{
			for (my $second = max($piece->{from}, $version->{accepted}); $second < min($piece->{to}, $end); $second++)
			{
				next if is_forgiven($model, $reservation->{project}, $second);
				$sum->badd(charged($model, $reservation->{project}, $second, $piece) * in_force($model->{multipliers}, $second) * in_force($model->{factors}, $second) * $reservation->{part});
			}
		}
	}
	return $sum;
}

sub credits
{
	my ($units) = @_;
	my $digits = '0' x DECIMALS . $units->bstr;

	return sprintf('%s.%s', $digits =~ s/.{@{[DECIMALS]}}$//r, substr $digits, -DECIMALS()) =~ s/^0+(?=\d)//r;
}

# Times are whole seconds, so each second has one price.
sub read_pieces
{
	my ($session, $id) = @_;

	return [ map { my ($from, $to, $vcores, $gigabytes) = split /\|/; { from => $from, to => $to, vcores => $vcores, gigabytes => $gigabytes } } split /\n/, value($session, <<~"SQL") ];
		SELECT extract(epoch FROM a."from" - @{[at(0)]})::bigint, extract(epoch FROM a."to" - @{[at(0)]})::bigint, yquota.amount(a.allocation, 'vcores'), yquota.amount(a.allocation, 'memory-mb') / 1024
		FROM yquota.reservation_allocation AS a
		WHERE a.reservation_id = '$id' AND a.version = (SELECT max(version) FROM yquota.reservation_definition WHERE reservation_id = '$id')
		SQL
}

sub contract
{
	my ($model) = @_;
	my $arrival = $model->{now} + int rand 1500;
	my $requests = join ', ', map {
		my $gang = 1 + int rand 5;
		sprintf q(yquota.reservation_request('[memory-mb=%d,vcores=%d]', %d, interval '%d s', %d)), 1024 * int(1 + rand 3), 1 + rand 3, $gang * (1 + int rand 3), 60 + int rand 600, $gang
	} 1 .. 1 + rand 3;

	return sprintf q(yquota.reservation_contract(%s, %s, ARRAY[%s], '%s')), at($arrival), at($arrival + 2500 + int rand 3000), $requests, one_of('ALL', 'ORDER', 'ANY');
}

my %action = (
	submit => sub {
		my ($session, $model) = @_;
		my $id = sprintf 'reservation_1_%04d', ++$model->{last};
		my $project = one_of(@projects);

		return if value($session, "SELECT accepted FROM yquota.submit_reservation('$id', 'root.plan', 'ann', '{}', '$project', " . contract($model) . ')') ne 't';
		$count{accepted}++;
		$model->{reservations}{$id} = {
			project => $project, part => in_force($model->{parts}, $model->{now}),
			versions => [ { accepted => $model->{now}, pieces => read_pieces($session, $id) } ] };
	},
	update => sub {
		my ($session, $model) = @_;
		my $id = one_of(grep { !defined $model->{reservations}{$_}{versions}[-1]{ended} } sort keys %{ $model->{reservations} }) // return;
		my $reservation = $model->{reservations}{$id};

		return if value($session, "SELECT extract(epoch FROM deadline - @{[at($model->{now})]}) > 0 FROM yquota.reservation_definition WHERE reservation_id = '$id' AND ended_at IS NULL") ne 't';
		return if value($session, "SELECT accepted FROM yquota.update_reservation('$id', 'ann', '{}', " . contract($model) . ')') ne 't';
		$count{updated}++;
		$reservation->{versions}[-1]{ended} = $model->{now};
		push @{ $reservation->{versions} }, { accepted => $model->{now}, pieces => read_pieces($session, $id) };
	},
	delete => sub {
		my ($session, $model) = @_;
		my $id = one_of(grep { !defined $model->{reservations}{$_}{versions}[-1]{ended} } sort keys %{ $model->{reservations} }) // return;

		return if value($session, "SELECT count(*) FROM yquota.reservation_definition WHERE reservation_id = '$id'") == 0;
		$session->run("SELECT yquota.delete_reservation('$id', 'ann', '{}')");
		$count{deleted}++;
		$model->{reservations}{$id}{versions}[-1]{ended} = $model->{now};
	},
	# Run a container in the queue of a reservation. The container uses up the hold of the reservation. The model
	# treats the container as a reservation that pays the full price.
	use => sub {
		my ($session, $model) = @_;
		my $id = one_of(grep { /^reservation/ && $model->{reservations}{$_}{versions}[0]{accepted} < $model->{now} - 2 } sort keys %{ $model->{reservations} }) // return;
		my $reservation = $model->{reservations}{$id};
		my $begin = max($model->{horizon}, $reservation->{versions}[0]{accepted}) + 1;

		return if $begin >= $model->{now};
		my ($from, $vcores, $gigabytes) = ($begin + int rand($model->{now} - $begin), 1 + int rand 3, int rand 4);
		my $to = $from + 1 + int rand($model->{now} - $from);
		my $container = 'container_' . ++$model->{used};

		$session->run(sprintf q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation)
			VALUES ('CONTAINER_START', '%1$s', %2$s, '%4$s', 'app', 'ann', 'root.plan.%5$s', '[memory-mb=%7$d,vcores=%6$d]'), ('CONTAINER_FINISH', '%1$s', %3$s, NULL, NULL, NULL, NULL, NULL)),
			$container, at($from), at($to), $reservation->{project}, $id, $vcores, 1024 * $gigabytes);
		$model->{reservations}{$container} = { project => $reservation->{project}, part => 100,
			versions => [ { accepted => $from, ended => $to, pieces => [ { from => $from, to => $to, vcores => $vcores, gigabytes => $gigabytes } ] } ] };
		$count{used}++;
	},
	grant => sub {
		my ($session, $model) = @_;

		$session->run(sprintf q(INSERT INTO yquota.quota_grant (project, amount, reason, kind, expires_at) VALUES ('%s', %d, 'random', '%s', %s)),
			one_of(@projects), one_of(-1, 1, 1) * int(1 + rand 5000), one_of(qw(grant refund correction)), rand() < 0.5 ? "'infinity'" : at($model->{now} + 1 + int rand 3000));
		$count{granted}++;
	},
	post => sub {
		my ($session) = @_;

		$count{posted} += value($session, one_of('SELECT yquota_internal.book_reservations()', 'SELECT count(yquota.quota_compute())'));
	},
	multiplier => sub {
		my ($session, $model) = @_;
		my $from = max($model->{now}, $model->{multipliers}[-1][0]) + 1 + int rand 300;
		my $multiplier = 100 + int rand 200;

		$session->run(sprintf q(SELECT yquota.set_multiplier('GENERAL', round(%d / 100.0, 2), %s)), $multiplier, at($from));
		push @{ $model->{multipliers} }, [ $from, $multiplier ];
	},
	factor => sub {
		my ($session, $model) = @_;
		my $from = max($model->{now}, $model->{factors}[-1][0]) + 1 + int rand 300;
		my $factor = int rand 150;

		$session->run(sprintf q(INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root', %s, round(%d / 100.0, 2))), at($from), $factor);
		push @{ $model->{factors} }, [ $from, $factor ];
	},
	rule => sub {
		my ($session, $model) = @_;
		my $from = max($model->{now}, $model->{parts}[-1][0]) + 1 + int rand 100;
		my ($part, $mode) = (one_of(0, 25, 50, 100), one_of(qw(dearest sum sum_of_groups)));

		$session->run(sprintf q(INSERT INTO yquota.charging_rule (effective_at, reserved_factor, charging_mode) VALUES (%s, round(%d / 100.0, 2), '%s')), at($from), $part, $mode);
		push @{ $model->{parts} }, [ $from, $part ];
		push @{ $model->{modes}{''} }, [ $from, $mode ];
	},
	mode => sub {
		my ($session, $model) = @_;
		my $project = one_of(@projects);
		my $points = $model->{modes}{$project} //= [ [ -1, undef ] ];
		my $from = max($model->{now}, $points->[-1][0]) + 1 + int rand 100;
		my $mode = one_of(undef, qw(dearest sum sum sum_of_groups));

		$session->run(sprintf q(INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES ('%s', %s, %s)), $project, at($from), defined $mode ? "'$mode'" : 'NULL');
		push @$points, [ $from, $mode ];
	},
	forgive => sub {
		my ($session, $model) = @_;
		my $from = $model->{horizon} + int rand($model->{now} - $model->{horizon});
		my $to = $from + 1 + int rand 200;
		my $project = rand() < 0.5 ? one_of(@projects) : undef;

		$session->run(sprintf q(SELECT * FROM yquota.forgive(%s, %s, 'random', %s)), at($from), at($to), defined $project ? "'$project'" : 'NULL');
		push @{ $model->{forgiven} }, { from => $from, to => $to, project => $project };
		$count{forgiven}++;
	},
	close => sub {
		my ($session, $model) = @_;
		my $begin = max($model->{closed} + 1, $model->{horizon});
		my $end = $begin + int rand max(1, $model->{now} - $begin);

		return if $end > $model->{now};
		my $closed_at = '';

		$closed_at = value($session, 'SELECT closed_at FROM yquota_internal.close_period_at(' . at($end) . ', 10000)') while $closed_at eq '';
		push @{ $model->{periods} }, { until => instant($end), closed_at => $closed_at };
		$model->{closed} = $end;
		$count{closed}++;
	},
	forget => sub {
		my ($session, $model) = @_;

		$session->run('SELECT yquota.remove_ended_reservations(' . at($model->{now}) . ')');
	},
	archive => sub {
		my ($session, $model) = @_;

		$session->run($_) foreach 'SELECT yquota.remove_ended_reservations(' . at($model->{now}) . ')', 'SELECT yquota.quota_compute()', 'SELECT yquota.seal_history()';
		my @reports = kept_reports($model);
		my $before = Reports::answers($session, @reports);

		$count{archived} += value($session, q(SELECT archived FROM yquota.archive('archived_charge', 'infinity')));
		$model->{horizon} = $model->{now};
		my $after = Reports::answers($session, @reports);

		push @{ $model->{wrong} }, map { Reports::differences($_->{name}, $before->{ $_->{name} }, $after->{ $_->{name} }) } @reports;
		$count{reports} += @reports;
		foreach my $past (map { $before->{ $_->{name} } } grep { $_->{name} =~ /^balance_at/ } @reports)
		{
			$count{held} += grep { /\|held$/ && $past->{$_} ne '0' } keys %$past;
		}
	},
	roll_up => sub { my ($session) = @_; $session->run($_) foreach Trial::roll_up_statements(); });

# Return the reports that must not change when all history up to now has been archived.
sub kept_reports
{
	my ($model) = @_;
	my $now = instant($model->{now});
	my @quarters = map { $_ * Reports::QUARTER } sort { $a <=> $b } map { int((BEGIN_AT + rand($now - BEGIN_AT)) / Reports::QUARTER) } 1 .. 2;

	return grep { !$_->{leaves} && !$_->{refused} } Reports::all({
		windows => [ [ -Model::FOREVER, Model::FOREVER ], [ $quarters[0], $quarters[1] + Reports::QUARTER ] ],
		instants => [ $now, map { BEGIN_AT + int rand($now - BEGIN_AT) } 1 .. 6 ],
		periods => $model->{periods}, horizon => $now, now => $now, from => BEGIN_AT, terms => '{}', some => sub { @projects } });
}

sub look
{
	my ($session, $model, $place) = @_;
	my (%cost, %of_project);
	my @wrong = splice @{ $model->{wrong} };

	foreach my $id (sort keys %{ $model->{reservations} })
	{
		my $reservation = $model->{reservations}{$id};

		$cost{$id} = cost($model, $reservation, $model->{now});
		$of_project{ $reservation->{project} } += $cost{$id};
	}
	my %found = map { split /\|/ } split /\n/, value($session, <<~'SQL');
		SELECT part.reservation_id, sum(part.amount)
		FROM (SELECT reservation_id, amount FROM yquota.reservation_charge
			  UNION ALL
			  SELECT reservation_id, yquota_internal.accrued(allocation, factors, "from", "to") FROM yquota_internal.accruing_segment
			  UNION ALL
			  SELECT container_id, amount FROM yquota.charge
			  UNION ALL
			  SELECT container_id, amount FROM archived_charge) AS part
		GROUP BY 1
		SQL
	my %is_archived = map { $_ => 1 } split /\n/, value($session, 'SELECT DISTINCT container_id FROM archived_charge');
	my %bill = map { split /\|/ } split /\n/, value($session, sprintf 'SELECT id, sum(b.amount) FROM unnest(ARRAY[%s]::text[]) AS id, yquota.explain_reservation(id) AS b GROUP BY 1',
		join ', ', map { "'$_'" } grep { /^reservation/ && !$is_archived{$_} } sort keys %cost);
	my %balance = map { split /\|/ } split /\n/, value($session, 'SELECT project, charged + accrued FROM yquota.project_balance');
	my %report = map { split /\|/ } split /\n/, value($session, q(SELECT project, sum(amount) FROM yquota.cost_between('-infinity', 'infinity', '{project,queue}') GROUP BY 1));

	$of_project{lab} += $of_project{laser} // 0;
	foreach my $check ((map { [ "cost of $_", $cost{$_}, $found{$_} ], [ "bill of $_", $is_archived{$_} || !/^reservation/ ? Math::BigInt->new(0) : $cost{$_}, $bill{$_} ] } sort keys %cost),
		(map { [ "balance of $_", Math::BigInt->new($of_project{$_} // 0), $balance{$_} ] } @projects),
		(map { [ "report of $_", Math::BigInt->new($_ eq 'lab' ? $of_project{lab} - ($of_project{laser} // 0) : $of_project{$_} // 0), $report{$_} ] } @projects))
	{
		my ($what, $expected, $got) = @$check;

		$count{compared}++;
		push @wrong, sprintf '%s is %s, should be %s', $what, $got // 'none', credits($expected)
		  if value($session, sprintf 'SELECT %s::numeric = %s::numeric', $got // 0, credits($expected)) ne 't';
	}
	push @wrong, split /\n/, value($session, 'SELECT * FROM yquota.verify()');
	diag(join "\n", $place, @wrong) if @wrong;
	return !@wrong;
}

sub play
{
	my ($database) = @_;

	Session::administer("CREATE DATABASE $database");
	my $session = Session->new($database);
	my $is_right = 1;
	my %model = (now => 0, closed => -1, horizon => 0, last => 0, used => 0, periods => [], wrong => [], reservations => {}, forgiven => [],
		multipliers => [ [ -1, 100 ] ], factors => [ [ -1, 100 ] ], parts => [ [ -1, 0 ], [ 0, 50 ] ], modes => { '' => [ [ -1, 'dearest' ] ] });

	$session->run($_) foreach 'SET client_min_messages = error', 'CREATE EXTENSION IF NOT EXISTS yquota', 'SELECT yquota.set_clock(' . at(0) . ')',
	  q(DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores')),
	  q(INSERT INTO yquota.project (name, parent) VALUES ('lab', NULL), ('laser', 'lab'), ('web', NULL)),
	  q(INSERT INTO yquota.queue (path, capacity, reservable, reservation_policy, reservation_agent, reservation_window) VALUES ('root', NULL, NULL, NULL, NULL, NULL), ('root.plan', '100', true, 'NoOverCommitPolicy', 'GreedyReservationAgent', 500000)),
	  q(INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=61440,vcores=60]')),
	  'INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true)',
	  'INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES (' . at(0) . ', 0.5)',
	  'CREATE TABLE archived_charge (LIKE yquota.charge)';
	Reports::install($session);
	foreach my $step (1 .. $steps)
	{
		my $name = one_of(qw(submit submit submit update delete use use grant post post multiplier factor rule rule mode forgive close forget archive archive roll_up));

		$model{now} += int rand 400;
		$session->run('SELECT yquota.set_clock(' . at($model{now}) . ')');
		$action{$name}->($session, \%model);
		$is_right = look($session, \%model, "history $number, step $step, $name") if $step % 6 == 0 || @{ $model{wrong} };
		last if !$is_right;
	}
	$session->close;
	Session::administer("DROP DATABASE $database WITH (FORCE)");
	return $is_right;
}

my $failures = 0;
for (my $goes_on = 1; $goes_on && !$failures;)
{
	$goes_on = soak_goes_on(++$number, $histories, 10 * $histories) || soak_lacks($number, $histories, values %count);
	srand($seed + $number);
	$failures++ if !play("yquota_reservation_charge_$$");
}
is($failures, 0, 'reservations pay what the model says');
note("$_: $count{$_}") foreach sort keys %count;
cmp_ok($count{$_}, '>', 0, $_) foreach sort keys %count;
done_testing();
