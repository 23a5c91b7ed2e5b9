# The regression suite runs in a server whose memory accesses are checked: by clang's sanitizers in the extension,
# and by valgrind in the whole server. A short run uses a few tests with the sanitizers. A long run uses the whole
# suite with both.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use File::Basename;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;

use constant NOT_INSTALLED => 77;
use constant SHORT => qw(resource weights missing_tables scheduler scheduler_bad_input);

my $top = dirname(dirname($FindBin::RealBin));
my $directory = "$ENV{YQUOTA_STAGE}/memory";

# watch(KIND, TESTS...): run these tests, or all by default.
sub watch
{
	my ($kind, @tests) = @_;
	my $messages = "$PostgreSQL::Test::Utils::tmp_check/$kind.messages";
	my @lines = qx('$top/test/scripts/memory_check.sh' '$directory.$kind' $kind @tests 2>'$messages');

  SKIP:
	{
		skip "the tools for $kind are not installed", 1 if $? >> 8 == NOT_INSTALLED;
		chomp(my $sum = pop @lines // '');
		ok($? == 0 && $sum =~ /^[1-9]\d* tests, 0 reports$/, "$kind: $sum")
		  or diag(join('', @lines), slurp_file($messages));
	}
	return;
}

watch('sanitizers', is_soak() ? () : SHORT);
watch('valgrind') if is_soak();

done_testing();
