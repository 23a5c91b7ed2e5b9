#!/usr/bin/env perl
# walks.pl PAGE
#
# Print the errors of the walks in a page of docs, one a line. A walk is a table below "## Three walks" with rows "|
# `function()` | `file` | purpose |" in the order of calls. The function must be defined in the file and named in a
# file of an earlier row. Otherwise a reader who follows the rows does not reach the function.

use strict;
use warnings;

my ($page) = @ARGV;
my (%text, $walk, %visited, $rows, $walks, $number);

# Return the text of a file without comments, or undef.
sub text_of
{
	my ($file) = @_;

	if (!exists $text{$file})
	{
		open my $handle, '<', $file or return $text{$file} = undef;
		local $/;
		$text{$file} = <$handle> =~ s{/\*.*?\*/|^\s*--[^\n]*$}{}gmsr;
	}
	return $text{$file};
}

# Return whether the file defines the function or view.
sub defines
{
	my ($file, $name) = @_;

	return $file =~ /\.sql$/
	  ? text_of($file) =~ /^CREATE (?:FUNCTION|VIEW) yquota(?:_internal)?\.\Q$name\E\b/m
	  : text_of($file) =~ /^\Q$name\E\(/m;
}

open my $handle, '<', $page or die "$page: $!\n";
while (my $line = <$handle>)
{
	$number++;
	$walks = $line =~ /^## Three walks$/, next if $line =~ /^## /;
	next if !$walks;
	if ($line =~ /^### (.*)/)
	{
		($walk, %visited) = ($1);
		next;
	}
	next if $line !~ /^\| `(\w+)(?:\(\))?` \| `([\w\/.]+)` \|/;
	my ($name, $file) = ($1, $2);
	$rows++;
	if (!defined text_of($file))
	{
		print "$page:$number: there is no $file\n";
		next;
	}
	print "$page:$number: $name is not defined in $file\n" if !defines($file, $name);
	print "$page:$number: no earlier file of \"$walk\" names $name\n"
	  if %visited && !grep { text_of($_) =~ /\b\Q$name\E\b/ && ($_ ne $file || $visited{$file}) } keys %visited;
	$visited{$file} = 1;
}
print "$page: no walks\n" if !$rows;
