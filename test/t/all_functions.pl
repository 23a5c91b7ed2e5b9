# The test calls everything that SQL can call with unexpected arguments. It finds every function, aggregate, operator,
# cast and input function of both schemas in the catalog. Arguments are NULL, extreme, empty, huge and wrong-typed.
# Calls stand in FROM and in the select list. The owner, a role without privileges, and a role with every grant that
# yquota knows call the functions. A role that lacks the privilege for a function calls it only once, because the
# server refuses the call before it reads an argument.
#
# Calls may fail, with an error that gives the reason. No call may crash the server, fail with an internal error
# (SQLSTATE XX000), divide by zero or exceed the statement's time limit. The session continues. Every call is rolled
# back.
#
# "make soak" then calls functions with random combinations of arguments, as both roles that may call them.
# FUNCTIONS_SEED repeats the combinations of one run.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Calls;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Sample;
use Soak;
use Test::More;

use constant {
	STATEMENT_TIMEOUT_S => 20,
	RANDOM_CALLS_AT_A_TIME => 20_000,
	RANDOM_CALLS_LEAST => 100_000,
};

# Functions that the test does not call, with the reason.
my %not_called = ();

my $node = PostgreSQL::Test::Cluster->new('all_functions');
$node->init;
$node->append_conf('postgresql.conf', <<~CONF);
	shared_preload_libraries = 'yquota'
	statement_timeout = '${\ STATEMENT_TIMEOUT_S}s'
	lock_timeout = 0
	fsync = off
	log_min_messages = log
	log_statement = none
	log_min_error_statement = panic
	CONF
$node->start;
load_sample($node, 'sample');
$node->safe_psql('sample', q(
	CREATE ROLE stranger;
	CREATE ROLE everything;
	SELECT yquota.allow_role('everything', 'operator'), yquota.allow_role('everything', 'admin'), yquota.allow_role('everything', 'viewer'),
		   yquota.allow_role('everything', 'member', 'p1')));

my $schemas = SCHEMAS;

# rows(QUERY): return the rows of a query, each as a list of columns.
sub rows
{
	return rows_of($node, 'sample', @_);
}

learn_types($node, 'sample');
my @functions = functions($node, 'sample');

# Calls in which all arguments are ordinary, all are NULL, and all take their other values together.
sub calls_of_values_together
{
	my ($function) = @_;
	my @pools = map { [ values_of($_) ] } @{ $function->{types} };
	my ($most) = sort { $b <=> $a } 1, map { scalar @$_ } @pools;

	return map({ call($function, @$_), calls_elsewhere($function, @$_) } [ map { $_->[0] } @pools ], [ ('NULL') x @pools ]),
	  map { my $n = $_; call($function, map { $_->[ $n % @$_ ] } @pools) } 1 .. $most - 1;
}

