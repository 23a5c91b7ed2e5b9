#!/usr/bin/env perl
#
# Projects are parts of other projects in random families. Projects enter families and move within them while
# containers run, report late and end. Credit is granted permanently and for a time, refunded, corrected, held and
# released. Containers are voided, time is forgiven and rated again. The test compares the credit, spending, holds and
# available amount of every project, now and at past instants, with a model. It also compares which holds and moves
# are allowed. The model computes from the containers, grants and holds in whole microcredits; a vcore costs one per
# microsecond. It walks from instant to instant and caches nothing.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(first max min shuffle sum0);
use Session;
use Test::More;
use Trial;

my ($seed, $histories) = Trial::plan_run(3);
my %count = map { $_ => 0 } qw(holds refused_holds moves refused_moves balances limited_above past lost refunds voids forgiven rerated returned returned_too_late);
my ($project, $container, $grant, $hold, $forgiven, $now);

sub pick { return $_[ int rand @_ ] }

# Return the instant so many microseconds after the beginning of a history.
sub instant
{
	my ($at) = @_;

	return sprintf("(timestamptz '2026-03-02 10:00+00' + %d * interval '1 microsecond')", $at);
}

# Return a project and its ancestors, beginning with the project.
sub line
{
	my ($name) = @_;
	my @line;

	for (; defined $name && @line <= keys %$project; $name = $project->{$name}{parent})
	{
		push @line, $name;
	}
	return @line;
}

sub family
{
	my ($name) = @_;

	return grep { my $member = $_; grep { $_ eq $name } line($member) } keys %$project;
}

# Return the cost of a container between two instants; forgiven time costs nothing.
sub cost
{
	my ($one, $from, $to) = @_;
	my $end = defined $one->{finish} ? min($one->{finish}, $to) : $to;
	my $begin = max($one->{start}, $from);
	my ($paid, $free) = (max($end - $begin, 0), 0);

	return 0 if !$paid || $one->{void};
	foreach my $interval (sort { $a->{from} <=> $b->{from} } grep { !defined $_->{project} || $_->{project} eq $one->{project} } @$forgiven)
	{
		my ($first, $last) = (max($interval->{from}, $begin), min($interval->{to}, $end));

		next if $last <= $first;
		$free += $last - $first;
		$begin = $last;
	}
	return ($paid - $free) * $one->{cores};
}

sub spent
{
	my ($at, @members) = @_;
	my %member = map { $_ => 1 } @members;

	return sum0(map { cost($_, -1e12, $at) } grep { $member{ $_->{project} } } values %$container);
}

sub held
{
	my ($at, @members) = @_;
	my %member = map { $_ => 1 } @members;
	my $held = 0;

	foreach my $one (grep { $member{ $_->{project} } } values %$hold)
	{
		next if $at < $one->{at} || $at >= $one->{until} || defined $one->{released} && $at >= $one->{released};
		$held += max(0, $one->{amount} - sum0(map { cost($_, $one->{at}, $at) }
			grep { $_->{application} eq $one->{application} } values %$container));
	}
	return $held;
}

# Return since when a project has its own credit: from its first row that is neither a refund nor a
# correction.
sub own_since
{
	my ($name) = @_;

	return min(map { $_->{from} } grep { $_->{project} eq $name && $_->{kind} eq 'grant' } @$grant);
}

sub has_own
{
	my ($name, $at) = @_;
	my $since = own_since($name);

	return defined $since && $since <= $at;
}

# Return the project to which the credit of a row belongs at an instant; expired credit stays in its
# project.
sub holder
{
	my ($one, $at) = @_;
	my @line = line($one->{project});
	my $until = $one->{amount} > 0 && defined $one->{expires} ? min($at, $one->{expires} - 1) : $at;

	return $one->{project} if $one->{kind} eq 'grant';
	return (first { has_own($_, max($until, $one->{from})) } @line) // $line[-1];
}

# Return when a row moves from the credit of a project to that of another project, or undef for
# never.
sub leaves
{
	my ($one, $name) = @_;

	return if $one->{kind} eq 'grant';
	return min(grep { defined && $_ > $one->{from} && holder($one, $_) ne $name && holder($one, $_ - 1) eq $name } map { own_since($_) } line($one->{project}));
}

