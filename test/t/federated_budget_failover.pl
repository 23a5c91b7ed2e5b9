# The federation's server dies, and a standby takes over that lacks its last commits. Clusters hold leases of these
# lost commits: one such cluster is offline, and another is just accepting a lease. When the old server comes back,
# clusters accept no lease from it any more.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my %node = map { $_ => new_node($_, 'autovacuum = off', 'yquota.max_clock_skew = 2min') } qw(old near far);
my %node_of = (federation => 'old', east => 'near', north => 'far');
my @clusters = qw(east north);

sub sql { my ($database, $query) = @_; return $node{ $node_of{$database} }->safe_psql($database, $query); }

$node{$_}->safe_psql('postgres', 'CREATE ROLE lender LOGIN') foreach qw(near far);
foreach my $name ('federation', @clusters)
{
	$node{ $node_of{$name} }->safe_psql('postgres', "CREATE DATABASE $name");
	sql($name, "CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('$name'); INSERT INTO yquota.project (name) VALUES ('lab')");
	sql($name, q(SELECT yquota.allow_role('lender', 'viewer'); GRANT INSERT ON yquota.cluster_lease, yquota.lending_federation TO lender)) if $name ne 'federation';
}

my $clock;

# Set the clocks of the servers that are up
sub set_clocks
{
	my ($at, @databases) = @_;

	$clock = $at;
	sql($_, "SELECT yquota.set_clock('$at')") foreach @databases;
	return;
}

sub renew { return sql('federation', 'SELECT offered, taken, settled, problems FROM yquota.renew_leases()'); }
sub grants { my ($name) = @_; return sql($name, q(SELECT identity FROM yquota.cluster_lease ORDER BY identity)); }
sub known { my ($name) = @_; return sql('federation', "SELECT identity FROM yquota.budget_lease WHERE cluster = '$name' AND taken_at IS NOT NULL ORDER BY identity"); }

# Test that clusters never have more than the budget, and that the amounts add up.
sub adds_up
{
	my ($name, @there) = @_;
	my $sum = 0;

	$sum += sql($_, 'SELECT coalesce(sum(amount), 0) FROM yquota.cluster_lease WHERE expires_at > ' . "timestamptz '$clock' - interval '2 min'") foreach @there;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok($sum, '<=', 1000, "$name: the leases of the clusters do not exceed the budget");
	is(sql('federation', 'SELECT spent + in_force + unreported + free = amount AND free >= 0 FROM yquota.federated_budget_status'), 't', "$name: the parts of the budget add up");
	return $sum;
}

set_clocks('2026-03-02 09:00+00', 'federation', @clusters);
sql('federation', 'CREATE EXTENSION postgres_fdw');
foreach my $name (@clusters)
{
	my $node = $node{ $node_of{$name} };

	sql('federation', sprintf(q(
		CREATE SERVER %1$s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%2$s', port '%3$s', dbname '%1$s', connect_timeout '5', keep_connections 'off');
		CREATE USER MAPPING FOR CURRENT_USER SERVER %1$s OPTIONS (user 'lender');
		SELECT yquota.federate_cluster('%1$s', '%1$s');), $name, $node->host, $node->port));
}
sql('federation', q(INSERT INTO yquota.federated_budget (project, period, amount, lease_duration) VALUES ('lab', 'month', 1000, '3 hours')));
renew() foreach 1 .. 3;
is(adds_up('at first', @clusters), 500, 'half of the budget is leased');

# The standby is cut off from here on
my $backup = $node{old}->backup('backup');
$node{new} = PostgreSQL::Test::Cluster->new('new');
$node{new}->init_from_backup($node{old}, 'backup', has_streaming => 1);
$node{new}->start;
$node{old}->wait_for_catchup($node{new});
is($node{new}->safe_psql('federation', 'SELECT * FROM yquota.planned_leases()'), '', 'a standby can show which leases would be made');
$node{new}->stop('fast');

set_clocks('2026-03-02 10:31+00', 'federation', @clusters);
renew() foreach 1 .. 2;
is(sql($_, 'SELECT count(*) FROM yquota.cluster_lease'), '2', "$_ has a lease that the standby does not know") foreach @clusters;
# the cluster east is accepting the third lease, and its commit waits
sql('east', <<~'SQL');
	CREATE FUNCTION public.wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON yquota.quota_grant DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.wait_at_gate();
	SQL
