# Falsified copies of recorded decisions. A test that compares decisions must notice each falsification.
#
# falsify($records, %options) returns one falsification of every kind that the records allow, as [kind, record]. The
# records are decoded JSON, and so are the copies.
#
#	figure	tells whether a path ("steps/3/events/0/1") leads to a decision.  Its arguments are the path and the
#			record.  In names a path has backslashes for slashes.
#	steps	name of the list of steps.  A copy ends with the falsified step.
#	optional	a pattern for the paths of optional values.
#	maps	a pattern for the paths of objects that accept other names.
#	name	a name that is added to such an object.
#
# A kind is a place and the change that is made there. In a place, a number stands for any row, and "*" for any
# name. A change alters the last digit of a number, a ten-thousandth of a fraction, or a letter of a word. In a text
# each word is changed, and a text with "; " is also treated as a list. In a list two rows are swapped, or one row
# is repeated, removed or added.
package Falsified;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;

our @EXPORT_OK = qw(falsify unnoticed);

my $json = JSON::PP->new->canonical->allow_nonref;

# Return a word that differs slightly from the given one.
sub changed_word
{
	my ($word) = @_;

	return sprintf '%.9g', 1.0001 * $word if $word =~ /^\d+\.\d+(?:E-?\d+)?$/ && $word > 0;
	return 1 if $word eq 'NaN';
	return $word =~ s/(\d)([^\d]*)$/($1 == 9 ? 8 : $1 + 1) . $2/er if $word =~ /^-?[\d.]+\D?$/;
	return "${word}x";
}

sub changed_value
{
	my ($value) = @_;

	return $value ? JSON::PP::false : JSON::PP::true if JSON::PP::is_bool($value);
	return 1 unless defined $value;
	return changed_word($value) if $json->encode($value) =~ /^"/;
	return $value == int $value ? $value + 1 : 0 + changed_word("$value");
}

# Return a row that differs from the given one.
sub changed_row
{
	my ($row) = @_;

	return [ map { changed_row($_) } @$row ] if ref $row eq 'ARRAY';
	return { map { $_ => changed_row($row->{$_}) } keys %$row } if ref $row eq 'HASH';
	return changed_value($row);
}

