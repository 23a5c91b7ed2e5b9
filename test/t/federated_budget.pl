# A budget over three clusters leases its shares to them as grants that expire. One cluster is cut off for an hour.
# Servers are killed between the steps of a lease and in the middle of a commit. Two renewals run at once. Credit is
# spent beyond a share, and spending is reported late. The shares never add up to more than the budget, and when all
# clusters are back, both sides agree.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my %node_of = (federation => 'home', east => 'near', west => 'near', north => 'far');
my %node = map { $_ => new_node($_, 'autovacuum = off', 'yquota.max_clock_skew = 2min', $_ eq 'home' ? q(shared_preload_libraries = 'yquota') : ()) } qw(home near far);
my @clusters = qw(east north west);
my %ahead = (federation => 0, east => 30, north => -60, west => 0);

sub sql
{
	my ($database, $query) = @_;

	return $node{ $node_of{$database} }->safe_psql($database, $query);
}

my $clock;

sub set_clocks
{
	($clock) = @_;
	sql($_, "SELECT yquota.set_clock(timestamptz '$clock' + $ahead{$_} * interval '1 s')") foreach 'federation', @clusters;
	return;
}

sub fails
{
	my ($database, $query, $pattern, $name, $role) = @_;
	my (undef, undef, $error) = $node{ $node_of{$database} }->psql($database, ($role ? "SET ROLE $role;" : '') . "\\set VERBOSITY verbose\n$query");

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like($error, $pattern, $name);
	return;
}

$node{$_}->safe_psql('postgres', 'CREATE ROLE lender LOGIN; CREATE ROLE admin; CREATE ROLE member; CREATE ROLE other') foreach keys %node;
foreach my $name ('federation', @clusters)
{
	$node{ $node_of{$name} }->safe_psql('postgres', "CREATE DATABASE $name");
	sql($name, <<~"SQL");
		CREATE EXTENSION IF NOT EXISTS yquota;
		INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('$name');
		INSERT INTO yquota.project (name, on_exhausted) VALUES ('lab', 'refuse_submission'), ('sea', 'allow');
		SELECT yquota.allow_role('lender', 'viewer'), yquota.allow_role('admin', 'admin'), yquota.allow_role('member', 'member', 'lab'), yquota.allow_role('other', 'member', 'sea');
		GRANT INSERT ON yquota.cluster_lease, yquota.lending_federation TO lender;
		SQL
}
set_clocks('2026-03-02 09:00+00');
sql('federation', 'CREATE EXTENSION postgres_fdw');
foreach my $name (@clusters)
{
	my $node = $node{ $node_of{$name} };

	sql('federation', sprintf(q(
		CREATE SERVER %1$s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%2$s', port '%3$s', dbname '%1$s', connect_timeout '5', keep_connections 'off');
		CREATE USER MAPPING FOR CURRENT_USER SERVER %1$s OPTIONS (user 'lender');
		GRANT USAGE ON FOREIGN SERVER %1$s TO admin;
		SET ROLE admin;
		SELECT yquota.federate_cluster('%1$s', '%1$s');), $name, $node->host, $node->port));
}

sub renew { return sql('federation', 'SET ROLE admin; SELECT offered, taken, settled, array_length(problems, 1) FROM yquota.renew_leases()'); }
sub status { return sql('federation', q(SELECT spent, in_force, unreported, free FROM yquota.federated_budget_status WHERE project = 'lab')); }
sub leases { return sql('federation', qq(SELECT cluster, state, share, taken_off, spent, returned, late FROM yquota.budget_lease_status WHERE project = 'lab' AND ($_[0]) ORDER BY lease)); }
sub start
{
	my ($name, $id, $vcores, $from, $to) = @_;

	sql($name, "INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', '$id', '$from', 'lab', '[vcores=$vcores]')");
	sql($name, "INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', '$id', '$to')") if defined $to;
	return;
}

