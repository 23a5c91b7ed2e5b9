#
# Session.pm: one long-lived psql per session, fed through pipes, so that the property tests need only core Perl and
# the server's own client.
#
# The function send() sends statements without waiting. The function receive() returns everything that psql printed
# for them, including errors. The function run() does both and dies at the first error. The function attempt() does
# both and returns (output, error or undef). Several sessions that have been sent statements work at the same time.
#
package Session;

use strict;
use warnings;
use IPC::Open2;

my $patience_seconds = 120;

$SIG{PIPE} = 'IGNORE';

# Run a single command in the maintenance database, as for CREATE DATABASE.
sub administer
{
	my ($sql) = @_;
	my $session = Session->new($ENV{PGDATABASE} || 'postgres');

	$session->run($sql);
	$session->close;
	return;
}

sub new
{
	my ($class, $database) = @_;
	my ($out, $in);
	my $pid = open2($out, $in,
		"exec psql -XqAt -v VERBOSITY=verbose -d '$database' 2>&1");
	my $self = bless { pid => $pid, in => $in, out => $out, database => $database, count => 0 }, $class;

	$self->run("SET client_min_messages = warning; SET timezone = 'UTC'; SET datestyle = 'ISO'");
	return $self;
}

sub send
{
	my ($self, $sql) = @_;

	$self->{last} = $sql;
	$self->{count}++;
	print { $self->{in} } $sql, ($sql =~ /\n\z/ ? '' : ";\n"), "\\echo end-of-answer-$self->{count}\n";
	$self->{in}->flush;
	return;
}

sub receive
{
	my ($self) = @_;
	my $answer = '';

	local $SIG{ALRM} = sub { die "no answer in $patience_seconds s to:\n$self->{last}\n" };
	alarm $patience_seconds;
	while (defined(my $line = readline $self->{out}))
	{
		if ($line eq "end-of-answer-$self->{count}\n")
		{
			alarm 0;
			return $answer;
		}
		$answer .= $line;
	}
	alarm 0;
	die "connection lost after:\n$self->{last}\n$answer";
}

sub error
{
	my ($answer) = @_;

	return $answer =~ /^(?:psql:\S+ )?((?:ERROR|FATAL|PANIC): .*)/ms ? $1 : undef;
}

sub attempt
{
	my ($self, $sql) = @_;

	$self->send($sql);
	my $answer = $self->receive;
	return ($answer, error($answer));
}

sub run
{
	my ($self, $sql) = @_;
	my ($answer, $error) = $self->attempt($sql);

	die substr("${error}in:\n$sql", 0, 4000), "\n" if defined $error;
	return $answer;
}

# Rows as arrays of texts; NULL and the empty text look the same.
sub rows
{
	my ($self, $sql) = @_;

	return map { [ split /\|/, $_, -1 ] } split /\n/, $self->run($sql);
}

sub close
{
	my ($self) = @_;

	close $self->{in};
	close $self->{out};
	waitpid $self->{pid}, 0;
	return;
}

1;
