# Plans compute with the same step functions of time as Hadoop 3.4.1's plans (RLESparseResourceAllocation). The test
# plays the vectors that Hadoop's own tests assert, by their names (L), and random merges in
# test/scheduler/step_function.jsonl. It also tests what agents compute from these functions: the cost of a window,
# and gaps.
#
# Each line of the file has two functions, an operator, a range, the calculator and the cluster. It ends with Hadoop's
# merge of the functions, or with the class of Hadoop's error. Steps are [time, memory, cores], or [time, null, null]
# for an undefined step. YQUOTA_STEP_RECORDS may name a file of further records, which are compared, too.
#
# No function of yquota shows step functions, so test/scheduler/step_function.c makes SQL functions of them for this
# test. Where Hadoop fails at a null, yquota continues, and such records are left out.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;

use Falsified qw(falsify unnoticed);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = PostgreSQL::Test::Utils::tempdir() . '/step_function.so';
my ($compiler, $flags, $headers) = map { my $option = $_; my $said = `$ENV{PG_CONFIG} $option`; chomp $said; $said } qw(--cc --cflags --includedir-server);
my $command = "$compiler $flags -fPIC -shared -Wl,-Bsymbolic -D_GNU_SOURCE -Isrc -I$headers -o $library"
  . join('', map { " $_.c" } qw(test/scheduler/step_function src/queues/calculator src/base/bytes_table),
	map { "src/reservation/$_" } qw(step_function plan))
  . ' -lm';
is(system($command), 0, 'step functions compile without the extension') or BAIL_OUT($command);
chmod 0755, $library;

my $node = PostgreSQL::Test::Cluster->new('step_functions');
$node->init;
$node->start;
$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION merge_steps(text, text, text, bigint, bigint, boolean, bigint, bigint) RETURNS text LANGUAGE c STRICT AS '$library';
CREATE FUNCTION change_steps(text, text) RETURNS text LANGUAGE c STRICT AS '$library';
CREATE FUNCTION value_of_steps(text, bigint) RETURNS text LANGUAGE c STRICT AS '$library';
CREATE FUNCTION intervals_of_steps(text) RETURNS text LANGUAGE c STRICT AS '$library';
CREATE FUNCTION range_of_steps(text, bigint, bigint) RETURNS text LANGUAGE c STRICT AS '$library';
CREATE FUNCTION window_of_steps(text, text, text, bigint, bigint) RETURNS text LANGUAGE c STRICT AS '$library';
CREATE FUNCTION steps_have_gap(text, text, boolean) RETURNS boolean LANGUAGE c STRICT AS '$library';
SQL

# -- vectors ----------------------------------------------------------------------------

# Cores equal memory unless they are given: "10:5" means "10:5,5".
sub full { my ($steps) = @_; return $steps =~ s/([:=])(-?\d+)(?=[\s;]|$)/$1$2,$2/gr; }

sub steps { my ($period, @steps) = @_; return join ' ', ($period ? "$period|" : ()), map { full($_) } @steps; }

# Run all cases in one session; a NULL stands for an error.
my @cases;

sub add_case { my ($name, $call, $expected) = @_; push @cases, [ $name, $call, $expected ]; return; }

sub add_merge
{
	my ($name, $a, $b, $operator, $from, $to, $expected, $is_dominant, @total) = @_;

	@total = (102400, 100) unless @total;
	add_case($name, sprintf(q(merge_steps('%s', '%s', '%s', %s, %s, %s, %d, %d)), $a, $b, $operator, map({ "'$_'::bigint" } $from, $to),
		($is_dominant ? 'true' : 'false'), @total), $expected);
	return;
}

sub add_values
{
	my ($name, $steps, %values) = @_;

	add_case("$name at $_", "value_of_steps($steps, $_)", "$values{$_},$values{$_}") foreach sort { $a <=> $b } keys %values;
	return;
}

my ($one, $other) = (steps(0, qw(10:5 20:10 30:15 40:20 50:0)), steps(0, qw(11:5 22:10 33:15 40:20 42:20 43:10)));
my ($within, $beyond) = ('subtractTestNonNegative', 'error');

