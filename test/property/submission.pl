#!/usr/bin/env perl
#
# Random submissions, ends, moves and changes of limits are compared with a model. The model has the counters, the
# limit that decides and the credit that is held (semantics/placement 3, and semantics/allocation 3.1 for active
# users). First the statements run one after the other, and the test compares every answer, all states, the active
# users and the holds. Then they run in several sessions at once. In these sessions no limit may be exceeded, and the
# counters must agree with the applications.
#
# The cluster is large enough that every running application is active, because room for application masters is not
# tested here.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use Test::More;
use Session;
use Soak;
use Trial;

my @leaves = qw(root.a.x root.a.y root.b);
my @queues = ('root', 'root.a', @leaves);
my @users = qw(u v w);
my ($seed, $histories) = Trial::plan_run(6);
my $operations = 60;
my $credit = 100;

# -- the model -----------------------------------------------------------------

# limit: by "queue max", "queue parallel", "user NAME" and "cluster"; application: id => [user,
# leaf, runs, number of its submission, makes its user active]
my (%limit, %application, $submissions);

# by id: the credit that an application holds, and how it requested the hold
my (%held, %asked);

sub above
{
	my ($queue) = @_;
	my @path = ($queue);

	push @path, $queue while $queue =~ s/\.[^.]*$//;
	return @path;
}

sub live
{
	my ($condition) = @_;

	return scalar grep { $condition->(@$_) } values %application;
}

sub running_in
{
	my ($queue) = @_;

	return live(sub { $_[2] && "$_[1]." =~ /^\Q$queue\E\./ });
}

sub running_of
{
	my ($user) = @_;

	return live(sub { $_[2] && $_[0] eq $user });
}

