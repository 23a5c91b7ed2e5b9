# The length of a test. In "make check" it is a fixed number of rounds. In "make soak" it is the seconds that
# test/scripts/soak.sh sets in SOAK_SECONDS, counted from the start of the program. A test always runs at least
# its minimum number of rounds.
#
#	for (my $done = 0; soak_goes_on($done, 5, 100); $done++) { ... }
#
# In a test of several parts, each part but the last ends after a percentage of the time:
# soak_goes_on($done, 5, 100, 50).

package Soak;

use strict;
use warnings;

use Exporter 'import';
use Time::HiRes qw(time);

our @EXPORT = qw(is_soak soak_goes_on soak_lacks);

my $started = time;

sub is_soak { return $ENV{SOAK_SECONDS} ? 1 : 0; }

# soak_goes_on(DONE, SHORT, LEAST, PERCENT): return whether another round is due after DONE rounds.
# SHORT is the number of rounds in "make check", and LEAST the minimum in "make soak".
sub soak_goes_on
{
	my ($done, $short, $least, $percent) = @_;

	return $done < $short if !is_soak();
	return $done < $least || time - $started < $ENV{SOAK_SECONDS} * ($percent // 100) / 100;
}

# soak_lacks(DONE, SHORT, COUNTS): return whether another round is due because one of the counted
# cases has not occurred yet. The test gives up after three times as many rounds as "make check"
# runs.
sub soak_lacks
{
	my ($done, $short, @counts) = @_;

	return $done < 3 * $short && grep { !$_ } @counts;
}

1;
