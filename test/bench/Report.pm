# Report.pm: the table of figures.
#
# A row has a case and a figure, or the reason why there is no figure. It may have a second figure, with which the
# first is compared. The judged value is the ratio of the two or the figure itself, and the target is its limit.
# Targets come from the specification. A row without a target is only for information.
package Report;

use strict;
use warnings;

use JSON::PP;
use POSIX qw(strftime);

my @rows;

# add(CASE, OPTION...)
#   figure, baseline   numbers, with figure_unit and baseline_name
#   value              the judged figure, with unit; x for a ratio
#   at_most, at_least  the target
#   target             its text, by default made from these
#   note               anything worth knowing
#   missing            why there is no figure
sub add
{
	my ($case, %row) = @_;

	$row{case} = $case;
	$row{target} //= join ' and ', (defined $row{at_most} ? 'at most ' . with_unit($row{at_most}, $row{unit}) : ()),
	  (defined $row{at_least} ? 'at least ' . with_unit($row{at_least}, $row{unit}) : ());
	if (defined $row{missing})
	{
		$row{verdict} = $row{missing};
	}
	elsif (!defined $row{at_most} && !defined $row{at_least})
	{
		$row{verdict} = '';
	}
	else
	{
		my $met = (!defined $row{at_most} || $row{value} <= $row{at_most})
		  && (!defined $row{at_least} || $row{value} >= $row{at_least});
		$row{verdict} = $met ? 'met' : 'missed';
	}
	push @rows, \%row;
	print STDERR '  ', join(' | ', cells(\%row)), "\n";
	return;
}

sub rows { return \@rows; }

sub with_unit
{
	my ($number, $unit) = @_;

	return '' unless defined $number;
	my $text = $number =~ /^\d+(?:\.\d{1,2})?$/ ? $number : Bench::shown($number);
	return $text unless defined $unit && $unit ne '';
	return $unit eq 'x' ? "$text x" : "$text $unit";
}

sub cells
{
	my ($row) = @_;
	my $baseline = defined $row->{baseline}
	  ? join(' ', grep { defined } $row->{baseline_name}, with_unit(Bench::shown($row->{baseline}), $row->{figure_unit})) : '';

	return ($row->{case},
		defined $row->{figure} ? with_unit(Bench::shown($row->{figure}), $row->{figure_unit}) : '',
		$baseline,
		defined $row->{value} ? with_unit(Bench::shown($row->{value}), $row->{unit}) : '',
		$row->{target}, $row->{verdict}, $row->{note} // '');
}

my @heading = ('case', 'yquota', 'baseline', 'value', 'target', 'verdict', 'note');

# write_files(NAME, ABOUT): write NAME.md and NAME.json, and return the table as text.
sub write_files
{
	my ($name, $about) = @_;
	my @table = (\@heading, map { [ cells($_) ] } @rows);
	my @width = (0) x @heading;

	foreach my $line (@table)
	{
		foreach my $i (0 .. $#$line)
		{
			$width[$i] = length $line->[$i] if length $line->[$i] > $width[$i];
		}
	}
	splice @table, 1, 0, [ map { '-' x $_ } @width ];
	my $text = join '', map {
		my $line = $_;
		'| ' . join(' | ', map { sprintf '%-*s', $width[$_], $line->[$_] } 0 .. $#width) . " |\n"
	} @table;

	write_file("$name.md", "# yquota bench\n\n" . join('', map { "- $_: $about->{$_}\n" } sort keys %$about) . "\n$text");
	# Numbers must be converted, because JSON would otherwise show them as strings.
	my @numeric = map {
		my %row = %$_;
		foreach my $key (qw(figure baseline value at_most at_least))
		{
			$row{$key} += 0 if defined $row{$key};
			$row{$key} = undef if defined $row{$key} && $row{$key} == 9**9**9;
		}
		\%row
	} @rows;
	write_file("$name.json", JSON::PP->new->canonical->pretty->encode({ about => $about, rows => \@numeric }));
	return $text;
}

sub write_file
{
	my ($name, $text) = @_;

	open my $file, '>', $name or die "could not write \"$name\": $!\n";
	print $file $text;
	close $file or die "could not write \"$name\": $!\n";
	return;
}

1;
