# The test gives generated input to all C code that parses. Each target of test/fuzz runs on its
# corpus, and on what a coverage-guided fuzzer makes of it. An input that makes a target fail is
# printed. It is added to test/fuzz/corpus when the fault is fixed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use File::Basename;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;

use constant {
	SHORT_RUNS => 5_000,
	SOAK_RUNS => 1_000_000,
	NOT_INSTALLED => 77,
};

my $top = dirname(dirname($FindBin::RealBin));
my $directory = "$ENV{YQUOTA_STAGE}/fuzz";
my $runs = is_soak() ? SOAK_RUNS : SHORT_RUNS;
my ($total, $rounds) = (0, 0);

# Run each target so many times.
sub fuzz
{
	my $messages = "$directory.messages";
	my @lines = qx(mkdir -p '$directory' && '$top/test/scripts/fuzz.sh' '$directory' $runs 2>'$messages');
	my $status = $? >> 8;

	plan skip_all => 'clang has no fuzzer here' if $status == NOT_INSTALLED;
	ok(@lines > 0, 'there are targets') or diag(slurp_file($messages));
	foreach my $line (@lines)
	{
		chomp $line;
		my ($target, $result, $done) = $line =~ /^(\S+) (\S+), (\d+) runs/
		  or die "fuzz.sh printed \"$line\"";
		ok($result eq 'ok' && $done >= $runs, $line);
		$total += $done;
	}
	diag(slurp_file($messages)) if $status;
	return $status;
}

while (soak_goes_on($rounds, 1, 1))
{
	last if fuzz();
	$rounds++;
}
note "$total runs of targets in $rounds rounds";

# A corpus without a target would never be run.
my %known = map { $_ => 1 } slurp_file("$top/test/fuzz/driver.c") =~ /^\t\{"(\w+)", yq_fuzz/mg;
is_deeply([ grep { !$known{$_} } map { basename($_) } glob("$top/test/fuzz/corpus/*") ],
	[], 'every corpus has its target');
is_deeply([ grep { !-d "$top/test/fuzz/corpus/$_" } sort keys %known ],
	[], 'every target has its corpus');

done_testing();