# Test that the shares, less the returned amounts, never exceed the budget, and that clusters never have more
# credit than that.
sub adds_up
{
	my ($name) = @_;
	my $in_clusters = join ' + ', map { sql($_, q(SELECT coalesce(sum(CASE WHEN state = 'expired' THEN spent ELSE amount END), 0) FROM yquota.grant_status WHERE kind = 'budget' AND project = 'lab')) } @clusters;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(sql('federation', qq(SELECT spent + in_force + unreported + free = amount, free >= 0, $in_clusters <= amount FROM yquota.federated_budget_status WHERE project = 'lab')), 't|t|t', "$name: the shares add up to the budget at most");
	return;
}

# The budget, and the first shares
fails('federation', q(INSERT INTO yquota.federated_budget (project, period, amount) VALUES ('lab', 'month', 1)), qr/ERROR:  42501/, 'members set no budget', 'member');
fails('federation', 'SELECT yquota.renew_leases()', qr/ERROR:  42501/, 'members do not renew leases', 'member');
fails('federation', q(BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT yquota.renew_leases()), qr/ERROR:  0A000/, 'leases are not renewed at another isolation level');
sql('federation', q(SET ROLE admin; INSERT INTO yquota.federated_budget (project, period, amount, lease_duration, floor_fraction) VALUES ('lab', 'month', 120000, '1 hour', 0.2)));
is(sql('federation', 'SELECT * FROM yquota.planned_leases()'), '', 'before the first call no cluster has been asked');
is(renew(), '0|0|0|', 'the clusters know the lender');
is(sql('east', 'SELECT federation, history FROM yquota.lending_federation'), 'federation|' . sql('federation', q(SELECT format('%s/1/%s', system_identifier, oid) FROM pg_control_system(), pg_database WHERE datname = 'federation')), 'a lender is identified by server, timeline and database');
is(renew(), '3|0|0|', 'three shares are offered');
is(leases('true'), "east|offered|20000|0|||0\nnorth|offered|20000|0|||0\nwest|offered|20000|0|||0", 'three equal shares are half of the free budget while no cluster has spent anything');
is(sql('east', 'SELECT count(*) FROM yquota.cluster_lease'), '0', 'no cluster has a lease yet, because an offer is committed first');
is(renew(), '0|3|0|', 'in the next call the clusters take the offered leases');
is(status(), '0|60000|0|60000', 'half of the budget is leased, half is free');
is(sql('east', 'SELECT project, amount, valid_from, expires_at, taken_at, spent, is_final FROM yquota.cluster_lease'), 'lab|20000|2026-03-02 09:00:00+00|2026-03-02 10:00:00+00|2026-03-02 09:00:30+00|0|f', 'in the cluster a lease is a grant');
is(sql('east', q(SELECT granted, remaining FROM yquota.project_balance WHERE project = 'lab')), '20000|20000', 'decisions use the grant');
is(renew(), '0|0|0|', 'no lease is due for renewal');
adds_up('at first');

# Limits of what a lease may contain
my $identity = sql('east', 'SELECT identity FROM yquota.cluster_lease');
my $history = sql('east', 'SELECT history FROM yquota.lending_federation');
my $terms = qq('federation', '$identity', '$history', 1, 'lab', 'month', '2026-03-01', 20000, '2026-03-02 09:00+00', '2026-03-02 10:00+00');
my $into = 'INSERT INTO yquota.cluster_lease (cluster, federation, identity, history, lease, project, period, starts_on, amount, valid_from, expires_at) VALUES';
sql('east', "SET ROLE lender; $into ('east', $terms)");
is(sql('east', 'SELECT count(*) FROM yquota.quota_grant'), '1', 'a repeated lease has no effect');
fails('east', "$into ('east', " . $terms =~ s/20000/20001/r . ')', qr/ERROR:  23505: lease 1 of "federation" has been taken with other terms/, 'other terms under its number are refused', 'lender');
fails('east', "$into ('west', $terms)", qr/ERROR:  22023: lease is for cluster "west", not for "east"/, 'a lease for another cluster is refused', 'lender');
fails('east', "$into ('east', " . $terms =~ s/20000/-5/r . ')', qr/ERROR:  22023/, 'a lease of negative credit is refused', 'lender');
fails('east', "$into ('east', $terms)", qr/ERROR:  42501/, 'a role without the privilege is refused', 'member');
fails('east', "$into ('east', " . $terms =~ s/$history/1\/1\/1/r . ')', qr/ERROR:  55000: lease 1 does not come from the database that leases for "federation" now/, 'a lease of another database is not taken', 'lender');
fails('east', "INSERT INTO yquota.lending_federation (cluster, federation, history) VALUES ('east', 'federation', '" . $history =~ s/\/1\//\/0\//r . "')",
	qr/ERROR:  55000: another server has taken the place of this one in federation "federation"/, 'a timeline that has been left does not come back', 'lender');
