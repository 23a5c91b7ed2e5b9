# Workload.pm: the containers that are charged. All their data follow from the container's number by hashes, so
# each run and each baseline gets the same rows.
#
# Containers start evenly over an interval of time, live between a minute and four hours, and have one of 1,200
# allocations of three resource types. They belong to applications of a hundred containers each. The default is the
# hard case, in which any project may use any allocation. Prices change every minute: the prices of GENERAL and GPU
# at different instants, and the base price of vcores each half hour. Thus most containers are charged by several
# resource types in turn.
package Workload;

use strict;
use warnings;

# The timestamp in the ids of applications.
use constant ORIGIN => 1700000000;
use constant ALLOCATIONS => 1200;
use constant PROJECTS => 200;

# How far a shuffled event may be from its place, in containers.
use constant START_WINDOW => 20_000;
use constant FINISH_WINDOW => 300_000;

my @columns = qw(event container_id occurred_at project application_id username queue node
  allocation execution_type exit_status source);

sub columns { return join ', ', @columns; }

# Return a number below the limit that depends only on the expression; different seeds give
# independent numbers.
sub pick
{
	my ($expression, $seed, $limit) = @_;

	return "(hashint8(($expression) * 32 + $seed) & 2147483647) % $limit";
}

sub allocation_of
{
	my ($place) = @_;

	return "('[memory-mb=' || 512 * (1 + $place % 80) || ',vcores=' || 1 + $place / 80 % 5"
	  . " || ',yarn.io/gpu=' || $place / 400 || ']')::yquota.resource";
}

# The id of container n. yarn: ascending. pod: ascending, as the ids begin with the time. random:
# pods' ids in random order.
my %id_of = (
	yarn => q('container_e17_1700000000000_' || lpad((n / 100)::text, 6, '0') || '_01_' || lpad((n % 100 + 1)::text, 6, '0')),
	pod => q('pod-' || (lpad(to_hex(n), 8, '0') || substr(md5(n::text), 9))::uuid),
	random => q('pod-' || md5(n::text)::uuid),
);

# stream(OPTION...): return queries of the START and of the FINISH events of containers from .. to (exclusive).
#   ids       see above
#   shuffled  in an order of arrival that differs a little from the order of time
#   projects  the number of projects
#   kinds     the number of allocations that each project uses; by default all
#   scattered  containers of one application have random projects, users and queues
#   origin, seconds  when the first container starts, and the last one after that
#   source    name of the feed
sub stream
{
	my %option = (from => 0, ids => 'yarn', projects => PROJECTS, kinds => ALLOCATIONS,
		origin => ORIGIN, seconds => 7200, source => 'bench', @_);
	my $total = $option{total} || ($option{to} - $option{from});
	my $payer = $option{scattered} ? 'n' : 'n / 100';
	my $project = pick($payer, 1, $option{projects});
	my $place = $option{kinds} < ALLOCATIONS
	  ? "((project_number * 7919 + ${\ pick('n', 4, $option{kinds})}) % @{[ ALLOCATIONS ]})"
	  : "(${\ pick('n', 4, ALLOCATIONS)})";
	my $start = "($option{origin} + (n - $option{from}) * ($option{seconds}::float8 / $total))";
	my $life = "(60 * exp(ln(240) * (hashint8(n * 32 + 5) & 1048575) / 1048576.0::float8))";
	my $numbers = "FROM (SELECT n, ($project) AS project_number FROM generate_series($option{from}::bigint, $option{to} - 1) AS n) AS container";
	my %order = map { $_ => $option{shuffled} ? "ORDER BY n + ${\ pick('n', 6, $_)}" : '' } START_WINDOW, FINISH_WINDOW;

	return (<<~"START", <<~"FINISH");
		SELECT 'CONTAINER_START'::yquota.container_event_type, $id_of{$option{ids}}, to_timestamp($start),
			'p' || 1000 + project_number,
			'application_1700000000000_' || lpad((n / 100)::text, 6, '0'),
			'p' || 1000 + project_number || '__u' || ${\ pick($payer, 2, 5)},
			'root.q' || project_number % 20 || CASE WHEN $payer % 2 = 0 THEN '.prod' ELSE '.dev' END,
			'node' || 1000 + ${\ pick('n', 3, 2000)},
			${\ allocation_of($place)},
			(CASE WHEN ${\ pick('n', 7, 10)} = 0 THEN 'OPPORTUNISTIC' ELSE 'GUARANTEED' END)::yquota.execution_type,
			NULL::integer, '$option{source}'
		$numbers $order{+START_WINDOW}
		START
		SELECT 'CONTAINER_FINISH'::yquota.container_event_type, $id_of{$option{ids}}, to_timestamp($start + $life),
			NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::yquota.resource, NULL::yquota.execution_type,
			CASE WHEN ${\ pick('n', 8, 20)} = 0 THEN 1 ELSE 0 END, '$option{source}'
		$numbers $order{+FINISH_WINDOW}
		FINISH
}

