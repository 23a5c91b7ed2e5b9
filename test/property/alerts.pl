#!/usr/bin/env perl
#
# Random histories of credit, spending and thresholds are compared with a model of alerts. Thresholds of all four kinds
# come and go, while the clock moves on, events come late, containers are voided and time is forgiven. After each
# comparison of thresholds, exactly the alerts are raised and cleared that the model expects, with their figures. The
# notifications say the same, whatever the size of the pages in which they are read.
#
# Then several sessions spend, compare thresholds, raise and clear alerts at the same time, and some of them roll back.
# A reader gets each notification of a committed transaction once, in the order of positions, and no other one. Each
# crossing is reported once.
#
# The model knows the rules of spending_threshold and read_notifications() in docs/reference.md. Charges are those of
# Model.pm, and credit is that of Credit.pm.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(max min);
use Test::More;
use Credit;
use History;
use Model;
use Session;
use Soak;
use Trial;

my ($seed, $histories) = Trial::plan_run(6);
my $template = "yquota_alerts_$$";
my $first_instant = 1_772_236_800 * History::SECOND;

# Intervals: the text of a threshold when it is set and shown, and its length.
my @intervals = ([ '1 day', History::DAY ], [ '3 days', 3 * History::DAY ], [ '06:00:00', 6 * History::HOUR ], [ '36:00:00', 36 * History::HOUR ]);
my %length = map { @$_ } @intervals;
my @projects = ([ 'a', undef ], [ 'a.x', 'a' ], [ 'b', undef ]);
my (%count, $session, $model, $credit, %now, %life);

sub pick { return History::pick(@_); }
sub chance { return History::chance(@_); }
sub between { return History::between(@_); }
sub at { return History::quoted(History::timestamp($_[0])); }
sub mismatch { push @{ $now{mismatches} }, @_; return; }

sub run
{
	my ($sql) = @_;

	push @{ $now{log} }, $sql;
	return $session->run($sql);
}

# -- the history: a list of steps [kind, ...] -------------------------------------------

sub past
{
	return chance(0.5) ? $life{now} : max($first_instant, $life{now} - between(0, 40 * History::HOUR));
}

sub spending
{
	my $id = 'c' . ++$life{containers};
	my $from = max($first_instant, past() - between(1, 5 * History::HOUR));
	my $to = min($life{now}, $from + between(1, 6 * History::HOUR));

	$life{running}{$id} = $from if $from == $to || chance(0.3);
	return [ 'spend', $id, pick(map { $_->[0] } @projects), $from, $life{running}{$id} ? undef : $to, between(1, 20) ];
}

# Return a threshold [project, column, value].
sub threshold
{
	my $project = pick(undef, undef, map { $_->[0] } @projects);

	return [ $project, pick(
			[ 'fraction', pick(qw(0.1 0.5 0.8 1 2)) ], [ 'remaining', pick(0, 1000, 100_000, -5000, 250_000.5) ],
			map({ [ $_, pick(@intervals)->[0] ] } qw(before_expiry lasts_less_than))) ];
}

