# A library works only with SQL objects of its own version.
#
# The test builds the library a second time under another version, and installs objects under that version. If the
# two versions differ, the library raises an error in each new session, with both versions and a hint. The session
# cannot charge, decide or show balances, but it can still read the tables, and so dump them. Sessions that loaded the
# library of the objects continue. When both versions are equal again, the books are those of the accepted
# events.

use strict;
use warnings;

use File::Basename;
use File::Copy qw(copy);
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $other = '0.9.9';
my $tree = "$FindBin::RealBin/../..";
my ($own) = slurp_file("$tree/yquota.control") =~ /^default_version = '(.*)'$/m;
my $programs = dirname(`which postgres`);
my ($bindir, $pkglibdir, $sharedir) = map { chomp(my $d = `$ENV{PG_CONFIG} --$_`); $d } qw(bindir pkglibdir sharedir);
my ($root) = $programs =~ /^(.*)\Q$bindir\E$/;
plan skip_all => "the server's programs do not lie in a copy of its own" unless defined $root;

# The compiled objects of the tree exist already, and only the two files that contain the version
# are compiled again.
sub build_other_library
{
	my $copy = PostgreSQL::Test::Utils::tempdir . '/tree';

	system_or_bail('mkdir', $copy);
	system_or_bail('cp', '-a', map({ "$tree/$_" } qw(Makefile yquota.control src sql)), $copy);
	unlink "$copy/src/yquota.o", "$copy/src/store/catalog.o";
	system_or_bail('make', '--no-print-directory', '-s', '-C', $copy, "PG_CONFIG=$ENV{PG_CONFIG}", 'with_llvm=no', "EXTVERSION=$other", 'yquota.so');
	return "$copy/yquota.so";
}

# Make a server whose library and scripts are files of this test. Two programs are copies and all other files are
# links, because a server finds its files by the place of its program.
sub make_server
{
	my $copy = PostgreSQL::Test::Utils::tempdir . '/server';

	system_or_bail('mkdir', '-p', map { "$copy$_" } $bindir, $pkglibdir, "$sharedir/extension");
	system_or_bail('cp', "$programs/postgres", "$programs/pg_ctl", "$copy$bindir");
	foreach my $file (glob("$programs/*"), glob("$root$pkglibdir/*"), glob("$root$sharedir/*"), glob("$root$sharedir/extension/*"))
	{
		(my $link = $file) =~ s/^\Q$root\E/$copy/;
		symlink($file, $link) unless -e $link || basename($file) eq 'yquota.so';
	}
	copy("$root$sharedir/extension/yquota--$own.sql", "$copy$sharedir/extension/yquota--$other.sql") or die "could not copy the script: $!";
	append_to_file("$copy$sharedir/extension/yquota--$other--$own.sql", "SELECT 1;\n");
	return $copy;
}

my $server = make_server();
my %library = ($own => "$root$pkglibdir/yquota.so", $other => build_other_library());

# Replace the library as "make install" does: the name then refers to a new file.
sub install_library
{
	my ($version) = @_;

	copy($library{$version}, "$server$pkglibdir/yquota.so.new") or die "could not copy \"$library{$version}\": $!";
	rename("$server$pkglibdir/yquota.so.new", "$server$pkglibdir/yquota.so") or die "could not rename: $!";
	return;
}

install_library($own);
my $node = PostgreSQL::Test::Cluster->new('library_version', install_path => dirname("$server$bindir"));
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nmax_worker_processes = 16\n");
$node->start;

sub start_and_finish
{
	my ($id) = @_;

	return <<~SQL;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
			('CONTAINER_START', '$id', '2026-03-02 09:00+00', 'lab', '[vcores=2]'),
			('CONTAINER_FINISH', '$id', '2026-03-02 09:30+00', NULL, NULL);
		SQL
}

my $count = 'SELECT count(*) FROM yquota.container_event';
my %refused = (
	'an event' => start_and_finish('refused'),
	'a QUOTA_COMPUTE' => 'SELECT yquota.quota_compute()',
	'a balance' => q(SELECT * FROM yquota.balance_at('lab', '2026-03-02 10:00+00')),
	'a submission' => q(SELECT * FROM yquota.submit_application('application_1_1', 'ann', '{}')),
	'an allocation cycle' => 'SELECT * FROM yquota.schedule()',
	'a proof' => 'SELECT * FROM yquota.verify()');

# Test that the functions are refused, each in a new session.
sub are_refused
{
	my ($database, $objects, $loaded) = @_;
	my $events = $node->safe_psql($database, $count);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	foreach my $what (sort keys %refused)
	{
		my ($status, $output, $errors) = $node->psql($database, "\\set VERBOSITY verbose\n$refused{$what}");

		like($errors,
			qr/ERROR:  55000: SQL objects of extension "yquota" do not match its library\nDETAIL:  The objects have version \Q$objects\E, the library has version \Q$loaded\E\.\nHINT:  Run ALTER EXTENSION yquota UPDATE, and reconnect sessions that loaded an older library\./,
			"objects $objects, library $loaded: $what is refused");
	}
	is($node->safe_psql($database, $count), $events, "objects $objects, library $loaded: no event has been stored");
	$node->command_ok([ 'pg_dump', '-f', PostgreSQL::Test::Utils::tempdir . "/$database.sql", $database ], "objects $objects, library $loaded: the database is dumped");
	return;
}

sub is_right
{
	my ($database, $charged, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql($database, 'SELECT charged FROM yquota.project_balance; SELECT * FROM yquota.verify()'), $charged, $name);
	return;
}

sub create
{
	my ($database, $version) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0");
	$node->safe_psql($database, "CREATE EXTENSION yquota VERSION '$version'");
	return;
}

# Objects of this version, whose library is replaced by the other version
create('replaced', $own);
set_clock($node, 'replaced', '2026-03-02 10:00+00');
$node->safe_psql('replaced', q(INSERT INTO yquota.project (name) VALUES ('lab'); ) . start_and_finish('c1'));
$node->safe_psql('replaced', 'SELECT yquota.start_worker()');
is_soon($node, 'replaced', mark() . ' = yquota.clock()', 'a worker of this library');
my $session = $node->background_psql('replaced', on_error_stop => 0);

$session->query_safe('SELECT charged FROM yquota.project_balance');
install_library($other);
are_refused('replaced', $own, $other);
$session->query_safe(start_and_finish('c2'));
$session->quit;
$node->safe_psql('postgres', q(SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE backend_type = 'yquota worker'));
install_library($own);
is_right('replaced', 7200, 'with this library again, the insertions of the open session are charged');

# Objects of the other version with the library of this version
create('objects', $other);
are_refused('objects', $other, $own);
$node->safe_psql('objects', 'ALTER EXTENSION yquota UPDATE');
set_clock($node, 'objects', '2026-03-02 10:00+00');
$node->safe_psql('objects', q(INSERT INTO yquota.project (name) VALUES ('lab'); ) . start_and_finish('c1'));
is_right('objects', 3600, 'after the update, objects and library work together');

$node->stop;
done_testing();
