#!/usr/bin/perl
# make_update.pl RELEASE TREE BEFORE AFTER
#
# Write the script that updates a released version of the extension to the
# tree's.  RELEASE is the released install script, TREE the tree's.  BEFORE and
# AFTER are what people write for this update (sql/update/), /dev/null if there
# is nothing to write.  The update is, in this order:
#
# 1. BEFORE: what a table, type, index or signature that exists already needs
#    to become the tree's; what is gone; shipped rows that changed.  A release's
#    statement about an object that BEFORE renames, or moves to another schema,
#    is read as if it had the new name.
# 2. TREE, in its own order and with what the release has left out:
#    - functions, aggregates and views: all of them, as CREATE OR REPLACE, so
#      that they follow what has changed around them;
#    - triggers that the release has not in these words, as CREATE OR REPLACE;
#    - tables, types, indexes and so on that neither the release nor BEFORE
#      creates, and rows for tables that the release has not;
#    - comments, privileges, dump marks and everything else that the release
#      has not in these words, or that is about something that BEFORE drops.
# 3. AFTER: what needs the new functions.
#
# Nothing tells here whether that is enough: test/t/extension_update.pl does.
use strict;
use warnings;

@ARGV == 4 or die "usage: make_update.pl RELEASE TREE BEFORE AFTER\n";
my ($release, $tree, $before, $after) = map { text_of($_) } @ARGV;

my @before = statements($before);
my %renamed = map { renamed($_) } @before;
my $old_names = join '|', map { quotemeta } sort { length $b <=> length $a } keys %renamed;
my @released = map { with_new_names($_) } statements($release);
my %released = map { words($_) => 1 } @released;
my %existing = map { $_ => 1 } grep { defined } map { created($_) } @released, @before;
my @dropped = map { dropped($_) } @before;
delete @existing{ map { created_name($_) } @dropped };

print qq(\\echo Use "ALTER EXTENSION yquota UPDATE" to load this file. \\quit\n\n);
print "SET LOCAL search_path = pg_catalog, pg_temp;\n\n";
print without_psql($before);
foreach my $statement (statements($tree))
{
	my $update = update($statement);

	print "$update;\n" if defined $update;
}
print without_psql($after);

sub text_of
{
	my ($file) = @_;

	open my $in, '<', $file or die "could not open \"$file\": $!\n";
	local $/;
	my $text = <$in>;
	close $in;
	return defined $text ? $text : '';
}

# Without the line that keeps psql from running the file.
sub without_psql
{
	my ($text) = @_;

	$text =~ s/^\\.*\n//mg;
	return $text;
}

# The statements of a script, without semicolons and leading comments.  A
# semicolon ends one unless it is quoted or inside of BEGIN ATOMIC ... END.
sub statements
{
	my ($text) = @_;
	my @statements;
	my $statement = '';
	my $depth = 0;

	$text = without_psql($text);
	while ($text =~ /\G(
			--[^\n]*\n? | \/\*.*?\*\/ | '(?:[^']|'')*' | "(?:[^"]|"")*" | (\$\w*\$).*?\g2
			| [A-Za-z_]\w* | \s+ | .
		)/gsx)
	{
		my $token = $1;

		if ($token eq ';' && !$depth)
		{
			push @statements, $statement;
			$statement = '';
			next;
		}
		# leading space and comments
		next if $statement eq '' && $token =~ /^(--|\/\*|\s)/;
		$statement .= $token;
		if ($statement =~ /^CREATE\s+(OR\s+REPLACE\s+)?(FUNCTION|PROCEDURE)\b/i)
		{
			$depth++ if $token =~ /^(BEGIN|CASE)$/i;
			$depth-- if $token =~ /^END$/i && $depth;
		}
	}
	die "statement does not end: $statement\n" if $statement ne '';
	return @statements;
}

# The same for statements that differ in space only.
sub words
{
	my ($statement) = @_;

	$statement =~ s/\s+/ /g;
	return $statement;
}

sub created_name { return lc $_[0]; }

# Name of what the statement creates, if that cannot be replaced; else undef.
sub created
{
	my ($statement) = @_;

	return created_name($1)
	  if words($statement) =~ /^CREATE (?:UNIQUE )?(?:TABLE|TYPE|DOMAIN|SEQUENCE|SCHEMA|EVENT TRIGGER|OPERATOR FAMILY|STATISTICS) (?:IF NOT EXISTS )?([\w."]+)/i;
	return created_name("$2.$1")
	  if words($statement) =~ /^CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?(\w+) ON (?:ONLY )?(\w+)\./i;
	return created_name("policy $1 on $2")
	  if words($statement) =~ /^CREATE POLICY (\w+) ON ([\w."]+)/i;
	return undef;
}

# Old and new name of the object that the statement renames or moves to another
# schema.  An index has no schema where it is created.
sub renamed
{
	my ($statement) = @_;

	return ($1 => $2) if words($statement) =~ /^ALTER INDEX \w+\.(\w+) RENAME TO (\w+)$/i;
	words($statement) =~ /^ALTER (?:TABLE|VIEW|TYPE|FUNCTION|AGGREGATE) (\w+)\.(\w+)(?:\(.*\))? (RENAME TO|SET SCHEMA) (\w+)$/i
	  or return;
	return ("$1.$2" => uc $3 eq 'SET SCHEMA' ? "$4.$2" : "$1.$4");
}

# The statement as it would read after BEFORE.  A string is renamed if it is a
# name; one that only contains a name is a message, which stays as it was stored.
sub with_new_names
{
	my ($statement) = @_;

	$statement =~ s{'((?:[^']|'')*)'|(?<![\w.])($old_names)(?!\w)}{defined $2 ? $renamed{$2} : "'" . ($renamed{$1} // $1) . "'"}ge
	  if %renamed;
	return $statement;
}

# Names of what the statement drops, without the arguments of functions.
sub dropped
{
	my ($statement) = @_;

	words($statement) =~
	  /^DROP (?:TABLE|TYPE|DOMAIN|SEQUENCE|SCHEMA|INDEX|VIEW|FUNCTION|PROCEDURE|AGGREGATE|EVENT TRIGGER|STATISTICS) (?:IF EXISTS )?(.*)/i
	  or return;
	return map { /^\s*([\w."]+)/ } split /,/, $1 =~ s/\([^)]*\)//gr;
}

# Is the statement about something that BEFORE drops?
sub is_about_dropped
{
	my ($statement) = @_;
	my ($head) = words($statement) =~ /^([^']*)/;

	return grep { $head =~ /(?<![\w.])\Q$_\E(?![\w])/ } @dropped;
}

# What the update has of a statement of the tree; undef for nothing.
sub update
{
	my ($statement) = @_;
	my $name = created($statement);

	return undef if $statement =~ /^SET\s+LOCAL\s+search_path\b/i;
	return $statement if $statement =~ /^ALTER\s+(FUNCTION|PROCEDURE|AGGREGATE|VIEW)\b/i;
	return $statement
	  if $statement =~ s/^CREATE\s+(?:OR\s+REPLACE\s+)?(FUNCTION|PROCEDURE|AGGREGATE|VIEW)\b/CREATE OR REPLACE $1/i;
	return $existing{$name} ? undef : $statement if defined $name;
	return $existing{ created_name($1) } ? undef : $statement
	  if $statement =~ /^INSERT\s+INTO\s+([\w."]+)/i;
	return undef if $released{ words($statement) } && !is_about_dropped($statement);
	$statement =~ s/^CREATE\s+(?:OR\s+REPLACE\s+)?TRIGGER\b/CREATE OR REPLACE TRIGGER/i;
	return $statement;
}
