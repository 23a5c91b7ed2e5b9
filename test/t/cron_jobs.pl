# Scheduled jobs: pg_cron runs them where pg_cron is set up, and the worker runs them elsewhere. No job runs in both.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('cron', q(shared_preload_libraries = 'yquota'));
# All jobs. The worker skips the job for leases where no cluster is federated, and the job for forecasts where no
# threshold needs it.
my @jobs = ('yquota credit', 'yquota forecast', 'yquota history', 'yquota leases', 'yquota retention', 'yquota roll-up', 'yquota verify');

sub sql { return $node->safe_psql('work', $_[0]); }

sub error
{
	my ($sql) = @_;
	my ($code, $out, $error) = $node->psql('work', $sql);

	return $error;
}

# Return a condition: all due jobs have run, by the time of the clock.
sub done_by { return qq((SELECT count(*) = @{[ $_[0] eq 'pg_cron' ? 7 : 5 ]} FROM yquota_internal.job_run WHERE performed_by = '$_[0]' AND started_at = yquota.clock())); }

# Let pg_cron run all jobs at the server's start, because it otherwise runs them only at full
# minutes.
sub restart_and_run
{
	sql(q(SELECT cron.alter_job(jobid, '@reboot') FROM cron.job));
	$node->restart;
	return;
}

$node->safe_psql('postgres', 'CREATE DATABASE work TEMPLATE template0');
start_at($node, 'work', '2030-01-01 00:00 UTC');
sql(<<~'SQL');
	CREATE ROLE administrator LOGIN; SELECT yquota.allow_role('administrator', 'admin');
	CREATE ROLE member LOGIN; INSERT INTO yquota.project (name) VALUES ('lab'); SELECT yquota.allow_role('member', 'member', 'lab');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', 'c1', '2030-01-01 00:00 UTC', 'lab', '[vcores=1]');
	SELECT yquota.set_clock('2030-01-01 01:00 UTC');
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c1', '2030-01-01 01:00 UTC');
	SQL

# Without pg_cron
like(error('SELECT * FROM yquota.install_cron_jobs()'),
	qr/pg_cron is not loaded for database "work".*^shared_preload_libraries = 'yquota, pg_cron'\ncron.database_name = 'work'$/ms,
	'the error names the two missing lines of the configuration');
is(sql('SELECT yquota.remove_cron_jobs()'), '0', 'there are no jobs to remove');
is(sql(q(SELECT string_agg(job, ',' ORDER BY job) FROM yquota.cron_jobs WHERE performed_by = 'worker' AND last_run_at IS NULL)), join(',', @jobs), 'all is the worker\'s');
sql('SELECT yquota.start_worker()');
is_soon($node, 'work', mark() . q( = '2030-01-01 01:00 UTC'), 'the worker is at work');
# A job is due for the first time after the clock at which the worker first sees it.
is_soon($node, 'work', q((SELECT count(*) = 5 FROM yquota_internal.job_run)), 'the worker has looked at every job');
is(sql(q(SELECT string_agg(job, ',' ORDER BY job) FROM yquota_internal.job_run WHERE performed_by = 'worker')), 'credit', 'a job that is due now waits for its time afterwards');
set_clock($node, 'work', '2030-01-01 02:29 UTC');
is_soon($node, 'work', q((SELECT last_run_at = '2030-01-01 02:29 UTC' AND last_result LIKE 'succeeded: _ rows added' FROM yquota.cron_jobs WHERE job = 'yquota roll-up')), 'a job whose time is near has run');
is(sql('SELECT count(*) FROM yquota.verification'), 0, 'a job whose time is later has not run yet');
set_clock($node, 'work', '2030-01-01 02:31 UTC');
is_soon($node, 'work', done_by('worker'), 'the worker has done all jobs');
is(sql(q(SELECT verified_at, problems, found FROM yquota.verification)), '2030-01-01 02:31:00+00|0|[]', 'the books are proved');
set_clock($node, 'work', '2030-01-01 02:35 UTC');
is_soon($node, 'work', mark() . q( = '2030-01-01 02:35 UTC'), 'the worker goes on after the proof');
is(sql('SELECT count(*) FROM yquota.verification'), 1, 'the proof runs once a night');

# With pg_cron
$node->append_conf('postgresql.conf', <<~'CONF');
	shared_preload_libraries = 'yquota, pg_cron'
	cron.database_name = 'work'
	cron.use_background_workers = on
	yquota.databases = 'work'
	CONF
$node->restart;
like(error('SELECT * FROM yquota.install_cron_jobs()'), qr/extension "pg_cron" is not installed.*CREATE EXTENSION pg_cron/s, 'jobs are not installed without the extension');
sql('CREATE EXTENSION pg_cron');
is($node->safe_psql('work', q(SELECT string_agg(job, ',' ORDER BY job) FROM yquota.install_cron_jobs()), extra_params => [ '-U', 'administrator' ]),
	join(',', @jobs), 'an administrator installs the jobs');
