#!/usr/bin/perl
# run_tap.pl COUNTS FILE...
#
# Run test programs that speak TAP (.sql through pgTAP's psql, .pl with perl,
# others as programs), one line each, and add "passed failed skipped" of their
# assertions to the file COUNTS.  What was skipped is told with its reason,
# what failed with the test's own diagnostics.  A program that dies, is killed,
# or runs other tests than it planned counts at least one failure.  What tests
# note of their counts and seeds is told as well; in a soak, all that they note.
use strict;
use warnings;

use TAP::Parser;
use Time::HiRes qw(time);

use constant COUNTS => qr{^(?:\w+=\d|[\w ]+: \d|\d+ \w)};

my ($counts, @files) = @ARGV;
my %total = (passed => 0, failed => 0, skipped => 0);

$| = 1;
run($_) foreach @files;

open my $out, '>>', $counts or die "could not open \"$counts\": $!\n";
print $out "$total{passed} $total{failed} $total{skipped}\n";
close $out or die "could not write \"$counts\": $!\n";
exit($total{failed} ? 1 : 0);

sub run
{
	my ($file) = @_;
	my $start = time;
	my $told = $start;
	my %count = (passed => 0, failed => 0, skipped => 0);
	my @notes;

	printf '  %-48s ', $file;
	my $parser = TAP::Parser->new(
		{
			source => $file,
			merge => 0,
			sources => {
				pgTAP => { suffix => '.sql' },
				File => { extensions => [] },
				Perl => {},
				Executable => {},
			},
		});

	while (my $result = $parser->next)
	{
		if (time - $told > 5)
		{
			$told = time;
			printf '[%d] ', $parser->tests_run || 0;
		}
		if ($result->is_test)
		{
			my $kind = $result->has_skip ? 'skipped'
			  : $result->has_todo && !$result->is_actual_ok ? 'skipped'
			  : $result->is_ok ? 'passed' : 'failed';

			$count{$kind}++;
			push @notes, 'skipped: ' . $result->explanation
			  if $kind eq 'skipped';
			push @notes, 'FAILED: ' . $result->as_string
			  if $kind eq 'failed';
		}
		elsif ($result->is_plan && $result->has_skip)
		{
			$count{skipped}++;
			push @notes, 'skipped: ' . $result->explanation;
		}
		elsif ($result->is_bailout)
		{
			push @notes, 'gave up: ' . $result->explanation;
		}
		elsif ($result->is_comment && ($ENV{SOAK_SECONDS} || $result->comment =~ COUNTS))
		{
			push @notes, $result->comment;
		}
	}

	my @broken = $parser->parse_errors;
	push @broken, 'ended with status ' . ($parser->exit || 'of signal ' . ($parser->wait & 127))
	  if $parser->wait && !$count{failed};
	if (@broken)
	{
		my $missing = ($parser->tests_planned || 0) - ($parser->tests_run || 0);

		$count{failed} += $missing > 0 ? $missing : 1;
		push @notes, map { "FAILED: $_" } @broken;
	}

	printf "%s (%d passed, %d failed, %d skipped, %.1f s)\n",
	  $count{failed} ? 'FAILED' : 'ok', @count{qw(passed failed skipped)},
	  time - $start;
	print "    $_\n" foreach @notes;
	$total{$_} += $count{$_} foreach keys %count;
}
