# A control plane of Kubernetes for a test of its connector (src/connectors/kubernetes), and a database for its books.
#
#	my $cluster = KubernetesCluster->new(needs => ['kube-scheduler'], settings => "kubelet_wait: 5s\n");
#	$cluster->command('start', 'kube-scheduler');
#	$cluster->begin_connector(0);
#	$cluster->wait_for('a pod runs', sub { return $cluster->sql('SELECT count(*) FROM yquota.container') == 1; });
#	$cluster->stop;
#
# Options of new, each optional:
#	version   of Kubernetes; otherwise it is the newest that "make kubernetes" builds
#	needs     programs beside etcd and the API server
#	settings  of the connector, beside those that every test has
#
# If a program is not built, new skips the test. The program testcluster has the control plane. Its command help lists
# the commands.

package KubernetesCluster;

use strict;
use warnings;

use Cwd qw(getcwd);
use IPC::Open2;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use WorkerNode;

use constant { LEASE_S => 4, GIVE_UP_S => 240 };

my $programs = "$ENV{YQUOTA_STAGE}/../kubernetes";
my $source;
my @clusters;

# Each testcluster stops its own programs when there are no more commands.
END
{
	my $status = $?;

	foreach my $cluster (@clusters)
	{
		my $control = delete $cluster->{pid}{cluster};

		kill 'KILL', values %{ $cluster->{pid} };
		close $cluster->{told} if $cluster->{told};
		waitpid $control, 0 if $control;
	}
	$? = $status;
}

# lacks(VERSION, PROGRAM...): return why the control plane cannot run here, or an empty text.
sub lacks
{
	my ($version, @needs) = @_;

	return 'go is not installed' if system('command -v go >/dev/null') != 0;
	my ($wanted) = slurp_file(getcwd() . '/src/connectors/kubernetes/go.mod') =~ /^go 1\.([0-9]+)/m;
	my ($found) = `go env GOVERSION` =~ /^go1\.([0-9]+)/;
	return "go 1.$wanted is not installed" if $found < $wanted;
	foreach my $program (qw(etcd kube-apiserver), @needs)
	{
		my $file = $version && $program =~ /^kube-/ ? "$program-$version" : $program;
		return "$file is not built: run make kubernetes" if !-x "$programs/$file";
	}
	return '';
}

# build(): build the connector and testcluster from a copy of the source, once.
sub build
{
	return if $source;
	$source = PostgreSQL::Test::Utils::tempdir . '/source';
	system_or_bail('cp', '-r', getcwd() . '/src/connectors/kubernetes', $source);
	system_or_bail('go', "-C=$source", 'build', '-buildvcs=false', '-ldflags=-s', '-o', "$source/../", '.', './testcluster');
	return;
}

