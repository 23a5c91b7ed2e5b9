# docs/prometheus works: postgres_exporter runs its queries against a real server, and so does sql_exporter if it is
# installed. The alerting rules fire on the exporter's output when something is wrong, and only then. The program
# promtool evaluates them on half an hour of samples before the faults and on more samples after them. A real Prometheus
# answers every query of the dashboard, and Grafana's own types can read the dashboard.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use HTTP::Tiny;
use JSON::PP qw(decode_json);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use WorkerNode;

my $queries = "$ENV{PWD}/docs/prometheus/queries.yaml";
my $rules = "$ENV{PWD}/docs/prometheus/alerts.yaml";
my $dashboard = "$ENV{PWD}/docs/prometheus/grafana-dashboard.json";
foreach my $program (qw(prometheus prometheus-postgres-exporter promtool))
{
	plan skip_all => "$program is not installed" if system("command -v $program >/dev/null") != 0;
}

my $node = new_node('prometheus', q(yquota.price_lead = 0), q(yquota.price_interval = '10s'), q(yquota.compute_interval = '10s'));
my $directory = PostgreSQL::Test::Utils::tempdir;
my $http = HTTP::Tiny->new(timeout => 30);
my ($exporter, $prometheus);
my %fired;

END { kill 'KILL', grep { $_ } $exporter, $prometheus }

sub sql { return $node->safe_psql('work', $_[0]); }

# start(LOG, PROGRAM, ARGUMENT...): start a program and return its process id.
sub start
{
	my ($log, @command) = @_;
	my $pid = fork() // die "could not fork: $!";

	if ($pid == 0)
	{
		open STDERR, '>>', "$directory/$log";
		exec @command or POSIX::_exit(1);
	}
	return $pid;
}

# first_answer(PORT): wait until an exporter has samples, and return its answer.
sub first_answer
{
	my ($port) = @_;
	my $answer;

	foreach (1 .. 300)
	{
		$answer = $http->get("http://127.0.0.1:$port/metrics");
		last if $answer->{success} && $answer->{content} =~ /^yquota_/m;
		sleep 0.1;
	}
	return $answer;
}

# Start an exporter. Return its port and its first answer.
sub start_exporter
{
	my $port = PostgreSQL::Test::Cluster::get_free_port();

	local $ENV{DATA_SOURCE_NAME} = sprintf 'host=%s port=%s user=exporter dbname=work sslmode=disable', $node->host, $node->port;
	$exporter = start('exporter.log', 'prometheus-postgres-exporter', "--extend.query-path=$queries",
		"--web.listen-address=127.0.0.1:$port", '--disable-default-metrics', '--disable-settings-metrics');
	return $port, first_answer($port);
}

# stop(PID): kill a process and forget it.
sub stop
{
	kill 'KILL', $_[0];
	waitpid $_[0], 0;
	$_[0] = undef;
	return;
}

# Return the samples of an answer, by their names with labels.
sub samples_of
{
	my ($answer) = @_;
	my %samples;

	foreach my $line (split /\n/, $answer->{content})
	{
		next unless $line =~ /^(yquota_\w+)\{(.*)\} (\S+)$/;
		my ($name, $labels, $value) = ($1, $2, $3);

		$labels =~ s/,?server="[^"]*"//;
		$samples{"$name\{$labels}"} = $value;
	}
	return \%samples;
}

# Return the current samples. Each call starts a new exporter, which has kept nothing from the previous one.
sub scrape
{
	my (undef, $answer) = start_exporter();

	stop($exporter);
	return samples_of($answer);
}

