# clang's static analyser finds nothing in the sources. A short run checks quickly, and a long run
# thoroughly.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use File::Basename;
use Soak;
use Test::More;

use constant NOT_INSTALLED => 77;

my $top = dirname(dirname($FindBin::RealBin));
my $depth = is_soak() ? 'deep' : 'shallow';
my $found = qx('$top/test/scripts/analyze.sh' $depth 2>&1);

plan skip_all => 'there is no clang here' if $? >> 8 == NOT_INSTALLED;
ok($? == 0, "the analyser finds nothing ($depth)") or diag($found);
note scalar(() = glob("$top/src/*.c $top/src/*/*.c $top/src/*/*/*.c")) . ' files';

done_testing();
