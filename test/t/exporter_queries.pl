# The files of docs/prometheus for postgres_exporter and for sql_exporter have the same queries and metrics. Each query
# runs with the rights of the exporter and returns the columns of its labels and values.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('exporter_queries');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota; CREATE ROLE exporter LOGIN; GRANT SELECT ON yquota.metrics TO exporter');

# Return the queries of a file by name, and the metrics as texts "name query type labels: description".
sub queries_yaml
{
	my (%queries, %columns, @metrics, $name);

	foreach my $line (split /\n/, slurp_file("$ENV{PWD}/docs/prometheus/queries.yaml"))
	{
		$name = $1 if $line =~ /^(\w+):$/;
		$queries{$name} .= "$1\n" if $line =~ /^    (?!- )(.*\S.*)$/;
		push @{ $columns{$name} }, [ $1, $2, $3 ] if $line =~ /^    - (\w+): \{usage: "(\w+)", description: "(.*)"\}$/;
	}
	foreach my $query (sort keys %columns)
	{
		my @labels = map { $_->[0] } grep { $_->[1] eq 'LABEL' } @{ $columns{$query} };

		foreach my $column (grep { $_->[1] ne 'LABEL' } @{ $columns{$query} })
		{
			my ($value, $type, $help) = @$column;

			push @metrics, map { { name => "${query}_$value$_", type => $type eq 'GAUGE' ? 'gauge' : 'counter', help => $help =~ s/; NaN /; no sample /r,
				labels => join(', ', @labels, $_ eq '_bucket' ? 'le' : ()) } } $type eq 'HISTOGRAM' ? qw(_bucket _sum _count) : '';
		}
	}
	return \%queries, \@metrics;
}

sub sql_exporter_yaml
{
	my (%queries, @metrics, $name);

	foreach my $line (split /\n/, slurp_file("$ENV{PWD}/docs/prometheus/sql_exporter.yaml"))
	{
		$name = $1 if $line =~ /^      - query_name: (\w+)$/;
		$queries{$name} .= "$1\n" if $line =~ /^          (\S.*|  .*)$/ && defined $name;
		push @metrics, { name => $1 } if $line =~ /^      - metric_name: (\w+)$/;
		if ($line =~ /^        (type|help|key_labels|values|query_ref): (.*)$/)
		{
			my ($key, $text) = ($1, $2);

			$text =~ s/^['\[](.*)['\]]$/$1/;
			$metrics[-1]{$key} = $text =~ s/''/'/gr;
		}
		undef $name if $line =~ /^    metrics:/;
	}
	return \%queries, \@metrics;
}

sub columns_of
{
	my ($query) = @_;

	return split /\n/, $node->safe_psql('postgres', $query . ' \gdesc', extra_params => [ '-U', 'exporter', '-F', "\t" ]);
}

my ($old, $old_metrics) = queries_yaml();
my ($new, $new_metrics) = sql_exporter_yaml();
cmp_ok(scalar keys %$old, '>', 20, 'queries.yaml has queries');
foreach my $query (sort keys %$old)
{
	# arrays of a histogram are left out, because sql_exporter cannot read them
	is($new->{$query}, $old->{$query} =~ s/^ *array_agg.*\n//gmr, "both files have the query $query");
	like($node->safe_psql('postgres', "SELECT count(*) FROM ($old->{$query}) AS answer", extra_params => [ '-U', 'exporter' ]), qr/^\d+$/, 'the exporter may run it');
}
is_deeply([ sort map { "$_->{name} $_->{type} $_->{key_labels}: $_->{help}" } @$new_metrics ],
	[ sort map { "$_->{name} $_->{type} $_->{labels}: $_->{help}" } @$old_metrics ], 'both files have the same metrics');
my %columns;
foreach my $query (sort keys %$new)
{
	$node->safe_psql('postgres', "SELECT count(*) FROM ($new->{$query}) AS answer", extra_params => [ '-U', 'exporter' ]);
	$columns{$query}{ s/\t.*//r } = 1 foreach columns_of($new->{$query});
}
is_deeply([ map { my $metric = $_; map { "$metric->{name}: $_" } grep { !$columns{ $metric->{query_ref} }{$_} } split(/, /, $metric->{key_labels}), $metric->{values} } @$new_metrics ],
	[], 'the queries for sql_exporter return the columns of all labels and values');

$node->stop;
done_testing();
