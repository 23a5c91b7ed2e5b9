# Books that suffered faults, and control books that did not.
#
# A test sends a script of events with fixed contents to one database in any order, in any pieces, any number of
# times. It sends the script once, in order, to another database of the same server. In the end both must agree to the
# last digit, whatever happened in between.

package Control;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(make_books make_script deliver settle_rest is_same_as_control is_proven);

# An instant after all events of the scripts
use constant THE_END => '2026-03-03 00:00+00';

# make_books(NODE, DATABASE...): create databases with the same configuration. Their clocks stand at the end of the
# day of the scripts. Existing databases of these names are dropped.
sub make_books
{
	my ($node, @databases) = @_;

	foreach my $database (@databases)
	{
		$node->safe_psql('postgres', "DROP DATABASE IF EXISTS $database WITH (FORCE)");
		$node->safe_psql('postgres', "CREATE DATABASE $database");
		$node->safe_psql($database, <<~SQL);
			CREATE EXTENSION IF NOT EXISTS yquota;
			SELECT yquota.set_clock('2026-03-02 00:00+00');
			SELECT yquota.set_base_price('vcores', 0.7, effective_at => '2026-03-02 03:33+00');
			SELECT yquota.set_multiplier('GENERAL', 1 + n * 0.123456789, '2026-03-02 00:00+00'::timestamptz + n * interval '47 min')
			FROM generate_series(1, 25) AS n;
			INSERT INTO yquota.project (name) SELECT 'p' || n FROM generate_series(0, 3) AS n;
			INSERT INTO yquota.node (name, total) SELECT 'n' || n, '[memory-mb=1000000,vcores=1000]' FROM generate_series(0, 3) AS n;
			SELECT yquota.set_clock('${\ THE_END}');
			CREATE TABLE script (LIKE yquota.container_event);
			ALTER TABLE script DROP COLUMN recorded_at, DROP COLUMN event_id, ADD COLUMN number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
			SQL
	}
	return;
}

# make_script(NODE, DATABASE, PREFIX, CONTAINERS): put the events of so many containers into the table script of
# a database. Each container has a START, three UPDATEs and a FINISH, but every fifth continues to run. The
# function returns the number of events.
sub make_script
{
	my ($node, $database, $prefix, $containers) = @_;

	return $node->safe_psql($database, <<~SQL);
		WITH life AS (
			SELECT n, '$prefix-' || n AS id, timestamptz '2026-03-02 00:01+00' + n * interval '7.000001 s' AS started_at
			FROM generate_series(1, $containers) AS n
		), made AS (
			INSERT INTO script (event, container_id, occurred_at, project, username, queue, node, allocation, exit_status)
			SELECT step.event::yquota.container_event_type, id, started_at + step.minutes * interval '1.0000007 min',
				   CASE step.number WHEN 0 THEN 'p' || n % 4 END,
				   CASE step.number WHEN 0 THEN 'u' || n % 3 END,
				   CASE step.number WHEN 0 THEN 'root.q' || n % 5 END,
				   CASE WHEN step.number IN (0, 3) THEN 'n' || (n + step.number) % 4 END,
				   CASE WHEN step.number < 3 THEN format('[memory-mb=%s,vcores=%s]', 512 * (1 + (n + step.number) % 7), 1 + n % (2 + step.number))::yquota.resource END,
				   CASE step.number WHEN 4 THEN n % 2 END
			FROM life, (VALUES (0, 'CONTAINER_START', 0), (1, 'CONTAINER_UPDATE', 5), (2, 'CONTAINER_UPDATE', 100),
							   (3, 'CONTAINER_UPDATE', 250), (4, 'CONTAINER_FINISH', 400)) AS step (number, event, minutes)
			WHERE step.number < 4 OR n % 5 <> 0
			ORDER BY random()
			RETURNING number
		)
		SELECT count(*) FROM made;
		SQL
}

use constant EVENT_COLUMNS =>
  'event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, exit_status, source';

# deliver(NODE, DATABASE, CONDITION): send the rows of the table script that meet the condition, in
# one statement.
sub deliver
{
	my ($node, $database, $condition) = @_;
	my $columns = EVENT_COLUMNS;

	$node->safe_psql($database, "INSERT INTO yquota.container_event ($columns) SELECT $columns FROM script WHERE $condition");
	return;
}

# settle_rest(NODE, DATABASE, PREFIX): send all events of a script again, and retry the events that
# were set aside. Known events change nothing.
sub settle_rest
{
	my ($node, $database, $prefix) = @_;

	deliver($node, $database, "container_id LIKE '$prefix-%'");
	$node->safe_psql($database, 'SELECT * FROM yquota.retry_rejects()');
	return;
}

# Return the facts of the books, one on each line.
sub books
{
	my ($node, $database) = @_;

	return $node->safe_psql($database, <<~'SQL');
		SELECT project, charged, accrued, burn_rate FROM yquota.project_balance ORDER BY 1;
		SELECT queue, label, username, execution_type, containers, allocation FROM yquota.queue_usage ORDER BY 1, 2, 3, 4;
		SELECT node, guaranteed, containers FROM yquota.node_usage ORDER BY 1;
		SELECT count(*), sum(cost), md5(string_agg(container_id || ' ' || trim_scale(cost), ',' ORDER BY container_id COLLATE "C"))
		FROM yquota.container_cost;
		SQL
}

# is_same_as_control(NODE, DATABASE, CONTROL, PREFIX, NAME): send the script to the control
# database, and test that both databases have the same books.
sub is_same_as_control
{
	my ($node, $database, $control, $prefix, $name) = @_;
	my $columns = EVENT_COLUMNS;
	my $script = $node->safe_psql($database, "COPY (SELECT $columns FROM script WHERE container_id LIKE '$prefix-%' ORDER BY occurred_at, number) TO STDOUT");

	$node->safe_psql($control, "COPY yquota.container_event ($columns) FROM STDIN;\n$script\n\\.\n");
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(books($node, $database), books($node, $control), "$name: the books are those of a control");
	is_proven($node, $database, $name);
	return;
}

sub is_proven
{
	my ($node, $database, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', "$name: the books are proven");
	return;
}

1;
