# Jobs that take long have their own process. In the meantime the worker computes prices and moves
# the mark, and it does so whatever the outcome of the job is.

use strict;
use warnings;

use Test::More;
use WorkerNode;

my $node = new_node('jobs', q(shared_preload_libraries = 'yquota'), q(yquota.databases = 'work'));

sub sql { return $node->safe_psql('work', $_[0]); }

# A column of worker_status
sub status { return "(SELECT $_[0] FROM yquota.worker_status WHERE database = 'work')"; }

# A condition: the process of a job runs.
my $process = "(SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'yquota job' AND datname = 'work' AND wait_event = 'PgSleep')";

# verified_at(AT): a condition that verify() ran at AT, without a finding.
sub verified_at { return "EXISTS (SELECT FROM yquota.verification WHERE verified_at = '$_[0]' AND problems = 0)"; }

# rolled_up_at(AT): a condition that costs were rolled up at AT or later.
sub rolled_up_at { return "(SELECT rolled_up_at >= '$_[0]' FROM yquota_internal.rollup_state)"; }

$node->safe_psql('postgres', 'CREATE DATABASE work TEMPLATE template0');
start_at($node, 'work', '2030-01-01 00:00 UTC');
is_soon($node, 'work', status("state = 'running'"), 'the worker runs');
is_soon($node, 'work', q(EXISTS (SELECT FROM yquota_internal.job_run WHERE job = 'verify')), 'worker_status shows since when the job waits for the night');
# A verification waits in its INSERT as long as the gate is closed.
sql(<<~'SQL');
	CREATE TABLE public.gate (closed boolean);
	CREATE FUNCTION public.wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		WHILE EXISTS (SELECT FROM public.gate) LOOP
			PERFORM pg_sleep(0.02);
		END LOOP;
		RETURN NEW;
	END $$;
	CREATE TRIGGER wait BEFORE INSERT ON yquota.verification FOR EACH ROW EXECUTE FUNCTION public.wait_at_gate();
	INSERT INTO public.gate VALUES (true);
	INSERT INTO yquota.project (name) VALUES ('lab');
	INSERT INTO yquota.node (name, total, state) VALUES ('n1', '[vcores=4]', 'RUNNING');
	SQL

# Meanwhile
set_clock($node, 'work', '2030-01-01 02:30 UTC');
is_soon($node, 'work', $process, 'a process proves the books');
is(sql('SELECT ' . verified_at('2030-01-01 02:30 UTC')), 'f', 'the job is not done yet');
sql(q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	  VALUES ('CONTAINER_START', 'c1', '2030-01-01 02:30 UTC', 'lab', '[vcores=3]')));
set_clock($node, 'work', '2030-01-01 02:40 UTC');
is_soon($node, 'work', mark() . q( = '2030-01-01 02:40 UTC'), 'meanwhile the mark advances');
is_soon($node, 'work', status(q(last_price_at = '2030-01-01 02:40 UTC' AND last_compact_at = last_price_at)), 'prices are computed, and counters compacted');
set_clock($node, 'work', '2030-01-01 02:50 UTC');
is_soon($node, 'work', status(q(last_price_at = '2030-01-01 02:50 UTC')), 'again');
is(sql(q(SELECT multiplier FROM yquota.current_price WHERE resource_type = 'vcores')), '1.55', 'prices follow from the running containers');
is(sql("SELECT $process"), 't', 'there is still the same process of the job');
is(sql('SELECT ' . rolled_up_at('2030-01-01 02:50 UTC')), 'f', 'other jobs wait');
sql('DELETE FROM public.gate');
is_soon($node, 'work', verified_at('2030-01-01 02:30 UTC'), 'the job ends');
is_soon($node, 'work', rolled_up_at('2030-01-01 02:50 UTC'), 'the next job is done');
is(sql('SELECT ' . status('failures')), 0, 'the worker has no failures');

