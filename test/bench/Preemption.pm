# Preemption.pm: rounds of preemption in the full cluster of Allocation.pm. The cases measure a round that selects
# nothing, a round that kills containers, and the memory of its marks.
package Preemption;

use strict;
use warnings;

use Allocation;
use Bench;
use Cluster;
use Report;

# The memory in MB that the marks may use.
use constant MOST_MARKS_MB => 15;
# The number of rounds that are measured one after the other.
use constant ROUNDS => 10;
# Seconds from the mark to the kill, which are longer than the configured wait.
use constant SECONDS_SINCE_MARK => 20;

my $round = 'yquota.preempt_containers()';

# full(SETTINGS): make the full cluster, in which each leaf of one half has twice its guarantee, and the other half
# requests that excess. Some requests find no room, so all applications request some more. SETTINGS is SQL that
# determines how much must be preempted.
my ($size, $full);

sub full
{
	my ($settings) = @_;

	unless (defined $full)
	{
		($size, $full) = Allocation::full_copies(containers => int(1.15 * size('application_containers')), change => <<'SQL');
UPDATE yquota.queue SET capacity = '3w' WHERE capacity = '2w';
UPDATE yquota.scheduler_setting SET scheduler_monitor_enable = true, preemption_max_ignored_over_capacity = 9;
SQL
	}
	Cluster::copy_database(Allocation::database(), $full);
	Cluster::once(Allocation::database(), $settings) if defined $settings;
	Cluster::checkpoint();
	return Cluster->new(Allocation::database());
}

# timed(SESSION, CALL): return the milliseconds of a round, its processor time, and the numbers of
# containers that it marked and killed.
sub timed
{
	my ($session, $call) = @_;
	my $used = $session->processor_milliseconds;
	my $answer = $session->run(<<"SQL");
\\timing on
SELECT count(*) FILTER (WHERE outcome = 'marked'), count(*) FILTER (WHERE outcome = 'killed') FROM $call;
\\timing off
SQL
	my ($marked, $killed) = $answer =~ /^(\d+)\|(\d+)$/m or die "no counts of: $call\n$answer\n";
	my ($milliseconds) = $answer =~ /^Time: ([0-9.]+) ms/m;

	return ($milliseconds, $session->processor_milliseconds - $used, $marked, $killed);
}

sub note
{
	my ($running, @processor) = @_;

	return (note => sprintf('%s, %d running containers; %s ms of a processor', Allocation::described($size), $running, Bench::shown(median(@processor))));
}

sub running { my ($session) = @_; return $session->run('SELECT count(*) FROM yquota.container'); }

#
# A round that selects nothing
#

# Check that a round reads no container if it selects none.
sub check_unread
{
	my ($session) = @_;
	my $read = $session->run(<<"SQL");
SELECT pg_stat_force_next_flush();
BEGIN;
SELECT count(*) FROM $round;
SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_xact_all_tables WHERE relid = 'yquota.container'::regclass;
COMMIT
SQL

	die "a round that selects nothing has read containers: $read\n" if $read !~ /^\s*0\n0$/;
	return;
}

sub nothing_case
{
	my (@first, @milliseconds, @processor, $running);

	foreach (1 .. repetitions())
	{
		my $session = full();
		push @first, (timed($session, $round))[0];
		foreach (1 .. ROUNDS)
		{
			my ($milliseconds, $processor, $marked, $killed) = timed($session, $round);
			die "$marked containers were marked, and $killed killed\n" if $marked || $killed;
			push @milliseconds, $milliseconds;
			push @processor, $processor;
		}
		check_unread($session);
		$running = running($session);
		$session->close;
	}
	Report::add('preempt_containers() that selects nothing: the first of a session', figure => median(@first), figure_unit => 'ms', note => Allocation::described($size));
	Report::add('preempt_containers() that selects nothing', figure => median(@milliseconds), figure_unit => 'ms', value => median(@milliseconds), unit => 'ms', at_most => 100,
		note($running, @processor));
	return;
}

#
# A round that kills the containers which an earlier round has marked
#