sub step
{
	return pick(
		sub { $life{now} += pick(1, between(1, 60) * History::MINUTE, between(1, 10) * History::HOUR, History::DAY); return [ 'clock', $life{now} ]; },
		sub { $life{now} += between(1, 3 * History::HOUR); return [ 'clock', $life{now} ]; },
		\&spending, \&spending, \&spending,
		sub {
			my ($id) = pick(sort keys %{ $life{running} }) // return spending();
			return [ 'finish', $id, max(past(), delete $life{running}{$id}) ];
		},
		sub {
			my $kind = pick(qw(grant grant refund correction correction));
			return [ 'grant', pick(map { $_->[0] } @projects), ($kind eq 'correction' && chance(0.7) ? -1 : 1) * between(1, pick(5_000, 500_000)), $kind,
				chance(0.8) ? undef : $life{now} + between(1, 5 * History::HOUR), chance(0.3) ? undef : $life{now} + pick(between(5, 20) * History::HOUR, between(20 * History::HOUR, 8 * History::DAY)) ];
		},
		sub { return [ 'threshold', @{ threshold() } ]; },
		sub { return [ 'threshold', @{ threshold() } ]; },
		sub { return [ 'no threshold', between(0, 6) ]; },
		sub { return [ 'void', 'c' . between(1, ($life{containers} // 0) + 1) ]; },
		sub { my ($from, $to) = sort { $a <=> $b } past(), past(); return [ 'forgive', pick(undef, map { $_->[0] } @projects), $from, max($to, $from + 1) ]; },
		sub { return [ 'delete alert', between(0, 5) ]; },
		(sub { return [ 'watch', pick(qw(compute compute crossings crossings forecasts)) ]; }) x 7)->();
}

sub random_history
{
	%life = (now => $first_instant);
	my @steps = map { my ($name, $parent) = @$_; [ 'project', $name, $parent, pick(qw(PREPAID PREPAID NOLIMIT)), pick(qw(allow stop)) ] } @projects;

	push @steps, [ 'clock', $first_instant ], map({ [ 'grant', $_->[0], between(1, 500_000), 'grant', undef, chance(0.3) ? undef : $life{now} + pick(between(1, 20) * History::HOUR, between(History::DAY, 8 * History::DAY)) ] } grep { chance(0.8) } @projects);
	push @steps, [ 'threshold', @{ threshold() } ] foreach 1 .. between(0, 5);
	push @steps, step() foreach 1 .. between(20, 60);
	return @steps;
}

# -- the model of alerts --------------------------------------------------------------------

# Read the grants, which are facts, but not their remaining amounts.
sub read_grants
{
	my $us = 'CASE WHEN isfinite(%1$s) THEN (extract(epoch FROM %1$s) * 1000000)::bigint ELSE %2$s END';

	$credit->{grant} = [ map { {
		id => $_->[0], project => $_->[1], amount => Model::amount($_->[2]), kind => $_->[3], begins => max($_->[4], $_->[6]), expires => max($_->[5], $_->[6]) } }
		$session->rows(sprintf 'SELECT grant_id, project, trim_scale(amount), kind, %s, %s, %s FROM yquota.quota_grant ORDER BY 1',
			map { sprintf $us, @$_ } [ 'valid_from', -Model::FOREVER ], [ 'expires_at', Model::FOREVER ], [ 'booked_at', 0 ]) ];
	$credit->changed;
	return;
}

# Return the thresholds in force of a project: [column, value].
sub thresholds_of
{
	my ($project) = @_;
	my @given = values %{ $now{threshold} };
	my @found;

	foreach my $column (qw(fraction remaining before_expiry lasts_less_than))
	{
		my @own = grep { defined $_->[0] && $_->[0] eq $project && $_->[1] eq $column } @given;
		my @common = grep { !defined $_->[0] && $_->[1] eq $column } @given;

		@common = map { [ undef, 'fraction', $_ ] } 0.5, 0.8, 1 if !@common && $column eq 'fraction';
		push @found, map { [ @$_[ 1, 2 ] ] } @own ? @own : @common;
	}
	return @found;
}

# Return what was granted to a project and what it has spent, without the spending that expired grants paid.
sub figures
{
	my ($project, $terms, $grants) = @_;
	my $paid = Credit::zero();

	foreach my $term (grep { !$_->{amount}->is_neg && $_->{expires} <= $now{clock} && exists $grants->{lost}{ $_->{id} } } @$terms)
	{
		$paid = $paid + $term->{amount} - $grants->{lost}{ $term->{id} };
		$paid = $paid - ($_->{of}{ $term->{id} } // Credit::zero()) foreach values %{ $grants->{debt} };
	}
	return ($grants->{granted} - $paid, $credit->spent($project, $now{clock}, $now{clock}) - $paid);
}

# Return a text that changes when something happens after which an alert of spending may be cleared.
sub causes
{
	my ($project, $terms) = @_;
	my %is_member = map { $_ => 1 } $credit->family($project);
	my @begun = map { "$_->{id} $_->{amount}" . ($_->{amount} > 0 && $_->{expires} <= $now{clock} ? ' expired' : '') } grep { $_->{begins} <= $now{clock} && $now{clock} < $_->{leaves} } @$terms;

	return join '|', (sort @begun), 'voids', (sort grep { $is_member{ $now{void}{$_} } } keys %{ $now{void} }),
	  'outages', map { "@{$_}[1, 2]" } grep { !defined $_->[0] || $is_member{ $_->[0] } } @{ $model->{outage} };
}

# Return the crossed thresholds of spending, by subject.
sub crossings
{
	my %crossed;

	foreach my $project (grep { $credit->own_since($_) <= $now{clock} } map { $_->[0] } @projects)
	{
		my @terms = $credit->terms($project);
		my ($granted, $spent) = figures($project, \@terms, $credit->grants_at($project, $now{clock}, $now{clock}));

		foreach my $threshold (thresholds_of($project))
		{
			my ($column, $value) = @$threshold;
			my $subject = $column eq 'fraction' ? "$project " . 100 * $value . ' %' : "$project $value credits";
			my $is_crossed = $column eq 'fraction' ? $spent * 1_000_000 >= $granted * int(1_000_000 * $value + 0.5)
			  : $column eq 'remaining' ? $granted - $spent <= Model::amount($value) : next;
			my $known = $credit->{project}{$project};

			$now{in_force}{$subject} = 1;
			next if !$is_crossed;
			$crossed{$subject} = { project => $project, granted => $granted, spent => $spent, causes => causes($project, \@terms),
				hard => ($column eq 'fraction' ? $value >= 1 : $value <= 0) && $known->{mode} eq 'PREPAID' && $known->{policy} ne 'allow' };
		}
	}
	return \%crossed;
}

# Return the crossed thresholds of expiry and rate, by subject. The number "new" says whether an alert is raised.
sub forecasts
{
	my %crossed;
	my $window = History::DAY;
	my $quarter = 15 * History::MINUTE;
	my $until = $quarter * int(($now{clock} + $quarter - 1) / $quarter);

	foreach my $project (grep { $credit->own_since($_) <= $now{clock} } map { $_->[0] } @projects)
	{
		my @terms = $credit->terms($project);
		my $grants = $credit->grants_at($project, $now{clock}, $now{clock});
		my ($granted, $spent) = figures($project, \@terms, $grants);
		my %figures = (project => $project, granted => $granted, spent => $spent, hard => 0);
		my $rate = Credit::cost_of($credit->pieces($now{clock}, [ $credit->family($project) ]), $until - $window, $until);

		foreach my $threshold (thresholds_of($project))
		{
			my ($column, $value) = @$threshold;

			if ($column eq 'before_expiry')
			{
				foreach my $term (grep { ($grants->{left}{ $_->{id} } // 0) > 0 && $now{clock} < $_->{expires} && $_->{expires} - $length{$value} <= $now{clock} } @terms)
				{
					$crossed{"$project grant $term->{id}, $value"} = { %figures, new => 1, once => "$term->{id} $value" };
				}
			}
			elsif ($column eq 'lasts_less_than' && $rate > 0 && ($granted - $spent) * 4 * $window < $rate * 5 * $length{$value})
			{
				$crossed{"$project lasts less than $value"} = { %figures, new => ($granted - $spent) * $window < $rate * $length{$value} ? 1 : 0 };
			}
		}
	}
	return \%crossed;
}

# Compare thresholds as the worker does, and return the expected notifications.
sub watch
{
	my ($kind) = @_;
	my @told;

	read_grants();
	if ($kind ne 'crossings')
	{
		my $crossed = forecasts();

		foreach my $subject (grep { $now{open}{$_}{of_forecast} && !$crossed->{$_} } sort keys %{ $now{open} })
		{
			push @told, "cleared $subject";
			delete $now{open}{$subject};
		}
		foreach my $subject (grep { $crossed->{$_}{new} && !$now{open}{$_} } sort keys %$crossed)
		{
			next if defined $crossed->{$subject}{once} && $now{once}{ $crossed->{$subject}{once} }++;
			$now{open}{$subject} = { of_forecast => 1 };
			push @told, raised($subject, $crossed->{$subject});
		}
	}
	return @told if $kind eq 'forecasts';
	$now{in_force} = {};
	my $crossed = crossings();

	foreach my $subject (sort grep { !$now{open}{$_}{of_forecast} } keys %{ $now{open} })
	{
		my $open = $now{open}{$subject};

		if ($crossed->{$subject}) { $open->{causes} = $crossed->{$subject}{causes}; next; }
		next if $now{in_force}{$subject} && causes($open->{project}, [ $credit->terms($open->{project}) ]) eq $open->{causes};
		push @told, "cleared $subject";
		delete $now{open}{$subject};
	}
	foreach my $subject (grep { !$now{open}{$_} } sort keys %$crossed)
	{
		$now{open}{$subject} = $crossed->{$subject};
		push @told, raised($subject, $crossed->{$subject});
	}
	return @told;
}

sub raised
{
	my ($subject, $crossed) = @_;

	return join ';', "raised $subject", map({ Model::text($crossed->{$_}) } qw(granted spent)), $crossed->{hard} ? 'hard' : '';
}

# -- notifications -------------------------------------------------------------------------------

# Return the notifications after a position: [position, event and subject, kind, figures].
sub read_page
{
	my ($reader, $after, $size) = @_;

	return $reader->rows(sprintf q(SELECT position, event || ' ' || subject, kind,
		concat_ws(';', trim_scale((figures ->> 'granted')::numeric), trim_scale((figures ->> 'spent')::numeric), CASE WHEN figures @> '{"hard": true}' THEN 'hard' ELSE '' END)
		FROM yquota.read_notifications(%s, %s)), History::quoted($after), $size);
}

# Wait until all transactions have ended that began to write before now, in any database. Only then can every
# notification be read.
sub wait_for_writers
{
	my $now = $session->run('SELECT pg_current_xact_id()') + 0;

	while ($session->run("SELECT pg_snapshot_xmin(pg_current_snapshot()) > '$now'") !~ /^t/)
	{
		$session->run('SELECT pg_sleep(0.01)');
	}
	return;
}

# Read all new notifications in pages of random sizes, and return those of thresholds.
sub read_all
{
	my @read;

	wait_for_writers();
	while (my @page = read_page($session, $now{position}, pick(1, 2, between(1, 10), 1000)))
	{
		$now{position} = $page[-1][0];
		push @read, @page;
	}
	push @{ $now{read} }, @read;
	return map { $_->[1] =~ /^raised/ ? "$_->[1];$_->[3]" : $_->[1] } grep { $_->[2] eq 'spending_threshold' } @read;
}

sub compare
{
	my ($what, @wanted) = @_;
	my @found = sort(read_all());
	my @open = map { $_->[0] } $session->rows(q(SELECT subject FROM yquota.alert WHERE kind = 'spending_threshold' AND cleared_at IS NULL ORDER BY subject COLLATE "C"));

	@wanted = sort @wanted;
	mismatch("$what: wanted\n    " . join("\n    ", @wanted) . "\n  found\n    " . join("\n    ", @found)) if "@wanted" ne "@found";
	mismatch("$what: open are " . join(', ', @open) . '; wanted ' . join(', ', sort keys %{ $now{open} })) if "@open" ne join ' ', sort keys %{ $now{open} };
	$count{ (split / /)[0] }++ foreach @found;
	return;
}

# -- playing --------------------------------------------------------------------------------------

my %play = (
	project => sub {
		my ($name, $parent, $mode, $policy) = @_;

		run(sprintf q(INSERT INTO yquota.project (name, parent, quota_mode, on_exhausted) VALUES ('%s', %s, '%s', '%s')), $name, History::quoted($parent), $mode, $policy);
		$credit->add_project($name, $parent, $mode, $policy);
	},
	clock => sub { my ($at) = @_; run('SELECT yquota.set_clock(' . at($at) . ')'); $now{clock} = $at; },
	spend => sub {
		my ($id, $project, $from, $to, $vcores) = @_;
		my %common = (id => $id, project => $project);
		my @events = ({ %common, event => 'START', at => $from, allocation => { vcores => $vcores } }, defined $to ? { %common, event => 'FINISH', at => $to, without_project => 1 } : ());

		run(History::insert_statement(@events));
		$model->take($_) foreach @events;
		$now{project_of}{$id} = $project;
	},
	finish => sub {
		my ($id, $at) = @_;

		return if !$model->{container}{$id}{START};
		my $event = { id => $id, project => $now{project_of}{$id}, event => 'FINISH', at => $at, without_project => 1 };

		run(History::insert_statement($event));
		$model->take($event);
	},
	grant => sub {
		my ($project, $amount, $kind, $from, $until) = @_;

		return if defined $from && defined $until && $from >= $until;
		run(sprintf q(INSERT INTO yquota.quota_grant (project, amount, reason, kind, valid_from, expires_at) VALUES ('%s', %s, 'r', '%s', %s, %s)),
			$project, $amount, $kind, defined $from ? at($from) : q('-infinity'), defined $until ? at($until) : q('infinity'));
	},
	threshold => sub {
		my ($project, $threshold) = @_;
		my ($column, $value) = @$threshold;

		return if $now{threshold}{ join '|', $project // '', @$threshold };
		run(sprintf q(INSERT INTO yquota.spending_threshold (project, %s) VALUES (%s, '%s')), $column, History::quoted($project), $value);
		$now{threshold}{ join '|', $project // '', @$threshold } = [ $project, @$threshold ];
	},
	'no threshold' => sub {
		my ($number) = @_;
		my $key = (sort keys %{ $now{threshold} })[$number] // return;
		my ($project, $column, $value) = @{ delete $now{threshold}{$key} };

		run(sprintf q(DELETE FROM yquota.spending_threshold WHERE project IS NOT DISTINCT FROM %s AND %s = '%s'), History::quoted($project), $column, $value);
	},
	void => sub {
		my ($id) = @_;

		return if !$model->{container}{$id}{START};
		run("SELECT count(*) FROM yquota.void_events('$id', 'wrong')");
		$now{void}{$id} = $now{project_of}{$id};
		$model->forget($id);
	},
	forgive => sub {
		my ($project, $from, $to) = @_;

		run('SELECT count(*) FROM yquota.forgive(' . join(', ', at($from), at($to), q('r'), History::quoted($project)) . ')');
		$model->add_outage($project, $from, $to);
	},
	'delete alert' => sub {
		my ($number) = @_;
		my $subject = (sort keys %{ $now{open} })[$number] // return;

		run('DELETE FROM yquota.alert WHERE cleared_at IS NULL AND subject = ' . History::quoted($subject));
		delete $now{open}{$subject};
		compare('deleted', "cleared $subject");
	},
	watch => sub {
		my ($kind) = @_;

		run($kind eq 'compute' ? 'SELECT yquota.quota_compute()' : "SELECT yquota_internal.note_$kind(yquota.clock())");
		compare($kind, watch($kind));
	});

# Let sessions work at the same time, and one of them read. No threshold may be reported twice, and no notification
# may be lost.
sub play_together
{
	my @sessions = map { Session->new("${template}_play") } 1 .. 4;
	my ($writer, $reader) = (0, Session->new("${template}_play"));
	my (@committed, @read);
	my $position = $now{position};
	my $read = sub { my @page = read_page($reader, $position, between(1, 5)); $position = $page[-1][0] if @page; push @read, @page; return scalar @page; };

	foreach my $round (1 .. 12)
	{
		foreach my $i (0 .. $#sessions)
		{
			my $commits = chance(0.7);
			my $pause = sprintf 'SELECT pg_sleep(%.4f)', rand 0.03;
			my $subject = "$round of $i";
			my $work = pick(
				sub { return 'SELECT yquota_internal.note_' . pick(qw(crossings crossings forecasts)) . '(yquota.clock())'; },
				sub {
					push @committed, map { "$_ $subject" } qw(raised cleared) if $commits;
					return "INSERT INTO yquota.alert (kind, subject, detail, raised_at) VALUES ('test', '$subject', 'd', yquota.clock()); $pause; UPDATE yquota.alert SET cleared_at = yquota.clock() WHERE subject = '$subject'";
				},
				sub {
					my @events = map { $_->{project} = 'b'; $_ } { id => "t$round$i", event => 'START', at => $now{clock} - History::HOUR, allocation => { vcores => between(1, 30) } }, { id => "t$round$i", event => 'FINISH', at => $now{clock}, without_project => 1 };

					$model->take($_) foreach $commits ? @events : ();
					$now{project_of}{"t$round$i"} = 'b';
					return History::insert_statement(@events);
				})->();

			$sessions[$i]->send("BEGIN; $pause; $work; $pause; " . ($commits ? 'COMMIT' : 'ROLLBACK'));
		}
		$read->() foreach 1 .. 3;
		mismatch(grep { /ERROR/ } map { $_->receive } @sessions);
	}
	$_->close foreach @sessions;
	$session->run('SELECT yquota_internal.note_forecasts(yquota.clock()), yquota_internal.note_crossings(yquota.clock())');
	my @wanted = map { s/;.*//r } watch('compute');

	wait_for_writers();
	1 while $read->();
	$reader->close;
	my @found = map { $_->[1] } @read;
	my $seen = join "\n", sort @found;
	my $all = join "\n", map { "$_->[0] $_->[1]" } @{ $now{read} }, @read;
	my $again = join "\n", map { "$_->[0] $_->[1]" } read_page($session, undef, 10_000);

	mismatch("together: wanted\n" . join("\n", sort @wanted, @committed) . "\n  found\n$seen") if $seen ne join "\n", sort @wanted, @committed;
	mismatch("together: read\n$all\n  read again from the beginning\n$again") if $all ne $again;
	$count{together} += @found;
	return;
}

sub play
{
	my @steps = @_;

	Session::administer("CREATE DATABASE ${template}_play TEMPLATE $template");
	$session = Session->new("${template}_play");
	$model = Model->new;
	$model->add_resource_type(@$_) foreach grep { $_->[0] eq 'vcores' } @History::resource_types;
	$credit = Credit->new($model);
	%now = (log => [], mismatches => [], threshold => {}, open => {}, once => {}, void => {}, clock => $first_instant);
	eval {
		foreach my $step (@steps)
		{
			my ($kind, @arguments) = @$step;

			$play{$kind}->(@arguments);
			last if @{ $now{mismatches} };
		}
		$play{watch}->('compute') if !@{ $now{mismatches} };
		play_together() if !@{ $now{mismatches} };
		mismatch(map { "verify: @$_" } $session->rows('SELECT * FROM yquota.verify()')) if !@{ $now{mismatches} };
		1;
	} or mismatch("died: $@");
	eval { $session->close; };
	Session::administer("DROP DATABASE ${template}_play WITH (FORCE)");
	return @{ $now{mismatches} };
}

# Return only the steps that are needed for a failure of the same kind.
sub shrink
{
	my ($kind, @steps) = @_;
	my $until = time + 120;

	for (my $size = int(@steps / 2); $size >= 1; $size = int($size / 2))
	{
		for (my $i = @projects + 1; $i < @steps && time < $until;)
		{
			my @fewer = @steps;

			splice @fewer, $i, $size;
			my ($found) = play(@fewer);

			if (defined $found && $found =~ /^\Q$kind\E/) { @steps = @fewer; }
			else { $i += $size; }
		}
	}
	return @steps;
}

Session::administer("CREATE DATABASE $template");
my $setup = Session->new($template);
$setup->run('CREATE EXTENSION IF NOT EXISTS yquota');
$setup->close;

my $failed = 0;
my $done = 0;

for (; $failed < 3 && soak_goes_on($done, $histories, 5 * $histories); $done++)
{
	srand($seed + $done);
	my @steps = random_history();
	my @wrong = play(@steps) or next;

	$failed++;
	@steps = shrink($wrong[0] =~ /^(\w+)/, @steps);
	@wrong = play(@steps);
	diag("history of YQUOTA_SEED=@{[ $seed + $done ]} YQUOTA_HISTORIES=1: " . join("\n  ", @wrong[ 0 .. min(3, $#wrong) ]), "\n", map { "  $_;\n" } @{ $now{log} });
}
Session::administer("DROP DATABASE $template");
is($failed, 0, "$done histories agree with the model of alerts");
cmp_ok($count{$_} // 0, '>', 0, "alerts were $_") foreach qw(raised cleared together);
note(join(', ', map { "$_: $count{$_}" } sort keys %count));
done_testing();
