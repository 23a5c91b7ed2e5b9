#!/usr/bin/perl
# run_tap.pl COUNTS [--jobs N] FILE...
#
# Run test programs that speak TAP (.sql through pgTAP's psql, .pl with perl, others as programs), one line each. Add
# "passed failed skipped" of their assertions to the file COUNTS. The output gives the reason of each skipped test and
# the diagnostics of each failed one. A program that dies, is killed, or deviates from its plan counts at least one
# failure. Arguments of a program follow its name after blanks, in the same FILE. The output repeats the tests' notes
# of counts and seeds; in a soak, it repeats all notes. With --jobs, that many programs run at a time, and the output
# of each appears when the program has ended.
use strict;
use warnings;

use File::Temp qw(tempfile);
use POSIX ();
use TAP::Parser;
use Time::HiRes qw(time);

use constant FAILED => 1;
use constant COUNTS => qr{^(?:\w+=\d|[\w ]+: \d|\d+ \w)};

my ($counts, @files) = @ARGV;
my $jobs = @files && $files[0] eq '--jobs' ? (splice @files, 0, 2)[1] : 1;
my %total = (passed => 0, failed => 0, skipped => 0);
my $some_failed = 0;

$| = 1;
if ($jobs > 1)
{
	run_together(@files);
}
else
{
	run($_) foreach @files;
}

add_counts();
exit($total{failed} || $some_failed ? FAILED : 0);

# Run programs together, each in its own process, which adds up its own counts.
sub run_together
{
	my @waiting = @_;
	my %running;

	while (@waiting || %running)
	{
		while (@waiting && keys %running < $jobs)
		{
			my $file = shift @waiting;
			my $text = tempfile();
			my $pid = fork;

			die "could not fork: $!\n" if !defined $pid;
			run_apart($file, $text) if $pid == 0;
			$running{$pid} = { file => $file, text => $text };
		}
		my $ended = delete $running{ waitpid(-1, 0) } or next;
		my $status = $?;

		seek $ended->{text}, 0, 0;
		print readline $ended->{text};
		next if $status == 0;
		$some_failed = 1;
		next if $status == FAILED << 8;
		print "  $ended->{file}: its runner ended with status $status\n";
		$total{failed}++;
	}
}

sub run_apart
{
	my ($file, $text) = @_;

	open STDOUT, '>&', $text or die "could not redirect: $!\n";
	open STDERR, '>&', $text or die "could not redirect: $!\n";
	run($file);
	add_counts();
	POSIX::_exit($total{failed} ? FAILED : 0);
}

sub add_counts
{
	open my $out, '>>', $counts or die "could not open \"$counts\": $!\n";
	print $out "$total{passed} $total{failed} $total{skipped}\n";
	close $out or die "could not write \"$counts\": $!\n";
}

sub run
{
	my ($file) = @_;
	my $start = time;
	my $told = $start;
	my %count = (passed => 0, failed => 0, skipped => 0);
	my @notes;

	my ($program, @arguments) = split ' ', $file;

	printf '  %-48s ', $file;
	my $parser = TAP::Parser->new(
		{
			source => $program,
			test_args => \@arguments,
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