$node{far}->stop('fast');
set_clocks('2026-03-02 13:31+00', 'federation', 'east');
renew();
my $gate = $node{near}->background_psql('east');
$gate->query_safe('SELECT pg_advisory_lock(7)');
my $renewal = $node{old}->background_psql('federation', on_error_stop => 0);
$renewal->query_until(qr/asked/, "\\echo asked\nSELECT yquota.renew_leases();\n");
$node{near}->poll_query_until('east', q(SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)));
$node{old}->stop('immediate');
eval { $renewal->quit };

# The standby takes over.
$node{new}->start;
$node{new}->promote;
$node_of{federation} = 'new';
set_clocks($clock, 'federation');
# the standby's sequences are usually ahead of the lost commits, but not in this test
sql('federation', q(SELECT setval('yquota.budget_lease_lease_seq', (SELECT max(lease) FROM yquota.budget_lease))));
is(sql('federation', 'SELECT count(*) FROM yquota.budget_lease'), '2', 'the standby knows the first two leases');
is(sql('federation', 'SELECT string_agg(cluster, \' \' ORDER BY cluster) FROM yquota_internal.unheard_cluster'), 'east north', 'the standby knows that there may be more leases');
my $waiting = $node{new}->background_psql('federation');
$waiting->query_until(qr/asked/, "\\echo asked\nSELECT 'offered ' || offered FROM yquota.renew_leases();\n");
$node{near}->poll_query_until('east', q(SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'transactionid')));
pass('the standby waits for leases that are being taken');
$gate->quit;
like($waiting->query_safe('SELECT 1'), qr/1/, 'the promoted standby renews leases');
$waiting->quit;
sql('east', 'DROP TRIGGER gate ON yquota.quota_grant');
is(sql('east', 'SELECT count(*) FROM yquota.cluster_lease'), '3', 'the offered lease has been taken');
is(sql('federation', q(SELECT count(*) FROM yquota.budget_lease WHERE offered_at >= '2026-03-02 13:31+00')), '0', 'nothing is leased');

my $said = renew();
like($said, qr/^0\|0\|\d\|.*north: Nothing is leased until the cluster has reported its leases to this server/s, 'nothing is leased while only the east has reported and the north cannot be reached');
is(known('east'), grants('east'), 'all leases of the east are known');
is(sql('federation', q(SELECT kind, subject FROM yquota.alert WHERE kind = 'leases_withheld' AND cleared_at IS NULL)), 'leases_withheld|north', 'an alert names the north');
is(sql('federation', 'SELECT * FROM yquota.planned_leases()'), '', 'no lease is planned');
adds_up('with the north away', 'east');

# The old server comes back and continues to lease, but no cluster accepts its leases.
$node{old}->start;
$node_of{federation} = 'old';
my $before = grants('east');
sql('federation', q(SELECT yquota.set_clock('2026-03-02 15:00+00')));
sql('east', q(SELECT yquota.set_clock('2026-03-02 15:00+00')));
like(renew(), qr/east: another server has taken the place of this one in federation \\"federation\\": The other server is on timeline 2, and this server is on timeline 1/, 'the cluster refuses the server before') foreach 1 .. 3;
is(grants('east'), $before, 'the cluster has no lease that the old server offered last');
$node{old}->stop('fast');
$node_of{federation} = 'new';

# The cluster north comes back with a lease that the federation does not know.
$node{far}->start;
set_clocks('2026-03-02 15:00+00', 'federation', @clusters);
like(renew(), qr/^0\|0\|\d+\|\{\}$/, 'the cluster is told of the new lender');
is(known('north'), grants('north'), 'the cluster reports its leases');
like(renew(), qr/^[12]\|0\|\d+\|\{\}$/, 'after the reports more is leased');
is(sql('federation', q(SELECT count(*) FROM yquota.alert WHERE kind = 'leases_withheld' AND cleared_at IS NULL)), '0', 'the alert is over when all have reported');
like(renew(), qr/^\d\|[12]\|/, 'the new leases are taken');
is(known($_), grants($_), "both sides agree about the $_") foreach @clusters;
adds_up('in the end', @clusters);
is(sql('federation', q(SELECT count(*) = count(DISTINCT identity) AND count(*) > 5 FROM yquota.budget_lease)), 't', 'each lease exists once');
is(sql($_, 'SELECT count(*) FROM yquota.verify()'), '0', "the books of the $_ prove themselves") foreach @clusters;

$_->stop foreach @node{qw(new near far)};
done_testing();
