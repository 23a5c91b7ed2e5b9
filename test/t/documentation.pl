# The documentation is true: its examples print the output of the server, and the reference names every object and no
# object that does not exist.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Each of these pages runs its examples in its own database. A block of sql runs as it stands. If a block of text
# follows, that block must be its output. Blocks of other kinds are not run. The examples of docs/feeding.md run in
# feeding_examples.pl. Two pages create the extension. The databases of the others have it already, because creating
# it takes longer than most examples.
my @pages = qw(README.md docs/cheat-sheet.md docs/charging.md docs/balances.md docs/clients.md docs/reports.md docs/queues.md docs/scheduling.md
	docs/preemption.md docs/opportunistic.md docs/reservations.md docs/privileges.md docs/install.md docs/monitoring.md docs/tuning.md
	docs/kubernetes.md docs/memory-seconds.md docs/month-end.md docs/scale-out.md docs/internals.md);
my @all_pages = ('README.md', glob('docs/*.md'));

my $node = PostgreSQL::Test::Cluster->new('documentation');
$node->init;
$node->start;

# Return the text without the blanks with which psql pads lines.
sub trimmed
{
	my ($text) = @_;

	$text =~ s/[ \t]+$//mg;
	$text =~ s/\s+\z//;
	return $text;
}

# Run blocks one after the other in a session. Return for each block its output, with errors last, and the state that
# it leaves in the session: nothing, a role, settings or a transaction.
sub printed
{
	my ($database, @blocks) = @_;
	local $ENV{PGTZ} = 'UTC';
	my ($script, $output, $errors) = ('', '', '');
	my $left = q(SELECT concat_ws(' ', CASE WHEN current_user <> session_user THEN current_user END,
		(SELECT string_agg(name, ' ') FROM pg_settings WHERE source = 'session'), CASE WHEN now() <> statement_timestamp() THEN 'transaction' END));

	$script .= "$_\n\\echo left:\n\\set QUIET on\n\\pset tuples_only on\n\\pset format unaligned\n$left;\n"
		. "\\pset format aligned\n\\pset tuples_only off\n\\set QUIET off\n\\echo end of block\n\\warn end of block\n" foreach @blocks;
	IPC::Run::run([ 'psql', '-X', '-v', 'SHOW_CONTEXT=never', '-d', $node->connstr($database) ], '<', \$script, '>', \$output, '2>', \$errors);
	my @errors = split /^end of block\n/m, $errors, -1;
	return map {
		my $printed = $_;
		my $session = $printed =~ s/^left:\n(.*)\n\z//m ? $1 : 'a transaction that failed';
		{ output => trimmed($printed . shift @errors), session => $session }
	} (split /^end of block\n/m, $output)[ 0 .. $#blocks ];
}

sub examples
{
	my ($page) = @_;
	my @blocks;

	my $text = slurp_file($page);
	while ($text =~ /^```(\w*)\n(.*?)^```$/msg)
	{
		push @blocks, { kind => $1, text => $2, line => 1 + (substr($text, 0, $-[0]) =~ tr/\n//) };
	}
	return @blocks;
}

sub test_examples
{
	my ($page) = @_;
	my $database = $page =~ s/\W/_/gr;
	my @blocks = examples($page);
	my @run = grep { $blocks[$_]{kind} eq 'sql' } 0 .. $#blocks;
	# The page marks the blocks that need a separate session.
	my %is_alone = map { $_ => 1 } grep { $blocks[$_]{text} =~ /\A-- in a session of its own\n/ } @run;
	my $creates = $page =~ /README|install/;
	my @printed;

	$node->safe_psql('postgres', qq{CREATE DATABASE "$database"} . ($creates ? ' TEMPLATE template0' : ''));
	while (@printed < @run)
	{
		my ($first, @others) = @run[ @printed .. $#run ];
		my @session = $first;

		push @session, shift @others while @others && !$is_alone{ $session[0] } && !$is_alone{ $others[0] };
		push @printed, printed($database, map { $creates ? $_->{text} : $_->{text} =~ s/^CREATE EXTENSION yquota;$/\\echo CREATE EXTENSION/mr } @blocks[@session]);
	}
	foreach my $i (@run)
	{
		my $place = "$page, line $blocks[$i]{line}";
		my ($found, $left) = @{ shift @printed }{qw(output session)};

		if ($is_alone{$i})
		{
			isnt($left, '', "$place: needs a session of its own");
		}
		else
		{
			is($left, '', "$place: leaves its session as it was");
		}
		if ($i < $#blocks && $blocks[ $i + 1 ]{kind} eq 'text')
		{
			is($found, trimmed($blocks[ $i + 1 ]{text}), "$place: prints what it shows");
		}
		else
		{
			unlike($found, qr/^(ERROR|FATAL|WARNING)/m, "$place: runs");
		}
	}
	ok(@run > 0, "$page: has examples");
	is($node->safe_psql($database, 'SELECT count(*) FROM yquota.verify()'), '0', "$page: the books are right afterwards");
}

test_examples($_) foreach @pages;

# Each task of the cheat sheet is a comment, and the statement below it does the task.
my @tasks = map { $_->{text} =~ /^-- (.*\n(?:.*))/mg } grep { $_->{kind} eq 'sql' } examples('docs/cheat-sheet.md');
cmp_ok(scalar(@tasks), '>=', 60, 'the cheat sheet has 60 tasks');
is(join("\n", grep { !/\n[A-Z]+ / && !/\nBEGIN;\z/ } @tasks), '', 'a statement follows each task');

# Calculations in the text are right: the terms left and right of an equals sign are equal, where
# both are numbers.
my @sums;
my $prose = slurp_file('docs/internals.md') =~ s/^```.*?^```$//msgr;
while ($prose =~ /^(.*=.*)$/mg)
{
	my @sides = split(/=/, $1);

	foreach my $i (0 .. $#sides - 1)
	{
		my ($left) = $sides[$i] =~ /([\d(][\d.()+\xc3\x97\/ -]*)$/;
		my ($right) = $sides[ $i + 1 ] =~ /^ ([\d.]*\d)/;

		next unless defined $left && defined $right && $left =~ /\d (?:\+|-|\xc3\x97) /;
		push @sums, "($left) = $right";
	}
}
cmp_ok(scalar(@sums), '>=', 12, 'docs/internals.md has sums');
foreach my $sum (@sums)
{
	my $sql = $sum =~ s/\xc3\x97/*/gr =~ s/(\d+(?:\.\d+)?)/$1::numeric/gr;

	is($node->safe_psql('postgres', "SELECT $sql"), 't', "docs/internals.md: $sum");
}

#
# The reference.  A section begins with a heading and belongs to the objects
# that the heading names.
#
my $reference = slurp_file('docs/reference.md');
my %section;
while ($reference =~ /^#{2,4} ([^\n]*)\n(.*?)(?=^#{2,4} |\z)/msg)
{
	my ($heading, $body) = ($1, $2);
	$section{$1} = ($section{$1} // '') . $body while $heading =~ /`(?:yquota\.)?([a-z_]+)/g;
}

sub list
{
	my ($query) = @_;
	return split(/\n/, $node->safe_psql('README_md', $query));
}

sub missing_sections
{
	return join(' ', grep { !defined $section{$_} } @_);
}

my $ours = q{EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'yquota' AND d.objid = };
my $public = q{'yquota'::regnamespace};

my @relations = list("SELECT relname FROM pg_class c WHERE relkind IN ('r', 'v', 'p', 'm', 'f') AND relnamespace = $public AND $ours c.oid)");
my @functions = list("SELECT DISTINCT proname FROM pg_proc p WHERE pronamespace = $public AND $ours p.oid)");
my @types = list("SELECT typname FROM pg_type t WHERE (typtype IN ('b', 'e', 'd', 'r') OR EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind = 'c')) AND typcategory <> 'A' AND typnamespace = $public AND $ours t.oid)");
my @settings = list("LOAD 'yquota'; SELECT name FROM pg_settings WHERE name LIKE 'yquota.%' UNION SELECT 'yquota.databases'");

cmp_ok(scalar(@relations), '>', 30, 'tables and views were found');
is(missing_sections(@relations), '', 'every table and view has a section');
is(missing_sections(@functions), '', 'every function has a section');
is(missing_sections(@types), '', 'every type has a section');
is(join(' ', grep { $reference !~ /^\| `\Q$_\E` \|/m } @settings), '', 'every setting has a row');

my @columns = list(q{SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
	WHERE c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped AND c.relnamespace = } . "$public AND $ours c.oid)");
is(join(' ', grep { my ($relation, $column) = split /\./; ($section{$relation} // '') !~ /`\Q$column\E`/ } @columns),
	'', 'every column is in the section of its table or view');

# help() and the reference list the same objects for use in other databases.
my ($for_others) = $reference =~ /^## For other databases\n(.*?)^## /ms;
my %for_others = map { $_ => 1 } map { /`(\w+)`/g } $for_others =~ /^#### (.*)$/mg;
is(join(' ', sort keys %for_others), join(' ', sort(list(q{SELECT DISTINCT substring(call FROM '^yquota\.(\w+)') FROM yquota.help('cluster')}))),
	'objects for other databases stand under one heading');

# The reference describes each column in the words of its COMMENT, apart from the marks of Markdown. Show both texts
# where they differ.
my %comment = map { split /\|/, $_, 2 } list(q{SELECT c.relname || '.' || a.attname || '|' || regexp_replace(coalesce(col_description(c.oid, a.attnum), ''), '\s+', ' ', 'g')
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
	WHERE c.relkind IN ('r', 'v', 'c') AND a.attnum > 0 AND NOT a.attisdropped AND c.relnamespace = } . "$public AND $ours c.oid) ORDER BY 1");
my ($descriptions, @different) = (0);
foreach my $relation (sort keys %section)
{
	while ($section{$relation} =~ /^\| (`.*) \|$/mg)
	{
		my @cells = split / \| ?/, $1, -1;
		my $description = $#cells > 1 ? $cells[-1] =~ s/\[([^\]]*)\]\([^)]*\)/$1/gr =~ s/`|\\(?=\|)//gr : next;

		foreach my $column (grep { defined $comment{$_} } map { "$relation.$_" } $cells[0] =~ /`(\w+)`/g)
		{
			$descriptions++;
			push @different, "$column\n  reference: $description\n  COMMENT:   $comment{$column}" if $description ne $comment{$column};
		}
	}
}
cmp_ok($descriptions, '>', 1000, 'columns are described');
is(join("\n", @different), '', 'descriptions of columns are their COMMENTs');

my @arguments = list("SELECT proname || '.' || a.name FROM pg_proc p, unnest(p.proargnames) AS a (name)
	WHERE a.name <> '' AND pronamespace = $public AND $ours p.oid)");
is(join(' ', grep { my ($function, $name) = split /\./; ($section{$function} // '') !~ /\b\Q$name\E\b/ } @arguments),
	'', 'every argument and result column is in the section of its function');

my @labels = list("SELECT typname || '.' || enumlabel FROM pg_enum e JOIN pg_type t ON t.oid = enumtypid WHERE typnamespace = $public");
is(join(' ', grep { my ($type, $label) = split /\./; ($section{$type} // '') !~ /`\Q$label\E`/ } @labels),
	'', 'every label of an enum is in the section of its type');

my %default = map { split /\|/, $_, 2 } list(q{LOAD 'yquota'; SELECT name || '|' || current_setting(name) FROM pg_settings WHERE name LIKE 'yquota.%'});
is(join(' ', grep { $reference !~ /^\| `\Q$_\E` \|[^|\n]*\| `\Q$default{$_}\E` \|/m } sort keys %default),
	'', 'the documented defaults of settings are the real ones');

# Every yquota.something that the pages name exists. Labels of Kubernetes have the domain yquota.io.
my %known = map { $_ => 1 } @relations, @functions, @types, (map { s/^yquota\.//r } @settings),
  'control', 'so', 'sql', 'out', 'h', 'c';
my %unknown;
foreach my $page (@all_pages)
{
	my $text = slurp_file($page);
	while ($text =~ m{\byquota\.(?!io\b)([a-z_]+)}g)
	{
		$unknown{"$page: $1"} = 1 unless $known{$1};
	}
}
is(join(', ', sort keys %unknown), '', 'everything that the pages name exists');

#
# SQLSTATEs: every condition that the sources raise is in the table of errors.
#
my %condition;
foreach my $file (glob('src/*.c src/*/*.c src/*/*/*.c sql/*/[0-9]*.sql'))
{
	my $text = slurp_file($file);

	$condition{ lc $1 } = 1 while $text =~ /\bERRCODE_(?:E_R_I_E_|T_R_)?([A-Z_]+)\b/g;
	$condition{$1} = 1 while $text =~ /\bERRCODE\s*=\s*'(\w+)'/g;
	$condition{$1} = 1 while $text =~ /\bRAISE\s+([a-z_]+)\s+USING\b/g;
}
cmp_ok(scalar(keys %condition), '>', 15, 'conditions were found in the sources');
foreach my $name (sort keys %condition)
{
	# conditions of yquota's own, for which the server has no name
	if ($name =~ /^YQ/)
	{
		like($reference, qr/^\| `\Q$name\E` \| `[a-z_]+` \|/m, "$name is in the table of errors");
		next;
	}
	my ($status, $output, $errors) = $node->psql('postgres', "DO \$\$ BEGIN RAISE $name; END \$\$", extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
	my ($sqlstate) = $errors =~ /ERROR:\s+(\w{5})/;

	like($reference, qr/^\| `\Q$sqlstate\E` \| `\Q$name\E` \|/m, "$name is in the table of errors");
}

#
# The page about preemption: administrators turn it on and use its what-if statements, and operators use its
# queries. An operator and members run "Why was my container killed?".
#
my $chapter = slurp_file('docs/preemption.md') =~ s/^```.*?^```$//msgr;
my ($what_if) = $chapter =~ /^ +(BEGIN;\n.*?ROLLBACK;)$/ms;
my ($of_member, $of_operator, undef, $turn_on, $figures, $of_next, $kill) = $chapter =~ s/\Q$what_if\E//r =~ /^ {4,}((?:INSERT|SELECT|UPDATE) .*?;)$/msg;
$node->safe_psql('postgres', 'CREATE DATABASE killed');
$node->safe_psql('killed', <<~'SQL');
	CREATE EXTENSION IF NOT EXISTS yquota;
	SELECT yquota.set_clock('2026-03-02 10:00+00');
	INSERT INTO yquota.project (name) VALUES ('p'), ('q');
	INSERT INTO yquota.queue (path, capacity, user_limit_factor) VALUES ('root', NULL, NULL), ('root.a', '50', 10), ('root.b', '30', 10), ('root.c', '20', 10);
	INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=16384,vcores=16]');
	SELECT yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true);
	SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 16);
	SELECT count(*) FROM generate_series(1, 16) AS heartbeat, LATERAL yquota.schedule(max_containers => heartbeat);
	SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
	SELECT yquota.submit_application('application_1_0002', 'bob', '{}', 'b', project => 'q', unmanaged => true);
	SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024]', 1);
	CREATE ROLE operator_of_books; CREATE ROLE member_of_p; CREATE ROLE member_of_q; CREATE ROLE admin_of_books;
	SELECT yquota.allow_role('operator_of_books', 'operator'), yquota.allow_role('member_of_p', 'member', 'p'), yquota.allow_role('member_of_q', 'member', 'q'),
		yquota.allow_role('admin_of_books', 'admin');
	SQL

sub asked_by
{
	my ($role, $sql) = @_;

	return $node->safe_psql('killed', "SET timezone = 'UTC'; SET ROLE $role; $sql");
}
my $round = 'SELECT outcome, reason FROM yquota.preempt_containers()';
asked_by('admin_of_books', $turn_on);
is(asked_by('operator_of_books', $round), 'observed|the round only observes: preemption_observe_only is on', 'preemption rounds only observe at first');
like(asked_by('operator_of_books', $figures), qr/^root\.a\|\[memory-mb=16384,vcores=16\]\|\[memory-mb=8192,vcores=8\]\|\[\]\|\[memory-mb=15360\]\|/m,
	'an operator sees the figures of queues');
like(asked_by('operator_of_books', $of_next), qr/^observed\|container_1_0001_01_000016\|root\.a\|fifo\|/m, 'an operator sees the containers that would be taken');
asked_by('admin_of_books', $kill);
$node->safe_psql('killed', "SELECT yquota.set_clock('2026-03-02 10:00:01+00')");
is(asked_by('operator_of_books', $round), 'marked|', 'later, rounds mark containers');
$node->safe_psql('killed', "SELECT yquota.set_clock('2026-03-02 10:00:16+00')");
is(asked_by('operator_of_books', $round), 'killed|', 'then rounds kill containers');
asked_by('operator_of_books', 'SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision))');
$node->restart;
is(asked_by('operator_of_books', $of_operator),
	'2026-03-02 10:00:16+00|2026-03-02 10:00:01+00|fifo|root.a|n1|[memory-mb=1024,vcores=1]|[memory-mb=16384,vcores=16]|[memory-mb=8192,vcores=8]|[memory-mb=15360]|',
	'an operator learns why a container was killed, once the decision is acknowledged and the server was restarted');
is(asked_by('member_of_p', $of_member), '2026-03-02 10:00:16+00|container_1_0001_01_000016|root.a|[memory-mb=16384,vcores=16]|[memory-mb=8192,vcores=8]|f', 'a member of the project learns the reason, too');
is(asked_by('member_of_q', $of_member), '', 'members of other projects do not see the container');
like(asked_by('admin_of_books', $what_if), qr/^spared\|\|root\.a\|\[memory-mb=15360,vcores=15\]\|\[memory-mb=3276,vcores=3\]\|the demand of queues below their guarantees is met without it$/m,
	'an administrator asks which containers would be preempted with other capacities');
is($node->safe_psql('killed', "SELECT capacity FROM yquota.queue WHERE path = 'root.a'"), '50', 'the capacities stay as they are');

# The glossary lists words that other pages use, in alphabetical order. Each word has a link and a
# short sentence.
my $others = join("\n", map { $_ eq 'docs/glossary.md' ? () : slurp_file($_) } @all_pages);
my @wrong;
my $entries = 0;
foreach my $section (split /^## /m, slurp_file('docs/glossary.md'))
{
	my @words;

	while ($section =~ /^\| \[([^\]]+)\]\([^)]+\) \| (.*) \|$/mg)
	{
		my ($word, $meaning) = ($1, $2);

		push @words, lc $word;
		push @wrong, "\"$word\" is in no page" unless $others =~ /\b\Q$word\E/i;
		push @wrong, "the meaning of \"$word\" is no short sentence" unless $meaning =~ /\.$/ && split(' ', $meaning) <= 25;
	}
	push @wrong, "order of @words" unless "@words" eq join ' ', sort @words;
	my @rows = $section =~ /^\| (?!word \|)/mg;
	push @wrong, 'a row without a link in: ' . $section if @rows != @words;
	$entries += @words;
}
cmp_ok($entries, '>', 40, 'the glossary has entries');
is(join('; ', @wrong), '', 'other pages use the words of the glossary, and its sentences are short');

# The changelog begins with the tree's version.
my ($version) = slurp_file('yquota.control') =~ /^default_version = '(.*)'$/m;
my ($newest) = slurp_file('docs/changelog.md') =~ /^## ([\d.]+) - (?:unreleased|\d{4}-\d\d-\d\d)$/m;
is($newest, $version, 'the changelog has the version');

$node->stop;
done_testing();
