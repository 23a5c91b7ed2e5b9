#
# Reports.pm: all reports of money of a database, requested together. Each answer is compared with its earlier answer,
# and with models.
#
# A report is a hash with its name, SQL with columns key and value, and whether it is refused for archived history.
# The key begins with a project, if there is one. An answer is a hash of values by key, or the text "refused" with the
# SQLSTATE.
#
package Reports;

use strict;
use warnings;
use History;
use Model;

use constant QUARTER => 15 * History::MINUTE;

my @grouped = qw(project username queue application_id execution_type);
my $grouped = '{' . join(',', @grouped) . '}';
my @tagged = ('project', map { "coalesce(r.tags->>'$_', 'untagged')" } qw(team env));

# Create a function that runs a report in a subtransaction, so that a refusal is an answer.
sub install
{
	my ($session) = @_;

	$session->run(<<~'SQL');
		CREATE FUNCTION answers(report text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
		BEGIN
			RETURN QUERY EXECUTE format('SELECT concat_ws(E''\t'', %L, key, coalesce(value::text, ''none'')) FROM (%s) AS answer (key, value)', report, query);
		EXCEPTION WHEN OTHERS THEN
			RETURN NEXT concat_ws(E'\t', report, 'refused', SQLSTATE, SQLERRM);
		END
		$$;
		SQL
	return;
}

sub instant
{
	my ($at) = @_;

	return "'-infinity'" if $at == -Model::FOREVER;
	return "'infinity'" if $at == Model::FOREVER;
	return History::quoted(History::timestamp($at));
}

# Return the query of a report about columns of a relation r, with a value for each row and column.
# Values that are not amounts are marked with a colon.
sub columns
{
	my ($relation, $key, @columns) = @_;
	my @values = map { my ($name, $text) = /^(:?)(.*)/ ? ($2, $1) : (); $text ? "('$name', r.$name\::text)" : "('$name', trim_scale(r.$name)::text)" } @columns;

	return "SELECT concat_ws('|', $key, v.name), v.value FROM $relation CROSS JOIN LATERAL (VALUES " . join(', ', @values) . ') AS v (name, value)';
}

sub costs
{
	my ($call, $keys, $amount) = @_;

	return "SELECT concat_ws('|', " . join(', ', map { "coalesce($_\::text, '')" } @$keys) . "), trim_scale($amount) FROM $call AS r WHERE $amount <> 0";
}

# Return whether a window begins or ends in archived history at an instant for which no sums are
# kept.
sub is_cut
{
	my ($horizon, @ends) = @_;

	return grep { $_ < $horizon && $_ != -Model::FOREVER && $_ % QUARTER } @ends;
}

# Return the query for rows of idle_cost() that do not add up.  It also returns the charges if they are
# not those of the containers without their padding.
sub idle_identity
{
	my ($window) = @_;

	return "WITH idle AS (SELECT * FROM yquota.idle_cost($window)) "
	  . 'SELECT label || resource_type, idle::text FROM idle WHERE capacity <> allocated + unsold OR allocated <> charged + carried_along + free '
	  . 'UNION ALL '
	  . q(SELECT 'charged', format('%s, containers %s', charged.amount, due.amount) FROM (SELECT coalesce(sum(charged), 0) AS amount FROM idle) AS charged )
	  . "CROSS JOIN (SELECT coalesce((SELECT sum(amount) FROM yquota.cost_between($window, '{container_id}') WHERE container_id IS NOT NULL), 0) "
	  . "- coalesce((SELECT sum(c.amount) FROM yquota.charge AS c JOIN (VALUES ($window)) AS w (since, until) ON c.\"to\" >= w.since::timestamptz AND c.\"to\" < w.until::timestamptz "
	  . 'WHERE c.padding IS NOT NULL), 0) AS amount) AS due WHERE charged.amount <> due.amount';
}

# Return the reports about some windows [from, to], instants, and closed periods {until, closed_at},
# with history archived up to a horizon.
sub all
{
	my ($asked) = @_;
	my ($windows, $instants, $periods, $horizon, $now) = @$asked{qw(windows instants periods horizon now)};
	my ($first_day, $last_day) = map { History::quoted(substr(History::timestamp($_), 0, 10)) } $asked->{from}, $now;
	my $balance = '(SELECT *, charged + accrued AS spent FROM yquota.project_balance) AS r';
	my @reports = (
		{ name => 'balance', sql => columns($balance, 'project', qw(granted spent held remaining available burn_rate :limited_by :exhausted_at)) },
		{ name => 'metrics', sql => "SELECT labels->>'project' || '|' || metric, trim_scale(value) FROM yquota.metrics WHERE family = 'project'" },
		{ name => 'acts', graces => 1, sql => q(SELECT project || '|acts_at', (extract(epoch FROM acts_at) * 1000000)::bigint FROM yquota.project_balance WHERE acts_at IS NOT NULL) },
		{ name => 'exhausted', graces => 1, sql => q(SELECT project || '|' || container_id, action || ' ' || trim_scale(remaining) FROM yquota.exhausted_work) },
		{ name => 'holds', sql => columns('yquota.hold_status AS r', 'project, hold_id', qw(spent outstanding :state)) },
		{ name => 'grants', sql => columns('yquota.grant_status AS r', 'project, grant_id', qw(spent remaining lost :state)) },
		{ name => 'containers', leaves => 1, sql => columns('yquota.container_cost AS r', 'project, container_id',
				qw(cost :username :queue :node :execution_type :allocation :started_at :finished_at)) },
		{ name => 'explained', leaves => 1, sql => 'SELECT c.project || \'|\' || c.container_id || \'|cost\', trim_scale(sum(bill.amount)) '
			  . 'FROM yquota.container_cost AS c CROSS JOIN LATERAL yquota.explain_charge(c.container_id) AS bill GROUP BY 1' },
		{ name => 'daily_cost', sql => costs('(SELECT project, day, sum(amount) AS amount FROM yquota.daily_cost GROUP BY 1, 2)', [qw(project day)], 'r.amount') },
		{ name => 'cost_by_day', sql => costs("yquota.cost_by_day($first_day, $last_day, '{project}', 'UTC')", [qw(project day)], 'r.amount') },
		{ name => 'forecast', sql => columns('yquota.forecast() AS r', 'project', qw(remaining observed_days spent_per_day :ends_at :earliest_at :latest_at)) },
		{ name => 'usage', sql => "SELECT project || '|usage', allocation::text FROM yquota.project_usage" },
		{ name => 'queues', sql => "SELECT queue || '|' || concat_ws('|', label, username, execution_type), r::text FROM yquota.queue_usage AS r" },
		{ name => 'nodes', sql => 'SELECT node, r::text FROM yquota.node_usage AS r' },
		{ name => 'node queues', sql => columns('yquota.readable_node_queue AS r', 'project, container_id',
				map { ":$_" } qw(node execution_type allocation state enqueued_at state_at started_at waited pauses made_room_for left_at left_reason exit_status queue_limit)) },
		{ name => 'periods', grows => 1, sql => columns('(SELECT p.*, b.starts_at FROM yquota.closed_period AS p JOIN yquota.billing_period AS b ON b.ends_at = p.until) AS r', 'until', qw(:starts_at :closed_at amount)) },
		{ name => 'grand total', sql => "SELECT '', trim_scale(amount) FROM yquota.cost_between('-infinity', 'infinity', '{}')" });

	foreach my $at (@$instants)
	{
		# request only some projects, because each answer takes a while
		my $names = join(', ', map { History::quoted($_) } $asked->{some}->($at));

		push @reports, { name => "balance_at $at",
			sql => columns("(SELECT p.name AS project, b.* FROM yquota.project AS p CROSS JOIN LATERAL yquota.balance_at(p.name, @{[ instant($at) ]}) AS b WHERE p.name IN ($names)) AS r", 'project',
				qw(granted spent held remaining burn_rate :exhausted_at)) };
	}
	foreach (@$windows)
	{
		my ($from, $to) = @$_;
		my $window = join(', ', map { instant($_) } $from, $to);

		push @reports,
		  { name => "cost $from to $to", refused => scalar is_cut($horizon, $from, $to), sql => costs("yquota.cost_between($window, '$grouped')", \@grouped, 'r.amount') },
		  { name => "cost by tag $from to $to", refused => scalar is_cut($horizon, $from, $to), sql => costs("yquota.cost_between($window, '{project,tag:team,tag:env}')", \@tagged, 'r.amount') },
		  { name => "container cost $from to $to", refused => $from < $horizon, sql => costs("yquota.cost_between($window, '{project,container_id}')", [qw(project container_id)], 'r.amount') },
		  { name => "preempted $from to $to", refused => scalar is_cut($horizon, $from, $to),
			sql => columns("yquota.preemption_cost($window) AS r", q(r.project || '|' || coalesce(r.username, '') || '|' || coalesce(r.queue, '')), qw(containers gross given_back)) };
		push @reports,
		  { name => "idle $from to $to", refused => $from < $horizon, sql => columns("yquota.idle_cost($window, 'by_cost') AS r", q(r.label || '|' || r.resource_type || '|' || coalesce(r.project, '')),
				qw(capacity allocated charged carried_along free unsold waiting)) },
		  { name => "idle identity $from to $to", refused => $from < $horizon, sql => idle_identity($window) };
		next if $from == -Model::FOREVER || $to == Model::FOREVER;
		push @reports,
		  { name => "top $from to $to", refused => scalar is_cut($horizon, $from, $to), ranks => scalar is_cut($horizon, 2 * $from - $to),
			sql => columns("(SELECT * FROM yquota.top_costs($window, '{project,queue}', 5) WHERE amount <> 0) AS r", 'project, queue', qw(:rank share amount previous growth)) },
		  { name => "rerate $from to $to", refused => $from < $horizon, sql => columns("yquota.rerate($window, '$asked->{terms}') AS r", 'project', qw(was would_be difference)) };
	}
	foreach my $i (0 .. $#$periods)
	{
		my $from = $i ? $periods->[ $i - 1 ]{until} : -Model::FOREVER;
		my $window = join(', ', map { instant($_) } $from, $periods->[$i]{until});

		push @reports, { name => "bill $i as of $_", sql => costs("yquota.cost_between($window, '{project}', '$periods->[$_]{closed_at}')", ['project'], 'r.amount') } foreach $i .. $#$periods;
		push @reports, { name => "bill $i in detail", sql => costs("yquota.cost_between($window, '$grouped', '$periods->[$i]{closed_at}')", \@grouped, 'r.amount') },
		  { name => "bill $i in detail by tag", sql => costs("yquota.cost_between($window, '{project,tag:team,tag:env}', '$periods->[$i]{closed_at}')", \@tagged, 'r.amount') },
		  { name => "issued bill $i", sql => columns('(SELECT issued.project, bill.line, bill::text AS bill FROM yquota.issued_bill AS issued'
				  . " CROSS JOIN LATERAL yquota.bill(issued.project, issued.ends_at, 'application') AS bill WHERE issued.ends_at = @{[ instant($periods->[$i]{until}) ]}) AS r", 'project, line', ':bill') },
		  { name => "bill $i by container", refused => $from < $horizon, sql => costs("yquota.cost_between($window, '{project,container_id}', '$periods->[$i]{closed_at}')", [qw(project container_id)], 'r.amount') };
	}
	return @reports;
}

# Return the answers of a session.
sub answers
{
	my ($session, @reports) = @_;
	my %answers = map { ($_->{name} => {}) } @reports;
	my $sql = join('', map { "SELECT * FROM answers('$_->{name}', \$query\$$_->{sql}\$query\$);\n" } @reports);

	foreach my $line (split /\n/, $session->run($sql))
	{
		my ($name, $key, $value, $message) = split /\t/, $line, -1;

		if ($key eq 'refused')
		{
			$answers{$name} = "refused $value $message";
			next;
		}
		$answers{$name}{$key} = $value;
	}
	return \%answers;
}

# Return lines that name the differences between two answers to a report.
sub differences
{
	my ($name, $before, $after) = @_;

	return "$name: $before, then $after" if (!ref $before || !ref $after) && "$before" ne "$after";
	return () if !ref $before;
	return map { sprintf('%s: %s: %s, then %s', $name, $_, $before->{$_} // 'nothing', $after->{$_} // 'nothing') }
	  grep { ($before->{$_} // "\0") ne ($after->{$_} // "\0") } sort keys %{ { %$before, %$after } };
}

1;