# Return the alerts that fire when the first samples last for half an hour and the other samples
# follow.
sub alerts
{
	my ($before, $after) = @_;
	my %series = map { $_ => 1 } keys %$before, keys %$after;
	my $file = "$directory/rules_test.yaml";

	my $text = "rule_files: [$rules]\ntests:\n  - interval: 1m\n    input_series:\n";
	foreach my $series (sort keys %series)
	{
		my @values = map { !defined $_ || $_ eq 'NaN' ? undef : $_ } $before->{$series}, $after->{$series};

		$text .= sprintf "      - series: '%s'\n        values: '%s %s'\n", $series,
		  defined $values[0] ? "$values[0]+0x30" : '_x31', defined $values[1] ? "$values[1]+0x45" : '_x46';
	}
	$text .= "    promql_expr_test:\n";
	# promtool prints the found value when another value was expected
	$text .= qq(      - {expr: 'group by (alertname) (max_over_time(ALERTS{alertstate="firing"}[$_->[1]]))', eval_time: $_->[0], exp_samples: [{labels: 'unexpected', value: 0}]}\n)
	  foreach [ '30m', '30m' ], [ '76m', '45m' ];
	open my $out, '>', $file or die;
	print $out $text;
	close $out;
	my $told = `promtool test rules $file 2>&1`;
	my @found = $told =~ /got:(.*?)(?=expr: |\z)/sg;

	die "promtool: $told\n" unless @found == 2;
	return map { [ sort $_ =~ /alertname="(\w+)"/g ] } @found;
}

sub fires
{
	my ($name, $before, $after, @expected) = @_;
	my ($first, $then) = alerts($before, $after);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_deeply($first, [], "$name: nothing fires before");
	is_deeply($then, [ sort @expected ], "$name: then @expected") or diag(explain($after));
	$fired{$_} = 1 foreach @$then;
	return;
}

# Move the clock, and wait until the worker has charged up to it.
sub run_to
{
	my ($at) = @_;

	set_clock($node, 'work', $at);
	is_soon($node, 'work', "(SELECT last_price_at = '$at' AND last_compute_at = '$at' AND last_compact_at = '$at' FROM yquota.worker_status)",
		"the worker is at $at");
	return;
}

sub event
{
	my ($id, $at, $project, %more) = @_;
	my @columns = sort keys %more;

	sql(sprintf q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source%s)
		VALUES ('CONTAINER_START', '%s', '%s', '%s', '[memory-mb=1024,vcores=1]', 'rm'%s)),
		join('', map { ", $_" } @columns), $id, $at, $project, join('', map { ", '$more{$_}'" } @columns));
	return;
}

$node->safe_psql('postgres', 'CREATE DATABASE work');
start_at($node, 'work', '2030-01-01 00:00 UTC');
sql(<<~'SQL');
	CREATE ROLE exporter LOGIN;
	GRANT SELECT ON yquota.metrics TO exporter;
	INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=40960,vcores=40]'), ('n2', '[memory-mb=4096,vcores=4]');
	INSERT INTO yquota.project (name) VALUES ('lab "1" {x}'), ('poor'), ('free');
	UPDATE yquota.project SET quota_mode = 'NOLIMIT' WHERE name = 'free';
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab "1" {x}', 1e12, ''), ('poor', 1e12, '');
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.default', '100');
	SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'default', project => 'free', unmanaged => true);
	SELECT state FROM yquota.submit_application('application_1_0002', 'ann', '{}', 'nowhere', project => 'free');
	SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 1);
	SQL
