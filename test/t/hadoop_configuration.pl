# Import and export of Hadoop's configuration files. Random configurations keep their meaning in any spelling,
# and the documented list of properties agrees with the extension. Large files are read quickly, or refused
# before they cost time or memory.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use JSON::PP;
use List::Util qw(shuffle);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;

my $seed = $ENV{HADOOP_CONFIGURATION_SEED} // int(rand(2**31));
srand($seed);
note("HADOOP_CONFIGURATION_SEED=$seed");

my $node = PostgreSQL::Test::Cluster->new('hadoop_configuration');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota');

#
# The page
#
my ($printed) = run_command([ 'psql', '-X', '-A', '-t', '-q', '-d', $node->connstr('postgres'), '-f', "$FindBin::RealBin/../scripts/hadoop_properties.sql" ]);
my ($shown) = slurp_file("$FindBin::RealBin/../../docs/hadoop-properties.md") =~ /^(## Queues\n.*?)\n*\z/ms;
is($shown, $printed, 'docs/hadoop-properties.md shows what test/scripts/hadoop_properties.sql prints');
cmp_ok(scalar(() = $printed =~ /^\| `yarn/mg), '>', 140, 'docs/hadoop-properties.md has the kinds of every property');

#
# Random configurations. Each value is generated in the form that export writes, and in another form
# that Hadoop reads as the same value.
#
my $json = JSON::PP->new->utf8(0)->canonical;
my @facts = map { [ split /\|/ ] } split(/\n/,
	$node->safe_psql('postgres', 'SELECT property, file, notation FROM yquota_internal.hadoop_property'));
my %other_name = map { my ($former, $present) = split /\|/; ($former => $present, $present => $former) } split(/\n/,
	$node->safe_psql('postgres', 'SELECT property, present_name FROM yquota_internal.hadoop_former_name'));
my @names = ('a', 'b', 'B-1', 'x_y', "\x{e9}t\x{e9}", 'two words', '"q"', "o'k", 'capacity', 'queues', 'state', '%user', 'a&b<c>', "\x{43e}\x{447}", ']]>', 'n' x 100);
my @labels = qw(gpu ssd l-1 CAPS x_2);
my @users = ('alice', 'john.doe', "\x{17c}uk", 'a-b', 'weight', 'x@y.z');
my @texts = ('fair', 'org.example.Some$Class', 'a & b', '<x>', '"quoted"', "o'k", "\x{20ac}", 'a,b', 'x=y', ']]>', '*', '%user', '$ {x}', '\\n');
my @calculators = map { "org.apache.hadoop.yarn.util.resource.$_" } qw(DefaultResourceCalculator DominantResourceCalculator);

sub pick { return $_[ int(rand(@_)) ]; }

sub some
{
	my ($most, @from) = @_;
	my %picked;

	$picked{ pick(@from) } = 1 for 1 .. 1 + int(rand($most));
	return shuffle(sort keys %picked);
}

# Blanks that Hadoop trims
sub padded { return pick('', ' ', "\n\t", '  ') . $_[0] . pick('', ' ', "\n"); }

# values by notation, each as export writes it and in another spelling
my %value_of = (
	capacity => sub {
		my $percent = int(rand(800)) / 8;
		return ($percent, padded($percent)) if rand() < 0.5;
		my $other = pick(int(rand(20)) . 'w', '[memory=' . int(rand(9999)) . ',vcores=' . int(rand(99)) . ']', '[memory=50%,vcores=2w]');
		return ($other, $other);
	},
	integer => sub {
		my $n = int(rand(2**31) / pick(1, 2**20)) * pick(1, -1);
		$n = int(rand(200)) - 100 if rand() < 0.5;
		return ($n, padded(pick($n, $n < 0 ? sprintf('-0x%x', -$n) : sprintf('0x%X', $n), $n < 0 ? $n : "+$n")));
	},
	count => sub { my $n = int(rand(2**31) / pick(1, 2**20)); return ($n, padded(pick($n, sprintf('0x%x', $n)))); },
	positive => sub { my $n = 1 + int(rand(2**20)); return ($n, padded($n)); },
	milliseconds => sub { my $n = int(rand(2**31) / pick(1, 2**20)); return ($n, padded(pick($n, sprintf('0x%X', $n)))); },
	period => sub { my $n = 1 + int(rand(2**40)); return ($n, padded($n)); },
	factor => sub { my $n = int(rand(4096)) / 64; return ($n, padded(pick($n, "${n}F"))); },
	ratio => sub { my $n = 1 + int(rand(64)) / 64; return ($n, padded(pick($n, "${n}f"))); },
	comparator => sub { my $comparator = pick(qw(QUEUE_LENGTH QUEUE_WAIT_TIME QUEUE_LENGTH_THEN_RESOURCES)); return ($comparator, $comparator); },
	'queue policy' => sub { my $policy = pick(qw(BY_QUEUE_LEN BY_RESOURCES)); return ($policy, padded($policy)); },
	decimal => sub { my $n = int(rand(1000)); return ($n, pick($n, "+$n", "00$n")); },
	long => sub { my $n = int(rand(2**50)); return ($n, padded(pick($n, sprintf('0x%x', $n)))); },
	float => sub { my $n = int(rand(4096)) / 64; return ($n, padded(pick($n, "${n}f", "+$n", $n * 10 . 'e-1'))); },
	double => sub { my $n = int(rand(4096)) / 64; return ($n, padded(pick($n, "${n}d"))); },
	boolean => sub { my $b = pick('true', 'false'); return ($b, padded(pick($b, uc $b, ucfirst $b))); },
	text => sub {
		my ($property) = @_;
		my $text = pick($property =~ /\.resource-calculator$/ ? @calculators : @texts);
		return ($text, padded($text));
	},
	acl => sub { my $acl = pick(' ', '*', 'u1,u2 g1', ' g1', 'u '); return ($acl, $acl); },
	options => sub { my $text = pick(@texts, ' '); return ($text, $text); },
	state => sub { my $state = pick('RUNNING', 'STOPPED'); return ($state, pick($state, lc $state)); },
	format => sub { my $format = pick('legacy', 'json'); return ($format, $format); },
	list => sub { my @list = some(3, qw(a b c.d E)); return (join(',', @list), padded(join(pick(',', ' , ', ",,\n"), @list))); },
	labels => sub {
		return (' ', ' ') if rand() < 0.1;
		return ('*', pick('*', 'gpu, *', '*,*')) if rand() < 0.2;
		my @list = some(3, @labels);
		return (join(',', @list), padded(join(pick(',', ' , ', ',,'), @list, pick(@list))));
	},
	resource => sub {
		my ($memory, $vcores) = (1 + int(rand(9999)), 1 + int(rand(99)));
		return ("memory-mb=$memory,vcores=$vcores", padded(pick("memory-mb=$memory,vcores=$vcores", "vcores = $vcores, memory-mb=${memory}Mi", "memory=$memory,vcores=$vcores")));
	},
	mappings => sub { my @list = map { pick('u', 'g') . ":$_:" . pick('a', 'root.a.%user') } some(4, 'x', 'y', '%user', 'z z'); return (join(',', @list), padded(join(pick(',', " ,\n"), @list))); },
	'application mappings' => sub { my @list = map { "$_:root.b" } some(3, 'hive', 'spark'); return (join(',', @list), padded(join(pick(',', ' , '), @list))); },
	workflows => sub { my @list = map { "$_:root.a:" . (int(rand(9)) - 4) } some(3, 'w1', 'w2', 'W3'); return (join(',', @list), padded(join(', ', @list, $list[0]))); },
	'json rules' => sub {
		my @rules = map { '{"type":"user","matches":"' . $_ . '","policy":"custom","customPlacement":"root.%user","create":' . pick('true', 'false') . ',"fallbackResult":"' . pick('skip', 'reject') . '"}' } some(3, '*', 'u1', 'u2');
		my $text = '{"rules":[' . join(',', @rules) . ']}';
		return ($text, padded($text =~ s/","/" ,\n "/gr));
	},);

# Return a random hierarchy of queues: path => [names of children]
sub random_tree
{
	my %children;
	my @parents = ('root');

	while (defined(my $path = shift @parents))
	{
		next if $path ne 'root' && (rand() < 0.5 || $path =~ tr/.// > 3);
		$children{$path} = [ some(4, @names) ];
		push @parents, map { "$path.$_" } @{ $children{$path} };
	}
	return \%children;
}

# Return a random configuration: property => [file, as exported, as spelled]
sub random_configuration
{
	my $children = random_tree();
	my @paths = ('root', map { my $path = $_; map { "$path.$_" } @{ $children->{$path} } } sort keys %$children);
	my %configuration;

	foreach my $path (sort keys %$children)
	{
		$configuration{"yarn.scheduler.capacity.$path.queues"} = [ 'capacity-scheduler.xml', join(',', @{ $children->{$path} }), padded(join(pick(',', ' , ', ",\n"), @{ $children->{$path} })) ];
	}
	foreach (1 .. 20 + int(rand(200)))
	{
		my ($property, $file, $notation) = @{ pick(@facts) };
		next if $notation eq 'children' || exists $other_name{$property} && exists $configuration{ $other_name{$property} };
		my $path = pick(@paths);

		$property =~ s/<(?:queue|parent)>/$path/;
		$property =~ s/<label>/pick(@labels)/e;
		$property =~ s/<(?:user)>/pick(@users)/e;
		$property =~ s/<policy>/pick(qw(p1 p2))/e;
		$property =~ s/<option>/pick('capacity', 'fair.weight', 'accessible-node-labels.gpu.capacity', "\x{e9}")/e;
		my ($exported, $spelled) = $value_of{$notation}->($property);
		$configuration{$property} = [ $file, $exported, $spelled ];
	}
	# properties of queues that are not listed, and properties that nothing uses
	$configuration{"yarn.scheduler.capacity.root.nowhere$_.capacity"} = [ 'capacity-scheduler.xml', " $_ ", " $_ " ] foreach 1 .. rand(3);
	$configuration{'yarn.scheduler.capacity.unheard.of'} = [ 'capacity-scheduler.xml', '<&>', '<&>' ] if rand() < 0.5;
	$configuration{'yarn.acl.enable'} = [ 'yarn-site.xml', 'true', 'True' ];
	# an empty file replaces nothing
	$configuration{'mapreduce.job.num-opportunistic-maps-percent'} = [ 'mapred-site.xml', '7', ' 7' ] unless grep { /^mapreduce/ } keys %configuration;
	return \%configuration;
}

sub escaped
{
	my ($text, $as_attribute) = @_;

	return "<![CDATA[$text]]>" if !$as_attribute && $text !~ /\]\]>/ && rand() < 0.2;
	$text =~ s/&/&amp;/g;
	$text =~ s/</&lt;/g;
	$text =~ s/>/&gt;/g;
	$text =~ s/"/&quot;/g;
	# unescaped white space in an attribute is read as a blank
	$text =~ s/([\n\t])/'&#' . ord($1) . ';'/ge if $as_attribute;
	$text =~ s/([^\x00-\x7f])/'&#x' . sprintf('%x', ord $1) . ';'/ge if rand() < 0.3;
	return $text;
}

sub document
{
	my ($configuration, $file) = @_;
	my $text = "<?xml version='1.0'?>\n<!-- licence -->\n<configuration>\n";

	foreach my $property (shuffle(sort keys %$configuration))
	{
		my (undef, undef, $spelled) = @{ $configuration->{$property} };

		next unless $configuration->{$property}[0] eq $file;
		if (rand() < 0.1)
		{
			$text .= '<property name="' . escaped($property, 1) . '" value="' . escaped($spelled, 1) . "\"/>\n";
			next;
		}
		$text .= '<property><name>' . padded(escaped($property)) . '</name><value>' . escaped($spelled) . '</value>' . pick('', '<description>a <b>c</b> &amp; d</description>', '<final>false</final>', '<!-- x -->') . "</property>\n";
	}
	return "$text</configuration>\n";
}

# Return the documents as SQL, and a table of the expected answers
sub documents
{
	my ($configuration) = @_;
	my @documents = map { '$document$' . document($configuration, $_) . '$document$' } 'mapred-site.xml', 'yarn-site.xml', 'capacity-scheduler.xml';

	return 'ARRAY[' . join(', ', @documents) . ']';
}

sub expected
{
	my ($name, $configuration) = @_;
	my %values = map { $_ => $configuration->{$_}[1] . '' } keys %$configuration;

	return "CREATE TEMPORARY TABLE $name ON COMMIT DROP AS SELECT key AS property, value FROM jsonb_each_text(\$json\$" . $json->encode(\%values) . "\$json\$);\n";
}

my ($rounds, $properties) = (0, 0);
while (soak_goes_on($rounds, 15, 200))
{
	my ($first, $second) = (random_configuration(), random_configuration());
	my ($first_documents, $second_documents) = (documents($first), documents($second));
	my $sql = "SET client_encoding = 'UTF8';\nBEGIN;\n" . expected('first', $first) . expected('second', $second) . <<~SQL;
		SELECT 'outcomes: ' || coalesce(string_agg(DISTINCT outcome || ' ' || property || ' ' || coalesce(reason, ''), ', '), '') FROM yquota.import_hadoop_configuration($first_documents)
		WHERE outcome NOT IN ('set', 'unknown') OR outcome = 'unknown' AND property !~ 'nowhere|unheard';
		SELECT 'imported: ' || coalesce(string_agg(f.property || '=' || coalesce(f.value, 'NULL') || ' ' || coalesce(c.value, 'NULL'), ', '), '')
		FROM first AS f FULL JOIN yquota.hadoop_configuration() AS c ON c.property = f.property WHERE f.value IS DISTINCT FROM c.value;
		CREATE TEMPORARY TABLE audited ON COMMIT DROP AS SELECT count(*) AS rows FROM yquota.audit;
		SELECT 'again: ' || coalesce(string_agg(outcome || ' ' || property, ', '), '') FROM yquota.import_hadoop_configuration(yquota.export_hadoop_configuration(NULL), even_if_mutable => true) WHERE outcome NOT IN ('unchanged', 'unknown');
		SELECT 'as JSON: ' || coalesce(string_agg(property, ', '), '') FROM yquota.diff_hadoop_configuration((SELECT jsonb_object_agg(property, value) FROM yquota.hadoop_configuration()));
		SELECT 'audited: ' || coalesce(nullif(count(*) - (SELECT rows FROM audited), 0)::text, '') FROM yquota.audit;
		CREATE TEMPORARY TABLE difference ON COMMIT DROP AS SELECT * FROM yquota.diff_hadoop_configuration($second_documents);
		SELECT 'difference: ' || coalesce(string_agg(coalesce(d.property, w.property), ', '), '')
		FROM difference AS d FULL JOIN (SELECT coalesce(f.property, s.property) AS property, f.value AS old, s.value AS new FROM first AS f FULL JOIN second AS s ON s.property = f.property
			WHERE f.value IS DISTINCT FROM s.value) AS w ON w.property = d.property AND w.old IS NOT DISTINCT FROM d.old AND w.new IS NOT DISTINCT FROM d.new
		WHERE d.property IS NULL OR w.property IS NULL;
		SELECT count(*) FROM yquota.import_hadoop_configuration($second_documents, even_if_mutable => true) \\g /dev/null
		SELECT 'replaced: ' || coalesce(string_agg(coalesce(s.property, c.property), ', '), '')
		FROM second AS s FULL JOIN yquota.hadoop_configuration() AS c ON c.property = s.property WHERE s.value IS DISTINCT FROM c.value;
		SELECT count(*) FROM yquota.import_hadoop_configuration($first_documents, 'merge', true) \\g /dev/null
		SELECT 'merged: ' || coalesce(string_agg(coalesce(w.property, c.property), ', '), '')
		FROM (SELECT * FROM first UNION ALL SELECT * FROM second WHERE property NOT IN (SELECT property FROM first)
			  AND property <> ALL (yquota_internal.other_hadoop_names(ARRAY(SELECT property FROM first)))) AS w
		FULL JOIN yquota.hadoop_configuration() AS c ON c.property = w.property WHERE w.value IS DISTINCT FROM c.value
		  -- what the other tree of queues has is kept as it was spelled
		  AND NOT EXISTS (SELECT FROM yquota.unmapped_property AS k WHERE k.property = c.property);
		ROLLBACK;
		SQL
	utf8::encode($sql);
	my ($status, $output, $errors) = $node->psql('postgres', $sql);

	$rounds++;
	$properties += keys(%$first) + keys(%$second);
	unless (is($errors, '', "round $rounds has no error") && is($output, "outcomes: \nimported: \nagain: \nas JSON: \naudited: \ndifference: \nreplaced: \nmerged: ", "its configurations come back as they were meant"))
	{
		diag("HADOOP_CONFIGURATION_SEED=$seed");
		last;
	}
}
note("$rounds rounds, $properties properties");

#
# Damaged files cause an error that describes the damage, or are read as another configuration
#
my $mutations = is_soak() ? 50000 : 2000;
my $damaged = document(random_configuration(), 'capacity-scheduler.xml');
utf8::encode($damaged);
is( $node->safe_psql('postgres', <<~SQL), '', "$mutations damaged files are read or refused");
	SET client_encoding = 'UTF8';
	CREATE FUNCTION pg_temp.read(document text) RETURNS text LANGUAGE plpgsql AS \$\$
	BEGIN
		PERFORM * FROM yquota_internal.hadoop_document_properties(document);
		RETURN NULL;
	EXCEPTION WHEN invalid_xml_document OR feature_not_supported OR invalid_parameter_value THEN
		RETURN NULL;
	WHEN OTHERS THEN
		RETURN SQLSTATE || ' ' || SQLERRM;
	END \$\$;
	SELECT setseed(${\ ($seed / 2**31) }) \\g /dev/null
	SELECT DISTINCT pg_temp.read(overlay(d.document PLACING (ARRAY['', '<', '>', '&', ';', '"', '<!--', ']]>', '</property>', '&#', E'\\r', chr(7)])[1 + floor(random() * 12)]
										 FROM 1 + floor(random() * length(d.document))::integer FOR floor(random() * 20)::integer))
	FROM (SELECT \$document\$$damaged\$document\$) AS d (document), generate_series(1, $mutations) AS i
	ORDER BY 1;
	SQL

#
# Large files
#
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE queue_of (path text, depth integer);
	WITH RECURSIVE tree AS (
		SELECT 'root' AS path, 0 AS depth
		UNION ALL
		SELECT t.path || '.q' || i, t.depth + 1 FROM tree AS t, generate_series(1, (ARRAY[10, 4, 4, 4, 4, 3])[t.depth + 1]) AS i WHERE t.depth < 6)
	INSERT INTO queue_of SELECT path, depth FROM tree;
	CREATE TABLE large AS
	SELECT '<configuration>' || string_agg(format('<property><name>yarn.scheduler.capacity.%s</name><value>%s</value></property>', p.property, p.value), E'\n') || '</configuration>' AS document
	FROM (SELECT path || '.capacity' AS property, '1w' AS value FROM queue_of WHERE depth > 0
		  UNION ALL SELECT path || '.maximum-capacity', '100' FROM queue_of WHERE depth > 0
		  UNION ALL SELECT path || '.acl_submit_applications', 'u1,u2 g1' FROM queue_of WHERE depth > 0
		  UNION ALL SELECT regexp_replace(path, '\.[^.]*$', '') || '.queues', string_agg(regexp_replace(path, '^.*\.', ''), ',') FROM queue_of WHERE depth > 0 GROUP BY 1
		  UNION ALL SELECT 'queue-mappings', string_agg(format('u:user%s:root.q%s.q1.q1.q1.q1.q%s', i, i % 10 + 1, i % 3 + 1), ',') FROM generate_series(1, 5000) AS i) AS p;
	SQL
my $counts = $node->safe_psql('postgres', <<~'SQL');
	BEGIN;
	SELECT count(*) FROM large, yquota.import_hadoop_configuration(document);
	SELECT count(*) FROM yquota.queue; SELECT count(*) FROM yquota.mapping_rule;
	ROLLBACK;
	SQL
my ($read, $queues, $rules) = split(/\n/, $counts);
note("$read properties, $queues queues, $rules rules");
cmp_ok($queues, '>=', 10000, 'ten thousand queues');
is($rules, 5000, 'five thousand rules are imported');

# A file as large as a client can send is refused before it is read. Just below the limit, an
# algorithm with quadratic time would take days.
my ($status, $output, $errors) = $node->psql('postgres', q{SELECT yquota.import_hadoop_configuration('<configuration>' || repeat('<property/>', 10000000) || '</configuration>')});
like($errors, qr/configuration of Hadoop is too large/, 'a file of 100 MB is refused');
is($node->safe_psql('postgres', q{SET statement_timeout = '10min'; SELECT count(*) FROM yquota.diff_hadoop_configuration('<configuration><!--' || repeat('x', 30000000) || '-->' || repeat('<property><x>y</x></property>', 1000000) || '</configuration>')}),
	'0', 'a file of 60 MB without any property is read');
($status, $output, $errors) = $node->psql('postgres', q{SELECT yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "' || repeat('a,', 1000000) || 'b"}')});
like($errors, qr/invalid queue "root\.a"/, 'a file that names the same queue a million times is an error');
($status, $output, $errors) = $node->psql('postgres', q{SELECT yquota.import_hadoop_configuration('<configuration>' || repeat('<', 30000000))});
like($errors, qr/invalid configuration file of Hadoop/, 'a file that is not XML is an error');

$node->stop;
done_testing();