# Return the limit that holds one more application, or nothing.
sub held_by
{
	my ($user, $leaf) = @_;

	return $user if running_of($user) >= ($limit{"user $user"} // 9**9);
	foreach my $queue (above($leaf))
	{
		return $queue if running_in($queue) >= ($limit{"$queue parallel"} // 9**9);
	}
	return undef;
}

# Return the limit that refuses one more application.
sub refused_by
{
	my ($user, $leaf, $counts_for_cluster) = @_;
	my $most = $limit{"$leaf max"};

	return 'maximum_applications_system'
		if $counts_for_cluster && keys %application >= $limit{cluster};
	return 'maximum_applications' if live(sub { $_[1] eq $leaf }) >= $most;
	return 'maximum_applications_per_user'
		if live(sub { $_[1] eq $leaf && $_[0] eq $user && $_[2] }) >= int($most / 2);
	return undef;
}

sub held_in
{
	my ($leaf) = @_;

	return [ grep { !$application{$_}[2] && $application{$_}[1] eq $leaf } keys %application ];
}

# Return lists of held applications below a queue, except those of full queues.
sub gather
{
	my ($queue) = @_;

	return () if running_in($queue) >= ($limit{"$queue parallel"} // 9**9);
	return held_in($queue) if grep { $_ eq $queue } @leaves;
	return map { gather($_) } grep { /^\Q$queue\E\.[^.]+$/ } @queues;
}

# Start as many held applications as there are lists, or all that may run.
sub promote
{
	my ($is_bounded, @lists) = @_;
	my $promoted = 0;
	my %seen;

	foreach my $id (sort { $application{$a}[3] <=> $application{$b}[3] } grep { !$seen{$_}++ } map { @$_ } @lists)
	{
		last if $is_bounded && $promoted >= @lists;
		next if defined held_by(@{ $application{$id} }[ 0, 1 ]);
		$application{$id}[2] = 1;
		$promoted++;
	}
	return;
}

sub promote_after_end
{
	my ($user, $leaf) = @_;
	my ($top) = reverse grep { running_in($_) == ($limit{"$_ parallel"} // 9**9) - 1 } above($leaf);
	my @lists = defined $top ? gather($top) : ();

	push @lists, [ grep { !$application{$_}[2] && $application{$_}[0] eq $user } keys %application ]
		if running_of($user) == ($limit{"user $user"} // 9**9) - 1;
	promote(1, @lists);
	return;
}

# -- operations: statement, and the answer of the model -------------------

my $last_id;

sub pick { return $_[ rand @_ ] }

# Return the arguments of a submission that holds so many credits; a vcore costs one in a second.
sub ask_to_hold
{
	my ($amount) = @_;

	return '' if !$amount;
	return ", project => 'lab', hold_amount => $amount" if rand() < 0.5;
	return sprintf ", project => 'lab', hold => 'quote', lifetime => 1000000, expected => ARRAY[('*', '[vcores=%d]', %d, NULL, NULL, NULL, NULL, NULL, '%d s')::yquota.container_request]",
		$amount % 2 ? (1, 1, $amount) : pick([ 2, 1, $amount / 2 ], [ 1, 2, $amount / 2 ], [ 1, $amount / 2, 2 ])->@*;
}

sub sum_held
{
	my $sum = 0;

	$sum += $_ foreach values %held;
	return $sum;
}

sub submission
{
	my ($id, $user, $leaf) = @_;

	return "SELECT concat_ws(' ', state, decided_by, CASE WHEN state = 'NON_RUNNABLE' THEN decided_at END, 'holds ' || held) "
		. "FROM yquota.submit_application('$id', '$user', NULL, '$leaf'$asked{$id})";
}

sub submit
{
	my $id = 'application_1_' . ++$last_id;
	my ($user, $leaf) = (pick(@users), pick(@leaves));
	my $amount = pick(0, 0, 1 .. 40);
	my $refused = refused_by($user, $leaf, 1) // ($amount > $credit - sum_held() ? 'hold' : undef);
	my $held = defined $refused ? undef : held_by($user, $leaf);
	my $answer = defined $refused ? "REJECTED $refused" : defined $held ? "NON_RUNNABLE max_parallel_apps $held" : 'ACTIVE';

	$answer .= " holds $amount" if $amount && !defined $refused;
	$asked{$id} = ask_to_hold($amount);
	$held{$id} = $amount if $amount && !defined $refused;

	$application{$id} = [ $user, $leaf, defined $held ? 0 : 1, ++$submissions, !defined $held || runs_for($user, $leaf) ? 1 : 0 ] if !defined $refused;
	return (submission($id, $user, $leaf), $answer);
}

# Repeat the submission of a live application: with a hold it gets an answer, otherwise an error.
sub submit_again
{
	return submit() if !%application;
	my $id = pick(sort keys %application);
	my ($user, $leaf, $runs) = @{ $application{$id} };
	my $statement = submission($id, $user, pick(@leaves));

	return ($statement, undef) if !$held{$id};
	return ($statement, ($runs ? 'ACTIVE' : 'NON_RUNNABLE') . " holds $held{$id}");
}

sub finish
{
	return submit() if !%application;
	my $id = pick(sort keys %application);
	my ($user, $leaf, $runs) = @{ delete $application{$id} };

	delete $held{$id};

	promote_after_end($user, $leaf) if $runs;
	return ("SELECT yquota.finish_application('$id', 'KILLED')", 'KILLED');
}

sub runs_for
{
	my ($user, $leaf) = @_;

	return live(sub { $_[2] && $_[0] eq $user && $_[1] eq $leaf });
}

# Let an application report that it requests containers, or that it requests none any more.
sub ask
{
	return submit() if !%application;
	my $id = pick(sort keys %application);
	my ($user, $leaf, $runs, undef, $asks) = @{ $application{$id} };
	my $says = pick(0, 1, 1);
	my $is_news = $says != $asks && (!$says || runs_for($user, $leaf));

	$application{$id}[4] = $says if $is_news;
	return ("SELECT yquota.set_outstanding_requests('$id', " . ($says ? 'true' : 'false') . ')', $is_news ? 't' : 'f');
}

sub move
{
	return submit() if !%application;
	my $id = pick(sort keys %application);
	my ($user, $from, $runs) = @{ $application{$id} };
	my $to = pick(@leaves);
	my $statement = "SELECT yquota.move_application('$id', '$to')";

	# this is also checked for a move within the same queue
	return ($statement, undef) if defined refused_by($user, $to, 0);
	return ($statement, $runs ? 'ACTIVE' : 'NON_RUNNABLE') if $from eq $to;
	$application{$id}[2] = $runs || !defined held_by($user, $to) ? 1 : 0;
	$application{$id}[1] = $to;
	promote_after_end($user, $from) if $runs;
	return ($statement, $application{$id}[2] ? 'ACTIVE' : 'NON_RUNNABLE');
}

sub configure
{
	my $most = pick(1 .. 4, 'NULL');
	my $name = pick((map { "$_ parallel" } @queues), (map { "user $_" } @users));
	my $statement = "UPDATE yquota.queue SET max_parallel_apps = $most WHERE path = '" . (split ' ', $name)[0] . "'";

	$limit{$name} = $most eq 'NULL' ? undef : $most;
	$statement = "UPDATE yquota.user_setting SET max_parallel_apps = $most WHERE username = '$1'" if $name =~ /^user (.*)/;
	promote(0, gather('root'));
	return ($statement, '');
}

sub operation
{
	my $kind = rand;

	return $kind < 0.4 ? submit() : $kind < 0.45 ? submit_again() : $kind < 0.65 ? finish() : $kind < 0.8 ? move() : $kind < 0.9 ? ask() : configure();
}

# -- playing ----------------------------------------------------------------------

my $states = "SELECT application_id, queue, state FROM yquota.application WHERE finished_at IS NULL ORDER BY 1";
my $active_users = "SELECT leaf, active_users FROM unnest('{@{[ join ',', @leaves ]}}'::text[]) AS leaf, yquota.user_limit(leaf, 'u') ORDER BY 1";

my $holds = 'SELECT application_id, trim_scale(amount) FROM yquota.hold WHERE released_at IS NULL AND of_submission AND yquota.clock() < expires_at ORDER BY 1';

sub expected_holds
{
	return join('', map { "$_|$held{$_}\n" } sort keys %held);
}

sub expected_states
{
	return join('', map { "$_|$application{$_}[1]|" . ($application{$_}[2] ? 'ACTIVE' : 'NON_RUNNABLE') . "\n" } sort keys %application);
}

sub expected_active_users
{
	return join '', map { my $leaf = $_; my %asks = map { $$_[0] => 1 } grep { $$_[1] eq $leaf && $$_[4] } values %application; "$leaf|" . keys(%asks) . "\n" } @leaves;
}

sub begin_history
{
	my ($session) = @_;
	my %most = map { ($_ => pick(4 .. 12)) } @leaves;

	%application = %held = %asked = ();
	%limit = (cluster => pick(12, 15, 10000), map { ("$_ max" => $most{$_}) } @leaves);
	$submissions = $last_id = 0;
	$session->run(join(";\n", 'TRUNCATE yquota.application',
		"UPDATE yquota.scheduler_setting SET maximum_applications = $limit{cluster}",
		'UPDATE yquota.queue SET max_parallel_apps = NULL',
		'UPDATE yquota.user_setting SET max_parallel_apps = NULL',
		map { "UPDATE yquota.queue SET maximum_applications = $most{$_} WHERE path = '$_'" } @leaves));
	return;
}

sub play_alone
{
	my ($session) = @_;
	my @log;

	foreach (1 .. $operations)
	{
		my ($statement, $expected) = operation();
		my ($answer, $error) = $session->attempt($statement);

		push @log, "$statement;";
		$answer = defined $error ? undef : $answer =~ s/\n\z//r;
		my $found = $session->run($states) . $session->run($active_users) . $session->run($holds);
		my $due = expected_states() . expected_active_users() . expected_holds();
		next if ($answer // 'error') eq ($expected // 'error') && $found eq $due;
		diag(join("\n", @log, "answer:   " . ($answer // $error), "expected: " . ($expected // 'error'),
				"found:\n$found", "expected:\n$due"));
		return 0;
	}
	return 1;
}

# Return the statements of one session, about any applications that exist.
sub statements
{
	my ($name) = @_;
	my $number = 0;

	return join("\n", map {
		my $id = "application_$name" . '_' . (1 + int rand($number || 1));

		rand() < 0.6 ? "SELECT state FROM yquota.submit_application('application_${name}_" . ++$number . "', '" . pick(@users) . "', NULL, '" . pick(@leaves) . "'" . ask_to_hold(pick(0, 1 .. 40)) . ");"
			: rand() < 0.7 ? "SELECT yquota.finish_application('$id');" : "SELECT yquota.move_application('$id', '" . pick(@leaves) . "');"
	} 1 .. 40) . "\nSELECT 1;\n";
}

# Play in several sessions. Moves may exceed limits of running applications, and submissions may
# not, so nothing is moved when those limits are checked.
sub play_together
{
	my ($session, @others) = @_;
	my $moves = rand() < 0.5;

	foreach my $queue (@queues) { $limit{"$queue parallel"} = pick(2 .. 6, undef) }
	foreach my $user (@users) { $limit{"user $user"} = pick(1 .. 4, undef) }
	$session->run(join(";\n", 'TRUNCATE yquota.application',
		(map { "UPDATE yquota.queue SET max_parallel_apps = " . ($limit{"$_ parallel"} // 'NULL') . " WHERE path = '$_'" } @queues),
		(map { "UPDATE yquota.user_setting SET max_parallel_apps = " . ($limit{"user $_"} // 'NULL') . " WHERE username = '$_'" } @users)));
	my @sql = map { my $sql = statements($_); $moves ? $sql : $sql =~ s/^SELECT yquota\.move.*\n//gmr } 1 .. @others;
	$others[$_]->send($sql[$_]) foreach 0 .. $#others;
	my @answers = map { $_->receive } @others;
	my @problems = grep { !/does not exist|cannot be moved|already has/ } map { /^(?:psql:\S+ )?ERROR:.*$/gm } @answers;

	%application = ();
	foreach (split /\n/, $session->run("SELECT application_id, username, queue, (state <> 'NON_RUNNABLE')::int FROM yquota.application WHERE finished_at IS NULL"))
	{
		my ($id, @row) = split /\|/;

		$application{$id} = \@row;
	}
	push @problems, 'too much is held' if $session->run('SELECT sum(amount) FROM yquota.hold WHERE released_at IS NULL') > $credit;
	push @problems, 'too many in the cluster' if keys %application > $limit{cluster};
	foreach my $leaf (@leaves)
	{
		push @problems, "too many in $leaf" if live(sub { $_[1] eq $leaf }) > $limit{"$leaf max"};
	}
	if (!$moves)
	{
		push @problems, map { "too many run in $_" } grep { running_in($_) > ($limit{"$_ parallel"} // 9**9) } @queues;
		push @problems, map { "too many of $_ run" } grep { running_of($_) > ($limit{"user $_"} // 9**9) } @users;
	}
	push @problems, $session->run('SELECT * FROM yquota.verify()') || ();
	diag(join("\n", @problems, @sql)) if @problems;
	return !@problems;
}

my $database = "yquota_submission_$$";
Session::administer("CREATE DATABASE $database");
my @sessions = map { Session->new($database) } 1 .. 4;
$sessions[0]->run('SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS yquota');
$_->run('SET client_min_messages = error') foreach @sessions;
$sessions[0]->run(<<'SQL');
INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=104857600,vcores=100000]');
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent) VALUES (1);
INSERT INTO yquota.queue (path, capacity, user_limit_factor)
VALUES ('root', NULL, NULL), ('root.a', '1w', NULL), ('root.a.x', '1w', 0.5), ('root.a.y', '1w', 0.5), ('root.b', '1w', 0.5);
INSERT INTO yquota.user_setting (username) VALUES ('u'), ('v'), ('w');
INSERT INTO yquota.project (name) VALUES ('lab');
SQL
$sessions[0]->run("INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', $credit, 'budget')");

my ($number, $alone, $together) = (0, 0, 0);
for (my $goes_on = 1; $goes_on && !$alone && !$together;)
{
	$goes_on = soak_goes_on(++$number, $histories, 5 * $histories);
	srand($seed + $number);
	begin_history($sessions[0]);
	$alone++ if !play_alone($sessions[0]);
	$together++ if !play_together(@sessions);
}
is($alone, 0, "answers and states are the model's after each of $operations operations");
is($together, 0, 'at the same time no limit is exceeded, nobody fails, and what is counted is what there is');
$_->close foreach @sessions;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
