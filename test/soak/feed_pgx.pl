# The example of a feed with pgx: see FeedClient.pm.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use FeedClient;
use PostgreSQL::Test::Utils;
use Test::More;

skip_without('go');
my $directory = copy_of_example('pgx');
my ($wanted) = slurp_file("$directory/go.mod") =~ /^go 1\.([0-9]+)/m;
my ($found) = `go env GOVERSION` =~ /^go1\.([0-9]+)/;
plan skip_all => "go 1.$wanted is not installed" if $found < $wanted;

system_or_bail('go', "-C=$directory", 'vet');
system_or_bail('go', "-C=$directory", 'build', '-buildvcs=false', '-o', "$directory/container_feed");
test_feed_client(sub { return "$directory/container_feed"; });
done_testing();
