# The validator of FOCUS on PyPI accepts an export of focus_cost, in the versions of the specification that the
# validator knows. These versions are older than 1.2. The validator demands some columns by
# their former names, and the export has them by these names, too. Version 1.0 accepts the export without any other
# change. Earlier versions report more differences, which the test expects.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Names that the validator has for columns, some of them in 1.0 by mistake
my %former = (
	AmortizedCost => 'EffectiveCost', BilledCurrency => 'BillingCurrency', ChargeSubcategory => 'ChargeCategory', ChargeType => 'ChargeCategory',
	InvoiceIssuer => 'InvoiceIssuerName', Provider => 'ProviderName', Publisher => 'PublisherName', Region => 'ProviderName',
	ResourceID => 'ResourceId', UsageQuantity => 'ConsumedQuantity', UsageUnit => 'ConsumedUnit',
);
my %differences = (
	'1.0' => [],
	# these versions have other categories of charges, and a commitment discount in every charge
	'1.0-preview' => [qw(ChargeSubcategory_Enum ChargeType_Enum CommitmentDiscountCategory_NotNull)],
	'0.5' => [qw(ChargeType_Enum)],
);

my $directory = PostgreSQL::Test::Utils::tempdir;

# pandera 0.17, which the validator needs, fails with later versions of multimethod.
plan skip_all => 'focus-validator cannot be installed'
  if system("python3 -m venv $directory/venv >/dev/null 2>&1 && $directory/venv/bin/pip install -q focus-validator 'multimethod<2' >/dev/null 2>&1") != 0;
# The validator reads its list of currencies relative to the current directory.
my ($packages) = glob "$directory/venv/lib/python3*/site-packages";

# validate(FILE, VERSION): return the names of the checks that fail.
sub validate
{
	my ($file, $version) = @_;
	my $answer = `cd $packages && $directory/venv/bin/focus-validator --data-file $file --validate-version $version 2>&1`;

	my @failed = sort $answer =~ /^(\w+) failed:/mg;
	return @failed if @failed || $answer =~ /Validation succeeded/;
	return "no answer: $answer";
}

# The books are those of the regression test.
my $node = PostgreSQL::Test::Cluster->new('focus_validator');
$node->init;
$node->start;
my ($books) = slurp_file("$ENV{PWD}/test/sql/focus.sql") =~ /^CREATE DATABASE yquota_focus;\n\\c yquota_focus\n(.*?)^SELECT "SubAccountId"/ms;
$node->safe_psql('postgres', 'CREATE DATABASE work');
$node->psql('work', $books, on_error_stop => 0);

my $columns = join ', ', 'f.*', map { qq("$former{$_}" AS "$_") } sort keys %former;
my $query = $node->safe_psql('work', q(SELECT yquota.focus_query('-infinity', 'infinity')));
my $file = "$directory/focus.csv";
append_to_file($file, $node->safe_psql('work', "COPY (SELECT $columns FROM ($query) AS f) TO STDOUT WITH (FORMAT csv, HEADER)") . "\n");
cmp_ok(scalar(split /\n/, slurp_file($file)), '>', 40, 'the export has charges');

my @versions = split ' ', `cd $packages && $directory/venv/bin/focus-validator --supported-versions`;
is_deeply([ sort @versions ], [ sort keys %differences ], 'versions that the validator knows');
is_deeply([ validate($file, $_) ], $differences{$_}, "differences from FOCUS $_") foreach @versions;

# The validator finds faults that the test puts into an export.
my $wrong = "$directory/wrong.csv";
append_to_file($wrong, slurp_file($file) =~ s/,EUR,/,credits,/gr);
is_deeply([ validate($wrong, '1.0') ], ['BillingCurrency_IsCurrencyCode'], 'a currency that is no code of ISO 4217 is found');

done_testing();
