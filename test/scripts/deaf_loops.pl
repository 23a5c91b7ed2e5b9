# deaf_loops.pl FILE...
#
# Print the loops over rows in C sources that do not react to a cancel request. In each round such a loop reads a
# row, or an event, a change or a charge of a container. It contains neither CHECK_FOR_INTERRUPTS() nor a call of a
# function that does.

use strict;
use warnings;

# Calls that read the next row of a table, an index, a sort, a query or a packed row.
my $reads = qr/\b(?:yq_\w+_(?:next|advance)\w*|\w*getnext\w*|(?:tuplestore|tuplesort)_gettupleslot|SPI_cursor_fetch)\b|\bSPI_tuptable->vals\b|\bSPI_processed\b/;

# Arrays in the charging code that are as long as the history of a container or a statement.
my $elements = qr/\b(?:events|charges|changes|segments|starts|finishes|bad_events|known|waiting|present)\[|\byq_container_life_change\b/;

# Loops that are short, or that must not end in the middle.
my %exceptions = (
	'src/charging/container_life.c' => { changes_until => 'bisects' },
	'src/charging/settler.c' => { add_start => 'a few events at most' });

# Functions by name; static functions have the name of their file, too.
my (%hears, %reader, @loops);

# Return the end of the text in the bracket that opens at a position.
sub end_of_bracket
{
	my ($text, $at) = @_;
	my ($open, $depth) = (substr($text, $at, 1), 0);
	my $close = $open eq '(' ? ')' : '}';

	pos($text) = $at;
	while ($text =~ /([\Q$open$close\E])/g)
	{
		$depth += $1 eq $open ? 1 : -1;
		return pos $text if $depth == 0;
	}
	die "no end of $open\n";
}

# Return the end of the statement at a position.
sub end_of_statement
{
	my ($text, $at) = @_;

	pos($text) = $at;
	$text =~ /\G\s*/g;
	$at = pos $text;
	return end_of_bracket($text, $at) if substr($text, $at, 1) eq '{';
	if ($text =~ /\G(?:if|for|while|switch|foreach\w*)\s*(?=\()/g)
	{
		my $end = end_of_statement($text, end_of_bracket($text, pos $text));

		pos($text) = $end;
		return $text =~ /\G\s*else\b/g ? end_of_statement($text, pos $text) : $end;
	}
	return index($text, ';', $at) + 1;
}

# loops_of(TEXT): return position and text of each loop
sub loops_of
{
	my ($text) = @_;
	my @found;

	while ($text =~ /\b(?:(for|while|foreach\w*)\s*(?=\()|do\s*(?=\{))/g)
	{
		my ($start, $head, $is_do) = ($-[0], pos $text, !defined $1);
		my $end = $is_do ? index($text, ';', end_of_bracket($text, $head)) : end_of_statement($text, end_of_bracket($text, $head));

		push @found, [ $start, substr($text, $start, $end - $start) ];
	}
	return @found;
}

sub calls
{
	my ($file, $text, $functions) = @_;

	return grep { $functions->{$_} || $functions->{"$file $_"} } $text =~ /\b(\w+)\s*\(/g;
}

for my $file (@ARGV)
{
	open my $in, '<', $file or die "$file: $!\n";
	my $code = do { local $/ = undef; <$in> };

	close $in;
	# remove comments and constants, but keep line breaks
	$code =~ s{(/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')}{ $1 =~ tr/\n//cdr }gse;
	while ($code =~ /^(static\b)?[^\n]*\n(\w+)\([^;{}]*?\)\n(\{.*?^\})/gms)
	{
		my ($function, $text, $line) = ($2, $3, 1 + substr($code, 0, $-[3]) =~ tr/\n//);
		my $name = $1 ? "$file $function" : $function;
		my @own = loops_of($text);

		$hears{$name} ||= $text =~ /\bCHECK_FOR_INTERRUPTS\b/;
		# a function that reads one row runs in its callers' loops
		$reader{$name} = 1 if !@own && $text =~ $reads && $file !~ m{^src/charging/};
		push @loops, map { { file => $file, function => $function, text => $_->[1], line => $line + substr($text, 0, $_->[0]) =~ tr/\n// } } @own;
	}
}

for my $loop (@loops)
{
	my ($file, $text) = @$loop{qw(file text)};

	# skip loops with a fixed number of rounds
	next if $text =~ /^for \(int \w+ = 0; \w+ < (?:\d+|[A-Z_]+|(?:\(int\) )?lengthof\(\w+\)); /;
	next if $text !~ $reads && !($file =~ m{^src/charging/} && $text =~ $elements) && !calls($file, $text, \%reader);
	next if $text =~ /\bCHECK_FOR_INTERRUPTS\b/ || calls($file, $text, \%hears) || $exceptions{$file}{ $loop->{function} };
	print "$file:$loop->{line}: $loop->{function}\n";
}