# A job whose process is terminated runs again.
sql('INSERT INTO public.gate VALUES (true)');
set_clock($node, 'work', '2030-01-02 02:30 UTC');
is_soon($node, 'work', $process, 'the job runs in the next night');
sql(q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'yquota job'));
is_soon($node, 'work', status(q(failures = 1 AND last_error = 'verify: the process ended before the job was done')), 'the status tells that the process ended');
sql('DELETE FROM public.gate');
is_soon($node, 'work', verified_at('2030-01-02 02:30 UTC'), 'the job is tried again');
is_soon($node, 'work', status('failures = 0'), 'all jobs succeed afterwards');

# A job that fails runs again, and so does a job that cannot get a lock.
sql(q(ALTER TABLE yquota_internal.rollup_state ADD CONSTRAINT refused CHECK (rolled_up_at < '2030-01-02 12:00 UTC') NOT VALID));
set_clock($node, 'work', '2030-01-02 12:00 UTC');
is_soon($node, 'work', status(q(failures > 0 AND last_error LIKE 'roll-up: %violates check constraint "refused"')), 'an error is recorded');
cmp_ok(count_in_log($node, qr/violates check constraint "refused".*?CONTEXT:  .*?yquota job "roll-up"/s), '>', 0, 'an error is logged');
sql('ALTER TABLE yquota_internal.rollup_state DROP CONSTRAINT refused');
is_soon($node, 'work', rolled_up_at('2030-01-02 12:00 UTC'), 'without the constraint the job succeeds');
is_soon($node, 'work', status('failures = 0'), 'the failures are over');
my $holder = $node->background_psql('work');
$holder->query_safe('BEGIN; SELECT FROM yquota_internal.rollup_state FOR UPDATE');
set_clock($node, 'work', '2030-01-02 12:15 UTC');
is_soon($node, 'work', status(q(postponed = '{roll-up}' AND failures = 0)), 'a job that waits for a lock is postponed');
$holder->query_safe('COMMIT');
$holder->quit;
is_soon($node, 'work', rolled_up_at('2030-01-02 12:15 UTC'), 'the job runs when the lock is free');
is_soon($node, 'work', status(q(postponed = '{}')), 'the job is not postponed any more');

# When the worker leaves, the process of the job ends, too.
sql('INSERT INTO public.gate VALUES (true)');
set_clock($node, 'work', '2030-01-03 02:30 UTC');
is_soon($node, 'work', $process, 'the job runs in another night');
sql('SELECT yquota.stop_worker()');
is_soon($node, 'postgres', q(NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type LIKE 'yquota%' AND datname = 'work')), 'a worker that is stopped leaves no process');
sql('SELECT yquota.start_worker()');
is_soon($node, 'work', $process, 'the next worker starts the unfinished job');

# Without a free slot the job waits, and the worker continues.
sql('DELETE FROM public.gate');
is_soon($node, 'work', verified_at('2030-01-03 02:30 UTC'), 'the next worker does the job');
$node->append_conf('postgresql.conf', "max_worker_processes = 3\nmax_parallel_workers = 0");
$node->restart;
set_clock($node, 'work', '2030-01-04 02:30 UTC');
is_soon($node, 'work', status(q(last_error LIKE '%: could not start a process for job "%": no background worker slot is free')), 'without a free slot, an error is recorded');
is_soon($node, 'work', mark() . q( = '2030-01-04 02:30 UTC'), 'without a free slot, the worker does its other tasks');
$node->append_conf('postgresql.conf', "max_worker_processes = 8");
$node->restart;
is_soon($node, 'work', verified_at('2030-01-04 02:30 UTC'), 'with a free slot, the job runs');

# The database can be dropped while a job runs.
sql('INSERT INTO public.gate VALUES (true)');
set_clock($node, 'work', '2030-01-05 02:30 UTC');
is_soon($node, 'work', $process, 'the job runs once more');
my ($code, $out, $error) = $node->psql('postgres', 'DROP DATABASE work');
is($code, 0, 'the job gives way to DROP DATABASE') or diag($error);

$node->stop;
done_testing();