# Return the memory of a session that has read the cluster and run a round without containers.
sub memory_without_containers
{
	my $session = full();

	timed($session, $round) foreach 1, 2;
	my $peak = $session->peak_memory;
	$session->close;
	return $peak;
}

sub kill_case
{
	my $without = memory_without_containers();
	my (@marking, @killing, @processor, @killed, $peak, $running);

	foreach my $repetition (1 .. repetitions())
	{
		my $session = full('UPDATE yquota.scheduler_setting SET preemption_max_ignored_over_capacity = 0.1, preemption_natural_termination_factor = 0.05');
		timed($session, 'yquota.preempt_containers(dry_run => true)');
		my ($marking, undef, $marked) = timed($session, sprintf q(yquota.preempt_containers(clock_timestamp() - interval '%d s')), SECONDS_SINCE_MARK);
		$running = running($session);
		my ($killing, $processor, undef, $killed) = timed($session, $round);
		die "$killed containers were killed, and $marked had been marked\n" if $killed != $marked || !$killed;
		push @marking, $marking;
		push @killing, $killing;
		push @processor, $processor;
		push @killed, $killed;
		$peak = $session->peak_memory if $repetition == 1;
		$session->close;
		Allocation::check_cluster($killed);
	}
	my $called = sprintf '%d containers', median(@killed);
	my $megabytes = ($peak - $without) / 1024;
	Report::add("preempt_containers() that marks $called", figure => median(@marking), figure_unit => 'ms', note => Allocation::described($size));
	Report::add("preempt_containers() that kills $called, recorded and charged", figure => median(@killing), figure_unit => 'ms', value => median(@killing), unit => 'ms',
		at_most => 400, note($running, @processor));
	Report::add('preempt_containers(), memory of a round that kills', figure => $megabytes, figure_unit => 'MB', value => $megabytes, unit => 'MB', at_most => 100,
		note => 'beyond what a session has used that has the cluster');
	return;
}

#
# Marks
#

sub marks_case
{
	my $session = full(<<'SQL');
UPDATE yquota.scheduler_setting SET preemption_max_ignored_over_capacity = 0, preemption_natural_termination_factor = 1,
	preemption_total_preemption_per_round = 1, preemption_max_wait_before_kill = 3600000;
SQL
	my (undef, undef, $marks) = timed($session, $round);
	my $size_of_marks = q(SELECT pg_total_relation_size('yquota_internal.preemption_mark'));
	my $bytes = $session->run($size_of_marks);
	my (@milliseconds, @processor);

	die "no container was marked\n" unless $marks;
	foreach (1 .. ROUNDS)
	{
		my ($milliseconds, $processor, $marked, $killed) = timed($session, $round);
		die "$marked containers were marked, and $killed killed, by a round that waits\n" if $marked || $killed;
		push @milliseconds, $milliseconds;
		push @processor, $processor;
	}
	my $changed = $session->run(<<'SQL');
SELECT pg_stat_force_next_flush();
SELECT n_tup_ins, n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE relid = 'yquota_internal.preemption_mark'::regclass;
SQL
	my ($made, $rewritten) = $changed =~ /^(\d+)\|(\d+)$/m or die "no counts of rows of marks\n$changed\n";
	die "$made rows were made for $marks marks\n" if $made != $marks;
	my $grown = $session->run($size_of_marks) - $bytes;
	my $megabytes = $bytes / 1048576;
	my $called = "$marks marks that wait";
	Report::add("preempt_containers(), room of $called", figure => $megabytes, figure_unit => 'MB', value => $megabytes, unit => 'MB', at_most => MOST_MARKS_MB,
		note => Allocation::described($size));
	Report::add("preempt_containers(), $called: rows rewritten, or bytes more, after as many rounds", figure => $rewritten + $grown,
		value => $rewritten + $grown, at_most => 0, note => sprintf '%d rounds', ROUNDS);
	Report::add("preempt_containers() that finds $called", figure => median(@milliseconds), figure_unit => 'ms', note(running($session), @processor));
	$session->close;
	return;
}

sub cases
{
	return ('preempt-nothing' => \&nothing_case, 'preempt-kill' => \&kill_case, 'preempt-marks' => \&marks_case);
}

1;
