# Privileges of whole databases: the table in docs/privileges.md is what the
# catalog says; roles and audit survive dump and restore, where the audit is data
# and roles are those of the new server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('privileges');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'yquota'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE original');
$node->safe_psql('original', <<~'SQL');
	CREATE EXTENSION IF NOT EXISTS yquota;
	CREATE ROLE feeder LOGIN; CREATE ROLE viewer LOGIN; CREATE ROLE member LOGIN; CREATE ROLE head LOGIN; CREATE ROLE leaver LOGIN;
	SELECT yquota.set_clock('2026-03-02 10:00+00');
	INSERT INTO yquota.project (name) VALUES ('lab'), ('secret');
	SELECT yquota.allow_role('feeder', 'operator'), yquota.allow_role('viewer', 'viewer'), yquota.allow_role('member', 'member', 'lab'),
		   yquota.allow_role('head', 'admin'), yquota.allow_role('leaver', 'member', 'secret');
	SQL

#
# The table
#
my ($printed) = run_command([ 'psql', '-X', '-A', '-t', '-q', '-d', $node->connstr('original'), '-f', "$FindBin::RealBin/../scripts/privileges.sql" ]);
my $page = slurp_file("$FindBin::RealBin/../../docs/privileges.md");
my ($shown) = $page =~ /^(\| table or view .*?)\n\nNothing in the schema/ms;
is($shown, $printed, 'docs/privileges.md shows what test/scripts/privileges.sql prints');
cmp_ok(scalar(() = $printed =~ /^\| `/mg), '>', 60, 'of tables, views and functions');
is($node->safe_psql('original', q(SELECT count(*) FROM pg_roles WHERE rolname ~ 'printed')), '0', 'and nothing of it stays');

# A new object that nobody has decided about is told, and prevents the table.
my ($status, undef, $errors) = $node->psql('original', <<~'SQL');
	BEGIN;
	CREATE TABLE yquota.surprise (project text);
	ALTER EXTENSION yquota ADD TABLE yquota.surprise;
	DO $$ BEGIN
		IF EXISTS (SELECT FROM pg_class AS c JOIN pg_depend AS d ON d.objid = c.oid AND d.deptype = 'e'
				   WHERE c.relnamespace = 'yquota'::regnamespace AND c.relkind = 'r'
					 AND c.oid NOT IN (SELECT object::regclass FROM yquota_internal.privilege WHERE object_kind = 'TABLE')) THEN
			RAISE EXCEPTION 'undecided';
		END IF;
	END $$;
	SQL
like($errors, qr/undecided/, 'a table that is not in the list is noticed');

#
# Roles log in
#
sub as
{
	my ($role, $database, $sql) = @_;
	my (undef, $output, $error) = $node->psql($database, $sql, extra_params => [ '-U', $role ]);

	return $error eq '' ? $output : $error;
}

is(as('feeder', 'original', q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
		('CONTAINER_START', 'a', '2026-03-02 09:00+00', 'lab', '[vcores=1]'), ('CONTAINER_START', 'b', '2026-03-02 09:00+00', 'secret', '[vcores=1]'))),
	'', 'an operator inserts events');
is(as('member', 'original', 'SELECT string_agg(project, chr(32)) FROM yquota.project_balance'), 'lab', 'a member reads his project');
is(as('viewer', 'original', 'SELECT string_agg(project, chr(32) ORDER BY project) FROM yquota.project_balance'), 'lab secret', 'a viewer reads all');
is(as('head', 'original', q(UPDATE yquota.project SET description = 'ours' WHERE name = 'lab'; SELECT session_role, acting_role, client_address IS NULL, application_name
	FROM yquota.audit ORDER BY audit_id DESC LIMIT 1)), 'head|head|t|' . ($ENV{PGAPPNAME} // 'psql'), 'the audit names who logged in, and from where');

# Applications, and queues of somebody else's: the member is the user of his name.
$node->safe_psql('original', <<~'SQL');
	INSERT INTO yquota.queue (path, capacity, acl_administer_queue) VALUES ('root', NULL, ' '), ('root.a', '50', 'member'), ('root.b', '50', NULL);
	INSERT INTO yquota.scheduler_setting (configuration_mutation_acl_policy_class) VALUES ('QueueAdminConfigurationMutationACLPolicy');
	INSERT INTO yquota.application (application_id, username, queue, project, am_resource, priority, state, submitted_at)
	SELECT 'application_1_' || i, CASE i % 4 WHEN 0 THEN 'member' ELSE 'other' END, CASE i % 4 WHEN 1 THEN 'root.a' ELSE 'root.b' END,
		   CASE i % 4 WHEN 2 THEN 'lab' ELSE 'secret' END, '[vcores=1]', 0, 'ACTIVE', '2026-03-02 09:00+00'
	FROM generate_series(1, 4000) AS i;
	ANALYZE yquota.application;
	SQL
is(as('member', 'original', 'SELECT count(*), count(*) FILTER (WHERE application_id = $$application_1_3$$) FROM yquota.application'), '3000|0',
	'a member sees applications that are his, in his queue and of his project');
is(as('feeder', 'original', 'SELECT count(*) FROM yquota.application'), '4000', 'an operator sees all');
is(as('member', 'original', q(SELECT outcome FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.a", "params": {"priority": 1}}}'))), 'set', 'he changes his queue');
like(as('member', 'original', q(SELECT outcome FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.b", "params": {"priority": 1}}}'))),
	qr/User member is not admin of all modified queues/, 'and no other');
like(as('member', 'original', q(SELECT outcome FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.b", "params": {"priority": 1}}}', 'head'))),
	qr/permission denied to change the configuration for another user/, 'nor as somebody else');
is(as('head', 'original', q(SELECT session_role, acting_role = session_user, caller, property, new FROM yquota.configuration_mutation LIMIT 1)),
	'member|f|member|yarn.scheduler.capacity.root.a.priority|1', 'the log of mutations says who did');

# A parallel plan asks in its leader.
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; ';
$node->safe_psql('original', q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT e::yquota.container_event_type, 'p' || i, CASE e WHEN 'CONTAINER_START' THEN timestamptz '2026-03-02 09:00+00' ELSE '2026-03-02 09:30+00' END,
		   CASE i % 2 WHEN 0 THEN 'lab' ELSE 'secret' END, '[vcores=1]'
	FROM generate_series(1, 4000) AS i, unnest('{CONTAINER_START,CONTAINER_FINISH}'::text[]) AS e));
$node->safe_psql('original', 'VACUUM ANALYZE yquota.charge');
like(as('viewer', 'original', "$parallel EXPLAIN (COSTS off) SELECT sum(amount) FROM yquota.readable_charge"), qr/Gather/, 'a viewer gets a parallel plan');
foreach my $query ('SELECT count(*) FROM yquota.readable_charge', q(SELECT count(*) FROM yquota.cost_between('-infinity', 'infinity', '{container_id}') WHERE container_id ~ '^p'))
{
	is(as('viewer', 'original', $parallel . $query), '4000', "a viewer, in parallel: $query");
	is(as('member', 'original', $parallel . $query), '2000', "a member, in parallel: $query");
}
is(as('viewer', 'original', $parallel . 'SELECT count(*) FROM yquota.application'), '4000', 'a viewer reads applications in parallel');
is(as('member', 'original', $parallel . 'SELECT count(*) FROM yquota.application'), '3000', 'and a member his');

#
# Dump and restore
#
my $audit = q(SELECT audit_id, changed_at, table_name, operation, old, new, session_role, acting_role, caller, pid, transaction_id FROM yquota.audit ORDER BY audit_id);
my $before = $node->safe_psql('original', $audit);
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('original') ], 'dump');
$node->safe_psql('original', 'DROP OWNED BY leaver; DROP ROLE leaver; CREATE ROLE leaver LOGIN');
is(as('leaver', 'original', 'SELECT count(*) FROM yquota.project_balance'), 'psql:<stdin>:1: ERROR:  permission denied for view project_balance', 'a role made anew has no privileges');
$node->safe_psql('original', q(INSERT INTO yquota.project (name) VALUES ('other'); SELECT yquota.allow_role('leaver', 'member', 'other')));
is(as('leaver', 'original', 'SELECT string_agg(project, chr(32)) FROM yquota.project_balance'), 'other', 'and no projects of the one before, when it is granted one');
$node->safe_psql('original', 'DROP OWNED BY leaver; DROP ROLE leaver');

$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
# that role is missing by now: its privileges cannot be restored, the rest can
$node->command_checks_all([ 'pg_restore', '-d', $node->connstr('restored'), $dump ], 1, [], [qr/role "leaver" does not exist/], 'restore');
is($node->safe_psql('restored', $audit), $before, 'the audit is what it was, without rows of the restore');
is($node->safe_psql('restored', q(SELECT role, kind, project, role_oid = coalesce((SELECT oid FROM pg_roles WHERE rolname = role), 0) FROM yquota.role_grant ORDER BY role)),
	"feeder|operator||t\nhead|admin||t\nleaver|member|secret|t\nmember|member|lab|t\nviewer|viewer||t", 'roles are what they were');
# one statement of the dump grants to all roles, or to none
like(as('member', 'restored', 'SELECT FROM yquota.project_balance'), qr/permission denied/, 'a missing role keeps others from what they were granted on the same object');
is(as('head', 'restored', q(SELECT yquota.renew_role_grants())), '4', 'until they are renewed');
is(as('member', 'restored', 'SELECT string_agg(project, chr(32)) FROM yquota.project_balance'), 'lab', 'the member reads his project');
is(as('head', 'restored', q(INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1, 'x'); SELECT count(*) FROM yquota.audit)),
	1 + (() = $before =~ /^/mg), 'the audit goes on');
$node->safe_psql('postgres', 'CREATE ROLE leaver LOGIN');
$node->safe_psql('restored', q(GRANT SELECT ON yquota.project_balance TO leaver));
is(as('leaver', 'restored', 'SELECT count(*) FROM yquota.project_balance'), '0', 'a role made later does not inherit what one of its name was');
is($node->safe_psql('restored', 'SELECT count(*) FROM yquota.verify()'), '0', 'the books are right');

$node->stop;
done_testing();
