# The disk becomes full while events, ledger and counters are written, and while a statement sorts. It also becomes
# full while WAL is written, which makes the server panic. No event is partly charged, and the feed continues when
# there is space again.
#
# The disks are small file systems in memory, mounted in a namespace of this test. No other process sees the
# namespace, which ends with the test. Where namespaces are not allowed, the test is skipped.

use strict;
use warnings;

# Sizes of the file systems in megabytes
use constant DISKS => (tables => 64, sort => 6, wal => 24);

# Mount the disks as root of a namespace. Run the test in another namespace below it under the original account,
# because servers do not run as root. Do this before loading any module that redirects the output.
BEGIN
{
	if (!$ENV{YQUOTA_DISKS})
	{
		require File::Temp;
		my $disks = File::Temp::tempdir(CLEANUP => 1);
		my %size = DISKS();
		my $mount = join ' && ', map { "mkdir -p $disks/$_ && mount -t tmpfs -o size=$size{$_}m,mode=0777 yquota $disks/$_" } sort keys %size;
		my $again = sprintf 'unshare --user --map-user=%d --map-group=%d', $>, $) + 0;
		my @enter = ('unshare', '--user', '--map-root-user', '--mount', 'sh', '-c');

		if (system(@enter, "($mount && $again true) >/dev/null 2>&1"))
		{
			print "1..0 # SKIP this account may not mount file systems in a namespace of its own\n";
			exit 0;
		}
		$ENV{YQUOTA_DISKS} = $disks;
		system(@enter, "$mount && exec $again \"\$@\"", 'sh', $^X, $0);
		exit($? == -1 || $? & 127 ? 255 : $? >> 8);
	}
}

use FindBin;
use lib $FindBin::RealBin;
use Control;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use WorkerNode;

my $disks = $ENV{YQUOTA_DISKS};
my $columns = Control::EVENT_COLUMNS;
my %count = (full => 0, finished => 0, sort_full => 0, panics => 0);

sub free_space
{
	my ($disk) = @_;
	my ($out) = run_command([ 'df', '-B1', '--output=avail', "$disks/$disk" ]);

	return (split /\s+/, $out)[-1];
}

# Fill a disk until so many bytes are free.
sub fill
{
	my ($disk, $left) = @_;
	my $bytes = free_space($disk) - int($left);

	system_or_bail('fallocate', '-l', $bytes, "$disks/$disk/ballast") if $bytes > 0;
	return;
}

sub clear
{
	my ($disk) = @_;

	unlink "$disks/$disk/ballast";
	return;
}

my $node = PostgreSQL::Test::Cluster->new('full_disk');
$node->init(extra => [ '--waldir', "$disks/wal/files", '--wal-segsize', '1' ]);
$node->append_conf('postgresql.conf', <<~CONF);
	fsync = off
	min_wal_size = 2MB
	max_wal_size = 4MB
	autovacuum = off
	restart_after_crash = on
	CONF
$node->start;
mkdir "$disks/$_/space" foreach qw(tables sort);
$node->safe_psql('postgres', "CREATE TABLESPACE $_ LOCATION '$disks/$_/space'") foreach qw(tables sort);

# Create new books from time to time in long runs, before the old ones fill the disk
sub new_books
{
	make_books($node, 'books', 'control');
	$node->safe_psql('postgres', 'ALTER DATABASE books SET TABLESPACE tables');
	return;
}

my $numbers = <<~'SQL';
	SELECT (SELECT count(*) FROM yquota.container_event), (SELECT count(*) FROM yquota.container), (SELECT count(*) FROM yquota.charge),
		   (SELECT count(*) FROM yquota.container_change), (SELECT sum(charged) + sum(accrued) FROM yquota.project_balance);
	SQL

# send_script(PREFIX, SETTING...): send the events of a script in one statement. Return the error,
# or '' when there is none.
sub send_script
{
	my ($prefix, @settings) = @_;
	my ($code, $out, $error) = $node->psql('books',
		join('', "\\set VERBOSITY verbose\n", map { "SET $_;\n" } @settings)
		  . "INSERT INTO yquota.container_event ($columns) SELECT $columns FROM script WHERE container_id LIKE '$prefix-%' ORDER BY number");

	return $error;
}

