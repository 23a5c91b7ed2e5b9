# The page about a plan shows the figures of plan_allocation(), whatever the names of reservations and users are.
# "make soak" checks it in a browser.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('plan');
my $directory = PostgreSQL::Test::Utils::tempdir;
my @markup = (q(</title></style><script>document.title='taken'</script>), q("'><img src=x onerror=alert(1)>), q(<svg onload=alert(1)>&amp;));

# Return the page of a window.
sub page
{
	my ($from, $to) = @_;

	return $node->safe_psql('postgres', "SELECT yquota.reservation_plan_html('root.plan', '2030-01-$from+00', '2030-01-$to+00')");
}

# Return the area of a reservation in the drawing of a resource. It consists of the ends of its steps from left
# to right, and the height between its edges in units of the resource.
sub heights
{
	my ($page, $resource, $place, $top) = @_;
	my ($figure) = $page =~ /<figcaption>\Q$resource\E<\/figcaption>(.*?)<\/figure>/s or return 'no chart';
	my ($outline) = $figure =~ /<path class="area c$place" d="(M[^"]*)Z"\/>/ or return 'no area';
	my (@upper, @lower);
	my ($x, $y) = $outline =~ /^M([\d.]+) ([\d.]+)/;
	my $is_lower = 0;

	$outline =~ s/^M[\d.]+ [\d.]+//;
	while ($outline =~ /([HV])([\d.]+)/g)
	{
		if ($1 eq 'V') { $y = $2; next; }
		$is_lower ||= $2 < $x;
		push @{ $is_lower ? \@lower : \@upper }, [ $is_lower ? ($2, $x) : ($x, $2), $y ];
		$is_lower ||= $2 == 632;
		$x = $2;
	}
	return join ' ', map {
		my $step = $_;
		my ($below) = grep { $_->[0] <= $step->[0] && $_->[1] > $step->[0] } @lower;
		my $height = $below->[2] - $step->[2];

		$height == 0 ? () : sprintf('%d-%d:%d', $step->[0], $step->[1], $height * $top / 200 + 0.5);
	} @upper;
}