fails('east', q(INSERT INTO yquota.lending_federation (cluster, federation, history) VALUES ('east', 'federation', 'new')), qr/ERROR:  23514/, 'a lease with a malformed history is refused', 'lender');
fails('east', q(INSERT INTO yquota.lending_federation (cluster, federation, history) VALUES ('west', 'federation', '1/1/1')), qr/ERROR:  22023/, 'an offer for another cluster is refused', 'lender');

# Shares by need: the next shares follow the spending.
start('east', 'e1', 4, '2026-03-02 09:00:30+00');
start('west', 'w1', 1, '2026-03-02 09:00+00');
set_clocks('2026-03-02 09:31+00');
is(renew(), '3|0|0|', 'half an hour before the end the next ones are offered');
is(leases(q(state = 'offered')), "east|offered|21200|0|||0\nnorth|offered|2000|0|||0\nwest|offered|6800|0|||0", 'a fifth of it alike, the rest as was spent: 7440 to 1860 credits')
  or diag(sql('federation', 'SELECT cluster, spent FROM yquota.budget_lease_status'));
is(renew(), '0|3|0|', 'the clusters take their leases');
is(sql('east', 'SELECT valid_from, expires_at FROM yquota.cluster_lease ORDER BY lease DESC LIMIT 1'), '2026-03-02 10:00:00+00|2026-03-02 11:00:00+00', 'the new leases begin when the first ones end');
adds_up('with two generations');

# The cluster north is cut off for an hour. It keeps its share, and spends beyond it.
$node{far}->stop('fast');
set_clocks_of_near('2026-03-02 10:00+00');
sub set_clocks_of_near
{
	($clock) = @_;
	sql($_, "SELECT yquota.set_clock(timestamptz '$clock' + $ahead{$_} * interval '1 s')") foreach 'federation', 'east', 'west';
	return;
}
my $renewed = renew();
like($renewed, qr/\|1$/, 'a cluster that cannot be reached is reported as a problem');
set_clocks_of_near('2026-03-02 10:02:30+00');
like(renew(), qr/^\d+\|\d+\|2\|1$/, 'the other clusters give back unspent credit when their clocks have passed the end');
is(leases(q(state = 'settled')), "east|settled|20000|0|14280|5720|0\nwest|settled|20000|0|3600|16400|0", 'the credit goes back to the free budget');
is(leases(q(state = 'unreported')), 'north|unreported|20000|0|0||0', 'a lease whose spending is not reported counts as spent');
is(sql('federation', q(SELECT kind, subject FROM yquota.alert WHERE cleared_at IS NULL)), 'lease_unreported|north', 'an alert is raised for the cluster');
is(sql('federation', q(SELECT value FROM yquota.metrics WHERE family = 'federated_cluster' AND metric = 'yquota_federated_cluster_unreported_leases' AND labels->>'cluster' = 'north')), '1', 'a metric shows the cluster');
set_clocks_of_near('2026-03-02 10:31+00');
renew() foreach 1 .. 2;
is(sql('federation', q(SELECT count(*) FROM yquota.budget_lease WHERE cluster = 'north' AND valid_from >= '2026-03-02 11:00+00')), '0', 'meanwhile the cluster is offered no lease');
$node{far}->start;
$clock = '2026-03-02 10:31+00';
sql('north', q(SELECT yquota.set_clock('2026-03-02 10:31+00')));
start('north', 'n1', 20, '2026-03-02 09:05+00', '2026-03-02 09:30+00');
is(sql('north', q(SELECT remaining FROM yquota.project_balance WHERE project = 'lab')), '-8000', 'the cluster has run 30,000 credits on 22,000 in leases: all runs are charged');
$ahead{north} = 0;
like(renew(), qr/\|1\|$/, 'the cluster is back, and reports');
is(leases(q(cluster = 'north' AND state <> 'offered')), "north|settled|20000|0|20000|0|0\nnorth|taken|2000|0|2000||0", 'the first lease is spent, and the next one paid for what was beyond it');
is(sql('federation', q(SELECT count(*) FROM yquota.alert WHERE cleared_at IS NULL)), '0', 'the alert is over');
is(renew() =~ /^0\|\d/, 1, 'the cluster gets a share again');
adds_up('when it is back');
is(sql('north', q(SELECT amount, spent FROM yquota.cluster_lease ORDER BY lease DESC LIMIT 1)) =~ /^([\d.]+)\|([\d.]+)$/ && ($2 == 8000 || $2 == $1), 1, 'the debt is subtracted from the share of the cluster');

