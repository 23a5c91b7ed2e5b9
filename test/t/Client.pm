# A client's session that does not block: one psql process, which is fed and read through pipes. Tests use it
# to have many sessions at work when the server dies.
#
#	$client->send(SQL)	hands over statements, if it is not busy
#	$client->read		once its handle can be read: the outcome, or undef if
#						there is none yet
#
# An outcome is a hash of answer (the output of psql), sqlstate (of the first error, or undef), and lost. The flag
# lost is set if the connection ended before the answer was complete. The outcome of the statements is then unknown.
# In that case psql may continue for a moment as if nothing had happened.

package Client;

use strict;
use warnings;

use IPC::Open2;

$SIG{PIPE} = 'IGNORE';

# new(NODE, DATABASE): connect to a server. If the server is down, this fails silently, like a lost
# connection.
sub new
{
	my ($class, $node, $database) = @_;
	my $connection = $node->connstr($database);
	my $pid = open2(my $out, my $in, "exec psql -XAt -v VERBOSITY=verbose -d \"$connection\" 2>&1");

	return bless { pid => $pid, in => $in, out => $out, count => 0, answer => '', is_busy => 0 }, $class;
}

sub handle { return $_[0]{out}; }
sub is_busy { return $_[0]{is_busy}; }

sub send
{
	my ($self, $sql) = @_;

	$self->{is_busy} = 1;
	$self->{answer} = '';
	$self->{count}++;
	print { $self->{in} } $sql, ($sql =~ /^\\\.\n\z/m ? "" : ";\n"), "\\echo end-of-answer-$self->{count}\n";
	$self->{in}->flush;
	return;
}

sub read
{
	my ($self) = @_;
	my $got = sysread($self->{out}, $self->{answer}, 65536, length $self->{answer});
	my $is_complete = $self->{answer} =~ s/^end-of-answer-$self->{count}\n\z//m;

	return undef if $got && !$is_complete;
	$self->{is_busy} = 0;
	my $has_ended = $self->{answer} =~ /^(?:WARNING|FATAL):  57P0[1-4]:|^(?:server closed the|could not \w+ .*|no) connection\b/m;
	my ($sqlstate) = $self->{answer} =~ /^(?:ERROR|FATAL|PANIC):  (\w{5}):/m;

	return { answer => $self->{answer}, sqlstate => $sqlstate, lost => !$is_complete || $has_ended };
}

# run(SQL): wait for the answer and return it, or die of an error.
sub run
{
	my ($self, $sql) = @_;
	my $outcome;

	$self->send($sql);
	1 until $outcome = $self->read;
	die substr("$outcome->{answer}in:\n$sql", 0, 4000) . "\n" if $outcome->{lost} || defined $outcome->{sqlstate};
	return $outcome->{answer};
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