sub new
{
	my ($class, %option) = @_;
	my $version = $option{version} // '';
	my $lacks = lacks($version, @{ $option{needs} // [] });

	plan skip_all => $lacks if $lacks;
	build();
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my $self = bless { directory => $directory, pid => {}, settings => $option{settings} // '', books => new_books("books$version") }, $class;
	push @clusters, $self;
	open my $errors, '>', "$directory/cluster.err" or die "cannot write: $!";
	open my $saved, '>&', \*STDERR or die "cannot keep standard error: $!";
	open STDERR, '>&', $errors or die "cannot redirect standard error: $!";
	$self->{pid}{cluster} = open2($self->{said}, $self->{told}, "$source/../testcluster", '--programs', $programs, '--version', $version, '--deploy', "$source/deploy",
		'--directory', $directory);
	open STDERR, '>&', $saved or die "cannot restore standard error: $!";
	is($self->answer, 'ready', 'the control plane runs');
	return $self;
}

# new_books(NAME): return a server whose database "work" has prices, projects and a feeder.
sub new_books
{
	my ($name) = @_;
	my $books = new_node($name, q(listen_addresses = '127.0.0.1'));

	$books->safe_psql('postgres', 'CREATE DATABASE work');
	$books->safe_psql('work', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
CREATE ROLE feeder LOGIN;
SELECT yquota.allow_role('feeder', 'operator');
INSERT INTO yquota.resource_type (name, price_group, base_price, unit) VALUES
	('cpu-milli', 'GENERAL', 1, 1000), ('nvidia.com/gpu', 'GPU', 10, 1);
INSERT INTO yquota.project (name) VALUES ('science'), ('shop'), ('Not a name of Kubernetes');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('science', 1000000.125, 'a year of work');
SQL
	return $books;
}

sub books { return $_[0]{books}; }

sub directory { return $_[0]{directory}; }

sub source { return $source; }

sub sql { return $_[0]{books}->safe_psql('work', $_[1]); }

sub lines { return map { [ split /\|/, $_, -1 ] } split /\n/, $_[0]->sql($_[1]); }

# command(WORD...): tell the control plane a command, and return its answer.
sub command
{
	my ($self, @words) = @_;

	syswrite $self->{told}, "@words\n" or die "could not tell the cluster: $!";
	return $self->answer;
}

sub answer
{
	my ($self) = @_;
	my $line = readline $self->{said};

	return decode_json("[$line]")->[0] if defined $line;
	diag(scalar slurp_file("$self->{directory}/cluster.err"));
	BAIL_OUT('the control plane has ended');
}

# begin(NAME, COMMAND...): start a program whose output goes to a file.
sub begin
{
	my ($self, $name, @command) = @_;
	my $out = "$self->{directory}/$name.out";

	append_to_file($out, '');
	my $pid = fork // die "cannot fork: $!";
	if ($pid == 0)
	{
		open STDOUT, '>>', $out or die "cannot write: $!";
		open STDERR, '>&', \*STDOUT or die "cannot redirect: $!";
		exec @command or die "cannot run $command[0]: $!";
	}
	$self->{pid}{$name} = $pid;
	return;
}

# output(NAME): return what a program has printed.
sub output { return scalar slurp_file("$_[0]{directory}/$_[1].out"); }

# end(NAME, SIGNAL): wait until a program ends, after the signal if there is one, and return its status.
sub end
{
	my ($self, $name, $signal) = @_;

	kill $signal, $self->{pid}{$name} if $signal;
	waitpid delete $self->{pid}{$name}, 0;
	return $?;
}

# run_connector(NAME, ARGUMENT...): begin the connector with the rights of its manifests.
sub run_connector
{
	my ($self, $name, @arguments) = @_;

	local @ENV{qw(POD_NAME PGHOST PGPORT PGUSER PGDATABASE)} = ($name, '127.0.0.1', $self->{books}->port, 'feeder', 'work');
	$self->begin($name, "$source/../kubernetes", @arguments, '--kubeconfig', "$self->{directory}/connector.kubeconfig");
	return;
}

# begin_connector(NUMBER): begin a replica of the connector, yquota-NUMBER, which keeps its spool while it is killed.
sub begin_connector
{
	my ($self, $number) = @_;
	my $settings = "$self->{directory}/settings-$number.yaml";
	my $spool = "$self->{directory}/spool-$number";

	if (!-e $settings)
	{
		mkdir $spool or die "cannot make a directory: $!";
		append_to_file($settings, slurp_file("$source/golden/settings.yaml") . <<"YAML" . $self->{settings});
spool: {directory: $spool}
lease: {namespace: yquota, duration: @{[LEASE_S]}s}
compute_interval: 1s
balance_interval: 1s
listen: "127.0.0.1:0"
YAML
	}
	$self->run_connector("yquota-$number", '--settings', $settings);
	return;
}

# wait_for(NAME, CONDITION): wait until the condition holds.
sub wait_for
{
	my ($self, $name, $condition) = @_;
	my $end = time + GIVE_UP_S;

	sleep 0.1 while !$condition->() && time < $end;
	my $holds = ok($condition->(), $name);
	diag(map { "$_:\n" . substr($self->output($_), -3000) } grep { -e "$self->{directory}/$_.out" } 'yquota-0', 'yquota-1') if !$holds;
	return;
}

# stop(): stop the control plane and the server.
sub stop
{
	my ($self) = @_;

	close delete $self->{told};
	is($self->end('cluster'), 0, 'the control plane ends');
	$self->{books}->stop;
	return;
}

1;
