# The example of a feed with node-postgres: see FeedClient.pm.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use FeedClient;
use PostgreSQL::Test::Utils;
use Test::More;

skip_without(qw(node npm));
my ($version) = `node --version` =~ /^v([0-9]+)/;
plan skip_all => "node is of version $version, 16 is needed" if $version < 16;

my $directory = copy_of_example('node-postgres');
system_or_bail('npm', '--prefix', $directory, 'install', '--silent', '--no-audit', '--no-fund', '--no-package-lock');
test_feed_client(sub { return ('node', "$directory/container_feed.js"); });
done_testing();
