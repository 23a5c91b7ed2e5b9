#!/usr/bin/env perl
# links.pl FILE...
#
# Print the broken references to pages, one a line. In pages (*.md) the script checks relative links. In all files
# it checks names of pages below docs/, with their anchors. Anchors follow GitHub's rule for headings.

use strict;
use warnings;

my %anchors;

sub contents
{
	my ($name) = @_;

	open my $file, '<', $name or die "could not open \"$name\": $!\n";
	local $/;
	return scalar(<$file>) // '';
}

# Replace blocks of code by empty lines, so that line numbers stay the same.
sub without_code
{
	my ($text) = @_;

	$text =~ s{^(```.*?^```)$}{$1 =~ tr/\n//cdr}gmse;
	return $text;
}

# Return the anchors of a page's headings; GitHub numbers repeated headings.
sub anchors_of
{
	my ($page) = @_;
	my (%known, %times);

	foreach my $heading (without_code(contents($page)) =~ /^#{1,6} +(.*?)[ #]*$/mg)
	{
		my $anchor = lc($heading =~ s/\[([^\]]*)\]\([^)]*\)/$1/gr) =~ s/[^\w\- ]//gr =~ tr/ /-/r;
		my $again = $times{$anchor}++;

		$known{ $again ? "$anchor-$again" : $anchor } = 1;
	}
	return \%known;
}

sub check
{
	my ($place, $target, $anchor) = @_;

	return print "$place: there is no $target\n" if !-e $target;
	return if !defined $anchor;
	$anchors{$target} //= -f $target ? anchors_of($target) : {};
	print "$place: $target has no heading #$anchor\n" if !$anchors{$target}{$anchor};
}

# Return a file name relative to the top folder, with ".." resolved.
sub resolved
{
	my ($folder, $path) = @_;
	my @parts;

	foreach my $part (split m{/}, "$folder$path")
	{
		next if $part eq '.' || $part eq '';
		$part eq '..' && @parts ? pop @parts : push @parts, $part;
	}
	return join '/', @parts;
}

foreach my $name (@ARGV)
{
	my $text = contents($name);
	my $line = sub { "$name:" . (1 + (substr($text, 0, $_[0]) =~ tr/\n//)) };

	if ($name =~ /\.md$/)
	{
		my ($folder) = $name =~ m{^(.*/)?};

		$text = without_code($text);
		while ($text =~ /\]\(<?([^)#:>\s]*)(?:#([^)>\s]*))?>?(?:\s+"[^"]*")?\)/g)
		{
			check($line->($-[0]), $1 eq '' ? $name : resolved($folder // '', $1), $2);
		}
		$text =~ s/\]\([^)]*\)/]()/g;
	}
	while ($text =~ m{(?<![\w/.-])(docs/[\w/-]+\.md)(?:#([\w-]+))?}g)
	{
		check($line->($-[0]), $1, $2);
	}
}
