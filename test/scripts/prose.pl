#!/usr/bin/env perl
# prose.pl FILE...
#
# Print the places where prose breaks its rules, one a line. A comment or description must not
# begin with a pronoun in place of its noun. No sentence has more than 25 words, and no line of
# prose goes beyond column 120. Prose is the comments of sources, tests and scripts, the texts of
# COMMENT ON, and the paragraphs, list items and descriptions of pages. A description is a cell in
# the last column of a table if the heading of the column is empty or begins with "what". It may
# end beyond column 120, like a COMMENT. Indented lines and blocks of code are no prose, and a
# text in backquotes counts as one word.

use strict;
use warnings;

my $most_words = 25;
my $most_columns = 120;
my $pronoun = qr/(?:those|such|of|what|one|whatever|whoever|whichever|the same)\b/i;

# Return the blocks of prose of a source: [line, text, whether its first word is checked].
sub blocks_of_source
{
	my ($name, $text) = @_;
	my @blocks;
	my $line_of = sub { 1 + (substr($text, 0, $_[0]) =~ tr/\n//) };
	my $add = sub {
		my ($line, $comment) = @_;

		# an empty line ends a paragraph, and indented lines are a drawing or an example
		foreach my $paragraph (split /\n[ \t]*\n/, $comment)
		{
			my $prose = join "\n", grep { !/^(?:\t| {3,})\S/ && !/\S {3,}\S/ } split /\n/, $paragraph;
			push @blocks, [ $line, $prose, 1 ] if $prose =~ /\w/;
			$line += 2 + ($paragraph =~ tr/\n//);
		}
	};

	if ($name =~ /\.[ch]$/)
	{
		while ($text =~ m{"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'|/\*(.*?)\*/}gs)
		{
			my $comment = $1;

			next if !defined $comment;
			my $at = $-[0];
			$comment =~ s/^[ \t]*\*(?: |$)?//gm;
			$add->($line_of->($at), $comment);
		}
	}
	else
	{
		my $mark = $name =~ /\.sql$/ ? '--' : '#(?!!)';

		while ($text =~ /^(?:[ \t]*$mark[^\n]*\n?)+/gm)
		{
			my ($at, $comment) = ($-[0], $&);
			$comment =~ s/^[ \t]*$mark ?//gm;

			# names in a list have one more blank before them, and items of a list end a paragraph
			$comment =~ s/^  /   /gm if $mark ne '--';
			$comment =~ s/^- /\n/gm;
			$add->($line_of->($at), $comment);
		}
		while ($text =~ /^COMMENT ON [^;']*?\sIS\s+'((?:[^']|'')*)';/gm)
		{
			push @blocks, [ $line_of->($-[1]), $1 =~ s/''/'/gr, 1 ];
		}
	}
	return @blocks;
}

# Return the blocks of prose of a page.
sub blocks_of_page
{
	my ($text) = @_;
	my (@blocks, $code, $line, $start, $described);
	my $heading;
	my $paragraph = '';
	my $end = sub { push @blocks, [ $start, $paragraph, 0 ] if $paragraph =~ /\w/; $paragraph = ''; };

	foreach (split /\n/, $text)
	{
		$line++;
		if (/^\s*```/) { $code = !$code; $end->(); next; }
		my ($cell) = $code ? () : /^\|.*\| *(.*?) *\|$/;
		push @blocks, [ $line, $cell, 1 ] if defined $cell && $described && $cell =~ /\w/;
		$described = $heading =~ /^(?:what\b.*)?\z/ if defined $cell && $cell =~ /^-+\z/;
		$described = 0 if !defined $cell;
		$heading = $cell;
		if ($code || /^\s*$/ || /^(?:    |\t)/ || /^#/ || /^\s*\|/ || /^<|^\[[^]]*\]:/) { $end->(); next; }
		if (s/^\s*(?:[-*]|\d+\.)\s+//) { $end->(); }
		$start = $line if $paragraph eq '';
		$paragraph .= "$_\n";
	}
	$end->();
	return @blocks;
}

foreach my $name (@ARGV)
{
	open my $file, '<', $name or die "could not open \"$name\": $!\n";
	my $text = join '', <$file>;
	my $is_page = $name =~ /\.md$/;
	my $comment = $name =~ /\.[ch]$/ ? qr{^\s*/?\*} : $name =~ /\.sql$/ ? qr{^\s*--} : qr{^\s*#};

	foreach my $block ($is_page ? blocks_of_page($text) : blocks_of_source($name, $text))
	{
		my ($line, $prose, $has_noun) = @$block;

		print qq($name:$line: begins with "$1"\n) if $has_noun && $prose =~ /^[^\w`]*($pronoun)/;
		$prose =~ s/`[^`]*`/code/g;
		$prose =~ s/\[([^]]*)\]\([^)]*\)/$1/g;
		$prose =~ s/\b(e\.g|i\.e|etc|vs|cf|No)\./$1/g;
		foreach my $sentence (split /(?<=[.!?])["')*]*\s+|(?<=[:;])["')*]*\s+(?=["'(*A-Z]|code)/, $prose)
		{
			my @words = grep { /\w/ } split /\s+/, $sentence;

			print "$name:$line: ", scalar(@words), " words: @words[0 .. 6]\n" if @words > $most_words;
		}
	}
	my $code = 0;
	my $number = 0;
	foreach (split /\n/, $text)
	{
		$number++;
		my $columns = length(s/\t/    /gr);
		if ($is_page)
		{
			$code = !$code if /^\s*```/;
			print "$name:$number: $columns columns\n" if $columns > $most_columns && !$code && !/^(?:    |\s*\|)/ && !/https?:/;
		}
		elsif ($columns > $most_columns && /$comment/ && !/https?:/)
		{
			print "$name:$number: $columns columns\n";
		}
	}
}
