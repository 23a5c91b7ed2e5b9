# Gaps in the mark: which gaps become outages when a worker starts.

use strict;
use warnings;

use Test::More;
use WorkerNode;

my $node = new_node(
	'outage',
	"shared_preload_libraries = 'yquota'",
	"yquota.databases = 'work'");
my $hour = 0;

sub clock { return sprintf('2030-01-01 %02d:%02d UTC', int($hour), 60 * ($hour - int($hour))); }

sub outages
{
	return $node->safe_psql('work', <<~SQL);
		SELECT string_agg(to_char(started_at AT TIME ZONE 'UTC', 'HH24:MI-')
						  || to_char(ended_at AT TIME ZONE 'UTC', 'HH24:MI')
						  || CASE WHEN forgiven THEN '' ELSE ' undecided' END
						  || coalesce(' of ' || project, ''), ', ' ORDER BY started_at)
		FROM yquota.outage
		SQL
}

# Move the clock while no worker runs.
sub be_away
{
	my ($hours, $leave) = @_;

	$leave->();
	ok($node->poll_query_until('work', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'yquota worker')"),
		'the worker has left');
	$hour += $hours;
	set_clock($node, 'work', clock());
	return;
}

sub come_back
{
	$node->append_conf('postgresql.conf', "yquota.databases = 'work'");
	$node->reload;
	$node->safe_psql('work', 'SELECT yquota.start_worker()');
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_soon($node, 'work', mark() . " = '" . clock() . "'", 'a worker is at work again');
	return;
}

# Crash the server, and start it again without a worker.
sub crash
{
	$node->stop('immediate');
	$node->append_conf('postgresql.conf', "yquota.databases = ''");
	$node->start;
	return;
}

$node->safe_psql('postgres', 'CREATE DATABASE work TEMPLATE template0');
start_at($node, 'work', clock());
is_soon($node, 'work', mark() . " = '" . clock() . "'", 'the worker has started');
is(outages(), '', 'the first start is no outage');

be_away(0.5, \&crash);
come_back();
is(outages(), '00:00-00:30', 'half an hour after a crash is an outage that is forgiven');

be_away(0.25, sub { $node->safe_psql('work', 'SELECT yquota.stop_worker()') });
come_back();
is(outages(), '00:00-00:30', 'the time of a worker that was switched off is no outage');

be_away(0.25, sub {
	$node->append_conf('postgresql.conf', "yquota.databases = ''");
	$node->reload; });
come_back();
is(outages(), '00:00-00:30', 'the time of a database off the list is no outage');

# A gap up to the threshold is not an outage, and an outage up to the maximum is forgiven.
$node->append_conf('postgresql.conf', "yquota.outage_threshold = '15min'");
be_away(0.25, \&crash);
come_back();
is(outages(), '00:00-00:30', 'a gap as long as the threshold is no outage');
be_away(1, \&crash);
come_back();
is(outages(), '00:00-00:30, 01:15-02:15', 'a gap as long as yquota.outage_max is forgiven');

# An administrator decides about an outage beyond the maximum.
be_away(2, \&crash);
come_back();
is(outages(), '00:00-00:30, 01:15-02:15, 02:15-04:15 undecided', 'a longer gap waits for a decision');
my $waiting = "(SELECT string_agg(subject, ',') FROM yquota.alert WHERE kind = 'outage_undecided' AND cleared_at IS NULL)";
my $id = $node->safe_psql('work', 'SELECT max(outage_id) FROM yquota.outage');
is($node->safe_psql('work', "SELECT $waiting"), $id, 'the longer gap raises an alert');
$node->safe_psql('work', "SELECT yquota.decide_outage($id, true)");
is(outages(), '00:00-00:30, 01:15-02:15, 02:15-04:15', 'an outage is forgiven when this is decided');
is($node->safe_psql('work', "SELECT $waiting IS NULL"), 't', 'the alert is over');

be_away(2, \&crash);
come_back();
$id = $node->safe_psql('work', 'SELECT max(outage_id) FROM yquota.outage');
$node->safe_psql('work', "SELECT yquota.decide_outage($id, false)");
like(outages(), qr/04:15-06:15 undecided$/, 'an outage that is to be charged stays as it is');
is($node->safe_psql('work', "SELECT $waiting IS NULL"), 't', 'an outage that is to be charged needs no attention');
my ($code, $out, $error) = $node->psql('work', 'SELECT yquota.decide_outage(-1, true)');
like($error, qr/outage -1 does not exist/, 'an unknown outage cannot be decided');

be_away(2, \&crash);
come_back();
$node->safe_psql('work', "UPDATE yquota.outage SET forgiven = true WHERE outage_id = (SELECT max(outage_id) FROM yquota.outage)");
live_through($node, 'work', 1, '1 minute');
$hour += 1 / 60;
is_soon($node, 'work', "$waiting IS NULL", 'the worker notices a decision made in the table');

my $before = outages();
$node->append_conf('postgresql.conf', "yquota.outage_policy = 'charge'");
be_away(1, \&crash);
come_back();
is(outages(), $before, 'with the policy charge no gap is an outage');
$node->append_conf('postgresql.conf', "yquota.outage_policy = 'forgive'");
$node->reload;

# A copy of the database has an old mark, but no outage because of that.
is($node->psql('postgres', 'CREATE DATABASE copy TEMPLATE work'), 0, 'the database is copied');
$hour += 1;
set_clock($node, 'copy', clock());
$node->safe_psql('copy', 'SELECT yquota.start_worker()');
is_soon($node, 'copy', mark() . " = '" . clock() . "'", 'the copy has a worker');
is($node->safe_psql('copy', 'SELECT max(ended_at) < ' . mark() . ' FROM yquota.outage'), 't', 'the start of the worker of the copy is no outage');

$node->stop;
done_testing();
