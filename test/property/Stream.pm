#
# Stream.pm: the events of a history as they may arrive: in any order, repeated, and split into
# statements and transactions. All randomness comes from rand(), which the caller seeds.
#
package Stream;

use strict;
use warnings;
use History;

# Return the events in a possible order of arrival, and whether some of them must wait for others.
sub arrange
{
	my ($history) = @_;
	my @containers = map { [@$_] } containers(@{ $history->{events} });
	my @events = map { @$_ } @containers;

	return History::pick(
		sub { (0, sort { $a->{at} <=> $b->{at} } @events) },
		sub { (0, map { @$_ } History::shuffle(@containers)) },
		sub { (0, map({ shift @$_ } @containers), History::shuffle(map { @$_ } @containers)) },
		sub { (1, reverse sort { $a->{at} <=> $b->{at} } @events) },
		sub { (1, History::shuffle(@events)) },
		sub { (1, History::shuffle(@events)) })->();
}

# Return the events of each container, still in order of time.
sub containers
{
	my %events;

	push @{ $events{ $_->{id} } }, $_ foreach @_;
	return map { $events{$_} } sort keys %events;
}

# Add copies of events, each somewhere after its original, and some QUOTA_COMPUTEs.
sub repeat
{
	my ($history, @events) = @_;

	return @events if History::chance(0.4);
	foreach my $i (reverse 0 .. $#events)
	{
		next unless History::chance(0.3);
		splice @events, History::between($i + 1, scalar @events), 0, $events[$i];
	}
	foreach (1 .. History::pick(0, 0, 1, 3))
	{
		splice @events, rand(@events + 1), 0, { event => 'COMPUTE', at => $history->instant };
	}
	push @events, @events if History::chance(0.2);
	return @events;
}

# Split the events into statements.
sub cut
{
	my @events = @_;
	my $most = History::pick(1, 3, 8, 1000);
	my @statements;

	push @statements, [ splice @events, 0, History::between(1, $most) ] while @events;
	return @statements;
}

# Put statements into transactions, and send statements that are rolled back again.
sub in_transactions
{
	my @statements = map { [ History::statement(@$_), @$_ ] } @_;
	my @transactions;

	while (@statements)
	{
		my @group = splice @statements, 0, History::between(1, 4);
		my $sql = join('', map { $_->[0] =~ /\n\z/ ? $_->[0] : "$_->[0];\n" } @group);
		my @events = map { my (undef, @rest) = @$_; @rest } @group;
		my $level = History::pick('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');

		$sql = History::pick(
			sub { $sql },
			sub { "BEGIN ISOLATION LEVEL $level;\n${sql}COMMIT;\n" },
			sub { "BEGIN;\nSELECT count(*) FROM yquota.project_balance;\n${sql}ROLLBACK;\n$sql" },
			sub { "BEGIN ISOLATION LEVEL $level;\nSAVEPOINT a;\n${sql}ROLLBACK TO a;\n${sql}RELEASE a;\nCOMMIT;\n" })->();
		push @transactions, [ $sql, @events ];
	}
	return @transactions;
}

1;
