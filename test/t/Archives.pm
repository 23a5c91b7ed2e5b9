# Books with history that can be archived, and the reports about them.

package Archives;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

our @EXPORT = qw(fill_books more_history told_by_role is_told totals ledger_columns log_columns archive_until_done);

use constant AT => '2026-03-03 12:00+00';

# Columns of ledger and log on a server without yquota, where its types are text.
sub ledger_columns
{
	return <<~'SQL';
		container_id text, project text, application_id text, username text, queue text, node text, execution_type text,
		allocation text, started_at timestamptz, "from" timestamptz, "to" timestamptz, booked_at timestamptz, number integer,
		corrects integer, settled_by text, exit_status integer, padding interval, dominant text, amount numeric,
		given_back numeric, waiting_factor numeric, cluster text, stretch integer
		SQL
}

sub log_columns
{
	return <<~'SQL';
		event text, container_id text, occurred_at timestamptz, project text, application_id text, username text, queue text,
		node text, allocation text, execution_type text, exit_status integer, source text, recorded_at timestamptz,
		priority integer, allocation_request_id bigint, asked_label text, is_am boolean, is_running boolean, event_id bigint,
		cluster text, stretch integer
		SQL
}

# fill_books(NODE, DATABASE, CLUSTER): create two days of eight projects, with a closed period, and
# roles that read them.
sub fill_books
{
	my ($node, $database, $cluster) = @_;

	start_at($node, $database, '2026-03-01 08:00+00');
	$node->safe_psql($database, <<~"SQL");
		INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('$cluster');
		INSERT INTO yquota.project (name, parent) VALUES ('site', NULL), ('lab', 'site'), ('web', 'site'), ('biology', NULL), ('physics', NULL), ('one', NULL), ('two', NULL), ('ops', NULL);
		DO \$\$ BEGIN
			IF to_regrole('archive_admin') IS NULL THEN CREATE ROLE archive_admin; CREATE ROLE archive_member; END IF;
		END \$\$;
		SELECT yquota.allow_role('archive_admin', 'admin'), yquota.allow_role('archive_member', 'member', 'lab');
		INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('-infinity', '10 s');
		INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES
			('site', 90000000, 'for ever', 'infinity'), ('lab', 20000, 'own', '2026-03-02 09:20:20');
		SELECT yquota.set_multiplier('GENERAL', 1.5, '2026-03-01 09:22:22');
		SELECT yquota.hold('lab', 'app_1', 3000, '9 days'), yquota.hold('web', 'app_2', 30000, '9 days');
		SELECT yquota.set_application_tags('app_1', '{team=search,urgent}'), yquota.set_application_tags('app_2', '{team=ads}');
		SQL
	more_history($node, $database, 'a', '2026-03-01 12:00+00');
	set_clock($node, $database, '2026-03-02 12:00+00');
	$node->safe_psql($database, q(SELECT settled FROM yquota.close_period('2026-03-02 00:00+00')));
	more_history($node, $database, 'b', '2026-03-02 12:00+00');
	# these calls correct charges of a closed period
	$node->safe_psql($database, <<~'SQL');
		SELECT count(*) FROM yquota.forgive('2026-03-01 13:01+00', '2026-03-01 13:14:14+00', 'switch replaced');
		SELECT count(*) FROM yquota.void_events('a3', 'never ran');
		SQL
	set_clock($node, $database, AT);
	$node->safe_psql($database, <<~'SQL');
		SELECT yquota.quota_compute();
		SELECT settled FROM yquota.close_period('2026-03-03 00:00+00');
		SQL
	return;
}

# more_history(NODE, DATABASE, NAME, AT): run thirty more containers, of which the last one
# continues to run.
sub more_history
{
	my ($node, $database, $name, $at) = @_;

	set_clock($node, $database, "$at");
	$node->safe_psql($database, <<~"SQL");
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation, exit_status)
		SELECT (CASE e.event WHEN 1 THEN 'CONTAINER_START' ELSE 'CONTAINER_FINISH' END)::yquota.container_event_type, '$name' || i,
			   yquota.clock() - interval '100 minutes' + i * interval '61 seconds' + (e.event - 1) * interval '1003.3 seconds',
			   CASE i % 3 WHEN 0 THEN 'lab' ELSE (ARRAY['web', 'site', 'biology', 'physics', 'one', 'two', 'ops'])[1 + i % 7] END, 'app_' || i % 4, (ARRAY['ann', 'bob'])[1 + i % 2], 'root.' || i % 2,
			   CASE e.event WHEN 1 THEN yquota.resource(jsonb_build_object('memory-mb', 1000 * i, 'vcores', 1 + i % 5)) END,
			   CASE WHEN e.event = 2 AND i % 7 = 0 THEN -102 END
		FROM generate_series(1, 30) AS i, generate_series(1, 2) AS e (event)
		WHERE i < 30 OR e.event = 1;
		SQL
	return;
}