add_merge('L1', $one, $other, 'add', 18, 45, steps(0, qw(18:10 20:15 22:20 30:25 33:30 40:40 43:30 45:-)));
add_merge('L2', $one, $other, 'min', 0, 60, steps(0, qw(10:5 22:10 33:15 40:20 43:10 50:0 60:-)));
add_merge('L3', $one, $other, 'max', 0, 60, steps(0, qw(10:5 20:10 30:15 40:20 50:10 60:-)));
add_merge('L4', $one, $other, 'subtract', 0, 60, steps(0, qw(10:5 11:0 20:5 22:0 30:5 33:0 43:10 50:-10 60:-)));
add_merge('L5', $one, $other, $within, 0, 60, $beyond);
add_merge('L6', '', '11:5,6', $within, 0, 60, $beyond);
add_merge('L7', '10:10,5', '11:5,6', $within, 0, 60, $beyond);
add_merge('L8', '10:5,10', '11:6,5', $within, 0, 60, $beyond);
add_merge('L9', '10:10,6', '11:5,6', $within, 0, 60, '10:10,6 11:5,0 60:-');

my @blocks = map { sprintf '%d-%d:10,10', 100 + $_, 101 + $_ } 0 .. 5;
my $added = "change_steps('', '@{[ map { qq(+$_) } @blocks ]}')";
add_values('L10', $added, 99 => 0, (map { 100 + $_ => 10 } 0 .. 5), 107 => 0);
add_values('L10, removed', "change_steps($added, '@{[ map { qq(-$_) } @blocks ]}')", map { $_ => 0 } 99 .. 107);
my $stairs = "change_steps('', '" . join(' ', map { sprintf '+%d-%d:%d,%d', 100 + $_, 101 + $_, 10 + $_, 10 + $_ } 0 .. 5) . "')";
add_values('L11', $stairs, map { 100 + $_ => 10 + $_ } 0 .. 5);
my $overlapping = "change_steps('', '+10-20:100,100 +20-30:200,200 -12-25:100,100')";
add_values('L12', $overlapping, 10 => 100, 13 => 0, 19 => 0, 21 => 100, 26 => 200);
add_values('L12, removed', "change_steps($overlapping, '-9-13:100,100')", 9 => -100, 11 => 0, 13 => 0, 20 => 100);
add_case('L13', "change_steps('', '+0-9223372036854775807:0,0')", '');
add_case('L14', q(intervals_of_steps(change_steps('', '+101-102:5,5 +102-103:10,10 +103-104:10,10 +104-105:5,5 +106-107:5,5'))),
	full('[101,102)=5 [102,104)=10 [104,105)=5 [105,106)=0 [106,107)=5'));
# The test computes two more values, which no plan needs. The first is the greatest value at a time and at each
# period after it, up to the last step. The second is the least value in a range.
sub add_greatest
{
	my ($name, $steps, $last, $tick, $period, $expected) = @_;

	add_case("$name from $tick by $period",
		"(SELECT coalesce(max(split_part(value_of_steps('$steps', t), ',', 1)::bigint), 0)::text FROM generate_series($tick, $last, $period) AS t)", $expected);
	return;
}

sub add_least
{
	my ($name, $steps, $from, $to, $expected) = @_;

	add_case("$name in $from to $to", "(SELECT min(value[1]::bigint)::text FROM regexp_matches(range_of_steps('$steps', $from, $to), ':(-?\\d+),', 'g') AS value)", $expected);
	return;
}

my @eight = map { "$_->[0]:$_->[1]" } ([ 0, 2 ], [ 1, 5 ], [ 2, 7 ], [ 3, 10 ], [ 4, 3 ], [ 5, 4 ], [ 6, 6 ], [ 7, 8 ]);
my @seventh_is_0 = (@eight[ 0 .. 5 ], '6:0', '7:8');
add_greatest('L15', steps(0, @eight), 7, @$_) foreach [ 0, 1, 10 ], [ 0, 2, 7 ], [ 0, 3, 10 ], [ 0, 4, 3 ], [ 0, 5, 4 ], [ 7, 5, 8 ], [ 10, 3, 0 ];
add_least('L16', steps(0, @seventh_is_0), @$_) foreach [ 1, 3, 5 ], [ 2, 5, 3 ], [ 1, 7, 0 ];
# the greatest value of a periodic function, within the period that contains the begin
add_greatest('L18', steps(8, @eight), 8 * int($_->[0] / 8) + 7, @$_) foreach [ 0, 1, 10 ], [ 8, 2, 7 ], [ 16, 3, 10 ], [ 17, 4, 5 ], [ 32, 5, 4 ];
add_values('L17', q(') . steps(20, qw(0:10 5:7 10:5 15:2 19:0)) . q('), 10 => 5, 20 => 10, 27 => 7, 50 => 5);
my $repeated = sprintf q(merge_steps('%s', '%s', 'add', 2, 25, false, 102400, 100)), steps(10, qw(1:2 2:5 3:0)), steps(0, qw(12:10 13:10 14:0));
add_values('L19', $repeated, 2 => 5, 3 => 0, 11 => 2, 12 => 15, 13 => 10, 14 => 0, 21 => 2, 22 => 5, 23 => 0);
add_values('L20', sprintf(q(change_steps('%s', '+5-10:8,8')), steps(10, qw(1:2 2:5 3:0))), 5 => 8, 9 => 8, 10 => 0, 0 => 0);