# Return statements that prepare a database: projects with credit, nodes, prices.
sub preparation
{
	my %option = (projects => PROJECTS, @_);

	return <<~"SQL";
		CREATE EXTENSION yquota;
		INSERT INTO yquota.project (name) SELECT 'p' || 1000 + n FROM generate_series(0, $option{projects} - 1) AS n;
		INSERT INTO yquota.quota_grant (project, amount, reason) SELECT name, 1000000000, 'bench' FROM yquota.project;
		INSERT INTO yquota.node (name, total, label)
		SELECT 'node' || 1000 + n, '[memory-mb=1048576,vcores=128,yarn.io/gpu=8]', CASE WHEN n % 10 = 0 THEN 'gpu' ELSE '' END
		FROM generate_series(0, 1999) AS n;
		UPDATE yquota.resource_type SET base_price = 8 WHERE name = 'yarn.io/gpu';
		INSERT INTO yquota.base_price (resource_type, effective_at, base_price, unit)
		SELECT 'vcores', to_timestamp(@{[ ORIGIN ]} + n * 1800), (ARRAY[1, 4, 0.5, 8, 2])[1 + n % 5], 1
		FROM generate_series(0, 13) AS n;
		INSERT INTO yquota.price (price_group, effective_at, multiplier)
		SELECT 'GENERAL', to_timestamp(@{[ ORIGIN ]} + n * 60), 1 + (n * 7 % 10) * 0.137
		FROM generate_series(0, 420) AS n
		UNION ALL
		SELECT 'GPU', to_timestamp(@{[ ORIGIN ]} + 30 + n * 60), 1 + (n * 3 % 7) * 0.611
		FROM generate_series(0, 420) AS n;
		SQL
}

# Return a script of single rows for pgbench: each client starts a container, and
# finishes the container that it started :backlog times ago.  The variables are the
# run and the backlog; client_id is pgbench's own.
#   table     the table of events
#   ids       yarn or pod
#   projects  the number of projects
#   other_work_s  for how long each transaction does something else
sub script
{
	my %option = (ids => 'yarn', projects => PROJECTS, other_work_s => 0, @_);
	my $id = $option{ids} eq 'yarn'
	  ? q('container_e17_1700000000000_' || :application::text || '_01_' || :%s::text)
	  : q('pod-' || md5(:application::text || '-' || :%s::text)::uuid);
	my $time = 'to_timestamp(' . ORIGIN . ' + :%s::float8 / 1000)';
	my ($begin, $end) = $option{other_work_s}
	  ? ("BEGIN;\n", "\nSELECT pg_sleep($option{other_work_s});\nCOMMIT;") : ('', '');

	return <<~'VARIABLES' . <<~"EVENTS";
		\set next :next + 1
		\set ended :next - :backlog
		\set application 100000 + :run * 100 + :client_id
		VARIABLES
		\\set project random(1000, 999 + $option{projects})
		\\set place random(0, @{[ ALLOCATIONS - 1 ]})
		\\set memory 512 * (1 + :place % 80)
		\\set vcores 1 + :place / 80 % 5
		\\set gpu :place / 400
		\\set node random(1000, 2999)
		\\set life random(60, 14400)
		$begin@{[ started($option{table}) ]} VALUES ('CONTAINER_START', ${\ sprintf($id, 'next')}, ${\ sprintf($time, 'next')},
			'p' || :project::text, 'application_1700000000000_' || :application::text, 'p' || :project::text || '__u1',
			'root.q1.prod', 'node' || :node::text,
			('[memory-mb=' || :memory::text || ',vcores=' || :vcores::text || ',yarn.io/gpu=' || :gpu::text || ']')::yquota.resource,
			'GUARANTEED', 'bench');$end
		${begin}INSERT INTO $option{table}.container_event (event, container_id, occurred_at, exit_status, source)
			VALUES ('CONTAINER_FINISH', ${\ sprintf($id, 'ended')}, ${\ sprintf($time, 'ended')} + :life * interval '1 second', 0, 'bench');$end
		EVENTS
}

sub started
{
	my ($table) = @_;

	return "INSERT INTO $table.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, source)";
}

# Return the containers that the first transactions of such a run finish, because no transaction of the run starts
# them.
sub backlog
{
	my %option = (ids => 'yarn', projects => PROJECTS, @_);
	my $id = $option{ids} eq 'yarn'
	  ? q('container_e17_1700000000000_' || application || '_01_' || n)
	  : q('pod-' || md5(application || '-' || n)::uuid);

	return started($option{table}) . <<~"SQL";

		SELECT 'CONTAINER_START', $id, to_timestamp(@{[ ORIGIN ]} + n::float8 / 1000), project,
			'application_1700000000000_' || application, project || '__u1', 'root.q1.prod',
			'node' || 1000 + ${\ pick('n', 3, 2000)}, ${\ allocation_of('place')}, 'GUARANTEED', 'bench'
		FROM (SELECT n, 100000 + $option{run} * 100 + client AS application,
				'p' || 1000 + ${\ pick('n * 100 + client', 1, $option{projects})} AS project,
				${\ pick('n * 100 + client', 4, ALLOCATIONS)} AS place
			  FROM generate_series(0::bigint, $option{clients} - 1) AS client,
				generate_series($option{first}::bigint - $option{backlog} + 1, $option{first}) AS n) AS container
		SQL
}

1;
