# Cluster.pm: the private cluster of the bench, reached through psql and pgbench with the
# environment's PGHOST, PGPORT and PGUSER.
#
# A Session is one psql process that stays open. run() returns the output of a statement, and
# milliseconds() returns the time that psql measured. Both die at the first error, because a failed
# statement gives no figure.
package Cluster;

use strict;
use warnings;

use IPC::Open2;
use Time::HiRes qw(time);

$SIG{PIPE} = 'IGNORE';

sub new
{
	my ($class, $database) = @_;
	my ($out, $in);
	my $pid = open2($out, $in, "exec psql -XqAt -d '$database' 2>&1");
	my $self = bless { pid => $pid, in => $in, out => $out, database => $database, asked => 0 }, $class;

	$self->run('SET client_min_messages = warning');
	return $self;
}

sub send
{
	my ($self, $sql) = @_;

	$self->{sql} = $sql;
	$self->{asked}++;
	print { $self->{in} } "$sql;\n\\echo end-of-answer-$self->{asked}\n";
	$self->{in}->flush;
	return;
}

sub receive
{
	my ($self) = @_;
	my $answer = '';

	while (defined(my $line = readline $self->{out}))
	{
		if ($line eq "end-of-answer-$self->{asked}\n")
		{
			die substr($answer, 0, 2000), 'in: ', substr($self->{sql}, 0, 2000), "\n"
			  if $answer =~ /^(?:psql:\S+ )?(?:ERROR|FATAL|PANIC):/m;
			chomp $answer;
			return $answer;
		}
		$answer .= $line;
	}
	die "connection lost after: $self->{sql}\n$answer";
}

sub run
{
	my ($self, $sql) = @_;

	$self->send($sql);
	return $self->receive;
}

# milliseconds(SQL...): return the time of each statement, as \timing reports it.
sub milliseconds
{
	my ($self, @statements) = @_;
	my $answer = $self->run("\\timing on\n" . join(";\n", @statements) . ";\n\\timing off\n");
	my @times = $answer =~ /^Time: ([0-9.]+) ms/mg;

	die "no time of: @statements\n$answer\n" if @times != @statements;
	return wantarray ? @times : $times[0];
}

sub backend { my ($self) = @_; return $self->{backend} //= $self->run('SELECT pg_backend_pid()'); }

# Return the most memory that the backend has used, in KiB, without the server's shared memory.
sub peak_memory
{
	my ($self) = @_;
	my $pid = $self->backend;

	open my $status, '<', "/proc/$pid/status" or die "could not read the status of process $pid: $!\n";
	my $text = do { local $/; <$status> };
	my ($peak) = $text =~ /^VmHWM:\s+(\d+)/m;
	my ($shared) = $text =~ /^RssShmem:\s+(\d+)/m;
	return $peak - $shared;
}

# Return the processor time of the backend so far, in milliseconds.
sub processor_milliseconds
{
	my ($self) = @_;
	my $pid = $self->backend;

	open my $file, '<', "/proc/$pid/schedstat" or die "could not read the statistics of process $pid: $!\n";
	my ($nanoseconds) = split ' ', scalar <$file>;
	return $nanoseconds / 1e6;
}

# Return the processor time that a statement uses, in milliseconds.
sub used_by
{
	my ($self, $sql) = @_;
	my $before = $self->processor_milliseconds;

	$self->run($sql);
	return $self->processor_milliseconds - $before;
}

sub close
{
	my ($self) = @_;

	close $self->{in};
	close $self->{out};
	waitpid $self->{pid}, 0;
	return;
}

# Return the WAL insert position in bytes.
sub wal { my ($self) = @_; return $self->run(q(SELECT pg_current_wal_insert_lsn() - '0/0')); }

#
# The cluster
#

my $administrator;

sub administer
{
	my ($sql) = @_;

	$administrator //= Cluster->new('postgres');
	return $administrator->run($sql);
}

sub checkpoint { administer('CHECKPOINT'); return; }

sub wal_position { administer('SELECT 1'); return $administrator->wal; }

# copy_database(NAME, TEMPLATE): copy the files, so that the copy is on disk and not part of the
# measured WAL. That takes two checkpoints, which are too slow at toy size.
sub copy_database
{
	my ($name, $template) = @_;

	administer("DROP DATABASE IF EXISTS $name WITH (FORCE)");
	administer("CREATE DATABASE $name" . (defined $template ? " TEMPLATE $template STRATEGY " . ($ENV{BENCH_SCALE} eq 'toy' ? 'wal_log' : 'file_copy') : ''));
	return;
}

sub drop_database { administer("DROP DATABASE IF EXISTS $_[0] WITH (FORCE)"); return; }

# once(DATABASE, SQL): run SQL in a new session.
sub once
{
	my ($database, $sql) = @_;
	my $session = Cluster->new($database);
	my $answer = $session->run($sql);

	$session->close;
	return $answer;
}

# run_file(DATABASE, FILE, VARIABLE => VALUE...): run a file with psql's variables.
sub run_file
{
	my ($database, $file, %variables) = @_;

	system('psql', '-Xq', '-v', 'ON_ERROR_STOP=1', (map { ('-v', "$_=$variables{$_}") } sort keys %variables), '-d', $database, '-f', $file) == 0
	  or die "could not run $file\n";
	return;
}

# pgbench(DATABASE, SCRIPT, option => value...): run the script, and return the number of
# transactions and their rate per second. Every client must succeed.
sub pgbench
{
	my ($database, $script, %option) = @_;
	my $command = join ' ', 'pgbench', '-n', '-M', 'prepared', '-f', $script,
	  (map { "$_ '$option{$_}'" } grep { !/^(?:variables|settings)$/ } sort keys %option),
	  (map { "-D $_='$option{variables}{$_}'" } sort keys %{ $option{variables} || {} });
	local $ENV{PGOPTIONS} = $option{settings} || '';
	my $output = `$command $database 2>&1`;

	my ($transactions) = $output =~ /^number of transactions actually processed: (\d+)/m;
	my ($per_second) = $output =~ /^tps = ([0-9.]+) \(without initial/m;
	die "pgbench failed: $command\n$output\n"
	  if $? || !$transactions || !$per_second || $output =~ /aborted|ERROR/;
	return ($transactions, $per_second);
}

1;