# Late events add to the spending of a settled lease.
start('west', 'w2', 4, '2026-03-02 09:10+00', '2026-03-02 09:20+00');
renew();
is(leases(q(cluster = 'west' AND state = 'settled')), 'west|settled|20000|0|6000|16400|2400', '2,400 credits are reported late');
set_clocks('2026-03-02 11:31+00');
renew() foreach 1 .. 3;
is(sql('federation', q(SELECT sum(taken_off) FROM yquota.budget_lease WHERE cluster = 'west')), '2400', 'the late credits are subtracted from the next share of the cluster');
is(sql('federation', q(SELECT state FROM yquota.budget_lease_status WHERE taken_off > 0)), 'taken', 'the cluster has taken the share');
is(sql('west', q(SELECT count(*) FROM yquota.cluster_lease)), sql('federation', q(SELECT count(*) FROM yquota.budget_lease WHERE cluster = 'west' AND taken_at IS NOT NULL)), 'each lease has exactly one grant');
adds_up('after late events');

# Two renewals at once: the second one waits, and finds nothing left to do.
set_clocks('2026-03-02 12:40+00');
my $first = $node{home}->background_psql('federation');
my $second = $node{home}->background_psql('federation');
$first->query_safe('BEGIN');
$first->query_safe('SELECT * FROM yquota.renew_leases()');
$second->query_until(qr/asked/, "\\echo asked\nSELECT 'offered ' || offered FROM yquota.renew_leases();\n");
$node{home}->poll_query_until('federation', q(SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'yquota.budget_lease'::regclass AND NOT granted)));
$first->query_safe('COMMIT');
like($second->query_safe('SELECT 1'), qr/1/, 'the second call goes on after the first');
$_->quit foreach $first, $second;
is(sql('federation', q(SELECT count(*), count(DISTINCT cluster) FROM yquota.budget_lease WHERE offered_at = '2026-03-02 12:40+00')), '3|3', 'the second call offers no lease twice');
adds_up('after two at once');

# The federation dies while the cluster waits in its commit.
renew() foreach 1 .. 2;
sql('east', <<~'SQL');
	CREATE FUNCTION public.wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON yquota.quota_grant DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.wait_at_gate();
	SQL
my $waits = q(SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted));

# dies_in_commit(WHICH): kill one side while the cluster commits a lease.
sub dies_in_commit
{
	my ($at, $killed) = @_;
	my $gate = $node{near}->background_psql('east');

	set_clocks($at);
	renew();
	$gate->query_safe('SELECT pg_advisory_lock(7)');
	my $renewal = $node{home}->background_psql('federation', on_error_stop => 0);
	$renewal->query_until(qr/asked/, "\\echo asked\nSELECT yquota.renew_leases();\n");
	$node{near}->poll_query_until('east', $waits);
	$node{$killed}->stop('immediate');
	eval { $gate->quit };
	eval { $renewal->quit };
	$node{$killed}->start;
	# the transaction for which the dead server waited continues without it
	$node{near}->poll_query_until('east', q(SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE query ~ '^COMMIT' AND state = 'active')));
	return;
}

