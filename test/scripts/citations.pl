#!/usr/bin/env perl
# citations.pl FILE...
#
# Print the citations that name no existing section, one a line: "docs/design.md 3.2" and
# "semantics/queues 2.5" in the files, and names of documents that the repository does not have. A
# section is a heading "## 2. Title". Section 2.5 is the fifth item of its numbered list, or a bold
# heading of that number. Further numbers after a comma, "to" or "and" cite the same page. A page
# of semantics must be cited with its folder, so that the section is looked for.

use strict;
use warnings;

my %sections;

# Return the sections of a page: its headings, and the numbered items below each.
sub sections_of
{
	my ($page) = @_;
	my %known;
	my $section;

	open my $file, '<', $page or return {};
	while (my $line = <$file>)
	{
		$section = $1, $known{$1} = 1 if $line =~ /^## (\d+)\. /;
		$known{"$section.$1"} = 1 if defined $section && $line =~ /^(\d+)\. /;
	}
	return \%known;
}

foreach my $name (@ARGV)
{
	open my $file, '<', $name or die "could not open \"$name\": $!\n";
	my @lines = <$file>;
	my $text = join '', @lines;

	# a citation in a comment may continue after the mark of the next line
	while ($text =~ m{(docs/design\.md|\bsemantics/[a-z]+)((?:(?:,| to| and)?(?:\s|\n[ \t]*(?:\*|--|\#)[ \t]*)+\d+(?:\.\d+)?(?![\w.]*\w))*)}g)
	{
		my ($document, $numbers) = ($1, $2);
		my $page = $document eq 'docs/design.md' ? $document : "docs/$document.md";
		my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);

		$sections{$page} //= sections_of($page);
		print "$name:$line: there is no $page\n" unless %{ $sections{$page} };
		print "$name:$line: $page has no section $_\n" foreach grep { !$sections{$page}{$_} } $numbers =~ /(\d+(?:\.\d+)?)/g;
	}
	foreach my $number (1 .. @lines)
	{
		print "$name:$number: cites \"$1\", which is not in the repository\n"
		  if $lines[ $number - 1 ] =~ /\b(DESIGN \d|cs-semantics|cs-vectors|hops-quota|corrections [A-Z]\d|seed 00\d)/;
		print "$name:$number: write semantics/$1\n"
		  if $lines[ $number - 1 ] =~ /[(;] ?((?:allocation|charging|opportunistic|placement|preemption|queues|reservations?) \d+(?:\.\d+)?)[,;)]/;
	}
}
