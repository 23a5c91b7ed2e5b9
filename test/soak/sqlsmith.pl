# sqlsmith runs random queries against a sample database in three roles. The roles have all rights of the owner, every
# grant that yquota knows, and no grants. No query may crash the server, corrupt data or meet an internal error
# (SQLSTATE XX000), usually "cache lookup failed". The books stay unchanged, because sqlsmith rolls back its
# statements.
#
# SQLSMITH_SEED repeats a run.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Sample;
use Soak;
use Test::More;

use constant {
	SHORT_QUERIES => 450,
	SOAK_QUERIES => 20_000,
	QUERIES_AT_A_TIME_SHORT => 150,
	QUERIES_AT_A_TIME => 1_000,
};

# Internal errors of the server itself, which any caller can cause. Some functions that PUBLIC may execute do not
# check their arguments.
my %known = (
	'argument declared any(multi)?range is not a (multi)?range type but type any(multi)?range' => 'pseudo-types are no arguments',
);

plan skip_all => 'sqlsmith is not installed here' if system('command -v sqlsmith >/dev/null');

my $node = PostgreSQL::Test::Cluster->new('sqlsmith');
$node->init;
$node->append_conf('postgresql.conf', <<~'CONF');
	shared_preload_libraries = 'yquota'
	log_statement = none
	log_min_messages = error
	log_line_prefix = '%m [%p] %u %e '
	log_error_verbosity = verbose
	max_stack_depth = 1MB
	fsync = off
	CONF
$node->start;
load_sample($node, 'sample');

# sqlsmith does not quote names, so columns such as "from" get other names.
$node->safe_psql('sample', <<~'SQL');
	CREATE ROLE smith LOGIN BYPASSRLS;
	CREATE ROLE everything LOGIN;
	CREATE ROLE stranger LOGIN;
	SELECT yquota.allow_role('everything', 'operator'), yquota.allow_role('everything', 'admin'), yquota.allow_role('everything', 'viewer');
	DO $$
	DECLARE
		relation record;
	BEGIN
		FOR relation IN
			SELECT c.oid::regclass AS name, c.relname,
				   string_agg(format('%I AS %s', a.attname, CASE WHEN quote_ident(a.attname) = a.attname THEN a.attname ELSE a.attname || '_' END), ', ') AS columns
			  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			 WHERE c.relnamespace = 'yquota'::regnamespace AND c.relkind IN ('r', 'v')
			 GROUP BY c.oid
			HAVING bool_or(quote_ident(a.attname) <> a.attname)
		LOOP
			EXECUTE format('CREATE VIEW public.%I WITH (security_invoker) AS SELECT %s FROM %s',
						   'all_of_' || relation.relname, relation.columns, relation.name);
		END LOOP;
	END
	$$;
	GRANT ALL ON SCHEMA yquota, yquota_internal TO smith;
	GRANT ALL ON ALL TABLES IN SCHEMA yquota, yquota_internal TO smith;
	GRANT ALL ON ALL SEQUENCES IN SCHEMA yquota, yquota_internal TO smith;
	GRANT ALL ON ALL FUNCTIONS IN SCHEMA yquota, yquota_internal TO smith;
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO smith, everything, stranger;
	SQL

my %is_of_server = map { $_ => 1 } split /\n/, $node->safe_psql('sample',
	q{SELECT p.prosrc FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang WHERE l.lanname = 'internal'});

my $first_seed = $ENV{SQLSMITH_SEED} // int(rand(2**31));
my ($queries, $failed, $runs) = (0, 0, 0);
my @wrong;

# smith(ROLE, COUNT, SEED): run so many queries.
sub smith
{
	my ($role, $count, $seed) = @_;
	my $from = -s $node->logfile;
	my $target = "host=" . $node->host . " port=" . $node->port . " user=$role dbname=sample";
	my ($printed, $messages);
	my $started = IPC::Run::run(
		[ 'sqlsmith', "--target=$target", "--max-queries=$count", "--seed=$seed", '--exclude-catalog', '--verbose' ],
		'>', \$printed, '2>', \$messages);
	my ($done) = ($messages =~ /^queries: (\d+)/mg)[-1] // 0;
	my $log = substr(slurp_file($node->logfile), $from);

	ok($started && $done >= $count, "$role: $done queries, seed $seed") or diag(substr($messages, -1000));
	$queries += $done;
	$failed += () = $log =~ / ERROR:  /g;
	while ($log =~ /^(\S+ \S+ \S+ \[\d+\] \S+ (XX\w{3}|P0004) .*)\n((?:.*\n){0,40})/mg)
	{
		my ($line, $following) = ($1, $3);
		my ($function) = $following =~ / LOCATION:  (\w+), /;

		next if defined $function && $is_of_server{$function};
		push @wrong, "$line\n$following" unless grep { $line =~ /$_/ } keys %known;
	}
	$runs++;
	return $started;
}

while (soak_goes_on($queries, SHORT_QUERIES, SOAK_QUERIES))
{
	my $role = (qw(smith everything stranger))[ $runs % 3 ];

	last if !smith($role, is_soak() ? QUERIES_AT_A_TIME : QUERIES_AT_A_TIME_SHORT, $first_seed + $runs);
}
note "$queries random queries in $runs runs, $failed failed, first seed $first_seed";

is(scalar @wrong, 0, 'no internal error') or diag(join "\n", @wrong[ 0 .. ($#wrong < 5 ? $#wrong : 5) ]);
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP:|cache lookup failed/, 'no server process crashed, no cache lookup failed');
is($node->safe_psql('sample', 'SELECT count(*) FROM yquota.verify()'), '0', 'the books are as they were');

done_testing();
