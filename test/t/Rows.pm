# Rows of many queries, read in one session.

package Rows;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;

our @EXPORT = qw(rows_of_each);

# rows_of_each(NODE, DATABASE, NAME => QUERY, ...): return the sorted rows of each query as one
# text, by the query's name.
sub rows_of_each
{
	my ($node, $database, %query) = @_;
	my @names = sort keys %query;
	my $rows = join ",\n", map { "(SELECT coalesce(string_agg(t::text, E'\\n' ORDER BY t::text COLLATE \"C\"), '') FROM ($query{$_}) AS t)" } @names;

	return JSON::PP->new->decode($node->safe_psql($database, "SELECT json_object('{" . join(',', @names) . "}', ARRAY[$rows])"));
}

1;