# Calls in which one argument takes each value, and the other arguments are ordinary.
sub calls_of_function
{
	my ($function) = @_;
	my @pools = map { [ values_of($_) ] } @{ $function->{types} };
	my @ordinary = map { $_->[0] } @pools;
	my @calls = calls_of_values_together($function);

	foreach my $i (0 .. $#pools)
	{
		my @arguments = @ordinary;

		foreach my $value (@{ $pools[$i] }, q('(1,2)'::point), q('garbage'))
		{
			$arguments[$i] = $value;
			push @calls, call($function, @arguments);
		}
	}
	foreach my $left_out (1 .. $function->{defaults})
	{
		push @calls, call($function, @ordinary[ 0 .. $#ordinary - $left_out ]);
	}
	push @calls, call($function, @ordinary, '1');
	return @calls;
}

# Calls of an aggregate over extreme values: plain, distinct, filtered, of no rows, by group and
# over moving frames.
sub calls_of_aggregate
{
	my ($aggregate) = @_;
	my @types = @{ $aggregate->{types} };
	my @pools = map { [ values_of($_) ] } @types;
	my ($most) = sort { $b <=> $a } map { scalar @$_ } @pools;
	my @columns = map { "a$_" } 0 .. $#pools;
	my $arguments = join ', ', map { $types[$_] =~ /^any|^"any"/ ? "$columns[$_]::text" : "$columns[$_]::$types[$_]" } 0 .. $#pools;
	my $list = join ', ', @columns;
	my $name = $aggregate->{name};
	my @calls;

	foreach my $rows ([ 0 ], [ 1 ], map { [ 0, $_ ] } 2 .. $most - 1)
	{
		my $from = sprintf 'FROM (VALUES %s) AS v (n, %s)',
		  join(', ', map { my $n = $_; "($n, " . join(', ', map { my $v = $pools[$_][ $n % @{ $pools[$_] } ]; $types[$_] =~ /^any/ ? "($v)::text" : $v } 0 .. $#pools) . ')' } @$rows), $list;

		push @calls, "SELECT $name($arguments) $from", "SELECT $name(DISTINCT $arguments) $from",
		  "SELECT $name($arguments ORDER BY n) FILTER (WHERE n > 0) $from",
		  "SELECT $name($arguments) $from WHERE false",
		  "SELECT n, $name($arguments) $from GROUP BY GROUPING SETS ((n), ())",
		  "SELECT $name($arguments) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) $from",
		  "SELECT $name($arguments) OVER (ORDER BY n DESC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) $from";
	}
	return @calls;
}

sub pairs
{
	my ($left, $right, $format) = @_;
	my @left = $left eq '' ? ('') : values_of($left);
	my @right = values_of($right);

	return map { my $a = $_; map { sprintf $format, $a, $_ } @right } @left;
}

sub calls_of_operators
{
	return map {
		my ($operator, $left, $right) = @$_;
		pairs($left, $right, "SELECT %s $operator %s")
	} rows(qq(
		SELECT format('OPERATOR(%I.%s)', oprnamespace::regnamespace, oprname), format_type(nullif(oprleft, 0), NULL), format_type(oprright, NULL)
		  FROM pg_operator WHERE oprnamespace IN $schemas));
}

# Casts in the catalog, and casts through text, in both directions.
sub calls_of_types
{
	my @calls;

	foreach my $row (rows(qq(
		SELECT format_type(castsource, NULL), format_type(casttarget, NULL)
		  FROM pg_cast
		 WHERE 'yquota'::regnamespace IN (SELECT typnamespace FROM pg_type WHERE oid IN (castsource, casttarget)))))
	{
		push @calls, map { "SELECT ($_)::$row->[1]" } values_of($row->[0]);
	}
	foreach my $row (rows("SELECT format_type(oid, NULL) FROM pg_type WHERE typnamespace IN $schemas"))
	{
		my $type = $row->[0];

		push @calls, map { "SELECT ($_)::$type" } values_of('text');
		push @calls, map { ("SELECT ($_)::text", "SELECT to_jsonb($_)", "SELECT ARRAY[$_]::text") } values_of($type);
	}
	return @calls;
}

# Calls that forge a state of type internal, which no caller can do.
sub calls_with_forged_state
{
	return map {
		my $function = $_;
		map {
			my $forged = $_;
			call($function, map { $_ eq 'internal' ? $forged : (values_of($_))[0] } @{ $function->{types} })
		} q('x'), '0', q('\x00'::bytea), '0::bigint::text::internal', q('\x00'::bytea::internal), 'NULL::internal', 'pg_catalog.int8_avg_accum(NULL, 1)'
	} grep { grep { $_ eq 'internal' } @{ $_->{types} } } @functions;
}

my (%sqlstates, $failed);

# Run calls as a role in one session. Return the calls that went wrong, and count in $failed the
# calls that failed for any reason.
sub run_calls
{
	my ($role, @calls) = @_;
	my $script = "$PostgreSQL::Test::Utils::tmp_check/calls.sql";
	my (%wrong, $number, $messages);

	$failed = 0;
	open my $out, '>', $script or die "could not write \"$script\": $!\n";
	print $out "\\set VERBOSITY verbose\n\\o /dev/null\nSET ROLE $role;\nSET client_min_messages = error;\nBEGIN;\nSAVEPOINT before;\n";
	foreach my $i (0 .. $#calls)
	{
		print $out "\\warn \#call $i\n$calls[$i];\nROLLBACK TO before;\n";
	}
	print $out "\\warn \#call end\nSELECT 1;\nCOMMIT;\n";
	close $out;

	$node->psql('sample', undef, stdin => undef, extra_params => [ '-q', '-f', $script ], on_error_stop => 0, on_error_die => 0,
		stderr => \$messages, stdout => \my $printed);
	foreach my $line (split /\n/, $messages)
	{
		if ($line =~ /^#call (\w+)$/)
		{
			$number = $1;
		}
		elsif ($line =~ /(?:ERROR|FATAL|PANIC):\s+(\w{5}): (.*)/)
		{
			my ($sqlstate, $message) = ($1, $2);

			$failed++;
			$sqlstates{$sqlstate}++;
			# a function whose purpose is a division may report a division by zero
			next if $sqlstate eq '22012' && $number ne 'end' && $calls[$number] =~ /\bdivide_half_even\(/;
			$wrong{$number} = "$sqlstate $message" if $sqlstate =~ /^(?:XX000|22012|57014|57P|08|P0004|25P)/ || $number eq 'end';
		}
		elsif ($line =~ /server closed the connection|connection to server was lost|FATAL|PANIC/)
		{
			$wrong{$number} //= $line;
		}
	}
	$wrong{end} = 'the session ended early: ' . substr($messages, -500) if ($number // '') ne 'end';
	return map { [ $_ =~ /^\d+$/ ? $calls[$_] : $_, $wrong{$_} ] } sort keys %wrong;
}

# called_well(ROLE, WHAT, CALLS...): test that none of the calls goes wrong.
sub called_well
{
	my ($role, $what, @calls) = @_;
	my @wrong = run_calls($role, @calls);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(@calls > 0 && !@wrong, sprintf('%s: %d calls of %s', $role, scalar @calls, $what));
	diag(substr($_->[0], 0, 400) . "\n  $_->[1]") foreach @wrong[ 0 .. ($#wrong < 30 ? $#wrong : 30) ];
	return scalar @calls;
}

my @callable = grep { !$not_called{ $_->{name} } } @functions;
my @plain = grep { $_->{kind} ne 'a' } @callable;
my @aggregates = grep { $_->{kind} eq 'a' } @callable;
my %groups = (
	aggregates => [ map { calls_of_aggregate($_) } @aggregates ],
	operators => [ calls_of_operators() ],
	'types and casts' => [ calls_of_types() ],
);
my @forged = calls_with_forged_state();
my $total = 0;

# Every role calls the functions. Only the owner also varies one argument at a time, and calls aggregates, operators and
# types. The results of these calls do not depend on the role.
foreach my $role (qw(postgres stranger everything))
{
	my @names = $role eq 'postgres' ? ('functions', sort keys %groups) : 'functions';
	my %may_call = map { $_->[0] => 1 } rows("SELECT oid FROM pg_proc WHERE has_function_privilege('$role', oid, 'EXECUTE')");
	my %called = (%groups, functions => [
		map { !$may_call{ $_->{oid} } ? (calls_of_values_together($_))[0]
			  : $role eq 'postgres' ? calls_of_function($_) : calls_of_values_together($_) } @plain ]);

	$total += called_well($role, $_, @{ $called{$_} }) foreach @names;
	$total += called_well($role, 'functions with forged state', @forged);
	is($failed, scalar @forged, "$role: none with forged state succeeds");
}
note sprintf '%d calls of %d functions, %d of them aggregates', $total, scalar @callable, scalar @aggregates;

is_deeply([ unknown_types() ], [], 'there are values of every type, in Calls.pm');

# Random arguments together.
my $seed = srand($ENV{FUNCTIONS_SEED} // int(rand(2**31)));
my $random = 0;

sub random_call
{
	my $function = $plain[ rand @plain ];

	my @arguments = map { my @pool = values_of($_); $pool[ rand @pool ] } @{ $function->{types} };
	my @calls = (call($function, @arguments), calls_elsewhere($function, @arguments));

	return $calls[ rand @calls ];
}

while (soak_goes_on($random, 0, RANDOM_CALLS_LEAST))
{
	$random += called_well($_, "functions, seed $seed", map { random_call() } 1 .. RANDOM_CALLS_AT_A_TIME) foreach qw(postgres everything);
}
note "$random random calls, seed $seed";
note 'errors: ' . join ', ', map { "$_ $sqlstates{$_}" } sort keys %sqlstates;

is($node->safe_psql('sample', 'SELECT count(*) FROM yquota.verify()'), '0', 'the books are as they were');
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP:/, 'no server process crashed');

done_testing();
