# The example of a feed with psycopg: see FeedClient.pm.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use FeedClient;
use Test::More;

# Use the distribution's interpreter, because its psycopg package is built for it.
my $python = '/usr/bin/python3';
skip_without($python);
plan skip_all => 'psycopg 3 is not installed' if system("$python -c 'import psycopg' 2>/dev/null") != 0;

my $directory = copy_of_example('psycopg');
test_feed_client(sub { return ($python, "$directory/container_feed.py"); });
done_testing();
