# Decisions about queues are those of Hadoop 3.4.1. The file test/queues/decisions.txt has random
# configurations and questions, with Hadoop's answers.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;

use Falsified qw(falsify unnoticed);
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

# The question for each kind of line, whose answer is a single word.
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
		push @cases, { name => $fields[0], starts => $fields[1] eq 'starts' ? JSON::PP::true : JSON::PP::false, properties => {}, questions => [], answers => [] };
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

# Return the answers to a case, or the error.
sub ask
{
	my ($case) = @_;
	my $configuration = JSON::PP->new->canonical->encode($case->{properties});
	my $script = join ";\n", 'BEGIN', 'SET client_min_messages = error', "DO \$do\$ BEGIN PERFORM yquota.import_hadoop_configuration(@{[ literal($configuration) ]}::jsonb); END \$do\$",
	  'SET CONSTRAINTS ALL IMMEDIATE', @{ $case->{questions} }, 'ROLLBACK;';
	my ($status, $output, $errors) = $node->psql('postgres', $script, on_error_stop => 1);

	return { starts => $status == 0, answers => [ split /\n/, $output, -1 ], errors => $errors };
}

# Return the differences between the answers and a case, one on each line.
sub differences
{
	my ($case, $found) = @_;
	my ($expected, $answers) = ($case->{answers} // [], $found->{answers});

	return $found->{errors} =~ /ERROR:  invalid configuration of queues/ ? '' : "starts: $found->{errors}" unless $case->{starts};
	return $found->{errors} unless $found->{starts};
	return @$answers . ' answers instead of ' . @$expected unless @$answers == @$expected;
	return join "\n", map { "$case->{questions}[$_]: found $answers->[$_], expected $expected->[$_]" } grep { $answers->[$_] ne $expected->[$_] } 0 .. $#$expected;
}

my $asked = 0;
my %found;
foreach my $case (@cases)
{
	my $found = $found{ $case->{name} } = ask($case);

	is(differences($case, $found), '', "case $case->{name}: " . ($case->{starts} ? @{ $case->{answers} } . ' answers' : 'refused'));
	$asked += @{ $case->{answers} };
}
note(sprintf '%d configurations, of which %d are refused; %d answers', scalar @cases, scalar(grep { !$_->{starts} } @cases), $asked);
cmp_ok($asked, '>', 300, 'questions were asked');

# Falsified answers, which the comparison must find.
my @falsified = falsify(\@cases, figure => sub { $_[0] eq 'starts' || ($_[0] =~ m{^answers\b} && $_[1]{starts}) }, optional => qr{^starts$});
is(unnoticed(\@falsified, map { differences($_->[1], $found{ $_->[1]{name} }) } @falsified), '', 'every falsified answer is found');
cmp_ok(scalar @falsified, '>', 10, 'kinds of falsifications');
note(scalar(@falsified) . ' falsifications');

$node->stop;
done_testing();