dies_in_commit('2026-03-02 13:11+00', 'home');
my $untaken = sql('federation', q(SELECT min(lease) FROM yquota.budget_lease WHERE cluster = 'east' AND taken_at IS NULL AND settled_at IS NULL AND expires_at > yquota.clock()));
isnt($untaken, '', 'the federation does not know that the lease was taken');
is(sql('east', "SELECT count(*) FROM yquota.cluster_lease WHERE lease = $untaken"), '1', 'the cluster has it');
adds_up('with a lease of unknown outcome');
sql('federation', q(SELECT yquota.renew_leases()));
is(sql('federation', "SELECT taken_at IS NOT NULL FROM yquota.budget_lease WHERE lease = $untaken"), 't', 'the federation learns of the lease then');
is(sql('east', "SELECT count(*) FROM yquota.cluster_lease WHERE lease = $untaken"), '1', 'the cluster has the lease once');
dies_in_commit('2026-03-02 14:11+00', 'near');
$untaken = sql('federation', q(SELECT min(lease) FROM yquota.budget_lease WHERE cluster = 'east' AND taken_at IS NULL AND settled_at IS NULL AND expires_at > yquota.clock()));
isnt($untaken, '', 'when the cluster crashes, the federation does not believe that it has the lease');
is(sql('east', "SELECT count(*) FROM yquota.cluster_lease WHERE lease = $untaken"), '0', 'the cluster does not have the lease either');
renew();
is(sql('east', "SELECT count(*) FROM yquota.cluster_lease WHERE lease = $untaken"), '1', 'the cluster takes the lease when it is back');
sql('east', 'DROP TRIGGER gate ON yquota.quota_grant');
adds_up('after deaths');

# A transaction cannot deliver a lease that it has offered itself.
set_clocks('2026-03-02 15:40+00');
renew();
set_clocks('2026-03-02 17:40+00');
my $before = sql('east', 'SELECT max(lease) FROM yquota.cluster_lease');
sql('federation', 'BEGIN; SELECT yquota.renew_leases(); SELECT yquota.renew_leases(); ROLLBACK');
is(sql('east', 'SELECT max(lease) FROM yquota.cluster_lease'), $before, 'a lease that was rolled back here is in no cluster');

# The clocks of two servers differ too much, and a cluster lacks the project
renew() foreach 1 .. 2;
sql('west', q(SELECT yquota.set_clock('2026-03-02 18:40+00')));
sql('federation', q(SELECT yquota.set_clock('2026-03-02 18:36+00')));
like(sql('federation', q(SELECT problems FROM yquota.renew_leases())), qr/west: The clock of the cluster shows 2026-03-02 18:40:00\+00, more than yquota.max_clock_skew from 2026-03-02 18:36/, 'a cluster whose clock is too far off gets no leases');
set_clocks('2026-03-02 19:00+00');
sql('federation', q(SET ROLE admin; INSERT INTO yquota.project (name) VALUES ('only here'); INSERT INTO yquota.federated_budget (project, period, amount, clusters) VALUES ('only here', 'month', 9, '{west}')));
renew() foreach 1 .. 2;
is(sql('federation', q(SELECT cluster, state, problem FROM yquota.budget_lease_status WHERE project = 'only here')), q(west|offered|project "only here" does not exist), 'a cluster without the project does not take its lease, and the federation reports why');
is(sql('federation', q(SELECT in_force FROM yquota.federated_budget_status WHERE project = 'only here')), '4.5', 'the lease counts until its end');
set_clocks('2026-03-03 01:05+00');
renew();
is(sql('federation', q(SELECT state, returned FROM yquota.budget_lease_status WHERE project = 'only here' ORDER BY lease LIMIT 1)), 'settled|4.5', 'then the credit of the lease comes back');
adds_up('at night');