# Return all changes of a list, by name.
sub list_falsifications
{
	my ($list, $template) = @_;
	my ($first) = grep { $json->encode($list->[$_]) ne $json->encode($list->[ $_ + 1 ]) } 0 .. $#$list - 1;
	my %falsified;

	$falsified{'order changed'} = [ @$list[ 0 .. $first - 1 ], @$list[ $first + 1, $first ], @$list[ $first + 2 .. $#$list ] ] if defined $first;
	$falsified{'row repeated'} = [ @$list, $list->[-1] ] if @$list;
	$falsified{'row missing'} = [ @$list[ 0 .. $#$list - 1 ] ] if @$list;
	$falsified{'row added'} = [ @$list, changed_row($list->[-1]) ] if @$list;
	$falsified{'row added to none'} = [$template] if !@$list && defined $template;
	return %falsified;
}

sub text_falsifications
{
	my ($text) = @_;
	my @rows = split /; /, $text, -1;
	my %falsified;

	if (@rows > 1)
	{
		my %list = list_falsifications(\@rows);

		$falsified{$_} = join '; ', @{ $list{$_} } foreach keys %list;
	}
	foreach my $at (0 .. $#rows)
	{
		my @words = split /([\s:,\/<>]+)/, $rows[$at];
		my $begin = ($words[0] // '') =~ s/\d+/N/gr;

		foreach my $word (grep { $words[$_] =~ /\w/ } 0 .. $#words)
		{
			my @changed = @words;

			$changed[$word] = changed_word($changed[$word]);
			$falsified{"value changed, word $word after $begin"} //= join '; ', @rows[ 0 .. $at - 1 ], join('', @changed), @rows[ $at + 1 .. $#rows ];
		}
	}
	return %falsified;
}

sub falsifications_of_value
{
	my ($value) = @_;

	return text_falsifications($value) if defined $value && !JSON::PP::is_bool($value) && $json->encode($value) =~ /^"/;
	return ('value changed' => changed_value($value));
}

# Return a path without its numbers of rows and its names.
sub place
{
	my ($path, $in_row) = @_;
	my @names = split /\//, $path, -1;

	foreach my $at (0 .. $#names)
	{
		next if $in_row && $at == $#names;
		$names[$at] = $names[$at] =~ /^(\w+) / ? "$1 *" : $names[$at] =~ /^\d+$/ ? '0' : $names[$at] =~ /^$|[\d.]|^root/ ? '*' : $names[$at];
	}
	return join '/', @names;
}

# Propose changes at the path and below it. Within rows, the position of a value determines its
# meaning.
sub walk
{
	my ($value, $path, $in_row, $context) = @_;
	my $is_figure = $context->{figure}->($path, $context->{record});
	my $propose = sub {
		my ($kind, $falsified) = @_;

		$context->{propose}->($kind, $path, $falsified);
	};

	if (ref $value eq 'HASH')
	{
		foreach my $name (sort keys %$value)
		{
			my $below = ($path eq '' ? '' : "$path/") . $name =~ tr{/}{\\}r;

			walk($value->{$name}, $below, undef, $context);
			next if !$context->{figure}->($below, $context->{record}) || ($context->{optional} && $below =~ $context->{optional});
			my %rest = %$value;
			delete $rest{$name};
			$propose->(place($below) . ': missing', \%rest);
		}
		if ($context->{maps} && $path =~ $context->{maps})
		{
			my ($any) = sort keys %$value;

			$context->{template}{ place($path) } //= $value->{$any} if defined $any;
			my $added = $context->{template}{ place($path) };
			$propose->(place($path) . ': name added', { %$value, $context->{name} => $added })
			  if defined $added && !exists $value->{ $context->{name} };
		}
	}
	elsif (ref $value eq 'ARRAY')
	{
		my $is_row = $in_row || !grep { ref || $json->encode($_) =~ /^"/ } @$value;

		walk($value->[$_], "$path/$_", ref $value->[$_] || $is_row, $context) foreach 0 .. $#$value;
		return unless $is_figure;
		$context->{template}{ place($path) } //= $value->[0] if @$value;
		my %falsified = list_falsifications($value, $context->{template}{ place($path) });
		$propose->(place($path) . ": $_", $falsified{$_}) foreach sort keys %falsified;
	}
	elsif ($is_figure)
	{
		my %falsified = falsifications_of_value($value);

		$propose->(place($path, $in_row) . ": $_", $falsified{$_}) foreach sort keys %falsified;
	}
	return;
}

sub put_at
{
	my ($record, $path, $value) = @_;
	my @names = map { tr{\\}{/}r } split /\//, $path, -1;
	my $last = pop @names;
	my $at = $record;

	return $value unless defined $last;
	$at = ref $at eq 'ARRAY' ? $at->[$_] : $at->{$_} foreach @names;
	ref $at eq 'ARRAY' ? $at->[$last] = $value : ($at->{$last} = $value);
	return $record;
}

sub falsify
{
	my ($records, %option) = @_;
	my $steps = $option{steps} // 'steps';
	my (%found, %template);

	foreach my $number (0 .. $#$records)
	{
		my $record = $records->[$number];
		my $propose = sub {
			my ($kind, $path, $falsified) = @_;
			my ($step) = $path =~ m{^\Q$steps\E/(\d+)};
			my $known = $found{$kind};

			# choose the record in which the fewest steps must be played
			$found{$kind} = { number => $number, path => $path, value => $falsified, step => $step } if !$known || ($step // 0) < ($known->{step} // 0);
		};

		walk($record, '', undef, { %option, record => $record, template => \%template, propose => $propose });
	}
	return map {
		my $kind = $found{$_};
		my $copy = $json->decode($json->encode($records->[ $kind->{number} ]));

		$copy = put_at($copy, $kind->{path}, $kind->{value});
		splice @{ $copy->{$steps} }, $kind->{step} + 1 if defined $kind->{step};
		[ $_, $copy ];
	} sort keys %found;
}

# Return the kinds of falsifications that were not noticed, one on each line.
sub unnoticed
{
	my ($falsified, @differences) = @_;

	return join "\n", map { $falsified->[$_][0] } grep { ($differences[$_] // '') eq '' } 0 .. $#$falsified;
}

1;
