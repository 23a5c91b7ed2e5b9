#!/usr/bin/env perl
#
# All changes of timelines are known beforehand. The events arrive in any order, in any statements
# and transactions, and more than once. Outages are reported before or after the affected containers
# are settled. History is sealed at any time, and in some databases archived between two histories.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Stream;
use Trial;

my ($seed, $histories) = Trial::plan_run(50);

# Archive history. Reports no longer include it, but verify() must find nothing, and balances must
# stay the same.
sub archive
{
	my ($trial) = @_;

	$trial->log_sql($trial->{session}, $_) foreach
	  'CREATE TABLE IF NOT EXISTS ledger (LIKE yquota.charge)',
	  'CREATE TABLE IF NOT EXISTS log (LIKE yquota.container_event)',
	  'SELECT yquota.quota_compute()',
	  History::pick('SELECT yquota.seal_history()', 'SELECT 1'),
	  "SELECT yquota.archive('ledger', 'infinity')",
	  "SELECT yquota.archive('log', 'infinity')";
	$trial->check_balances('after archiving');
	return;
}

sub play
{
	my ($trial) = @_;
	my $history = $trial->{history};
	my $archives = $trial->{has_archive} //= History::chance(0.4);
	my ($waits, @events) = Stream::arrange($history);
	my @late = grep { History::chance(0.5) || !$trial->report_outage($_) && 0 } @{ $history->{outages} };
	my @compacts = map { int rand 20 } 1 .. History::pick(0, 0, 2);

	$trial->change($_) foreach @{ $history->{changes} };
	$trial->set_clock($history->{to});
	$trial->log_sql($trial->{session},
		'SET yquota.on_bad_event = ' . ($waits || History::chance(0.5) ? 'set_aside' : 'error'));
	foreach my $transaction (Stream::in_transactions(Stream::cut(Stream::repeat($history, @events))))
	{
		my ($sql, @brought) = @$transaction;

		$trial->deliver($trial->{session}, $sql, @brought);
		$trial->report_outage(shift @late) if @late && History::chance(0.2);
		$trial->log_sql($trial->{session}, 'SELECT yquota_internal.compact_counters()')
		  if grep { $_ == 0 } @compacts;
		$_-- foreach @compacts;
		$trial->log_sql($trial->{session}, 'SELECT yquota.seal_history()') if History::chance(0.05);
	}
	$trial->report_outage($_) foreach @late;
	$archives ? $trial->check_balances('after the stream') : $trial->check('after the stream');
	return if $trial->{mismatches};
	$trial->log_sql($trial->{session}, 'SELECT yquota_internal.compact_counters()');
	$trial->check_balances('after compaction');
	archive($trial) if $archives && History::chance(0.5);
	return;
}

is(Trial::run_histories($seed, $histories, \&play), 0, "$histories histories in any order of arrival");
done_testing();