$node->init;
$node->start;
$node->safe_psql('postgres', <<~'SQL');
	CREATE EXTENSION IF NOT EXISTS yquota;
	SELECT yquota.set_clock('2030-01-01 00:00+00');
	CREATE ROLE member; CREATE ROLE viewer; CREATE ROLE operator;
	INSERT INTO yquota.project (name) VALUES ('p');
	SELECT yquota.allow_role('member', 'member', 'p'), yquota.allow_role('viewer', 'viewer'), yquota.allow_role('operator', 'operator');
	INSERT INTO yquota.queue (path, capacity, reservable, reservation_agent) VALUES ('root', NULL, NULL, NULL), ('root.plan', '50', true, 'GreedyReservationAgent'), ('root.other', '50', NULL, NULL);
	INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=204800,vcores=200]');
	INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
	CREATE FUNCTION reserve(number integer, username text, arrival timestamptz, hours integer, containers integer, name text DEFAULT NULL, recurrence interval DEFAULT NULL) RETURNS boolean LANGUAGE sql
		RETURN (SELECT accepted FROM yquota.submit_reservation('reservation_1_' || number, 'root.plan', username, '{}', 'p', yquota.reservation_contract(arrival, arrival + hours * interval '1 hour',
			ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', containers, hours * interval '1 hour', containers)], 'ALL', recurrence, NULL, name)));
	SQL

# An empty plan has a text instead of a drawing, and so has a plan without nodes.
my $empty = page('02 00:00', '03 00:00');
like($empty, qr/<h1>Plan of reservations, queue root\.plan<\/h1><p>From 2030-01-02 00:00 to 2030-01-03 00:00, time zone UTC; written at 2030-01-01 00:00\.<\/p><p>Nothing is promised in this time\.<\/p>/, 'the page of a plan without promises says so');
unlike($empty, qr/<figure/, 'the page of a plan without promises has no chart');

# Areas show reserved resources: a width of 568 units is 24 hours, and the full height is the
# capacity.
is($node->safe_psql('postgres', <<~'SQL'), 't|t|t', 'reservations are accepted');
	SELECT reserve(10001, 'ann', '2030-01-02 00:00+00', 12, 50, 'night'), reserve(10002, 'bob', '2030-01-02 06:00+00', 3, 30), reserve(10003, 'cid', '2030-01-02 18:00+00', 3, 20, 'often', '12 hours');
	SQL
my $page = page('02 00:00', '03 00:00');
is(heights($page, 'memory-mb', 1, 100), '64-348:50', 'the largest reservation is drawn first');
is(heights($page, 'memory-mb', 2, 100), '206-277:20 490-561:20', 'a periodic reservation is drawn in each of its periods');
is(heights($page, 'memory-mb', 3, 100), '206-277:30', 'the third reservation is drawn on top of the others');
is(heights($page, 'vcores', 3, 100), '206-277:30', 'the third reservation is drawn in each resource');
is(heights($page, 'memory-mb', 4, 100), 'no area', 'the chart has no more areas');
like($page, qr/<path class="capacity" d="M64 10\.0H632"\/><g><text [^>]*>capacity 100<\/text><\/g>/, 'the areas lie below the line of the capacity');
like($page, qr/<p>On average 33\.8 % of 100 GiB is promised, at most 100 % \(100 GiB\), from 2030-01-02 06:00\.<\/p>/, 'a sentence tells the promised amounts');
# 50 GiB from 0 to 12, 30 more from 6 to 9, and 20 more from 6 to 9 and from 18 to 21
my ($memory) = $page =~ /<figcaption>memory-mb<\/figcaption>(.*?)<\/figure>/s;
is(join('|', $memory =~ /<title>([^<]*)</g), join('|', map { "2030-01-02 $_->[0], GiB\nPromised $_->[1]\nCapacity 100" . join '', map { "\n$_" } @{ $_->[2] } }
	[ '00:00 to 06:00', 50, ['ann 50'] ], [ '06:00 to 09:00', 100, [ 'ann 50', 'bob 30', 'cid 20' ] ], [ '09:00 to 12:00', 50, ['ann 50'] ], [ '12:00 to 18:00', 0, [] ], [ '18:00 to 21:00', 20, ['cid 20'] ],
	[ '21:00 to 2030-01-03 00:00', 0, [] ]), 'each step tells its exact amount');
is(scalar(() = $memory =~ /<g class="v" tabindex="0" role="img">/g), 6, 'the keyboard reaches each step');
like($memory, qr/<p class="axis"><span>GiB promised<\/span> <span>time zone UTC<\/span><\/p>/, 'the axes say their units');
like($memory, qr/href="data:text\/csv;charset=utf-8,%22from,%20UTC%22,%22to,%20UTC%22,%22Promised,%20GiB%22,%22Capacity,%20GiB%22,%22ann,%20GiB%22,%22bob,%20GiB%22,%22cid,%20GiB%22%0A2030-01-02%2000:00:00,2030-01-02%2006:00:00,50,100,50,0,0%0A/, 'the file has the same amounts');
like($memory, qr/<path class="highest" d="M64 110\.0H206\.0V10\.0H277\.0V110\.0H348\.0V210\.0H490\.0V170\.0H561\.0V210\.0H632"\/>/, 'the line turns where the promises change');
is($page =~ /<style>(.*?)<\/style>/s ? $1 : '', $node->safe_psql('postgres', 'SELECT yquota_internal.page_style() || yquota_internal.chart_style()'), 'the style is that of reports');
like($page, qr/<\/svg>1 night, reservation_1_10001, ann<\/span>.*<\/svg>2 often, reservation_1_10003, cid<\/span>.*<\/svg>3 reservation_1_10002, bob<\/span>/, 'the legend has the numbers of the areas');
like($page, qr/<td class="k">2<\/td><td>often, reservation_1_10003<\/td><td>cid<\/td><td>p<\/td><td class="t">2030-01-02 18:00<\/td><td class="t">2030-01-02 21:00<\/td><td class="t">12:00:00<\/td><td>20 &times; \[memory-mb=1024,vcores=1\] for 03:00:00, in gangs of 20<\/td><td>5 %<\/td>/, 'the table has more rows than the legend');
unlike($page, qr/class="now"/, 'a window without the clock does not show it');
like($node->safe_psql('postgres', "SELECT yquota.set_clock('2030-01-02 12:00+00'); SELECT yquota.reservation_plan_html('plan', '2030-01-02 00:00+00', '2030-01-03 00:00+00')"),
	qr/<path class="now" d="M348\.0 10V210"\/><g><text x="348\.0" y="206" class="n">now</, 'a later clock is shown in its place');
like($node->safe_psql('postgres', "SELECT yquota.set_clock('2030-01-02 00:10+00'); SELECT yquota.reservation_plan_html('plan')"),
	qr/<p>From 2030-01-02 00:00 to 2030-01-03 00:00,.*<path class="now" d="M67\.9 10V210"\/><g><text x="80" y="206" class="n">now</s, 'the label of the clock stays within the chart');
unlike(page('02 00:00', '02 00:00:00.001'), qr/NaN|Infinity/, 'a window may be a millisecond long');
$node->safe_psql('postgres', q(SELECT yquota.set_clock('2030-01-01 00:00+00')));

# A reservation with several requests; a gang of one container is not mentioned.
is($node->safe_psql('postgres', <<~'SQL'), 't', 'two requests are accepted');
	SELECT accepted FROM yquota.submit_reservation('reservation_1_10004', 'root.plan', 'eve', '{}', 'p', yquota.reservation_contract('2030-01-06 00:00+00', '2030-01-06 12:00+00',
		ARRAY[yquota.reservation_request('[memory-mb=1000]', 4, '1 hour'), yquota.reservation_request('[memory-mb=2000]', 6, '2 hours', 3)], 'ORDER'));
	SQL
like(page('06 00:00', '07 00:00'), qr/<td>ORDER: 4 &times; \[memory-mb=1000\] for 01:00:00; 6 &times; \[memory-mb=2000\] for 02:00:00, in gangs of 3<\/td>/, 'the table shows the order of the requests');

# A plan that has become smaller, and a plan without resources.
$node->safe_psql('postgres', q(UPDATE yquota.node SET total = '[memory-mb=102400,vcores=100]'));
my $small = page('02 00:00', '03 00:00');
like($small, qr/at most 200 % \(100 GiB\), from 2030-01-02 06:00\. <strong>That is more than there is: the plan has become smaller\.<\/strong>/, 'a page says that more is promised than the plan has');
like($small, qr/<path class="capacity" d="M64 110\.0H632"\/>/, 'the line of the capacity crosses the areas');
$node->safe_psql('postgres', q(UPDATE yquota.node SET state = 'LOST'));
like(page('02 00:00', '03 00:00'), qr/The plan has nothing now: no node is RUNNING, or its queue has no share of the cluster\.<.*at most 100 GiB, from 2030-01-02 06:00\./s, 'without nodes the promises are still shown');
$node->safe_psql('postgres', q(UPDATE yquota.node SET state = 'RUNNING', total = '[memory-mb=204800,vcores=200]'));

# A resource of which nothing is promised has a sentence, and a promise begins at its exact time.
$node->safe_psql('postgres', q(UPDATE yquota.node SET total = '[memory-mb=204800,vcores=200,yarn.io/gpu=2]'));
my $late = page('01 22:57:30', '02 05:00');
like($late, qr/<figcaption>yarn\.io\/gpu<\/figcaption><p>Nothing of 1 yarn\.io\/gpu is promised in this time\.<\/p>/, 'nothing is promised of one GPU');
like($late, qr/at most 50 % \(50 GiB\), from 2030-01-02 00:00\./, 'nothing is promised before the reservation begins');
$node->safe_psql('postgres', q(UPDATE yquota.node SET total = '[memory-mb=204800,vcores=200]'));

# Among many reservations only the largest have their own areas.
is($node->safe_psql('postgres', q(SELECT bool_and(reserve(20000 + i, 'dan', '2030-01-04 00:00+00', 1 + i, 2)) FROM generate_series(1, 20) AS i)), 't', 'twenty more reservations are accepted');
my $many = page('04 00:00', '05 00:00');
is(join(' ', $many =~ /<\/svg>(\d) (?:often, )?(reservation_\d+_\d+|\d+ others)/g), join(' ', 1, 'reservation_1_10003', (map { ($_, 'reservation_1_' . (20022 - $_)) } 2 .. 7), 8, '14 others'), 'the largest reservations are named, the others are one area');
is(scalar(() = $many =~ /<path class="area /g), 16, 'each chart has all areas');

# Markup in names is shown as text.
foreach my $number (0 .. $#markup)
{
	my $text = $markup[$number] =~ s/'/''/gr;

	is($node->safe_psql('postgres', "INSERT INTO yquota.project (name) VALUES ('$text'); UPDATE yquota.reservation_definition SET project = '$text', username = '$text', reservation_name = '$text' WHERE reservation_id = 'reservation_1_1000' || $number + 1 RETURNING 1"), 1, 'a reservation gets the name');
	$node->safe_psql('postgres', "UPDATE yquota.reservation_allocation SET username = '$text' WHERE reservation_id = 'reservation_1_1000' || $number + 1");
}
my $named = page('02 00:00', '03 00:00');
foreach my $text (@markup)
{
	my $escaped = $text =~ s/&/&amp;/gr =~ s/</&lt;/gr =~ s/>/&gt;/gr =~ s/"/&quot;/gr =~ s/'/&#39;/gr;
	my $count = () = $named =~ /\Q$escaped\E/g;

	is(index($named, $text), -1, "$text is not markup");
	cmp_ok($count, '>=', 2 + 3 + 2, 'the text is shown in every place that it has');
}
unlike($named, qr/<(?:script|img|link|iframe|object)\b|url\([^#]|<[^>]*\bsrc=|\bhref="(?!#|data:text\/csv;)|\bhref=[^"]|https?:/, 'nothing comes from elsewhere');

# Invalid windows, and queues that are no plans.
foreach my $case ([ q('root.plan', '2030-01-02+00', '2030-01-01+00'), qr/"to" is before "from"/ ],
	[ q('root.plan', '2030-01-02+00', '2030-01-02+00'), qr/"to" is not after "from"/ ], [ q('root.plan', '2030-01-02+00', 'infinity'), qr/out of range/ ],
	[ q('root.plan', '2030-01-02+00', '9030-01-02+00'), qr/is too long/ ], [ q('root.other'), qr/is not a plan/ ], [ q('root.none'), qr/does not exist/ ], [ q(NULL), qr/queue must not be null/ ])
{
	my (undef, undef, $error) = $node->psql('postgres', "SELECT yquota.reservation_plan_html($case->[0])");

	like($error, $case->[1], "a chart of ($case->[0]) is missing");
}

# Roles that may see the plan see all of it, and members see nothing.
like($node->safe_psql('postgres', "SET ROLE $_; SELECT yquota.reservation_plan_html('root.plan', '2030-01-04 00:00+00', '2030-01-05 00:00+00')"), qr/14 others/, "$_ sees it") foreach qw(viewer operator);
my (undef, undef, $denied) = $node->psql('postgres', q(SET ROLE member; SELECT yquota.reservation_plan_html('root.plan')));
like($denied, qr/permission denied for function reservation_plan_html/, 'a member cannot see the page');
$node->stop;

if (is_soak())
{
	my @browser = (qw(chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update
		  --disable-sync --disable-dev-shm-usage), "--user-data-dir=$directory/browser");
	local $ENV{HOME} = $directory;

	append_to_file("$directory/plan.html", $named);
	my $shown = `timeout 60 @browser --dump-dom file://$directory/plan.html 2>/dev/null`;
	unlike($shown, qr/<(?:script|img)\b| on\w+="/, 'the browser finds no markup in names');
	like($shown, qr/<title>Plan of reservations, queue root\.plan</, 'the browser has run no script of names');
	is(scalar(() = $shown =~ /<path class="area /g), 6, 'the browser shows the areas');
	foreach my $width (1280, 390)
	{
		system("timeout 60 @browser --window-size=$width,2000 --screenshot=$directory/$width.png file://$directory/plan.html 2>/dev/null");
		cmp_ok(-s "$directory/$width.png", '>', 20000, "the page is drawn on a screen of $width pixels");
	}
}

done_testing();
