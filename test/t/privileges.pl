# Privileges in whole databases. The table in docs/privileges.md agrees with the catalog. Roles and audit survive dump
# and restore: the audit is data, and the roles are those of the new server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Statements;
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
my ($shown) = $page =~ /^(\| table or view .*?)\n\nOnly the owner may use objects of the schema/ms;
is($shown, $printed, 'docs/privileges.md shows what test/scripts/privileges.sql prints');
cmp_ok(scalar(() = $printed =~ /^\| `/mg), '>', 60, 'docs/privileges.md has the rights on tables, views and functions');
is($node->safe_psql('original', q(SELECT count(*) FROM pg_roles WHERE rolname ~ 'printed')), '0', 'the script leaves nothing behind');

# For each table or view that a member may not read, the page names views and functions that the member may use.
my ($instead) = $page =~ /^\| a member may not read .*?\n\|---\|---\|\n(.*?)\n\n/ms;
my (@refused, @readable);
foreach my $row (split /\n/, $instead)
{
	my (undef, $tables, $others) = split /\|/, $row;
	push @refused, $tables =~ /`(\w+)`/g;
	push @readable, $others =~ /`(\w+(?:\(\))?)`/g;
}
is_deeply([ sort @refused ], [ sort split / /, $node->safe_psql('original', q(SELECT string_agg(relname, ' ') FROM pg_class
	WHERE relnamespace = 'yquota'::regnamespace AND relkind IN ('r', 'v') AND NOT has_table_privilege('member', oid, 'SELECT'))) ],
	'docs/privileges.md names every table and view that members may not read, each once');
is($node->safe_psql('original', "SELECT string_agg(name, ' ') FROM unnest('{" . join(',', grep { !/\(/ } @readable) . "}'::text[]) AS name WHERE NOT has_table_privilege('member', 'yquota.' || name, 'SELECT')"),
	'', 'members may read the views that the page names instead');
is($node->safe_psql('original', "SELECT string_agg(name, ' ') FROM unnest('{" . join(',', map { s/\(\)//r } grep { /\(/ } @readable) . "}'::text[]) AS name "
		  . "WHERE NOT EXISTS (SELECT FROM pg_proc AS f WHERE f.pronamespace = 'yquota'::regnamespace AND f.proname = name AND has_function_privilege('member', f.oid, 'EXECUTE'))"),
	'', 'members may call the functions that the page names instead');

# A new object that the list does not name is for administrators, and for viewers if it only reads.
is($node->safe_psql('original', <<~'SQL'), "FUNCTION surprise_call() {admin}\nTABLE surprise {admin,viewer}", 'other roles have no rights on objects that the list does not name');
	BEGIN;
	CREATE TABLE yquota.surprise (project text);
	CREATE FUNCTION yquota.surprise_call() RETURNS void LANGUAGE sql VOLATILE AS '';
	ALTER EXTENSION yquota ADD TABLE yquota.surprise;
	ALTER EXTENSION yquota ADD FUNCTION yquota.surprise_call();
	SET LOCAL search_path = yquota;
	SELECT concat_ws(' ', object_kind, object, kinds) FROM yquota_internal.privilege WHERE object ~ 'surprise' ORDER BY object_kind;
	ROLLBACK;
	SQL

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
	'', 'an operator can insert events');
is(as('member', 'original', 'SELECT string_agg(project, chr(32)) FROM yquota.project_balance'), 'lab', 'a member can read its project');
is(as('viewer', 'original', 'SELECT string_agg(project, chr(32) ORDER BY project) FROM yquota.project_balance'), 'lab secret', 'a viewer can read all projects');
is(as('head', 'original', q(UPDATE yquota.project SET description = 'ours' WHERE name = 'lab'; SELECT session_role, acting_role, client_address IS NULL, application_name
	FROM yquota.audit ORDER BY audit_id DESC LIMIT 1)), 'head|head|t|' . ($ENV{PGAPPNAME} // 'psql'), 'the audit names the login role and its client');

# Applications and queues of a user whose name is that of the member.
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
	'a member sees applications of its own, in its queue and of its project');
is(as('feeder', 'original', 'SELECT count(*) FROM yquota.application'), '4000', 'an operator sees all applications');
is(as('member', 'original', q(SELECT outcome FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.a", "params": {"priority": 1}}}'))), 'set', 'the owner of a queue can change it');
like(as('member', 'original', q(SELECT outcome FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.b", "params": {"priority": 1}}}'))),
	qr/User member is not admin of all modified queues/, 'the role changes no other queue');
like(as('member', 'original', q(SELECT outcome FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.b", "params": {"priority": 1}}}', 'head'))),
	qr/permission denied to change the configuration for another user/, 'the role does not act as another user');
is(as('head', 'original', q(SELECT session_role, acting_role = session_user, caller, property, new FROM yquota.configuration_mutation LIMIT 1)),
	'member|f|member|yarn.scheduler.capacity.root.a.priority|1', 'the log of mutations names the user');

# In a parallel plan the leader reads the rows.
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
is(as('member', 'original', $parallel . 'SELECT count(*) FROM yquota.application'), '3000', 'a member reads the member\'s own applications in parallel');

#
# Objects that can be registered, which docs/privileges.md lists. Each is refused when an untrusted role owns it,
# and also when such a role becomes its owner later.
#
sub refused
{
	my ($role, $sql) = @_;
	my (undef, undef, $error) = $node->psql('registry', "\\set VERBOSITY verbose\n$sql", extra_params => [ '-U', $role ]);

	return $error =~ s/.*?ERROR:  //sr;
}

sub sql { return $node->safe_psql('registry', $_[0]); }

my $address = sprintf q(host '%s', port '%s'), $node->host, $node->port;

$node->safe_psql('postgres', 'CREATE ROLE boss LOGIN; CREATE DATABASE trap OWNER boss TEMPLATE template0; CREATE DATABASE registry TEMPLATE template0');
$node->safe_psql('trap', <<~'SQL');
	SET ROLE boss;
	CREATE SCHEMA yquota;
	CREATE TABLE yquota.login (role text);
	CREATE FUNCTION yquota.note() RETURNS text LANGUAGE sql AS $$ INSERT INTO yquota.login VALUES (current_user) RETURNING 'trap' $$;
	CREATE VIEW yquota.cluster_status AS
		SELECT yquota.note() AS cluster, timestamptz '2026-03-02 10:00+00' AS clock, timestamptz '2026-03-02 10:00+00' AS charged_through,
			   timestamptz '2026-03-01 00:00+00' AS closed_until, 'UTC' AS timezone;
	CREATE TABLE public.charge (container_id text, project text, "from" timestamptz, "to" timestamptz, amount numeric, cluster text, stretch integer);
	CREATE VIEW public.ledger AS SELECT yquota.note() AS cluster, 'lab' AS project, 'root.a' AS queue, 'ann' AS username,
		timestamptz '2026-03-01 00:00+00' AS "from", timestamptz '2026-03-01 01:00+00' AS "to", 1.0 AS amount;
	SQL
sql(<<~"SQL");
	CREATE EXTENSION IF NOT EXISTS yquota;
	CREATE EXTENSION postgres_fdw;
	SELECT yquota.set_clock('2026-03-02 10:00+00'), yquota.allow_role('boss', 'admin');
	GRANT CREATE ON DATABASE registry TO boss;
	GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO boss;
	INSERT INTO yquota.project (name) VALUES ('lab');
	INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('registry');
	CREATE SERVER good FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($address, dbname 'trap');
	CREATE USER MAPPING FOR CURRENT_USER SERVER good OPTIONS (user 'postgres');
	GRANT USAGE ON FOREIGN SERVER good TO boss;
	CREATE TABLE public.executed (what text, role text);
	GRANT INSERT ON public.executed TO PUBLIC;
	SET ROLE boss;
	CREATE SCHEMA boss;
	GRANT USAGE ON SCHEMA boss TO PUBLIC;
	CREATE SERVER bad FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($address, dbname 'trap');
	CREATE USER MAPPING FOR postgres SERVER bad OPTIONS (user 'postgres');
	CREATE FUNCTION boss.write(what text) RETURNS boolean LANGUAGE plpgsql AS \$\$BEGIN INSERT INTO public.executed VALUES (what, current_user); RETURN true; END\$\$;
	CREATE FUNCTION boss.note(what text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS \$\$BEGIN RETURN boss.write(what); END\$\$;
	SQL

# A table like the ledger, with all its parts that another role may own. The owner is postgres, until a case
# changes the owner of one part.
my $archive_like = '(LIKE yquota.charge, cluster text, stretch integer)';
my $columns = sql(q(SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
	FROM pg_attribute WHERE attrelid = 'yquota.charge'::regclass AND attnum > 0 AND NOT attisdropped));
my @parts = (
	[ 'the table', "CREATE TABLE public.of_parts $archive_like; ALTER TABLE public.of_parts OWNER TO boss", qr/table "public.of_parts"/ ],
	[ 'a partition', "CREATE TABLE public.of_parts $archive_like PARTITION BY LIST (cluster);
		CREATE TABLE public.piece PARTITION OF public.of_parts DEFAULT; ALTER TABLE public.piece OWNER TO boss", qr/table "public.piece"/ ],
	[ 'a table that inherits', "CREATE TABLE public.of_parts $archive_like; CREATE TABLE public.middle () INHERITS (public.of_parts);
		CREATE TABLE public.piece () INHERITS (public.middle); ALTER TABLE public.piece OWNER TO boss", qr/table "public.piece"/ ],
	[ 'the server of a foreign table', "CREATE FOREIGN TABLE public.of_parts ($columns, cluster text, stretch integer)
		SERVER bad OPTIONS (table_name \$\$ledger\$\$)", qr/foreign server "bad" of table "public.of_parts"/ ],
	[ 'the server of a partition', "CREATE TABLE public.of_parts $archive_like PARTITION BY LIST (cluster);
		CREATE FOREIGN TABLE public.piece PARTITION OF public.of_parts DEFAULT SERVER bad OPTIONS (table_name \$\$ledger\$\$)", qr/foreign server "bad" of table "public.piece"/ ],
	[ 'a type', "CREATE DOMAIN public.short AS text; ALTER DOMAIN public.short OWNER TO boss; CREATE TABLE public.of_parts $archive_like;
		ALTER TABLE public.of_parts ADD COLUMN note public.short", qr/type public.short of column "note" of table "public.of_parts"/ ],
	[ 'the schema', "CREATE TABLE boss.of_parts $archive_like", qr/schema "boss" of table "boss.of_parts"/ ]);

# Types that contain a type of another role
my @outer_types = (
	[ 'a domain over it', 'CREATE DOMAIN public.outer_one AS public.inner_one', 'public.outer_one' ],
	[ 'a domain over a domain over it', 'CREATE DOMAIN public.outermost AS public.outer_one', 'public.outermost' ],
	[ 'an array of it', '', 'public.inner_one[]' ],
	[ 'an array of a domain over it', '', 'public.outer_one[]' ],
	[ 'a range over it', 'CREATE TYPE public.span AS RANGE (subtype = public.inner_one, multirange_type_name = spans)', 'public.span' ],
	[ 'a multirange over it', '', 'public.spans' ],
	[ 'a row with it', 'CREATE TYPE public.pair AS (number integer, note public.inner_one)', 'public.pair' ],
	[ 'an array of rows with arrays of ranges over it', 'CREATE TYPE public.pairs AS (number integer, notes public.span[])', 'public.pairs[]' ],
	[ 'rows of a table with it', 'CREATE TABLE public.rows_of (note public.inner_one)', 'public.rows_of' ]);

sub types_are_looked_into
{
	sql('CREATE DOMAIN public.inner_one AS integer');
	foreach my $case (@outer_types)
	{
		my ($name, $made, $type) = @$case;

		sql("$made; CREATE TABLE public.of_types (note $type)");
		is(sql(q(SELECT yquota_internal.untrusted_part('public.of_types'))), '', "types: $name is trusted");
		sql('ALTER DOMAIN public.inner_one OWNER TO boss');
		is(sql(q(SELECT yquota_internal.untrusted_part('public.of_types'))), 'type public.inner_one of column "note" of table "public.of_types"', "types: $name is not trusted");
		is(sql(q(SELECT yquota_internal.untrusted_part('public.of_types', 'boss'::regrole))), '', "types: $name works for its owner");
		sql('ALTER DOMAIN public.inner_one OWNER TO postgres; DROP TABLE public.of_types');
	}
	sql('SET client_min_messages = warning; DROP TABLE public.rows_of; DROP TYPE public.pairs; DROP DOMAIN public.inner_one CASCADE; DROP TYPE public.pair');
	return;
}

# Make a table of which the role boss owns a part, and test that it is refused.
sub part_is_refused
{
	my ($what, $call, $but) = @_;

	foreach my $case (@parts)
	{
		my ($name, $made, $told) = @$case;

		next if $name eq ($but // '');
		my $schema = $made =~ /TABLE boss/ ? 'boss' : 'public';
		sql($made);
		sql("GRANT ALL ON $schema.of_parts TO boss");
		my $sql = sprintf $call, "$schema.of_parts";
		like(refused('boss', $sql), qr/^42501: $told belongs neither to /, "$what: $name");
		like(refused('postgres', $sql), qr/^42501: $told belongs neither to /, "$what: $name, by a superuser");
		my $kind = $made =~ /^CREATE FOREIGN/ ? 'FOREIGN TABLE' : 'TABLE';
		sql("SET client_min_messages = warning; DROP $kind $schema.of_parts CASCADE; DROP DOMAIN IF EXISTS public.short");
	}
	return;
}

# The state of the clusters that this database reads
sub problem { return sql("SELECT concat_ws(' ', is_reachable, problem) FROM yquota.federation_status() WHERE cluster = '$_[0]'"); }
sub executed { return sql('SELECT count(*) FROM public.executed WHERE role <> $$boss$$'); }
sub logins { return $node->safe_psql('trap', 'SELECT count(*) FROM yquota.login'); }

types_are_looked_into();

my $interceptor = q((request yquota.allocate_request) RETURNS yquota.allocate_request LANGUAGE plpgsql AS
	$$BEGIN PERFORM boss.note('interceptor'); RETURN request; END$$);
my %walk = (
	'request_interceptor.function' => sub {
		my $ask = q(SELECT count(*) FROM yquota.allocate_distributed('{}', '{}'));

		sql("SET ROLE boss; CREATE FUNCTION boss.intercept $interceptor");
		foreach my $role (qw(boss postgres))
		{
			like(refused($role, q(INSERT INTO yquota.request_interceptor VALUES (1, 'boss.intercept'))), qr/^42501: function boss.intercept.* belongs neither to/, "request_interceptor: $role registers it");
		}
		sql(q(INSERT INTO yquota.scheduler_setting (opportunistic_allocation_enabled, opportunistic_queue_capacity, distributed_scheduling_enabled, amrmproxy_enabled) VALUES (true, 5, true, true);
			ALTER FUNCTION boss.intercept OWNER TO postgres; INSERT INTO yquota.request_interceptor VALUES (1, 'boss.intercept')));
		sql($ask);
		is(executed(), 1, 'request_interceptor: a trusted interceptor runs');
		sql('ALTER FUNCTION boss.intercept OWNER TO boss');
		like(refused('postgres', $ask), qr/^42501: function boss.intercept.* belongs neither to/, 'request_interceptor: the interceptor is given to another owner');
		is(executed(), 1, 'request_interceptor: the interceptor of the other owner did not run');
		sql('DELETE FROM yquota.request_interceptor');
	},
	'federate_cluster(server)' => sub {
		like(refused($_, q(SELECT yquota.federate_cluster('trap', 'bad'))), qr/^42501: foreign server "bad" belongs neither to/, "federate_cluster: $_ names a server") foreach qw(boss postgres);
		is(logins(), 0, 'federate_cluster: no session logged in through the refused server');
		sql(q(SELECT yquota.federate_cluster('trap', 'good')));
		is(problem('trap'), 't', 'federate_cluster: a trusted server is read');
		cmp_ok(my $before = logins(), '>', 0, 'federate_cluster: the owner of yquota logs in through it');
		sql('ALTER SERVER good OWNER TO boss');
		like(problem('trap'), qr/^f foreign server "good" of table .* belongs neither to/, 'federate_cluster: a server that was given away is not read');
		foreach my $report (q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01')), q(SELECT * FROM yquota.federated_bill('2026-03-01')),
			q(SELECT * FROM yquota.federated_top_costs('2026-03-01', '2026-03-01')))
		{
			like(refused('boss', $report), qr/^08006: cannot read all clusters: missing trap/, 'federate_cluster: reports do not read it either');
		}
		like(sql('SELECT problems FROM yquota.renew_leases()'), qr/trap: foreign server .*good.* belongs neither to/, 'federate_cluster: leases do not use it either');
		is(logins(), $before, 'federate_cluster: no session logged in through it');
		sql(q(SELECT yquota.remove_federated_cluster('trap'); ALTER SERVER good OWNER TO postgres));
	},
	'federate_cluster(ledger)' => sub {
		part_is_refused('federate_cluster', q(SELECT yquota.federate_cluster('trap', ledger => '%s')));
		sql("CREATE TABLE public.whole $archive_like; ALTER TABLE public.whole ADD CHECK (boss.note('ledger'));");
		sql(q(TRUNCATE public.executed; INSERT INTO public.whole (container_id, project, "from", "to", amount, cluster, stretch, execution_type, allocation, started_at, number, settled_by, booked_at)
			VALUES ('c', 'lab', '2026-03-01', '2026-03-02', 1, 'north', 1, 'GUARANTEED', '[vcores=1]', '2026-03-01', 1, 'CONTAINER_FINISH', '2026-03-02'); TRUNCATE public.executed));
		sql(q(SELECT yquota.federate_cluster('north', ledger => 'public.whole')));
		is(problem('north'), 't', 'federate_cluster: a trusted ledger is read');
		sql('TRUNCATE public.executed; ALTER TABLE public.whole OWNER TO boss');
		like(problem('north'), qr/^f table "public.whole" belongs neither to/, 'federate_cluster: a ledger that was given away is not read');
		like(refused('boss', q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01'))), qr/^08006: cannot read all clusters/, 'federate_cluster: reports do not read it either');
		is(executed(), 0, 'federate_cluster: no code of the ledger ran');
		sql(q(SELECT yquota.remove_federated_cluster('north'); DROP TABLE public.whole));
	},
	'archive(target)' => sub {
		part_is_refused('archive', q(SELECT * FROM yquota.archive('%s', 'infinity')), 'the table');
		sql(q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'kept', '2026-03-02 09:00+00', 'lab', '[vcores=1]');
			INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'kept', '2026-03-02 09:30+00');
			SELECT yquota.seal_history();
			CREATE TABLE public.kept (LIKE yquota.charge); SELECT * FROM yquota.archive('public.kept', 'infinity')));
		my $explain = q(SELECT count(*) FROM yquota.explain_charge('kept'));
		is(sql($explain), 1, 'archive: a trusted archive is read');
		sql('CREATE TABLE public.piece () INHERITS (public.kept); ALTER TABLE public.piece OWNER TO boss');
		sql(q(SET ROLE boss; ALTER TABLE public.piece ADD CHECK (boss.note('archive'))));
		like(refused('boss', $explain), qr/^42501: could not read table public.kept.*DETAIL:  table "public.piece" belongs neither to/s, 'archive: an archive with a part of another owner is not read');
		is(executed(), 0, 'archive: no code of that part ran');
		sql('ALTER TABLE public.kept OWNER TO boss');
		is(sql($explain), 1, 'archive: an archive of one other role is read with the rights of that role');
	},
	'retention_setting.archive_schema' => sub {
		like(refused($_, q(INSERT INTO yquota.retention_setting (keep_months, archive_schema) VALUES (2, 'boss'))), qr/^42501: schema "boss" belongs neither to/, "archive_schema: $_ names it") foreach qw(boss postgres);
		sql(q(INSERT INTO yquota.retention_setting (keep_months, archive_schema) VALUES (2, 'later')));
		like(refused('boss', q(UPDATE yquota.retention_setting SET archive_schema = 'boss')), qr/^42501: schema "boss" belongs neither to/, 'archive_schema: an UPDATE to a schema of another role is refused');
		sql(q(SET ROLE boss; CREATE SCHEMA later));
		sql(q(SELECT yquota.set_clock('2026-03-03 10:00+00');
			INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'old', '2026-03-03 09:00+00', 'lab', '[vcores=1]');
			INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'old', '2026-03-03 09:30+00');
			SELECT yquota.seal_history(); SELECT yquota.set_clock('2026-06-02 10:00+00')));
		my $job = q(SELECT yquota_internal.run_job('retention', 'worker'));
		like(refused('postgres', $job), qr/^42501: schema "later" belongs neither to/, 'archive_schema: a schema that another role has created meanwhile is refused');
		sql('ALTER SCHEMA later OWNER TO postgres');
		like(sql($job), qr/rows of the (?:ledger|log) archived into later\./, 'archive_schema: after a change of its owner, history is archived');
	},
	'install_cron_jobs()' => sub {
		sql(q(TRUNCATE public.executed; SET ROLE boss;
			CREATE SCHEMA cron; GRANT USAGE ON SCHEMA cron TO PUBLIC;
			CREATE FUNCTION cron.unschedule(bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT boss.note('cron') $$;
			CREATE VIEW cron.job AS SELECT 1::bigint AS jobid, 'yquota credit' AS jobname, '* * * * *' AS schedule, current_database() AS database, boss.note('cron') AS active;
			CREATE VIEW cron.job_run_details AS SELECT 1::bigint AS jobid, 1::bigint AS runid, 'succeeded' AS status, 'fine' AS return_message, now() AS start_time;
			GRANT ALL ON cron.job, cron.job_run_details TO PUBLIC));
		is(sql('SELECT yquota.remove_cron_jobs()'), 0, 'cron: a foreign schema cron does not count as pg_cron');
		is(sql(q(SELECT DISTINCT performed_by FROM yquota.cron_jobs)), 'worker', 'cron: the view of jobs does not read it either');
		is(sql(q(SELECT yquota_internal.cron_has('credit'))), 'f', 'cron: the worker does not read it either');
		is(executed(), 0, 'cron: no code of it ran');
	});

my ($section) = $page =~ /^## What can be registered\n(.*?)\n## /ms;
my @listed = map { [/`([^`]+)`/g] } map { (split /\|/)[1] } $section =~ /^(\| `.*)$/mg;
is(join(' ', sort map { $_->[0] } @listed), join(' ', sort keys %walk), 'the list has exactly the kinds of objects that this test covers');
$walk{ $_->[0] }->() foreach grep { exists $walk{ $_->[0] } } @listed;

# Columns and arguments that may name an object: they have a type for object names, or are text named like an
# object. Each must be in the list, or here with the reason why the object neither runs nor is read with another
# role's rights. Columns *_by name the role that did something.
my %names_nothing = (
	'allow_role(role)' => 'gets privileges', 'disallow_role(role)' => 'loses privileges', 'role_grant.role' => 'written by these', 'role_grant.role_oid' => 'written by these',
	'archive_digest(target)' => 'read with the rights of the caller', 'archive_digest_query(source)' => 'text for the caller to run',
	'withdraw_point(timeline)' => 'compared with tables of yquota',
	'import_rm_audit_file(path)' => 'read with the rights of the caller',
	'export_hadoop_configuration(file)' => 'a file of Hadoop', 'hadoop_configuration(file)' => 'a file of Hadoop', 'scheduler_setting.mapping_rule_json_file' => 'kept for Hadoop',
	'create_queue(path)' => 'a queue', 'wildcard_template.path' => 'a queue',
	'scheduler_setting.configuration_leveldb_store_path' => 'kept for Hadoop', 'scheduler_setting.configuration_zk_store_parent_path' => 'kept for Hadoop',
	'audit.acting_role' => 'tells who', 'audit.session_role' => 'tells who', 'audit.table_name' => 'tells what',
	'history_segment.ledger_table' => 'a table of yquota_internal', 'history_segment.log_table' => 'a table of yquota_internal');
my $candidates = sql(<<~'SQL');
	WITH named (name, type, word) AS (
		SELECT format('%s.%s', c.relname, a.attname), a.atttypid::regtype::text, a.attname
		FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'yquota'::regnamespace AND c.relkind IN ('r', 'p')
		UNION
		SELECT format('%s(%s)', p.proname, argument.name), argument.type::regtype::text, argument.name
		FROM pg_proc AS p, unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[]) AS argument (name, type)
		WHERE p.pronamespace = 'yquota'::regnamespace AND argument.name <> ''
	)
	SELECT name FROM named
	WHERE word !~ '_by$'
	  AND (type ~ '^(reg|name|oid)' OR type = 'text' AND word ~ '(^|_)(function|procedure|server|ledger|table|relation|schema|target|query|command|extension|file|path)s?($|_)'
		   OR type = 'text' AND word = 'source' AND name ~ '_query\(')
	ORDER BY name COLLATE "C"
	SQL
is($candidates, join("\n", sort keys %names_nothing, grep { !/\(\)$/ } map { @$_ } @listed), 'no other column or argument can register an object');

#
# Each kind of role calls each listed function once, and gets a result or the documented refusal. The member is the
# user of the same name. The owner looks up the arguments of a call.
#
my %refusal = (
	'admin yquota.install_cron_jobs()' => qr/^55000: pg_cron is not loaded/,
	'viewer yquota.hold(text,text,numeric,interval,text,text,boolean)' => qr/^42501: permission denied to hold credit of project "p"/,
	(map { ("viewer yquota.$_" => qr/^42501: permission denied to transfer credit/) } 'transfer_credit(text,text,numeric,text,text)', 'reverse_transfer(bigint,text)'),
	(map { ("$_ yquota.submit_application(text,text,text[],text,text,yquota.resource,integer,bigint,text[],text,boolean,text,text,text,text,text,boolean,text,boolean,yquota.container_request[],text,numeric)"
		=> qr/^42501: permission denied to submit applications$/) } qw(member viewer)),
	(map { ("$_ yquota.release_hold(bigint)" => qr/^P0002: hold \d+ does not exist/) } qw(member viewer)),
	(map { ("$_ yquota.mutate_configuration(jsonb,text,text[])" => qr/^42501: User \w+ is not admin of all modified queues/) } qw(operator member viewer)),
	(map { ("$_ yquota.import_rm_audit_file(text,text,integer,text,text,text,timestamp with time zone)" => qr/^42501: permission denied for function pg_read_binary_file/) } qw(operator admin)),
);
my @kinds = qw(operator member viewer admin nobody);
my %role_of = (member => 'ann', map { $_ => "the_$_" } qw(operator viewer admin nobody));

load_books($node, 'books');
$node->safe_psql('books', <<~'SQL');
	CREATE ROLE ann; CREATE ROLE the_operator; CREATE ROLE the_viewer; CREATE ROLE the_admin; CREATE ROLE the_nobody;
	SELECT yquota.allow_role('ann', 'member', 'p'), yquota.allow_role('the_operator', 'operator'), yquota.allow_role('the_viewer', 'viewer'), yquota.allow_role('the_admin', 'admin');
	GRANT SELECT, INSERT ON public.archived_charge, public.archived_event TO PUBLIC;
	GRANT USAGE ON FOREIGN SERVER own TO the_admin;
	CREATE SCHEMA seen;
	GRANT USAGE ON SCHEMA seen TO PUBLIC;
	CREATE VIEW seen.container AS SELECT * FROM yquota.container;
	CREATE VIEW seen.decision AS SELECT * FROM yquota.decision;
	CREATE VIEW seen.hold AS SELECT * FROM yquota.hold;
	CREATE VIEW seen.outage AS SELECT * FROM yquota.outage;
	GRANT SELECT ON ALL TABLES IN SCHEMA seen TO PUBLIC;
	SQL
my @rights = map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql('books', <<~'SQL');
	SELECT f.oid::regprocedure, array_to_string(l.kinds, ',')
	FROM pg_proc AS f
	LEFT JOIN yquota_internal.privilege AS l ON l.object_kind = 'FUNCTION' AND l.objid = f.oid
	WHERE f.pronamespace = 'yquota'::regnamespace
	  -- functions of type resource compute, and are alike
	  AND NOT (l.kinds IS NOT DISTINCT FROM '{public}' AND ('yquota.resource'::regtype = ANY (f.proargtypes::oid[] || f.prorettype) OR f.proname ~ '^resource'))
	ORDER BY 1
	SQL
my %statement_of = map { $_ => 1 } statements();

# [function, the statements before its call, the call]
my @calls_of = map {
	my $sql = reading_of($_->[0]) // ($statement_of{ $_->[0] } ? sql_of($_->[0]) : '');
	my ($before, $call) = $sql =~ /^(?:(.*); )?(.*)$/s;

	$call =~ s/(FROM|JOIN) yquota\.(container|decision|hold|outage)\b(?!\()/$1 seen.$2/g;
	[ $_->[0], $before // '', $call ]
} @rights;
is_deeply([ map { $_->[0] } grep { $_->[2] eq '' } @calls_of ], [], 'there is a call of every function in the list of privileges');

foreach my $kind (@kinds)
{
	my $script = "$PostgreSQL::Test::Utils::tmp_check/calls_of_$kind.sql";
	my (%outcome, @wrong, $number, $messages);

	open my $out, '>', $script or die "could not write \"$script\": $!\n";
	print $out "\\set VERBOSITY verbose\n\\o /dev/null\nSET client_min_messages = error;\n";
	print $out "\\warn #call $_\nBEGIN;\n$calls_of[$_][1];\nSET LOCAL ROLE $role_of{$kind};\n$calls_of[$_][2];\nROLLBACK;\n" foreach 0 .. $#calls_of;
	print $out "\\warn #call end\n";
	close $out;
	$node->psql('books', undef, stdin => undef, extra_params => [ '-q', '-f', $script ], on_error_stop => 0, on_error_die => 0, stderr => \$messages, stdout => \my $printed);
	foreach my $line (split /\n/, $messages)
	{
		$number = $1 if $line =~ /^#call (\w+)$/;
		$outcome{$number} //= $1 if $line =~ /(?:ERROR|FATAL):\s+(.*)/;
	}
	is($number, 'end', "$kind: all functions were called");
	foreach my $i (0 .. $#calls_of)
	{
		my ($function, $kinds) = @{ $rights[$i] };
		my $may_call = $kinds =~ /\b(?:$kind|public)\b/;
		my $expected = $may_call ? $refusal{"$kind $function"} // qr/^$/ : qr/^42501: permission denied for function /;

		push @wrong, "$function: " . ($outcome{$i} // 'an answer') if ($outcome{$i} // '') !~ $expected;
	}
	is(join("\n", @wrong), '', "$kind: each function gives a result or the documented refusal");
}

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
is(as('leaver', 'original', 'SELECT string_agg(project, chr(32)) FROM yquota.project_balance'), 'other', 'a role made anew has no old projects when it is granted one');
$node->safe_psql('original', 'DROP OWNED BY leaver; DROP ROLE leaver');

$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
# the role "leaver" no longer exists, so its privileges cannot be restored, but all others can
$node->command_checks_all([ 'pg_restore', '-d', $node->connstr('restored'), $dump ], 1, [], [qr/role "leaver" does not exist/], 'restore');
is($node->safe_psql('restored', $audit), $before, 'the audit is as it was, without rows about the restore');
is($node->safe_psql('restored', q(SELECT role, kind, project, role_oid = coalesce((SELECT oid FROM pg_roles WHERE rolname = role), 0) FROM yquota.role_grant ORDER BY role)),
	"feeder|operator||t\nhead|admin||t\nleaver|member|secret|t\nmember|member|lab|t\nviewer|viewer||t", 'the roles are as they were');
# For each object one statement of the dump grants the rights to all roles. The statement fails if one of these roles
# is missing.
like(as('member', 'restored', 'SELECT FROM yquota.project_balance'), qr/permission denied/, 'a missing role keeps other roles from their rights on the same object');
is(as('head', 'restored', q(SELECT yquota.renew_role_grants())), '4', 'the rights come back when they are renewed');
is(as('member', 'restored', 'SELECT string_agg(project, chr(32)) FROM yquota.project_balance'), 'lab', 'the member can read its project');
is(as('head', 'restored', q(INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1, 'x'); SELECT count(*) FROM yquota.audit)),
	1 + (() = $before =~ /^/mg), 'the audit goes on');
$node->safe_psql('postgres', 'CREATE ROLE leaver LOGIN');
$node->safe_psql('restored', q(GRANT SELECT ON yquota.project_balance TO leaver));
is(as('leaver', 'restored', 'SELECT count(*) FROM yquota.project_balance'), '0', 'a role created later does not inherit the rights of a former role with its name');
is($node->safe_psql('restored', 'SELECT count(*) FROM yquota.verify()'), '0', 'the books are right');

$node->stop;
done_testing();
