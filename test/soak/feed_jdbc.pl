# The example of a feed with JDBC: see FeedClient.pm.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use FeedClient;
use PostgreSQL::Test::Utils;
use Test::More;

my $driver = '/usr/share/java/postgresql.jar';
skip_without(qw(java javac));
plan skip_all => 'the PostgreSQL JDBC driver is not installed' if !-e $driver;

my $directory = copy_of_example('jdbc');
system_or_bail('javac', '-Xlint:all', '-Werror', '-d', $directory, "$directory/ContainerFeed.java");
# PgBouncer before 1.21 does not support prepared statements.
test_feed_client(sub { return ('java', '-cp', "$directory:$driver", 'ContainerFeed', "$_[0]&prepareThreshold=0"); });
done_testing();
