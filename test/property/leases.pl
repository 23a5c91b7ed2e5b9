#!/usr/bin/env perl
#
# Leases of a budget over three clusters: no credit is ever in two clusters.
#
# A history starts and finishes containers in clusters whose clocks differ, and sends some of the events late. It cuts
# clusters off and lets them come back, and it renews leases. A renewal may commit, fail before its commit, or fail
# after a cluster has committed. Two sessions run renewals at once, and a failover loses their commits, while clusters
# may be cut off. After each step:
#
# - The shares of the leases of a period, less the returned amount, are at most the budget.
#   The view federated_budget_status shows where each credit is.
# - Each grant in a cluster is a lease of the federation with the same terms, and exists once,
#   unless the cluster has not been reached since a failover.
# - Clusters can spend and have spent at most the budget of their grants. Only late events
#   exceed it. A model computes the spending. It shares only this rule with the server: the
#   grant that expires first is spent first, and the next grant pays what no grant has covered.
#
# At the end every cluster comes back, and both sides agree about each lease, to the last digit.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(max min);
use Math::BigInt;
use Test::More;
use Time::Local qw(timegm);
use Session;
use Trial;

use constant { STEPS => 40, MINUTE => 60, HOUR => 3600, MICRO => 1_000_000 };

my ($seed, $histories) = Trial::plan_run(4);
my @clusters = qw(east north west);
my %database = map { $_ => "yquota_leases_${_}_$$" } 'federation', @clusters;
my (%session, %ahead, %cut_off, %happened);
my $now = timegm(0, 0, 9, 2, 2, 2026);
my $containers = 0;