# Roles, and what-if
is(sql('federation', q(SET ROLE member; SELECT DISTINCT project FROM yquota.federated_budget_status UNION SELECT project FROM yquota.budget_lease_status)), 'lab', 'members see their own budget');
is(sql('federation', q(SET ROLE other; SELECT count(*) FROM yquota.federated_budget_status)), '0', 'members do not see budgets of other projects');
is(sql('east', q(SET ROLE other; SELECT count(*) FROM yquota.cluster_lease)), '0', 'in the clusters, members see only their own budget, too');
sql('federation', q(DELETE FROM yquota.federated_budget WHERE project = 'only here'));
set_clocks('2026-03-03 03:00+00');
renew();
set_clocks('2026-03-03 06:45+00');
is(sql('federation', q(SET ROLE admin; BEGIN; UPDATE yquota.federated_cluster SET weight = 0 WHERE cluster <> 'east'; SELECT string_agg(cluster, ' '), min(share) = trunc(min(free) / 2, 6) FROM yquota.planned_leases(); ROLLBACK)), 'east|t', 'east alone is offered leases if the other weights are 0');
is(sql('federation', q(SELECT count(*) FROM yquota.planned_leases())), '3', 'the weight is rolled back');

# A cluster that accepts no lease is reported, and does not delay the others.
sql('federation', q(SELECT yquota.renew_leases()));
sql('west', q(REVOKE INSERT ON yquota.lending_federation FROM lender; DELETE FROM yquota_internal.lender));
sql('federation', q(DELETE FROM yquota_internal.cluster_contact WHERE cluster = 'west'));
like(sql('federation', q(SELECT problems FROM yquota.renew_leases())), qr/west: permission denied for view lending_federation"\}/, 'a cluster that refuses the lender is reported');
is(sql('federation', 'SELECT count(*) FROM yquota_internal.unheard_cluster'), '0', 'nothing is withheld for the cluster');
sql('west', q(GRANT INSERT ON yquota.lending_federation TO lender));
renew() foreach 1 .. 2;

# Removing a cluster
fails('federation', q(SELECT yquota.remove_federated_cluster('west')), qr/ERROR:  55000: cluster "west" has \d+ leases of budgets that it has not reported/, 'a cluster with leases cannot be removed');
is(sql('federation', q(SELECT yquota.remove_federated_cluster('west', true))), 't', 'it can be removed if its leases may count as spent');
adds_up('without west');

# The worker runs the job each minute.
set_clocks('2026-03-03 08:50+00');
$node{home}->append_conf('postgresql.conf', q(yquota.databases = 'federation'));
$node{home}->restart;
is_soon($node{home}, 'federation', q(EXISTS (SELECT FROM yquota_internal.job_run WHERE job = 'leases')), 'the worker has the job of renewing leases');
set_clocks('2026-03-03 08:51+00');
is_soon($node{home}, 'federation', q(EXISTS (SELECT FROM yquota.cron_jobs WHERE job = 'yquota leases' AND last_result LIKE 'succeeded: % offered%')), 'the worker renews leases');
is(sql('east', q(SELECT count(*) FROM yquota.verify())), '0', 'the books of a cluster prove themselves');

# A dump includes everything.
sql('federation', 'SELECT yquota.stop_worker()');
my $dump = PostgreSQL::Test::Utils::tempdir . '/federation.sql';
$node{home}->command_ok([ 'pg_dump', '-f', $dump, '-d', $node{home}->connstr('federation') ], 'pg_dump');
$node{home}->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$node{home}->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node{home}->connstr('restored') ], 'psql');
is($node{home}->safe_psql('restored', 'SELECT * FROM yquota.budget_lease ORDER BY lease'), sql('federation', 'SELECT * FROM yquota.budget_lease ORDER BY lease'), 'the leases at the end');
is($node{home}->safe_psql('restored', q(SELECT nextval('yquota.budget_lease_lease_seq'))), sql('federation', q(SELECT nextval('yquota.budget_lease_lease_seq'))), 'the numbers of the leases are unique');

$_->stop foreach values %node;
done_testing();