event("c$_", '2030-01-01 00:00 UTC', 'lab "1" {x}') foreach 1 .. 20;
event('f1', '2030-01-01 00:00 UTC', 'free', execution_type => 'OPPORTUNISTIC');
sql(q(SELECT yquota.start_worker()));
run_to('2030-01-01 00:01 UTC');
my $measure = q(SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n1', 20, 0, 0, 0, NULL, 5, NULL, NULL, '[memory-mb=30000]')::yquota.node_report]));
sql(q(INSERT INTO yquota.over_allocation (resource_type, threshold, preemption_threshold) VALUES ('memory-mb', 0.5, 0.7)));
sql($measure);

# The exporter shows the same values as the view.
my $healthy = scrape();
my %shown = map { ($_ =~ s/datname="work",?//r =~ s/,\}/}/r) => $healthy->{$_} } keys %$healthy;
my %said = map { split /\t/ } split /\n/, sql(<<~'SQL');
	SELECT metric || '{' || coalesce((SELECT string_agg(format('%s="%s"', key, replace(value, '"', '\"')), ',' ORDER BY key COLLATE "C") FROM jsonb_each_text(labels)), '') || '}'
		|| E'\t' || value FROM yquota.metrics
	SQL
delete @shown{ grep { $shown{$_} eq 'NaN' && !defined $said{$_} } keys %shown };
is_deeply([ sort keys %shown ], [ sort keys %said ], 'the exporter shows every sample of the view, and no other');
is_deeply([ grep { $shown{$_} != $said{$_} && !/silence|lag/ } grep { defined $said{$_} } keys %shown ], [], 'with its value');
cmp_ok($said{'yquota_price_multiplier{price_group="GENERAL"}'}, '>', 1, 'the price moves with the utilization');
is($said{'yquota_price_computed_multiplier{price_group="GENERAL"}'}, $said{'yquota_price_multiplier{price_group="GENERAL"}'}, 'the price moves in the right direction');
is($said{'yquota_containers_running{execution_type="GUARANTEED"}'}, 20, 'containers are counted');
is($said{'yquota_project_exhausted{project="free"}'}, undef, 'a project without limit is never exhausted');
is($node->safe_psql('work', q(SELECT count(*) FROM yquota.metrics WHERE family = 'project'), extra_params => [ '-U', 'exporter' ]), '20', 'a role that may read the view sees all projects');

# Each alert, in the situation for which it was made
sql(q(SET yquota.on_bad_event = set_aside; INSERT INTO yquota.container_event (event, container_id, occurred_at, source) VALUES ('CONTAINER_START', 'bad', '2030-01-01', 'rm')));
fires('rejects', $healthy, scrape(), 'YquotaRejectsGrow');
sql('DELETE FROM yquota.event_reject');
sql(q(SELECT yquota.reject_call('rm', '{"function": "yquota.finish_application"}', '42704', 'it does not exist')));
fires('calls set aside', $healthy, scrape(), 'YquotaCallsRejected');
sql('DELETE FROM yquota.feed_reject');
sql(q(SELECT yquota.report_feed_problem('rm', '42501', 'permission denied')));
fires('a feed that waits', $healthy, scrape(), 'YquotaFeedWaits');
sql(q(SELECT yquota.report_feed_problem('rm', NULL)));

run_to('2030-01-01 01:00 UTC');
fires('a silent feed', $healthy, scrape(), 'YquotaFeedSilent');
event('g1', '2030-01-01 01:00 UTC', 'lab "1" {x}', node => 'n2');
run_to('2030-01-01 01:01 UTC');

sql(q(UPDATE yquota.node SET state = 'LOST' WHERE name = 'n2'));
fires('ghosts', $healthy, scrape(), 'YquotaGhosts', 'YquotaPriceStuck');
sql(q(SELECT yquota.node_lost('n2')));
run_to('2030-01-01 01:02 UTC');
fires('no ghosts any more', $healthy, scrape());

event('p1', '2030-01-01 01:02 UTC', 'poor');
sql(q(INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('poor', -1e12 + 3600, '')));
run_to('2030-01-01 01:03 UTC');
fires('little credit', $healthy, scrape(), 'YquotaProjectNearlyExhausted');
sql(q(INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('poor', -3600, '')));
fires('no credit', $healthy, scrape(), 'YquotaProjectExhausted');
sql(q(INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('poor', 1e12, '')));
sql(q(INSERT INTO yquota.spending_threshold (project, remaining) VALUES ('poor', 2e12); SELECT yquota_internal.note_crossings(yquota.clock())));
fires('a threshold of credit', $healthy, scrape(), 'YquotaCreditLow');
sql(q(DELETE FROM yquota.spending_threshold; SELECT yquota_internal.note_crossings(yquota.clock())));

my $administrator = $node->background_psql('work');
$administrator->query_safe('BEGIN; SELECT yquota_internal.try_lock_pricing()');
set_clock($node, 'work', '2030-01-01 01:10 UTC');
is_soon($node, 'work', q((SELECT 'price' = ANY (postponed) FROM yquota.worker_status)), 'a change of prices is left open');
fires('a stuck price', $healthy, scrape(), 'YquotaPriceStuck', 'YquotaAlertOpen');
$administrator->query_safe('COMMIT');
$administrator->quit;
is_soon($node, 'work', q((SELECT postponed = '{}' FROM yquota.worker_status)), 'the open transaction ends');

sql(<<~'SQL');
	INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('night', 'GENERAL', 'UTC', '22:00', '06:00', 0.5);
	SQL
fires('a calendar', $healthy, scrape());
sql(q(DELETE FROM yquota.calendar_factor WHERE effective_at > '2030-01-05'));
fires('a calendar without points', $healthy, scrape(), 'YquotaCalendarPointsMissing');
sql('DELETE FROM yquota.price_calendar');

sql(q(ALTER TABLE yquota.container_event ADD CONSTRAINT refused CHECK (source <> 'yquota worker') NOT VALID));
set_clock($node, 'work', '2030-01-01 01:10:10 UTC');
is_soon($node, 'work', '(SELECT failures > 0 FROM yquota.worker_status)', 'the worker fails');
fires('a failing worker', $healthy, scrape(), 'YquotaWorkerFailing');
sql('ALTER TABLE yquota.container_event DROP CONSTRAINT refused');
$node->reload;
is_soon($node, 'work', '(SELECT failures = 0 FROM yquota.worker_status)', 'no longer');

sql(q(INSERT INTO yquota.verification VALUES ('2029-12-28', '1 s', 0, '[]')));
fires('books that nobody proves', $healthy, scrape(), 'YquotaVerifyLate');
sql('DELETE FROM yquota.verification');

sql(q(UPDATE yquota.application SET project = 'gone'));
fires('an application without a project', $healthy, scrape(), 'YquotaApplicationsStuck');
sql(q(UPDATE yquota.application SET project = 'free'));

my $pid = worker_pid($node, 'work');
sql('SELECT yquota.stop_worker()');
wait_until_gone($pid);
fires('a dead worker', $healthy, scrape(), 'YquotaWorkerDown');

my @rules = slurp_file($rules) =~ /- alert: (\w+)/g;
is_deeply([ sort keys %fired ], [ sort @rules ], 'every alarm has fired');
unlike(slurp_file("$directory/exporter.log"), qr/level=(error|warn)/, 'the exporter has no trouble');

# The dashboard: first check its parts.
my $shown = decode_json(slurp_file($dashboard));
my @panels = grep { $_->{type} ne 'row' } @{ $shown->{panels} };
my (%ids, %taken);
$ids{ $_->{id} }++ foreach @{ $shown->{panels} };
is_deeply([ grep { $ids{$_} > 1 } keys %ids ], [], 'every panel has an id of its own');
foreach my $panel (@{ $shown->{panels} })
{
	my $at = $panel->{gridPos};

	foreach my $row ($at->{y} .. $at->{y} + $at->{h} - 1)
	{
		$taken{"$row $_"}++ foreach $at->{x} .. $at->{x} + $at->{w} - 1;
	}
}
is_deeply([ grep { $taken{$_} > 1 || /(\d+)$/ && $1 >= 24 } keys %taken ], [], 'no panel covers another or leaves the 24 columns');
is_deeply([ grep { !/^(timeseries|stat|bargauge)$/ } map { $_->{type} } @panels ], [], 'the schema below has the types of all panels');
is_deeply([ map { $_->{title} } grep { !$_->{title} || !$_->{fieldConfig}{defaults}{unit} || !@{ $_->{targets} } } @panels ], [], 'each has a title, a unit and queries');
is_deeply([ map { $_->{title} } grep { my $words = () = $_->{description} =~ /\S+/g; $words == 0 || $words > 25 } @panels ], [], 'each panel has a short description');

# Metrics of the exporter's queries; a histogram has three metrics.
my (%exported, $query);
foreach my $line (split /\n/, slurp_file($queries))
{
	$query = $1 if $line =~ /^(yquota_\w+):/;
	next unless $line =~ /^    - (\w+): \{usage: "(\w+)"/ && $2 ne 'LABEL';
	$exported{"${query}_$1$_"} = 1 foreach $2 eq 'HISTOGRAM' ? qw(_bucket _sum _count) : '';
}
my %asked = map { $_ => 1 } map { $_->{expr} =~ /\b(yquota_\w+)\{/g } map { @{ $_->{targets} } } @panels;
is_deeply([ sort keys %asked ], [ sort keys %exported ], 'the dashboard asks for every metric of the exporter, and for no other');

# Then a real Prometheus reads the metrics, when each kind of object exists.
sql(<<~'SQL');
	BEGIN;
	INSERT INTO yquota.queue (path, capacity, reservable) VALUES ('root.plan', '50', true);
	UPDATE yquota.queue SET capacity = '50', opportunistic_maximum_containers = 10 WHERE path = 'root.default';
	COMMIT;
	SELECT state FROM yquota.submit_application('application_1_0003', 'ann', '{}', 'default', project => 'free');
	INSERT INTO yquota.scheduler_setting (reservation_system_enable, scheduler_monitor_enable) VALUES (true, true);
	INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.2, 1);
	INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('night', 'GENERAL', 'UTC', '22:00', '06:00', 0.5);
	CREATE FUNCTION public.same(request yquota.allocate_request) RETURNS yquota.allocate_request LANGUAGE sql
		RETURN request;
	INSERT INTO yquota.request_interceptor VALUES (1, 'public.same');
	SELECT yquota.submit_reservation('reservation_1_' || containers, 'root.plan', 'ann', '{}', 'free', yquota.reservation_contract('2030-01-01 01:12 UTC', '2030-01-01 02:12 UTC',
		ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', containers, '1 hour', containers)], 'ALL')) FROM unnest('{4,400}'::integer[]) AS containers;
	SELECT yquota.set_clock('2030-01-01 01:12 UTC');
	SELECT yquota_internal.worker_follow_plans();
	SELECT count(*) FROM yquota.preempt_containers();
	INSERT INTO yquota.alert (kind, subject, detail, raised_at) VALUES ('outage_undecided', 'x', 'x', yquota.clock());
	INSERT INTO yquota.verification VALUES (yquota.clock(), '1 s', 0, '[]');
	INSERT INTO yquota_internal.scheduler_count VALUES ('containers_completed', 0, 3), ('refused', 0, 1);
	UPDATE yquota.project SET on_exhausted = 'drain' WHERE name = 'poor';
	CREATE EXTENSION postgres_fdw;
	DO $$ BEGIN
		EXECUTE format('CREATE SERVER own FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)', current_setting('unix_socket_directories'), current_setting('port'), current_database());
	END $$;
	CREATE USER MAPPING FOR CURRENT_USER SERVER own;
	SELECT yquota.federate_cluster('yarn_cluster', 'own');
	INSERT INTO yquota.federated_budget (project, period, amount) VALUES ('poor', 'month', 1000);
	SELECT yquota.renew_leases();
	SELECT yquota.renew_leases();
	SQL
sql($measure);
my ($target, $answer) = start_exporter();
SKIP:
{
	skip 'sql_exporter is not installed', 3 if system('command -v sql_exporter >/dev/null') != 0;
	my $of_sql_exporter = PostgreSQL::Test::Cluster::get_free_port();
	my $process = start('sql_exporter.log', 'sql_exporter', "-config.file=$ENV{PWD}/docs/prometheus/sql_exporter.yaml",
		sprintf('-config.data-source-name=pg://exporter@%s:%s/work?sslmode=disable', $node->host, $node->port), "-web.listen-address=127.0.0.1:$of_sql_exporter");
	my ($wanted, $found) = (samples_of($answer), samples_of(first_answer($of_sql_exporter)));

	stop($process);
	# sql_exporter has no sample where postgres_exporter has NaN
	delete @$wanted{ grep { $wanted->{$_} eq 'NaN' } keys %$wanted };
	is_deeply([ sort keys %$found ], [ sort keys %$wanted ], 'sql_exporter shows every sample of postgres_exporter, and no other');
	is_deeply([ grep { $wanted->{$_} != $found->{$_} && !/silence|lag/ } grep { defined $found->{$_} } keys %$wanted ], [], 'with its value');
	unlike(slurp_file("$directory/sql_exporter.log"), qr/level=error/i, 'sql_exporter has no trouble');
}
my $port = PostgreSQL::Test::Cluster::get_free_port();
append_to_file("$directory/prometheus.yaml", <<~"YAML");
	global: {scrape_interval: 3s, scrape_timeout: 3s}
	scrape_configs:
	  - job_name: yquota
	    static_configs: [{targets: ['127.0.0.1:$target']}]
	YAML
$prometheus = start('prometheus.log', 'prometheus', "--config.file=$directory/prometheus.yaml", "--storage.tsdb.path=$directory/prometheus",
	"--web.listen-address=127.0.0.1:$port");

# prometheus(PATH, NAME => VALUE...): return the API's answer.
sub prometheus
{
	my ($path, %parameters) = @_;
	my $answer = $http->post_form("http://127.0.0.1:$port/api/v1/$path", \%parameters);

	return $answer->{content} =~ /^\{/ ? decode_json($answer->{content}) : { status => 'error', error => $answer->{content} };
}

# A rate needs two samples of a series, and a scrape returns all series or none.
my $samples = 0;
foreach (1 .. 120)
{
	my $answer = prometheus('query', query => 'count_over_time(yquota_worker_up[5m])');

	$samples = $answer->{status} eq 'success' && @{ $answer->{data}{result} } ? $answer->{data}{result}[0]{value}[1] : 0;
	last if $samples >= 2;
	sleep 0.5;
}
cmp_ok($samples, '>=', 2, 'Prometheus has samples of the exporter');

# Fill in the variables as Grafana does: with the first value, or with all.
my %value = (__rate_interval => '1m');
sub filled
{
	my ($text) = @_;

	$text =~ s/\$(\w+)/$value{$1} \/\/ die "the dashboard has no variable $1"/ge;
	return $text;
}
foreach my $variable (grep { $_->{type} eq 'query' } @{ $shown->{templating}{list} })
{
	my ($selector, $label) = $variable->{query}{query} =~ /^label_values\((.+), (\w+)\)$/;
	my $answer = prometheus('query', query => sprintf 'group by (%s) (%s)', $label, filled($selector));
	my @values = sort map { $_->{metric}{$label} } @{ $answer->{data}{result} };

	cmp_ok(scalar @values, '>', 0, "the variable $variable->{name} has values");
	$value{ $variable->{name} } = $variable->{allValue} // $values[0];
}
my %results;
foreach my $panel (@panels)
{
	foreach my $expression (map { $_->{expr} } @{ $panel->{targets} })
	{
		my $answer = prometheus('query', query => filled($expression));

		is($answer->{error}, undef, "$panel->{title}: Prometheus understands $expression");
		cmp_ok(scalar @{ $answer->{data}{result} // [] }, '>', 0, 'Prometheus has series of the expression');
		$results{ $panel->{title} }{ $_->{metric}{project} // $_->{metric}{execution_type} // '' } = $_->{value}[1] foreach @{ $answer->{data}{result} };
	}
}
is($results{'Running containers'}{GUARANTEED}, sql(q(SELECT value FROM yquota.metrics WHERE metric = 'yquota_containers_running' AND labels ->> 'execution_type' = 'GUARANTEED')),
	'a panel shows the running containers of the view');
is_deeply([ sort keys %{ $results{'Cost of running containers'} } ], [ 'free', 'lab "1" {x}', 'poor' ], 'a panel shows the money of every project');
stop($prometheus);
stop($exporter);

SKIP:
{
	my $grafana = "$ENV{PWD}/test/grafana";
	my ($wanted) = slurp_file("$grafana/go.mod") =~ /^go 1\.([0-9]+)/m;
	my ($found) = (`sh -c 'go env GOVERSION' 2>&1` =~ /^go1\.([0-9]+)/, 0);

	skip "go 1.$wanted is not installed", 2 if $found < $wanted;
	system_or_bail('cp', '-r', $grafana, "$directory/grafana");
	system_or_bail('go', "-C=$directory/grafana", 'build', '-o', "$directory/read_dashboard");
	is(system("$directory/read_dashboard", $dashboard), 0, 'the types of Grafana read the dashboard');
	append_to_file("$directory/misspelt.json", slurp_file($dashboard) =~ s/"expr"/"expression"/r);
	isnt(system("$directory/read_dashboard $directory/misspelt.json 2>/dev/null"), 0, 'the types of Grafana refuse a dashboard with an unknown field');
}

$node->stop;
done_testing();