sub one_of { return $_[ rand @_ ]; }
sub chance { return rand() < $_[0]; }
sub between { my ($low, $high) = @_; return $low + int rand($high - $low + 1); }
sub micro { my ($text) = @_; my ($whole, $part) = split /\./, $text; $part = substr(($part // '') . '000000', 0, 6); return Math::BigInt->new("$whole$part"); }
sub at { return "to_timestamp($_[0])"; }
sub clock_of { return $now + $ahead{ $_[0] }; }
sub federation { return $session{federation}->run($_[0]); }

# -- clusters ------------------------------------------------------------------------------

sub make_databases
{
	foreach my $name ('federation', @clusters)
	{
		Session::administer("CREATE DATABASE $database{$name}");
		$session{$name} = Session->new($database{$name});
		$session{$name}->run("CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('$name')");
	}
	federation('CREATE EXTENSION postgres_fdw');
	set_clocks(map { $_ => 0 } @clusters);
	foreach my $name (@clusters)
	{
		federation(<<~"SQL");
			DO \$\$ BEGIN
				EXECUTE format('CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)', current_setting('unix_socket_directories'), current_setting('port'), '$database{$name}');
			END \$\$;
			CREATE USER MAPPING FOR CURRENT_USER SERVER $name;
			SELECT yquota.federate_cluster('$name', '$name');
			SQL
	}
	$session{other} = Session->new($database{federation});
	$session{admin} = Session->new($database{federation});
	return;
}

sub set_clocks
{
	my (%new) = @_;

	%ahead = %new if %new;
	$session{$_}->run('SELECT yquota.set_clock(' . at(clock_of($_)) . ')') foreach @clusters;
	federation('SELECT yquota.set_clock(' . at($now) . ')');
	return;
}

sub cut_off
{
	my ($name) = @_;

	$session{admin}->run("ALTER SERVER $name OPTIONS (SET port '1')");
	$cut_off{$name} = 1;
	return;
}

sub come_back
{
	my ($name) = @_;

	$session{admin}->run(qq(DO \$\$ BEGIN EXECUTE format('ALTER SERVER $name OPTIONS (SET port %L)', current_setting('port')); END \$\$));
	delete $cut_off{$name};
	return;
}

# -- containers ----------------------------------------------------------------------------

sub start
{
	my ($history, $name, $at, $end) = @_;
	my $container = { id => 'c' . ++$containers, from => $at, vcores => between(1, 8) };

	push @{ $history->{containers}{$name} }, $container;
	$session{$name}->run("INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) "
		. "VALUES ('CONTAINER_START', '$container->{id}', " . at($at) . ", '$history->{project}', '[vcores=$container->{vcores}]')");
	finish($name, $container, $end) if defined $end;
	return;
}

sub finish
{
	my ($name, $container, $at) = @_;

	$container->{to} = $at;
	$session{$name}->run("INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', '$container->{id}', " . at($at) . ')');
	return;
}

sub running { my ($history, $name) = @_; return grep { !defined $_->{to} } @{ $history->{containers}{$name} }; }

# Return the credits that a project has spent in a cluster before an instant: one per vcore and
# second.
sub spent_before
{
	my ($history, $name, $at) = @_;
	my $spent = Math::BigInt->new(0);

	foreach my $container (@{ $history->{containers}{$name} })
	{
		my $to = min($at, $container->{to} // $at, clock_of($name));
		$spent += Math::BigInt->new($container->{vcores}) * ($to - $container->{from}) if $to > $container->{from};
	}
	return $spent * MICRO;
}

# -- the model of grants -------------------------------------------------------------------

# Return the spending of each grant by the clock of a cluster, in millionths of a credit.
sub spend
{
	my ($history, $name, @grants) = @_;
	my $clock = clock_of($name);
	my %instant = map { $_ => 1 } $clock, grep { $_ <= $clock } map { $_->{begins}, $_->{expires} } @grants;
	my ($owed, $before) = (Math::BigInt->new(0), Math::BigInt->new(0));

	$_->{rest} = undef foreach @grants;
	foreach my $at (sort { $a <=> $b } keys %instant)
	{
		my $until = spent_before($history, $name, $at);
		my $due = $until - $before;

		$before = $until;
		foreach my $grant (sort { $a->{expires} <=> $b->{expires} || $a->{id} <=> $b->{id} } grep { defined $_->{rest} && !$_->{over} } @grants)
		{
			my $part = $due < $grant->{rest} ? $due : $grant->{rest};
			$grant->{rest} -= $part;
			$due -= $part;
		}
		$owed += $due;
		$_->{over} = 1 foreach grep { defined $_->{rest} && $_->{expires} <= $at } @grants;
		foreach my $grant (sort { $a->{expires} <=> $b->{expires} || $a->{id} <=> $b->{id} } grep { !defined $_->{rest} && $_->{begins} <= $at } @grants)
		{
			# a grant that arrives after its expiry pays nothing
			my $part = $grant->{expires} <= $at ? 0 : $owed < $grant->{amount} ? $owed : $grant->{amount};
			$grant->{rest} = $grant->{amount} - $part;
			$owed -= $part;
			$grant->{over} = $grant->{expires} <= $at;
		}
	}
	$_->{spent} = defined $_->{rest} ? $_->{amount} - $_->{rest} : Math::BigInt->new(0) foreach @grants;
	return;
}

# Return the grants of a project in a cluster, from its rows.
sub grants
{
	my ($history, $name) = @_;

	my @grants = map {
		{ id => $_->[0], lease => $_->[1], amount => micro($_->[2]), begins => max($_->[3], $_->[5]), expires => max($_->[4], $_->[5]), terms => join('|', @$_[2 .. 4]), starts_on => $_->[6] }
	} $session{$name}->rows("SELECT given.grant_id, taken.identity, trim_scale(given.amount), extract(epoch FROM given.valid_from)::bigint, "
		. "extract(epoch FROM given.expires_at)::bigint, extract(epoch FROM given.booked_at)::bigint, taken.starts_on "
		. "FROM yquota.quota_grant AS given JOIN yquota_internal.taken_lease AS taken USING (grant_id) WHERE given.project = '$history->{project}'");
	spend($history, $name, @grants);
	return @grants;
}

# -- checks -------------------------------------------------------------------------------

sub leases
{
	my ($history) = @_;

	return map {
		{ lease => $_->[0], cluster => $_->[1], share => micro($_->[2]), taken_off => micro($_->[3]), returned => $_->[4] eq '' ? undef : micro($_->[4]),
			spent => $_->[5] eq '' ? undef : micro($_->[5]), starts_on => $_->[6], terms => join('|', @$_[7 .. 9]), taken => $_->[10] }
	} $session{federation}->rows(<<~"SQL");
		SELECT identity, cluster, share, taken_off, returned, spent, starts_on, trim_scale(share - taken_off), extract(epoch FROM valid_from)::bigint,
			   extract(epoch FROM expires_at)::bigint, taken_at IS NOT NULL
		FROM yquota.budget_lease WHERE project = '$history->{project}';
		SQL
}

sub check
{
	my ($history, $step) = @_;
	my @leases = leases($history);
	my $budget = micro($history->{amount});
	my (%kept, %spendable, %seen);

	foreach my $lease (@leases)
	{
		$kept{ $lease->{starts_on} } += $lease->{share} - ($lease->{returned} // 0);
	}
	foreach my $period (sort keys %kept)
	{
		die "$step: leases of $period add up to $kept{$period} millionths of $budget\n" if $kept{$period} > $budget;
	}
	my $status = federation("SELECT bool_and(spent + in_force + unreported + free = amount AND free >= 0), count(*) FROM yquota.federated_budget_status WHERE project = '$history->{project}'");
	die "$step: the status does not add up\n" if $status ne "t|1\n";

	my %lease = map { $_->{lease} => $_ } @leases;
	my %is_unheard = map { $_->[0] => 1 } $session{federation}->rows('SELECT cluster FROM yquota_internal.unheard_cluster');
	foreach my $name (@clusters)
	{
		foreach my $grant (grants($history, $name))
		{
			my $lease = $lease{ $grant->{lease} };

			die "$step: lease $grant->{lease} of $name is not known here\n" if $lease ? $lease->{cluster} ne $name : !$is_unheard{$name};
			die "$step: lease $grant->{lease} of $name is there twice\n" if $seen{ $grant->{lease} }++;
			die "$step: lease $grant->{lease} of $name has terms $grant->{terms}, not $lease->{terms}\n" if $lease && $grant->{terms} ne $lease->{terms};
			$happened{'lost lease in force'}++ if !$lease && !$grant->{over};
			# add the whole amount of a grant in force, and only the spent amount of an expired
			# grant
			$spendable{ $grant->{starts_on} } += $grant->{over} ? $grant->{spent} : $grant->{amount};
		}
	}
	foreach my $lease (grep { $_->{taken} eq 't' } @leases)
	{
		die "$step: lease $lease->{lease} is said to be taken, and is not\n" if !$seen{ $lease->{lease} };
	}
	foreach my $period ($history->{has_late} ? () : sort keys %spendable)
	{
		die "$step: clusters have spent or can spend $spendable{$period} millionths of $budget\n" if $spendable{$period} > $budget;
	}
	return;
}

# -- renewals ------------------------------------------------------------------------------

sub renew { return federation('SELECT * FROM yquota.renew_leases()'); }

# Renew leases such that a cluster commits its lease, but the federation's transaction does not.
sub renew_and_lose_commit
{
	my ($history) = @_;
	foreach my $row ($session{federation}->rows(<<~"SQL"))
		SELECT format('(%L, %L, %L, %L, %s, %L, %L, %L, %s, %L, %L)', cluster, federation, identity, history, lease, project, period, starts_on, share - taken_off,
					  valid_from, expires_at), cluster, history
		FROM yquota.budget_lease, yquota_internal.lease_history() AS history
		WHERE project = '$history->{project}' AND taken_at IS NULL AND settled_at IS NULL;
		SQL
	{
		my ($terms, $name, $own) = @$row;
		next if chance(0.3) || $session{$name}->run("SELECT count(*) FROM yquota.lending_federation WHERE history = '$own'") != 1;
		$session{$name}->run("INSERT INTO yquota.cluster_lease (cluster, federation, identity, history, lease, project, period, starts_on, amount, valid_from, expires_at) VALUES $terms");
		$happened{'commit lost'}++;
	}
	return;
}

sub renew_at_once
{
	federation('BEGIN');
	renew();
	$session{other}->send('SELECT * FROM yquota.renew_leases()');
	federation(one_of('COMMIT', 'ROLLBACK'));
	my $error = Session::error($session{other}->receive);
	die $error if defined $error;
	return;
}

# Fail over. The new server lacks the last commits, and assigns their numbers again. Its timeline in
# the test is that of the old server, so the old server gets an earlier timeline.
sub fail_over
{
	my ($history) = @_;
	my $first = federation('SELECT max(lease) - ' . between(0, 2) . ' FROM yquota.budget_lease');
	chomp $first;
	return if $first eq '' || $first < 1;
	my $known = federation("SELECT count(*) FROM yquota.budget_lease WHERE lease >= $first AND (project <> '$history->{project}' OR taken_off > 0)");
	return if $known != 0;
	my $half = federation("SELECT ceil(extract(epoch FROM max(valid_from + (expires_at - valid_from) / 2))) FROM yquota.budget_lease WHERE lease >= $first");
	federation("DELETE FROM yquota.budget_lease WHERE lease >= $first; SELECT setval('yquota.budget_lease_lease_seq', greatest($first - 1, 1))");
	federation(q(UPDATE yquota_internal.cluster_contact SET history = regexp_replace(history, '/[0-9]+/', '/0/')));
	$session{$_}->run(q(UPDATE yquota_internal.lender SET history = regexp_replace(history, '/[0-9]+/', '/0/'))) foreach @clusters;
	$happened{ %cut_off ? 'failover while a cluster is away' : 'failover' }++;
	# the next leases replace leases that the clusters already have
	$now = $half if chance(0.7) && $half > $now;
	set_clocks();
	renew() foreach 1 .. between(1, 4);
	return;
}

# Lose the first leases, which are the largest.
sub lose_first_leases
{
	my ($history) = @_;

	renew() foreach 1 .. 3;
	cut_off(one_of(@clusters));
	fail_over($history);
	return 'a failover after the first leases';
}

# -- a history -----------------------------------------------------------------------------

sub begin_history
{
	my ($number) = @_;
	my $history = { project => "h$number", amount => one_of(20000, 200000, 3000000), has_late => chance(0.5) };

	$session{$_}->run("INSERT INTO yquota.project (name) VALUES ('$history->{project}')") foreach 'federation', @clusters;
	set_clocks(map { $_ => between(-250, 250) } @clusters);
	federation(sprintf(q(INSERT INTO yquota.federated_budget (project, period, amount, lease_duration, lease_fraction, floor_fraction) VALUES ('%s', '%s', %s, '%s', %s, %s)),
		$history->{project}, one_of('day', 'month'), $history->{amount}, one_of('20 minutes', '1 hour', '3 hours'), one_of(0.5, 1, 1, 0.3), one_of(0, 0.2, 1)));
	return $history;
}

sub step
{
	my ($history) = @_;
	my $name = one_of(@clusters);
	my @running = running($history, $name);
	my $action = rand;

	if ($action < 0.25)
	{
		$now += one_of(between(1, 5 * MINUTE), between(1, HOUR));
		set_clocks();
		return 'time goes on';
	}
	if ($action < 0.4)
	{
		start($history, $name, clock_of($name));
		return "a start in $name";
	}
	if ($action < 0.5 && @running)
	{
		my $container = one_of(@running);
		my $at = chance(0.3) ? between($container->{from}, clock_of($name)) : clock_of($name);

		# an end that is reported late lowers the past spending
		finish($name, $container, $at);
		return "a finish in $name";
	}
	if ($action < 0.58 && $history->{has_late})
	{
		my ($over) = $session{federation}->rows("SELECT cluster, extract(epoch FROM valid_from)::bigint, extract(epoch FROM expires_at)::bigint FROM yquota.budget_lease "
			. "WHERE project = '$history->{project}' AND returned > 0 AND taken_at IS NOT NULL ORDER BY lease DESC LIMIT 1");
		my ($from, $to) = (clock_of($name) - between(2, 3 * HOUR), clock_of($name));

		# preferably start it during a lease whose rest has been returned
		($name, $from, $to) = @$over if $over && chance(0.7);
		start($history, $name, $from, between($from + 1, min($to, clock_of($name))));
		$happened{'late start'}++;
		return "a late container in $name";
	}
	if ($action < 0.65)
	{
		$cut_off{$name} ? come_back($name) : cut_off($name);
		$happened{'cut off'}++ if $cut_off{$name};
		return "$name is " . ($cut_off{$name} ? 'cut off' : 'back');
	}
	if ($action < 0.68)
	{
		federation("UPDATE yquota.federated_cluster SET weight = " . one_of(0, 1, 2.5) . " WHERE cluster = '$name'");
		return "the weight of $name";
	}
	if ($action < 0.72)
	{
		federation('BEGIN');
		renew();
		federation('ROLLBACK');
		return 'a renewal that does not commit';
	}
	if ($action < 0.77)
	{
		renew_and_lose_commit($history);
		return 'a renewal whose commit is lost';
	}
	if ($action < 0.81)
	{
		renew_at_once();
		return 'two renewals at once';
	}
	if ($action < 0.84)
	{
		fail_over($history);
		return 'a failover';
	}
	my ($offered, $taken, $settled, $problems) = split /\|/, renew();
	$happened{offered} += $offered;
	$happened{taken} += $taken;
	$happened{settled} += $settled;
	return 'a renewal';
}

# Let every cluster come back and report its last leases.
sub end_history
{
	my ($history) = @_;

	come_back($_) foreach keys %cut_off;
	federation("DELETE FROM yquota.federated_budget WHERE project = '$history->{project}'");
	renew() foreach 1 .. 2;
	$now += 12 * HOUR;
	set_clocks();
	renew();
	my %lease = map { $_->{lease} => $_ } leases($history);
	foreach my $name (@clusters)
	{
		foreach my $grant (grants($history, $name))
		{
			my $lease = delete $lease{ $grant->{lease} } or die "at the end: lease $grant->{lease} of $name is not known here\n";

			die "at the end: lease $grant->{lease} of $name is not settled\n" if !defined $lease->{returned};
			die "at the end: lease $grant->{lease} of $name has spent $grant->{spent}, here $lease->{spent}\n" if $grant->{spent} != $lease->{spent};
			$happened{'spent a whole lease'}++ if $grant->{spent} == $grant->{amount};
			$happened{'spent a part'}++ if $grant->{spent} > 0 && $grant->{spent} < $grant->{amount};
		}
	}
	foreach my $lease (values %lease)
	{
		die "at the end: lease $lease->{lease}, which no cluster has, is not settled\n" if !defined $lease->{returned};
		die "at the end: lease $lease->{lease}, which no cluster has, gave back $lease->{returned} of $lease->{share}\n" if $lease->{returned} != $lease->{share} - $lease->{taken_off};
		$happened{'never taken'}++;
	}
	$happened{'taken off'} += grep { $_->{taken_off} > 0 } leases($history);
	foreach my $name (@clusters)
	{
		my $problems = $session{$name}->run('SELECT count(*) FROM yquota.verify()');
		die "at the end: verify() of $name finds $problems" if $problems != 0;
		# the next history need not consider this one
		$session{$name}->run('DELETE FROM yquota_internal.taken_lease');
	}
	federation('DELETE FROM yquota.budget_lease WHERE lease < (SELECT max(lease) FROM yquota.budget_lease)');
	return;
}

make_databases();
my $failed = 0;
my @wanted = ('offered', 'taken', 'settled', 'cut off', 'commit lost', 'failover', 'failover while a cluster is away', 'lost lease in force', 'spent a whole lease', 'spent a part', 'late start');
# play further histories until each of these cases has occurred
for (my $number = 1; $number <= $histories || $number <= 8 * $histories && grep { !$happened{$_} } @wanted; $number++)
{
	srand($seed + $number);
	my $history = begin_history($number);
	my @steps;

	my $passed = eval {
		foreach (1 .. STEPS)
		{
			push @steps, !@steps && chance(0.3) ? lose_first_leases($history) : step($history);
			check($history, $steps[-1]);
		}
		end_history($history);
		1;
	};
	if (!$passed)
	{
		diag("YQUOTA_SEED=$seed, history $number: ${@}steps: " . join('; ', @steps));
		last if ++$failed;
	}
}
is($failed, 0, 'no credit is in two leases, and in the end both sides agree');
note(join ', ', map { "$_ $happened{$_}" } sort keys %happened);
ok($failed || $happened{$_}, "the history has: $_") foreach @wanted;
$_->close foreach values %session;
Session::administer("DROP DATABASE $_ WITH (FORCE)") foreach values %database;
done_testing();