sql(q(SELECT cron.schedule('somebody else''s', '0 0 1 1 *', 'SELECT 1')));
is(sql('SELECT count(*) FROM yquota.install_cron_jobs()'), 7, 'an administrator installs the jobs again');
is(sql(q(SELECT string_agg(jobname || ' ' || schedule, ',' ORDER BY jobname) FROM cron.job WHERE jobname LIKE 'yquota%')),
	'yquota credit * * * * *,yquota forecast */15 * * * *,yquota history */5 * * * *,yquota leases * * * * *,yquota retention */10 * * * *,yquota roll-up */15 * * * *,yquota verify 30 2 * * *', 'a second installation changes nothing');
is($node->safe_psql('work', q(SELECT DISTINCT performed_by FROM yquota.cron_jobs), extra_params => [ '-U', 'administrator' ]), 'pg_cron', 'the administrator sees the owners of the jobs');
like(error('SET ROLE member; SELECT * FROM yquota.install_cron_jobs()'), qr/permission denied/, 'a member cannot install jobs');
set_clock($node, 'work', '2030-01-03 12:00 UTC');
is_soon($node, 'work', mark() . q( = '2030-01-03 12:00 UTC'), 'the worker does the tasks that are no jobs');
is(sql(q(SELECT count(*) FROM yquota_internal.job_run WHERE performed_by = 'worker' AND started_at > '2030-01-03')), 0, 'the worker does no job that pg_cron has');
restart_and_run();
is_soon($node, 'work', done_by('pg_cron'), 'pg_cron has done all jobs');
is_soon($node, 'work', q((SELECT count(*) = 7 FROM yquota.cron_jobs WHERE last_result LIKE 'succeeded%')), 'all jobs of pg_cron have succeeded');
is_soon($node, 'work', q((SELECT last_result = 'succeeded: 0 problems' FROM yquota.cron_jobs WHERE job = 'yquota verify')), 'the result of the proof is kept');

# verify() finds the fault in the books, and the status shows the failure of a job.
sql(q(UPDATE yquota_internal.project_counter SET charged = charged + 1; ALTER TABLE yquota_internal.rollup_state ADD CONSTRAINT refused CHECK (rolled_up_at < '2030-01-04') NOT VALID));
set_clock($node, 'work', '2030-01-04 12:00 UTC');
restart_and_run();
is_soon($node, 'work', q((SELECT problems > 0 AND jsonb_array_length(found) = problems FROM yquota.verification WHERE verified_at = '2030-01-04 12:00 UTC')), 'problems are kept');
is(sql(q(SELECT count(*) FROM yquota.alert WHERE kind = 'books_differ' AND cleared_at IS NULL)), 1, 'an alert is raised for problems');
cmp_ok(sql(q(SELECT value FROM yquota.metrics WHERE metric = 'yquota_verify_problems')), '>', 0, 'the alert is also a sample');
is_soon($node, 'work', q((SELECT last_result LIKE 'failed: ERROR:%refused%' FROM yquota.cron_jobs WHERE job = 'yquota roll-up')), 'a failed job shows its error');
sql(q(UPDATE yquota_internal.project_counter SET charged = charged - 1; ALTER TABLE yquota_internal.rollup_state DROP CONSTRAINT refused));

# The worker runs a job that is inactive in pg_cron, and pg_cron runs it again when it is active.
sql(q(SELECT cron.alter_job(jobid, active => jobname <> 'yquota roll-up') FROM cron.job WHERE jobname LIKE 'yquota%'));
is(sql(q(SELECT string_agg(job || ' ' || performed_by, ',' ORDER BY job) FROM yquota.cron_jobs)),
	'yquota credit pg_cron,yquota forecast pg_cron,yquota history pg_cron,yquota leases pg_cron,yquota retention pg_cron,yquota roll-up worker,yquota verify pg_cron', 'one is the worker\'s');
set_clock($node, 'work', '2030-01-04 18:00 UTC');
is_soon($node, 'work', q((SELECT string_agg(job, ',') = 'roll-up' FROM yquota_internal.job_run WHERE performed_by = 'worker' AND started_at = yquota.clock())), 'the worker does the inactive job and no other');
sql(q(SELECT cron.alter_job(jobid, active => true) FROM cron.job WHERE jobname LIKE 'yquota%'));
set_clock($node, 'work', '2030-01-04 19:00 UTC');
is_soon($node, 'work', mark() . q( = '2030-01-04 19:00 UTC'), 'the worker does no job afterwards');
restart_and_run();
is_soon($node, 'work', done_by('pg_cron'), 'pg_cron does the jobs');

# The worker takes the jobs back
is(sql('SELECT yquota.remove_cron_jobs()'), '7', 'the jobs are removed');
is(sql('SELECT jobname FROM cron.job'), q(somebody else's), 'nobody else\'s');
is(sql('SELECT yquota.remove_cron_jobs()'), '0', 'once');
set_clock($node, 'work', '2030-01-05 12:00 UTC');
is_soon($node, 'work', done_by('worker'), 'the worker does all jobs again');
is(sql(q(SELECT count(*) FROM yquota.alert WHERE kind = 'books_differ' AND cleared_at IS NULL)), 0, 'the alert is over');
is(sql('SELECT failures FROM yquota.worker_status'), 0, 'the worker has recorded no error');

$node->stop;
done_testing();
