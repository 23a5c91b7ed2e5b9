#!/usr/bin/env perl
# long_sql.pl FILE...
#
# Print the SQL statements in C sources that belong into views or functions of yquota_internal. These are statements
# of more than five lines and statements that join tables. A macro that is used once counts with the lines of its
# text. Any other macro counts as none, because its text is checked separately. A statement may join a table to a
# list of parameters, unnest($1, ...), which no view can have.

use strict;
use warnings;

use constant MOST_LINES => 5;

# Statements that change rows of several tables with one snapshot, which shows the newest committed
# state at every isolation level (store/saved_plan.h). An SQL function would use the snapshot of its
# transaction, and be planned for each call. A view cannot change rows.
my $one_snapshot = 'changes several tables by one snapshot';
my %exceptions = (
	'src/opportunistic/node_queue/record_node_queue.c insert' => 'writes a row with all its columns, or in place of an earlier one',
	'src/opportunistic/record_opportunistic.c reduce' => $one_snapshot,
	'src/opportunistic/record_opportunistic.c write' => $one_snapshot,
	'src/preemption/record_preemption.c mark' => $one_snapshot,
	'src/scheduler/record/expiry.c END_RUNNING' => $one_snapshot,
	'src/scheduler/record/expiry.c expire_awaited' => $one_snapshot,
	'src/scheduler/record/expiry.c expire_decisions' => $one_snapshot,
	'src/scheduler/record/preempted_containers.c RUNNING_WITH' => $one_snapshot,
	'src/scheduler/record/preempted_containers.c WITH_MARKS' => $one_snapshot,
	'src/scheduler/record/preempted_containers.c claim' => 'compares what the beginning of all these statements has found',
	'src/scheduler/record/preempted_containers.c make' => $one_snapshot,
	'src/scheduler/record/preempted_containers.c put_back' => $one_snapshot,
	'src/scheduler/record/record_applications.c drop' => $one_snapshot,
	'src/scheduler/record/record_applications.c end' => $one_snapshot,
	'src/scheduler/record/record_containers.c revert' => $one_snapshot,
	'src/scheduler/record/record_containers.c update' => $one_snapshot,
	'src/scheduler/request/container_request.c upsert' => 'one row, of which an entry of another kind keeps a part');

my $string = qr/"(?:\\.|[^"\\\n])*"/;
# A macro with arguments, which may themselves be strings and macros.
my $macro = qr/\b[A-Z][A-Z0-9_]+\b(?:\((?:$string|[^()"])*\))?/;

# Each text has its file, line, text, and the name of the macro or the variable.
my (@texts, %uses, %lines, %found);

# Return the lines that contain constants of the text itself.
sub own_lines
{
	my ($text) = @_;

	return scalar grep { s/$macro//gr =~ /"/ } split /\n/, $text;
}

# Return the names of macros, except those in arguments of other macros.
sub macros
{
	my ($text) = @_;

	return map { defined && /^(\w+)/ ? $1 : () } $text =~ /$string|($macro)/g;
}

for my $file (@ARGV)
{
	open my $in, '<', $file or die "$file: $!\n";
	my $code = do { local $/ = undef; <$in> };

	close $in;
	# remove comments, but keep line breaks
	$code =~ s{($string|'(?:\\.|[^'\\\n])+')|(/\*.*?\*/)}{ defined $1 ? $1 : $2 =~ tr/\n//cdr }gse;
	while ($code =~ /^#define[ \t]+(\w+)(?:\([\w, ]*\))?((?:[^\n]*\\\n)*[^\n]*)/gm)
	{
		my ($name, $text, $line) = ($1, $2, 1 + substr($code, 0, $-[0]) =~ tr/\n//);

		next if $text !~ /"/;
		push @texts, { file => $file, line => $line, name => $name, text => $text };
		$lines{$name} = own_lines($text);
	}
	$code =~ s/^#(?:[^\n]*\\\n)*[^\n]*/$& =~ tr{\n}{}cdr/gme;
	while ($code =~ /(?:$string|$macro)(?:\s*(?:$string|$macro))*/g)
	{
		my ($text, $before) = ($&, substr($code, 0, $-[0]));

		next if $text !~ /"/;
		push @texts, { file => $file, line => 1 + $before =~ tr/\n//, text => $text,
			name => $before =~ /.*\bYqSavedPlan\s+(\w+)/s ? $1 : 'statement' };
	}
}
$uses{$_}++ foreach map { macros($_->{text}) } @texts;

for my $text (@texts)
{
	my $sql = join '', $text->{text} =~ /"((?:\\.|[^"\\\n])*)"/g;
	next if $sql !~ /^ ?\(?(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b|\b(?:FROM|JOIN|INTO|UPDATE|AS \() ?(?:yquota|LATERAL|\w+ AS\b)/;

	my $count = own_lines($text->{text});
	$count += $lines{$_} // 0 foreach grep { $uses{$_} == 1 } macros($text->{text});

	my $others = $sql =~ s/\bunnest\(\$\d[^()]*\)(?: WITH ORDINALITY)? AS \w+ \([^()]*\)(?:\) AS \w+)? (?:LEFT )?JOIN\b//r;
	next if ($count <= MOST_LINES && $others !~ /\bJOIN\b/) || $exceptions{"$text->{file} $text->{name}"} && ++$found{"$text->{file} $text->{name}"};
	print "$text->{file}:$text->{line}: $text->{name}: ", $count > MOST_LINES ? "$count lines" : 'joins tables', "\n";
}
print "$_: no exception is needed\n" foreach grep { !$found{$_} } sort keys %exceptions;