# Take an amount from rows of credit, beginning with the row that expires first. Return the amount that
# they do not cover.
sub pay_from
{
	my ($due, $takings, @valid) = @_;

	foreach my $one (sort { ($a->{expires} // 9e15) <=> ($b->{expires} // 9e15) || $a->{number} <=> $b->{number} } @valid)
	{
		my $taken = max(min($due, $one->{rest}), 0);

		$one->{rest} -= $taken;
		$due -= $taken;
		$takings->{ $one->{number} } += $taken if $taken;
	}
	return $due;
}

# Return the remaining credit of the project, without its holds, and the loss of its expired grants. Rows pay the
# spending, then the credit that other rows take back. When a row that took credit back leaves, the credit returns to
# the rows from which it came.
sub credit
{
	my ($name, $until) = @_;
	my @members = family($name);
	my @rows = map {
		my $one = $_;
		my @instants = grep { defined && $_ >= $one->{from} && $_ <= $until && holder($one, $_) eq $name } $one->{from}, map { own_since($_) } line($one->{project});
		@instants ? { %$one, begin => min(@instants), leave => scalar(leaves($one, $name)) } : ()
	} @$grant;
	my %instant = map { $_ => 1 } grep { defined && $_ <= $until } $until, map { @{$_}{qw(begin leave)}, $_->{amount} > 0 ? $_->{expires} : undef } @rows;
	my ($owed, $spent_before, $lost) = (0, 0, 0);
	my (@valid, @back);

	foreach my $at (sort { $a <=> $b } keys %instant)
	{
		my $spent = spent($at, @members);

		$owed += $spent - $spent_before;
		$spent_before = $spent;
		$owed = pay_from($owed, {}, @valid);
		$_->{rest} = pay_from($_->{rest}, $_->{taken}, @valid) foreach sort { $a->{begin} <=> $b->{begin} || $a->{number} <=> $b->{number} } @back;
		$lost += sum0(map { $_->{rest} } grep { defined $_->{expires} && $_->{expires} <= $at } @valid);
		@valid = grep { !defined $_->{expires} || $_->{expires} > $at } @valid;
		my %is_valid = map { $_->{number} => $_ } @valid;
		my @leaving = grep { defined $_->{leave} && $_->{leave} == $at } @back, @valid;

		foreach my $one (grep { $_->{amount} < 0 } @leaving)
		{
			$is_valid{$_} ? ($is_valid{$_}{rest} += $one->{taken}{$_}) : ($lost += $one->{taken}{$_}) foreach keys %{ $one->{taken} };
			$count{returned}++ if %{ $one->{taken} };
			$count{returned_too_late}++ if grep { !$is_valid{$_} } keys %{ $one->{taken} };
			@back = grep { $_ != $one } @back;
		}
		foreach my $one (grep { $_->{amount} > 0 } @leaving)
		{
			@valid = grep { $_ != $one } @valid;
			$owed += $one->{amount} - $one->{rest};
			foreach my $other (@back)
			{
				my $taken = delete $other->{taken}{ $one->{number} } // next;

				$other->{rest} += $taken;
				$owed -= $taken;
			}
		}
		foreach my $one (grep { $_->{begin} == $at } @rows)
		{
			$one->{rest} = abs $one->{amount};
			$one->{taken} = {};
			push @{ $one->{amount} < 0 ? \@back : \@valid }, $one;
		}
	}
	my @held = grep { !defined $_->{leave} || $_->{leave} > $until } @rows;
	$count{lost}++ if $lost;
	return sum0(map { $_->{amount} } @held) - $lost;
}

sub balance
{
	my ($name, $at) = @_;
	my @members = family($name);
	my %balance = (granted => credit($name, $at), spent => spent($at, @members), held => held($at, @members));

	$balance{remaining} = $balance{granted} - $balance{spent} - $balance{held};
	return \%balance;
}

# Return the lowest remaining amount of the project and its ancestors, or undef if nothing limits
# the project.
sub available
{
	my ($name) = @_;
	my @line = line($name);
	my @limits = grep { !$project->{$_}{free} && has_own($_, $now) } @line;

	return if $project->{$name}{free};
	@limits = ($line[-1]) if !@limits && !grep { $project->{$_}{free} } @line;
	return min(map { balance($_, $now)->{remaining} } @limits);
}

sub credits
{
	my ($microcredits) = @_;

	return defined $microcredits ? sprintf('%s%d.%06d', $microcredits < 0 ? '-' : '', abs($microcredits) / 1_000_000, abs($microcredits) % 1_000_000) : '';
}

sub compare
{
	my ($session, $what) = @_;
	my $expected = join "\n", map {
		my $balance = balance($_, $now);
		my $available = available($_);

		$count{limited_above}++ if defined $available && $available < $balance->{remaining};
		join '|', $_, map { credits($_) } @{$balance}{qw(granted spent held remaining)}, $available
	} sort keys %$project;
	my $found = $session->run(q(SELECT project, round(granted, 6), round(charged + accrued, 6), round(held, 6), round(remaining, 6), round(available, 6) FROM yquota.project_balance ORDER BY project));

	chomp $found;
	$count{balances} += keys %$project;
	return is($found, $expected, "$what: balances");
}

sub compare_past
{
	my ($session, $what) = @_;

	foreach my $name (sort keys %$project)
	{
		my $at = int rand $now;
		my $balance = balance($name, $at);
		my $found = $session->run(sprintf q(SELECT round(granted, 6), round(spent, 6), round(held, 6), round(remaining, 6) FROM yquota.balance_at('%s', %s)), $name, instant($at));

		chomp $found;
		$count{past}++;
		return is($found, join('|', map { credits($_) } @{$balance}{qw(granted spent held remaining)}), "$what: balance of $name at $at")
			if $found ne join('|', map { credits($_) } @{$balance}{qw(granted spent held remaining)});
	}
	return pass("$what: balances of the past");
}

sub expect
{
	my ($session, $sql, $may, $state, $what) = @_;
	my ($answer, $error) = $session->attempt($sql);

	is(defined $error ? ($error =~ /ERROR:  (\w{5}):/)[0] : '', $may ? '' : $state, $what);
	return $answer;
}

sub add_project
{
	my ($session, $number) = @_;
	my $name = "p$number";
	my $parent = keys %$project && rand() < 0.8 ? pick(sort keys %$project) : undef;
	my $free = rand() < 0.15;

	$project->{$name} = { parent => $parent, free => $free };
	$session->run(sprintf "INSERT INTO yquota.project (name, parent, quota_mode) VALUES ('%s', %s, '%s')", $name, defined $parent ? "'$parent'" : 'NULL', $free ? 'NOLIMIT' : 'PREPAID');
	return;
}

sub move
{
	my ($session) = @_;
	my ($name, $to) = (pick(sort keys %$project), pick(undef, sort keys %$project));
	my %member = map { $_ => 1 } family($name);
	# whether the books still know a void container depends on earlier compaction
	return if grep { $_->{void} && $member{ $_->{project} } } values %$container;
	my $has_spent = grep { $member{ $_->{project} } } values %$container, values %$hold;
	my $is_circle = defined $to && $member{$to};
	my $same = ($to // '') eq ($project->{$name}{parent} // '');

	expect($session, sprintf("UPDATE yquota.project SET parent = %s WHERE name = '%s'", defined $to ? "'$to'" : 'NULL', $name),
		$same || !$has_spent && !$is_circle, $has_spent ? '55000' : '23514', "move $name");
	$count{ $same || !$has_spent && !$is_circle ? 'moves' : 'refused_moves' }++;
	$project->{$name}{parent} = $to if !$has_spent && !$is_circle;
	return;
}

# Insert a grant, permanent or for a time, or a refund or a correction.
sub give
{
	my ($session) = @_;
	my $name = pick(sort keys %$project);
	my $kind = pick(qw(grant grant refund correction correction));
	my $from = rand() < 0.3 ? $now + int rand 60_000_000 : $now;
	my $expires = rand() < 0.5 ? $from + 1 + int rand 40_000_000 : undef;
	my $amount = (1 + int rand pick(400_000_000, 4_000_000_000)) * ($kind eq 'grant' || rand() < 0.5 ? 1 : -1);

	$count{refunds}++ if $kind ne 'grant';
	push @$grant, { number => scalar @$grant, project => $name, kind => $kind, from => $from, expires => $expires, amount => $amount };
	$session->run(sprintf "INSERT INTO yquota.quota_grant (project, amount, reason, kind, valid_from, expires_at) VALUES ('%s', %s, 'r', '%s', %s, %s)",
		$name, credits($amount), $kind, instant($from), defined $expires ? instant($expires) : q('infinity'));
	return;
}

sub revoke
{
	my ($session) = @_;
	my $id = first { !$container->{$_}{void} } shuffle(sort keys %$container);

	return if !defined $id;
	$count{voids}++;
	$container->{$id}{void} = 1;
	$session->run("SELECT count(*) FROM yquota.void_events('$id', 'a test')");
	return;
}

sub forgive
{
	my ($session) = @_;
	my $from = int rand($now + 1);
	my $to = $from + 1 + int rand 20_000_000;
	my $name = rand() < 0.5 ? pick(sort keys %$project) : undef;

	$count{forgiven}++;
	push @$forgiven, { from => $from, to => $to, project => $name };
	$session->run(sprintf "SELECT count(*) FROM yquota.forgive(%s, %s, 'a test', %s)", instant($from), instant($to), defined $name ? "'$name'" : 'NULL');
	return;
}

# Post the doubled cost of an interval by rerate(), in terms that are written differently each time.
# Each project must get it once.
sub rate_again
{
	my ($session) = @_;
	my $to = int rand($now + 1);
	my $from = int rand($to + 1);

	return if $from == $to;
	foreach my $terms (shuffle('{"base_prices": {"vcores": 2}}', '{"base_prices": {"vcores": "2.0"}}', '{"factors": [], "base_prices": {"vcores": {"base_price": 4, "unit": 2}}}'))
	{
		$session->run(sprintf "SELECT count(*) FROM yquota.rerate(%s, %s, '%s', NULL, true, 'a test')", instant($from), instant($to), $terms);
	}
	foreach my $name (sort keys %$project)
	{
		my $more = sum0(map { cost($_, $from, min($to, $now)) } grep { $_->{project} eq $name } values %$container);

		push @$grant, { number => scalar @$grant, project => $name, kind => 'correction', from => $now, expires => undef, amount => -$more } if $more;
	}
	$count{rerated}++;
	return;
}

sub take
{
	my ($session, $number) = @_;
	my $name = pick(sort keys %$project);
	my $amount = 1 + int rand 100_000_000;
	my $ttl = 1 + int rand 90_000_000;
	my $available = available($name);
	my $may = !defined $available || $available >= $amount;
	my $id = expect($session, sprintf("SELECT yquota.hold('%s', 'app%d', %s, %d * interval '1 microsecond')", $name, $number, credits($amount), $ttl), $may, 'YQ001', "hold for $name");

	$count{ $may ? 'holds' : 'refused_holds' }++;
	$hold->{ int $id } = { project => $name, application => "app$number", amount => $amount, at => $now, until => $now + $ttl } if $may;
	return;
}

sub give_back
{
	my ($session) = @_;
	my $id = first { !defined $hold->{$_}{released} && $now < $hold->{$_}{until} } shuffle(sort keys %$hold);

	return if !defined $id;
	$hold->{$id}{released} = $now;
	$session->run("SELECT yquota.release_hold($id)");
	return;
}

sub start
{
	my ($session, $number) = @_;
	my ($name, $application) = (pick(sort keys %$project), 'none');
	my $one = pick(values %$hold);
	my $start = $now - int rand 40_000_000;
	my $cores = 1 + int rand 3;

	($name, $application) = @{$one}{qw(project application)} if defined $one && rand() < 0.6;
	$container->{"c$number"} = { project => $name, application => $application, cores => $cores, start => $start };
	$session->run(sprintf "INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES ('CONTAINER_START', 'c%d', %s, '%s', '%s', '[vcores=%d]')",
		$number, instant($start), $name, $application, $cores);
	return;
}

sub finish
{
	my ($session) = @_;
	my $id = first { !defined $container->{$_}{finish} && !$container->{$_}{void} } shuffle(sort keys %$container);

	return if !defined $id;
	$container->{$id}{finish} = $container->{$id}{start} + int rand($now - $container->{$id}{start} + 1);
	$session->run(sprintf "INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', '%s', %s)", $id, instant($container->{$id}{finish}));
	return;
}

sub play
{
	my ($session, $what) = @_;

	($project, $container, $grant, $hold, $forgiven, $now) = ({}, {}, [], {}, [], 0);
	$session->run('SELECT yquota.set_clock(' . instant(0) . ')');
	add_project($session, $_) foreach 1 .. 7;
	foreach my $number (1 .. 60)
	{
		$now += int rand 5_000_000;
		$session->run('SELECT yquota.set_clock(' . instant($now) . ')');
		pick(
			sub { add_project($session, 100 + $number) }, sub { move($session) }, sub { move($session) }, sub { give($session) }, sub { give($session) }, sub { give($session) }, sub { give($session) },
			sub { take($session, $number) }, sub { take($session, $number) }, sub { give_back($session) }, sub { start($session, $number) },
			sub { start($session, $number) }, sub { finish($session) }, sub { $session->run('SELECT yquota_internal.compact_counters()') },
			sub { $session->run('SELECT yquota.quota_compute()') }, sub { revoke($session) }, sub { forgive($session) }, sub { rate_again($session) })->();
		compare($session, "$what, step $number") or return if $number % 5 == 0;
	}
	compare_past($session, $what) or return;
	return is($session->run('SELECT * FROM yquota.verify()'), '', "$what: the books prove themselves");
}

srand $seed;
foreach my $history (1 .. $histories)
{
	my $database = "yquota_families_$$";

	Session::administer("CREATE DATABASE $database");
	my $session = Session->new($database);
	$session->run('CREATE EXTENSION IF NOT EXISTS yquota');
	my $ok = play($session, "history $history");
	$session->close;
	Session::administer("DROP DATABASE $database");
	last if !$ok;
}
note(join ', ', map { "$_: $count{$_}" } sort keys %count);
done_testing();