# -- agents -----------------------------------------------------------------------------

sub gigabytes { my (@steps) = @_; return join ' ', map { my ($time, $gb) = split /:/; "$time:" . 1024 * $gb . ",$gb" } @steps; }

sub add_window
{
	my ($from, $to, $room, $cost) = @_;

	add_case("window [$from,$to)", sprintf(q(window_of_steps('%s', '%s', '%s', %d, %d)), gigabytes(qw(10:4 20:8 30:4 40:0)), gigabytes(qw(20:5 30:0)), gigabytes(qw(25:1 35:0)), $from, $to),
		"$room $cost");
	return;
}

sub add_gap
{
	my ($name, $result, $request, $is_early, $has_gap) = @_;

	add_case("gap: $name", sprintf(q(steps_have_gap('%s', '%s', %s)::text), full($result), full($request), $is_early ? 'true' : 'false'), $has_gap ? 'true' : 'false');
	return;
}

add_window(@$_) foreach [ 10, 30, 4, '0.55' ], [ 10, 31, 3, '0.56' ], [ 15, 30, 4, '0.55' ], [ 15, 31, 3, '0.56' ], [ 22, 23, 8, '0.05' ], [ 39, 41, 0, '0.00' ];
foreach my $is_early (1, 0)
{
	my ($side, $far, $near, $hole) =
	  $is_early ? ('left', '10:5 12:0', '10:5 15:0', '15:5 16:0 17:5 18:0') : ('right', '18:5 20:0', '17:5 20:0', '14:5 15:0 16:5 17:0');

	add_gap("$side, none before", '', '15:5 17:0', $is_early, 0);
	add_gap("$side, apart", $far, '15:5 17:0', $is_early, 1);
	add_gap("$side, touching", $near, '15:5 17:0', $is_early, 0);
	add_gap("$side, hole", $near, $hole, $is_early, 1);
}

# -- records ----------------------------------------------------------------------------

sub written
{
	my ($steps) = @_;

	return join ' ', map { my ($time, @amounts) = @$_; "$time:" . (@amounts == 2 && !defined $amounts[0] && !defined $amounts[1] ? '-' : join ',', map { $_ // 'null' } @amounts) } @$steps;
}

# The expected answer.
sub outcome
{
	my ($result) = @_;

	return written($result->{value}) if exists $result->{value};
	return ($result->{error} // '') eq 'PlanningException' ? $beyond : 'unknown';
}

my @records;
foreach my $record (map { decode_json($_) } map { split /\n/, slurp_file($_) } grep { defined } 'test/scheduler/step_function.jsonl', $ENV{YQUOTA_STEP_RECORDS})
{
	next if ($record->{result}{error} // '') eq 'NullPointerException';
	add_merge($record->{id}, (map { written($record->{$_}) } qw(a b)), @$record{qw(operator from to)}, outcome($record->{result}), $record->{drf}, @{ $record->{total} });
	push @records, $record;
}

my @answers = split /\n/, $node->safe_psql('postgres', join '', map { "SELECT coalesce($_->[1], '$beyond');\n" } @cases), -1;
is($answers[$_], $cases[$_][2], $cases[$_][0]) foreach 0 .. $#cases;
cmp_ok(scalar @records, '>', 50, 'records were compared');

# Falsified results, which the comparison must find.
my %answer = map { $cases[$_][0] => $answers[$_] } 0 .. $#cases;
my @falsified = falsify(\@records, figure => sub { $_[0] =~ m{^result/} });
is(unnoticed(\@falsified, map { $answer{ $_->[1]{id} } ne outcome($_->[1]{result}) } @falsified), '', 'every falsified result is found');
cmp_ok(scalar @falsified, '>', 10, 'kinds of falsifications');
note(scalar(@falsified) . ' falsifications');

$node->stop;
done_testing();
