# The length of a test. In "make check" it is a fixed number of rounds. In "make soak" it is the seconds that
# test/scripts/soak.sh gives in SOAK_SECONDS, counted from the start of the program. In any case the test runs the
# least number of rounds.
#
#	for (my $done = 0; soak_goes_on($done, 5, 100); $done++) { ... }
#
# A test of several parts lets each but the last end earlier, by a percentage
# of its time: soak_goes_on($done, 5, 100, 50).

package Soak;

use strict;
use warnings;

use Exporter 'import';
use Time::HiRes qw(time);

our @EXPORT = qw(is_soak soak_goes_on soak_lacks);

my $started = time;

sub is_soak { return $ENV{SOAK_SECONDS} ? 1 : 0; }

# soak_goes_on(DONE, SHORT, LEAST, PERCENT): whether another round is due after
# so many.  SHORT is the number of "make check", LEAST that of "make soak".
sub soak_goes_on
{
	my ($done, $short, $least, $percent) = @_;

	return $done < $short if !is_soak();
	return $done < $least || time - $started < $ENV{SOAK_SECONDS} * ($percent // 100) / 100;
}

# soak_lacks(DONE, SHORT, COUNTS): whether another round is due after so many because
# one of the things that are counted has not happened by chance.  It is given up
# after three times as many rounds as "make check" plays.
sub soak_lacks
{
	my ($done, $short, @counts) = @_;

	return $done < 3 * $short && grep { !$_ } @counts;
}

1;