# The disk of the tables
for (my $round = 0; soak_goes_on($round, 4, 12, 50); $round++)
{
	new_books() if $round % 8 == 0;
	make_script($node, 'books', "t$round", 1500);
	my $before = $node->safe_psql('books', $numbers);

	# A failed attempt takes space, which only VACUUM frees. So each round begins with a new amount of free space. The
	# amount is random, between nothing and almost enough.
	fill('tables', ($round + 1) % 4 * 1024 * 1024 * rand(1));
	my $error = send_script("t$round");
	if ($error eq '')
	{
		$count{finished}++;
	}
	else
	{
		$count{full}++;
		like($error, qr/53100: could not extend file/, "tables $round: the disk is full");
		is($node->safe_psql('books', $numbers), $before, "tables $round: nothing is charged, and the rows can still be read");
		my ($code, $out, $compact_error) = $node->psql('books', "\\set VERBOSITY verbose\nSELECT yquota.quota_compute()");
		ok($compact_error eq '' || $compact_error =~ /53100:/, "tables $round: counters are compacted or left alone");
		is_proven($node, 'books', "tables $round: while the disk is full");
	}
	clear('tables');
	is(send_script("t$round"), '', "tables $round: the events are charged when there is space");
	is_same_as_control($node, 'books', 'control', "t$round", "tables $round");
	$node->safe_psql('books', "DELETE FROM script; VACUUM script, yquota.container, yquota.charge, yquota.container_change, yquota.container_event, yquota_internal.counter_delta");
}
cmp_ok($count{full}, '>', 0, 'the disk of the tables was full');

# The disk for temporary files, where statements sort
for (my $round = 0; soak_goes_on($round, 3, 12, 75); $round++)
{
	new_books() if $round % 8 == 7;
	my @settings = ("temp_tablespaces = 'sort'", "work_mem = '64kB'");
	my $before = $node->safe_psql('books', $numbers);

	make_script($node, 'books', "s$round", 1500);
	fill('sort', rand((0.2 + $round % 3) * 1024 * 1024));
	my $error = send_script("s$round", @settings);
	if ($error ne '')
	{
		$count{sort_full}++;
		like($error, qr/53100:.*No space left on device/, "sorting $round: the disk is full");
		is($node->safe_psql('books', $numbers), $before, "sorting $round: nothing is charged");
	}
	clear('sort');
	is(send_script("s$round", @settings), '', "sorting $round: the events are charged when there is space");
	is_same_as_control($node, 'books', 'control', "s$round", "sorting $round");
	$node->safe_psql('books', "DELETE FROM script; VACUUM script, yquota.container, yquota.charge, yquota.container_change, yquota.container_event, yquota_internal.counter_delta");
}
cmp_ok($count{sort_full}, '>', 0, 'the disk for sorting was full');

# The disk of the WAL: the server panics, and may be unable to recover before there is space.
# Segments that are kept for reuse count as space, and no checkpoint may free more in the meantime.
sub checkpoint_after
{
	my ($size) = @_;

	$node->append_conf('postgresql.conf', "max_wal_size = '$size'\nwal_recycle = off");
	$node->reload;
	return;
}

for (my $round = 0; soak_goes_on($round, 1, 5); $round++)
{
	checkpoint_after('4MB');
	new_books() if $round % 8 == 7;
	make_script($node, 'books', "w$round", 1500);
	$node->safe_psql('books', 'CHECKPOINT');
	checkpoint_after('1GB');
	my $log_size = -s $node->logfile;
	my $error = '';

	fill('wal', rand(1024 * 1024));
	for (my $try = 0; $error eq '' && $try < 30; $try++)
	{
		$error = send_script("w$round");
	}
	like($error, qr/No space left|server closed the connection|connection to server/, "WAL $round: a statement ends with the server");
	$node->wait_for_log(qr/PANIC:.*No space left on device/, $log_size);
	$count{panics}++;
	clear('wal');
	$node->stop('immediate', fail_ok => 1);
	$node->start;
	is(send_script("w$round"), '', "WAL $round: the events are charged after recovery");
	is_same_as_control($node, 'books', 'control', "w$round", "WAL $round");
}

$node->stop;
note('full disk: ' . join ', ', map { "$count{$_} $_" } sort keys %count);
done_testing();
