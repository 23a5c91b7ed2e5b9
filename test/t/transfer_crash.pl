# The server dies before or after the commit of a credit transfer or of its reversal, so the caller gets no answer.
# A repeated call moves or returns the credit once.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Client;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('transfer_crash', 'restart_after_crash = off');

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('web');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('lab', 60, 'trial', '2026-03-03 00:00+00'), ('lab', 40, 'budget', 'infinity');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'c1', '2026-03-02 09:59:50+00', 'lab', '[vcores=1]');
SQL

my $balances = q(SELECT project, trim_scale(remaining) FROM yquota.project_balance ORDER BY project);
my $parts = q(SELECT project, sum(amount), expires_at < 'infinity' FROM yquota.quota_grant WHERE kind = 'transfer' GROUP BY 1, 3 ORDER BY 1, 3);
my $transfer = q(SELECT yquota.transfer_credit('lab', 'web', 70, 'lent', 'erp-1'));
my $reverse = q(SELECT r.* FROM yquota.credit_transfer AS t, yquota.reverse_transfer(t.transfer_id) AS r WHERE t.external_id = 'erp-1');

# Kill the server after the call has returned within a transaction, before or after its commit.
sub dies_after
{
	my @statements = @_;
	my $client = Client->new($node, 'postgres');

	$client->run($_) foreach @statements;
	$node->stop('immediate');
	$node->start;
	return;
}

dies_after('BEGIN', $transfer);
is($node->safe_psql('postgres', $balances), "lab|90\nweb|0", 'after the crash, an uncommitted transfer has moved nothing');
dies_after('BEGIN', $transfer, 'COMMIT');
is($node->safe_psql('postgres', $balances), "lab|20\nweb|70", 'after the crash, a committed transfer has moved its credit');
my $id = $node->safe_psql('postgres', $transfer);

is($node->safe_psql('postgres', 'SELECT string_agg(transfer_id::text, $$,$$) FROM yquota.credit_transfer'), $id, 'a repeated transfer returns the first one');
is($node->safe_psql('postgres', $balances), "lab|20\nweb|70", 'a repeated transfer moves nothing');
is($node->safe_psql('postgres', $parts), "lab|-70|f\nweb|20|f\nweb|50|t", 'each part of the transfer keeps its own expiry');

dies_after('BEGIN', $reverse);
is($node->safe_psql('postgres', $balances), "lab|20\nweb|70", 'after the crash, an uncommitted reversal has returned nothing');
dies_after('BEGIN', $reverse, 'COMMIT');
is($node->safe_psql('postgres', $balances), "lab|90\nweb|0", 'after the crash, a committed reversal has returned the credit');
is($node->safe_psql('postgres', $reverse), '0|70|0', 'a repeated reversal returns the result of the first one');
is($node->safe_psql('postgres', $balances), "lab|90\nweb|0", 'a repeated reversal returns nothing again');
is($node->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', 'the books prove themselves');

$node->stop;
done_testing();