# Return all reports about the past and the present, as a role sees them.
sub told_by_role
{
	my ($node, $database, $role) = @_;

	return $node->safe_psql($database, <<~"SQL");
		SET timezone = 'UTC';
		SET jit = off;
		SET SESSION AUTHORIZATION $role;
		SELECT 'balance', b FROM yquota.project_balance AS b ORDER BY project;
		SELECT 'balance at', p.project, at, yquota.balance_at(p.project, at) FROM yquota.project_balance AS p,
			unnest(ARRAY['2026-03-01 10:37:37.7', '2026-03-01 10:45', '2026-03-01 13:10', '2026-03-02 09:20:20', '2026-03-02 10:40:40.4', yquota.statement_clock()]) AS at ORDER BY 2, 3;
		SELECT 'hold', h FROM yquota.hold_status AS h ORDER BY hold_id;
		SELECT 'grant', g FROM yquota.grant_status AS g ORDER BY grant_id;
		SELECT 'forecast', f FROM yquota.forecast() AS f ORDER BY f::text;
		SELECT 'day', d FROM yquota.daily_cost AS d ORDER BY d::text;
		SELECT 'by day', c FROM yquota.cost_by_day('2026-03-01', '2026-03-03', '{project,username,queue,application_id,execution_type}', 'Asia/Kathmandu') AS c ORDER BY c::text;
		-- the quarter-hours in which containers begin and end, and a midnight
		SELECT 'quarter', n, c FROM generate_series('2026-03-01 10:00', '2026-03-02 14:00', interval '15 min') AS n,
			LATERAL yquota.cost_between(n, n + interval '15 min', '{project,username,queue,application_id,execution_type}') AS c
		WHERE n::time BETWEEN '10:00' AND '11:15' OR n::time = '00:00' ORDER BY n, c::text;
		SELECT 'all', c FROM yquota.cost_between('-infinity', 'infinity', '{application_id}') AS c ORDER BY c::text;
		SELECT 'tags', c FROM yquota.cost_between('-infinity', 'infinity', '{project,tag:team,tag:urgent}') AS c ORDER BY c::text;
		SELECT 'top', t FROM yquota.top_costs('2026-03-01 09:00', '2026-03-03 10:00', '{username}') AS t ORDER BY t::text;
		SELECT 'as booked', p.ends_at, b.closed_at, c FROM yquota.billing_period AS p, yquota.billing_period AS b,
			LATERAL yquota.cost_between(p.starts_at, p.ends_at, '{project,queue}', b.closed_at) AS c
		WHERE b.closed_at >= p.closed_at ORDER BY 2, 3, c::text;
		SELECT 'bill', p.ends_at, b FROM yquota.billing_period AS p, LATERAL yquota.bill('lab', p.ends_at, 'application') AS b
		WHERE p.closed_at IS NOT NULL ORDER BY 2, b::text;
		SELECT 'bill for print', yquota.bill_html('lab', p.ends_at) FROM yquota.billing_period AS p WHERE p.closed_at IS NOT NULL ORDER BY p.ends_at;
		SELECT 'journal', p.ends_at, j FROM yquota.billing_period AS p, LATERAL yquota.billing_journal(p.ends_at) AS j WHERE p.closed_at IS NOT NULL ORDER BY 2, j.line;
		SELECT 'preemption', c FROM yquota.preemption_cost('2026-03-01', '2026-03-03') AS c ORDER BY c::text;
		-- archived charges have no list by resource type, and no section about capacity
		SELECT 'report', regexp_replace(regexp_replace(yquota.report_html('2026-03-01 08:00', '2026-03-04', project),
			'<div><div><div class="wide" tabindex="0"><table class="f2"><thead><tr><th>Resource type<.*?</p></div>', ''), '<h2>Capacity: .*?</table></div>', '') FROM (VALUES (NULL), ('lab')) AS w (project);
		SELECT 'explained', name, number, explained FROM unnest('{a,b,c}'::text[]) AS name, generate_series(1, 30) AS number,
			LATERAL yquota.explain_charge(name || number) AS explained ORDER BY 2, 3, explained;
		RESET SESSION AUTHORIZATION;
		SELECT 'wrong', v FROM yquota.verify() AS v;
		SQL
}

# is_told(NODE, DATABASE, TOLD, NAME): test that each role gets the same reports as before.
sub is_told
{
	my ($node, $database, $told, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	foreach my $role (sort keys %$told)
	{
		my @before = split /\n/, $told->{$role};
		my @now = split /\n/, told_by_role($node, $database, $role);
		my @others = grep { ($now[$_] // '') ne ($before[$_] // '') } 0 .. ($#before > $#now ? $#before : $#now);

		is(join("\n", map { map { substr($_ // '', 0, 1000) } $before[$_], $now[$_] } @others), '', "$name: $role is told the same");
	}
	return;
}

# Return the sums of each project's rows in an archive, compared with the books.
sub totals
{
	my ($node, $database, $target) = @_;

	return $node->safe_psql($database, <<~"SQL");
		SELECT project, archived, charged, archive.digest = opening.digest
		FROM yquota.archive_digest('$target') AS archive
		FULL JOIN (SELECT DISTINCT ON (project) project, charges, digest FROM yquota.opening_balance
				   ORDER BY project, archived_through DESC) AS opening USING (project)
		ORDER BY project;
		SQL
}

# archive_until_done(NODE, DATABASE, TARGET): call archive() until nothing is left, and return the
# result of each call.
sub archive_until_done
{
	my ($node, $database, $target) = @_;
	my @said;

	foreach my $call (1 .. 20)
	{
		my $status = $node->safe_psql($database, "SELECT status FROM yquota.archive('$target', 'infinity')");

		return join ' ', @said if $status eq '';
		push @said, $status;
	}
	return join ' ', @said, 'and so on';
}

1;
