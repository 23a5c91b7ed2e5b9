# A browser shows a bill with all of its amounts, on narrow and wide screens, and prints it. Printed pages have numbers
# and repeat the head of a table, and no application is missing. In this test, names of projects and users contain
# markup.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant { APPLICATIONS => 2000, PAPER => 255 };

my $node = PostgreSQL::Test::Cluster->new('bill');
my $directory = PostgreSQL::Test::Utils::tempdir;
my @browser = (qw(timeout 60 chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update
	  --disable-sync --disable-dev-shm-usage), "--user-data-dir=$directory/browser");
local $ENV{HOME} = $directory;

$node->init;
$node->start;
$node->safe_psql('postgres', <<~'SQL' =~ s/\$applications/APPLICATIONS/er);
	CREATE EXTENSION IF NOT EXISTS yquota;
	SELECT yquota.set_clock('2030-01-01 00:00 UTC');
	INSERT INTO yquota.billing_setting (timezone) VALUES ('UTC');
	INSERT INTO yquota.project (name, billing_contact, cost_centre) VALUES ('<script>document.title=1</script>', '<img src=x onerror=document.title=2>', '4711');
	INSERT INTO yquota.quota_grant (project, amount, reason) SELECT name, 1000000000, '<svg onload=document.title=3>' FROM yquota.project;
	SELECT yquota.set_clock('2030-02-02 00:00 UTC');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation)
	SELECT e.event, 'c' || n, e.at, name, 'application_1890000000000_' || lpad(n::text, 5, '0'), '<b>user ' || n % 20, 'root.' || n % 3, '[vcores=7]'
	FROM yquota.project, generate_series(1, $applications) AS n,
		 (VALUES ('CONTAINER_START'::yquota.container_event_type, '2030-01-03 00:00 UTC'::timestamptz), ('CONTAINER_FINISH', '2030-01-04 10:17:36.789 UTC')) AS e (event, at);
	SELECT closed_at FROM yquota.close_month('2030-01-01');
	SQL
append_to_file("$directory/bill.html", $node->safe_psql('postgres', q(SELECT yquota.bill_html(name, date '2030-02-01') FROM yquota.project)));
$node->stop;

my $shown = `@browser --dump-dom file://$directory/bill.html 2>/dev/null`;
unlike($shown, qr/<(?:script|img|svg|b)\b| on\w+="/, 'the browser finds no markup in names');
like($shown, qr/<title>Bill 2030-01\/&lt;script&gt;.*, January 2030 and before<\/title>/, 'the browser has run no script of names');

# The page reports to the frame how far it extends beyond its width. It also reports how many of its tables and of its
# amounts extend beyond it.
append_to_file("$directory/measured.html", slurp_file("$directory/bill.html") . <<~'HTML');
	<script>
	const page = document.documentElement, width = page.clientWidth, beyond = (selector, test) => [...document.querySelectorAll(selector)].filter(test).length;
	parent.postMessage([page.scrollWidth - width, beyond('.wide', part => part.scrollWidth > part.clientWidth),
		beyond('.bill td:last-child, .apps td:last-child, .apps th:last-child', cell => cell.getBoundingClientRect().right > width || cell.scrollWidth > cell.clientWidth),
		beyond('.bill td:last-child', () => true) > 5, beyond('.apps td:last-child', () => true)].join(), '*')
	</script>
	HTML
foreach my $width (1280, 768, 390, 320)
{
	append_to_file("$directory/frame$width.html", "<script>onmessage = said => document.title = said.data</script><iframe width=$width height=2000 src=measured.html></iframe>");
	my ($said) = `@browser --virtual-time-budget=10000 --dump-dom file://$directory/frame$width.html 2>/dev/null` =~ /<title>([^<]*)</;

	is($said, '0,0,0,true,' . APPLICATIONS, "on a screen of $width pixels all amounts are in sight");
}

# Paper stays white when the screen is dark.
system("@browser --blink-settings=preferredColorScheme=0 --no-pdf-header-footer --print-to-pdf=$directory/bill.pdf file://$directory/bill.html 2>/dev/null");
my @pages = split /\f/, `pdftotext -layout $directory/bill.pdf -`;
cmp_ok(scalar(@pages), '>=', 5, 'the bill has several pages');
is(join(',', map { /(\d+ \/ \d+)\s*\z/ ? $1 : 'none' } @pages), join(',', map { "$_ / " . @pages } 1 .. @pages), 'each page has its number');
like($pages[0], qr/Addressee +<img .*\n.*Cost centre +4711\n.*Period +January 2030 and before\n.*^Item +Project +Queue +Quantity +Unit price +Credits$/ms, 'the first page has the facts and the statement');
is(join(',', grep { $pages[$_] !~ /\A\s*Charge, .*\n(?:.*\n){0,3} *application_1890000000000_/ } 1 .. $#pages), '', 'each later page begins with the head of a table');
my @rows = map { /\.\.\.(\d{5}) +(-[\d,.]+)/g } @pages;
my %amount = @rows;
is(scalar(@rows) / 2, APPLICATIONS, 'each application has one line, with its amount');
is(join(',', sort keys %amount), join(',', map { sprintf '%05d', $_ } 1 .. APPLICATIONS), 'no application is missing');
my ($head, $pixels) = `pdftoppm -r 10 -gray -f 1 -l 1 $directory/bill.pdf` =~ /\A(P5\s+\d+\s+\d+\s+\d+\s)(.*)\z/s;
is(ord($pixels), PAPER, 'the paper is white');

done_testing();
