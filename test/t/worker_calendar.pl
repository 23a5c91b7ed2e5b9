# The worker makes the points of calendars 14 days ahead, while the clock moves and after a restart of the server.
# When it was away for longer, it makes the missing points, and corrects the charges that were made without them.

use strict;
use warnings;

use Test::More;
use WorkerNode;

my $node = new_node('calendar');

sub last_point
{
	my ($at) = @_;

	return "(SELECT max(effective_at) = '$at' FROM yquota.calendar_factor)";
}

$node->safe_psql('postgres', 'CREATE DATABASE work');
start_at($node, 'work', '2030-01-01 12:00 UTC');
$node->safe_psql('work', <<~'SQL');
	INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('night', 'GENERAL', 'UTC', '22:00', '06:00', 0.5);
	INSERT INTO yquota.container_event (event, container_id, project, allocation) VALUES ('CONTAINER_START', 'c1', 'p', '[vcores=1]'), ('CONTAINER_START', 'c2', 'p', '[vcores=1]');
	SELECT yquota.start_worker();
	SQL
is_soon($node, 'work', mark() . " = '2030-01-01 12:00 UTC'", 'the worker runs');
is_soon($node, 'work', last_point('2030-01-15 06:00 UTC'), 'points of the calendar were made 14 days ahead');
$node->safe_psql('work', q(SELECT yquota.set_clock('2030-01-02 23:00 UTC')));
is_soon($node, 'work', last_point('2030-01-16 22:00 UTC'), 'the worker makes the next points');

$node->restart;
$node->safe_psql('work', q(SELECT yquota.set_clock('2030-01-03 07:00 UTC')));
is($node->safe_psql('work', q(SELECT yquota.start_worker())), '', 'another worker starts');
is_soon($node, 'work', last_point('2030-01-17 06:00 UTC'), 'it continues where the last worker ended');

# The worker is away. The last point is the end of a night, so later nights cost as much as days.
$node->safe_psql('work', 'SELECT yquota.stop_worker()');
is_soon($node, 'work', "NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'yquota worker' AND datname = 'work')", 'the worker is stopped');
$node->safe_psql('work', q(SELECT yquota.set_clock('2030-01-20 12:00 UTC')));
$node->safe_psql('work', q(INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_FINISH', 'c1')));
my $cost = q(SELECT sum(amount) / 3600 FROM yquota.charge WHERE container_id = 'c1');
# 19 days with 19 nights of 8 hours at half the price, of which only 16 were known
is($node->safe_psql('work', "SELECT ($cost) = 19 * 24 - 16 * 4"), 't', 'meanwhile, charges use a timeline without the missing points');
$node->safe_psql('work', 'SELECT yquota.start_worker()');
is_soon($node, 'work', last_point('2030-02-03 06:00 UTC'), 'the worker makes the missing points');
is_soon($node, 'work', "($cost) = 19 * 24 - 19 * 4", 'the ledger is corrected');
is($node->safe_psql('work', q(SELECT accrued / 3600 = 19 * 24 - 19 * 4 FROM yquota.container_cost WHERE container_id = 'c2')), 't', 'the balance of a running container is corrected, too');
is($node->safe_psql('work', 'SELECT * FROM yquota.verify()'), '', 'the books are right');

done_testing();
