# Decisions about queues are those of Hadoop 3.4.1: random configurations and
# questions in test/queues/decisions.txt, with the answers that it gave.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('queue_decisions');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota');

sub literal
{
	my ($text) = @_;

	return 'NULL' if !defined $text || $text eq '\N';
	$text =~ s/'/''/g;
	return "'$text'";
}

sub groups { my ($list) = @_; return sprintf 'ARRAY[%s]::text[]', join ', ', map { literal($_) } split /,/, $list; }

# What to ask, by the kind of a line; answers are one word.
my %question = (
	Q => sub {
		my ($user, $groups, $queue, $application) = @_;
		return sprintf q(SELECT CASE outcome WHEN 'REJECTED' THEN 'refused' WHEN 'PLACED' THEN queue_path WHEN 'PLACED_BY_DEFAULT' THEN queue_path ELSE 'null' END
						 FROM yquota.place_application(%s, %s, %s, %s)), literal($user), groups($groups), literal($queue), literal($application);
	},
	A => sub {
		my ($user, $groups, $queue, $operation) = @_;
		return sprintf 'SELECT allowed::text FROM yquota.check_queue_access(%s, %s, %s, %s)', literal($user), groups($groups), literal($queue), literal($operation);
	},
	R => sub {
		my ($user, $groups, $queue, $requested) = @_;
		return sprintf q(SELECT CASE WHEN allowed THEN priority::text ELSE 'refused' END FROM yquota.application_priority(%s, %s, %s, %s)),
		  literal($user), groups($groups), literal($queue), $requested eq '\N' ? 'NULL' : $requested;
	},
	S => sub {
		my ($user, $groups, $queue) = @_;
		return sprintf q(SELECT allowed::text FROM yquota.check_queue_access(%s, %s, %s, 'SUBMIT')), literal($user), groups($groups), literal($queue);
	});

my @cases;
foreach my $line (split /\n/, slurp_file('test/queues/decisions.txt'))
{
	next if $line =~ /^#/;
	my ($kind, @fields) = split /\t/, $line, -1;

	if ($kind eq 'CASE')
	{
		push @cases, { name => $fields[0], starts => $fields[1] eq 'starts', properties => {}, questions => [], answers => [] };
	}
	elsif ($kind eq 'P')
	{
		$cases[-1]{properties}{ $fields[0] } = $fields[1];
	}
	else
	{
		push @{ $cases[-1]{answers} }, pop @fields;
		push @{ $cases[-1]{questions} }, $question{$kind}->(@fields);
	}
}

my $asked = 0;
foreach my $case (@cases)
{
	my $configuration = JSON::PP->new->canonical->encode($case->{properties});
	my $script = join ";\n", 'BEGIN', 'SET client_min_messages = error', "DO \$do\$ BEGIN PERFORM yquota.import_hadoop_configuration(@{[ literal($configuration) ]}::jsonb); END \$do\$",
	  'SET CONSTRAINTS ALL IMMEDIATE', @{ $case->{questions} }, 'ROLLBACK;';
	my ($status, $output, $errors) = $node->psql('postgres', $script, on_error_stop => 1);

	if (!$case->{starts})
	{
		like($errors, qr/ERROR:  invalid configuration of queues/, "case $case->{name} is refused");
		next;
	}
	my @found = split /\n/, $output;
	my @wrong = grep { ($found[$_] // '') ne $case->{answers}[$_] } 0 .. $#{ $case->{answers} };
	ok($status == 0 && !@wrong, "case $case->{name}: " . @{ $case->{answers} } . ' answers')
	  or diag(join "\n", $errors, map { "$case->{questions}[$_]: found " . ($found[$_] // '') . ", expected $case->{answers}[$_]" } @wrong);
	$asked += @{ $case->{answers} };
}
diag(sprintf '%d configurations, of which %d are refused; %d answers', scalar @cases, scalar(grep { !$_->{starts} } @cases), $asked);
cmp_ok($asked, '>', 300, 'questions were asked');

$node->stop;
done_testing();
