# A report is one page that a browser shows as intended, whatever the names of projects, queues and
# applications are. "make soak" checks it in a browser.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('report');
my $directory = PostgreSQL::Test::Utils::tempdir;
my @markup = (q(</title></style><script>document.title='taken'</script>), q("'><img src=x onerror=alert(1)>), q(<svg onload=alert(1)>&amp;));

$node->init;
$node->start;
$node->safe_psql('postgres', <<~'SQL');
	CREATE EXTENSION IF NOT EXISTS yquota;
	SELECT yquota.set_multiplier('GENERAL', 1.5, '2030-01-02 00:00 UTC', '2030-01-03 00:00 UTC');
	SELECT yquota.set_clock('2030-01-11 00:00 UTC');
	CREATE ROLE member; CREATE ROLE viewer; SELECT yquota.allow_role('viewer', 'viewer');
	INSERT INTO yquota.price (price_group, effective_at, multiplier, utilization) VALUES ('GENERAL', '2030-01-04 00:00 UTC', 1.3, 0.5);
	INSERT INTO yquota.utilization_history (price_group, quarter_hour, measurements, average, highest) VALUES
		('GENERAL', '2030-01-04 00:00 UTC', 30, 0.1, 0.15), ('GENERAL', '2030-01-04 00:15 UTC', 90, 0.4, 0.9), ('GENERAL', '2030-01-10 23:45 UTC', 1, 0.8, 0.8);
	SQL
foreach my $number (0 .. $#markup)
{
	my $text = $markup[$number] =~ s/'/''/gr;

	$node->safe_psql('postgres', <<~SQL);
		INSERT INTO yquota.project (name) VALUES ('$text');
		INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('$text', 1000000, '');
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation, source)
		VALUES ('CONTAINER_START', 'c$number', '2030-01-03 12:00 UTC', '$text', '$text', '$text', '$text', '[vcores=1]', '$text');
		SET yquota.on_bad_event = set_aside;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
		VALUES ('CONTAINER_START', 'bad$number', '2030-01-03 12:00 UTC', '$text no', '[vcores=1]', '$text');
		SELECT yquota.report_outage('2030-01-05 00:00 UTC', '2030-01-05 01:00 UTC', '$text', '$text');
		SQL
}
$node->safe_psql('postgres', q(SELECT yquota.allow_role('member', 'member', name) FROM yquota.project WHERE name LIKE '<svg%'));

my $page = $node->safe_psql('postgres', q(SELECT yquota.report_html('2030-01-01', '2030-01-12')));
like($page, qr/<h2>Events set aside<\/h2><div/, 'every section has something to show');
foreach my $text (@markup)
{
	my $escaped = $text =~ s/&/&amp;/gr =~ s/</&lt;/gr =~ s/>/&gt;/gr =~ s/"/&quot;/gr =~ s/'/&#39;/gr;
	my $count = () = $page =~ /\Q$escaped\E/g;

	is(index($page, $text), -1, "$text is not markup");
	cmp_ok($count, '>=', 8, 'the text is shown in every place that it has');
}
unlike($page, qr/<(?:script|img|link|iframe|object)\b|url\([^#]|<[^>]*\bsrc=|\bhref="(?!#|data:text\/csv;)|\bhref=[^"]|https?:/, 'the page loads nothing from elsewhere');

# The chart of balances agrees with balance_at() and forecast().
my $alone = $node->safe_psql('postgres', q(SELECT yquota.report_html('2030-01-01', '2030-01-12', '<svg onload=alert(1)>&amp;')));
my $said = $node->safe_psql('postgres', <<~'SQL');
	SELECT format('On 2030-01-11 00:00 there were %s credits. If days to come are like the last %s, they last until %s, in nine cases of ten between %s and %s.',
		yquota_internal.html_number(b.remaining), f.observed_days, to_char(f.ends_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'),
		to_char(f.earliest_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), to_char(f.latest_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'))
	FROM yquota.forecast('<svg onload=alert(1)>&amp;') AS f, yquota.balance_at(f.project, yquota.clock()) AS b
	SQL
like($alone, qr/\Q$said\E/, 'a sentence tells the balance and its forecast');
like($alone, qr/<path class="line c1"[^>]*><path class="band c2"[^>]*><path class="line c2"/, 'lines and a band show the balance and its forecast');

# Return the rows of each section of a page by its heading, as cells without markup.
sub rows
{
	my ($html) = @_;

	return map { [ map { s/<[^>]*>//gr } /<t[dh]>(.*?)<\/t[dh]>/g ] } $html =~ /<tr[^>]*>(.*?)<\/tr>/g;
}

sub section
{
	my ($html, $heading) = @_;

	return $html =~ /<h2>\Q$heading\E<\/h2>(.*?)(?=<h2>|<\/body>)/s ? $1 : undef;
}

# Return the spending of each name in the tables of the first section, by the name of the first
# column.
sub spent
{
	my ($html) = @_;
	my $money = section($html, 'Money');
	my %spent;

	while ($money =~ /<table class="f2">(.*?)<\/table>/sg)
	{
		my ($head, @lines) = rows($1);

		next if $head->[0] eq '';
		$spent{ $head->[0] } = { map { ($_->[0] => $_->[1]) } @lines };
	}
	return \%spent;
}

# Each number of the first section equals that of the ledger.
my %ledger;
foreach my $column ([ Project => 'project' ], [ Queue => 'queue' ], [ User => 'username' ], [ 'Resource type' => 'dominant' ])
{
	my ($head, $name) = @$column;
	my $name_now = $name eq 'dominant' ? 'yquota_internal.dominant(c.allocation, c.factors, c.settled_at, yquota.clock())' : "c.$name";

	%{ $ledger{$head} } = map { split /\t/ } split /\n/, $node->safe_psql('postgres', <<~"SQL");
		SELECT CASE WHEN grouping(name) = 1 THEN 'Total' ELSE yquota_internal.html(name) END || E'\\t' || yquota_internal.number_text(sum(amount))
		FROM (SELECT $name AS name, amount FROM yquota.charge
			  UNION ALL
			  SELECT $name_now, yquota_internal.accrued(c.allocation, c.factors, c.settled_at, yquota.clock()) FROM yquota.container AS c) AS booked
		GROUP BY ROLLUP (name)
		SQL
}
is_deeply(spent($page), \%ledger, 'the first tables have the sums of the ledger by project, queue, user and resource type, and the total');
my ($sum) = section($page, 'Money') =~ /<dt>Spent in this window<\/dt><dd>(.*?)<\/dd>/;
is($sum, $ledger{Project}{Total}, 'the amount spent in the section Money is the total');
is(join(' ', section($page, 'Money') =~ /<dd>(.*?)<\/dd>/g), $node->safe_psql('postgres', <<~'SQL'), 'the section has the granted, spent, held and remaining credit since the beginning');
	SELECT concat_ws(' ', yquota_internal.number_text(sum(amount)), yquota_internal.number_text(sum(granted)), yquota_internal.number_text(sum(charged + accrued)),
		yquota_internal.number_text(sum(held)), yquota_internal.number_text(sum(remaining)))
	FROM yquota.project_balance LEFT JOIN yquota.cost_between('2030-01-01', '2030-01-12') USING (project)
	SQL

# Return the labels of a chart's axis from bottom to top, and the highest and the rightmost point
# drawn.
sub chart
{
	my ($html, $title) = @_;
	my ($svg) = $html =~ /<figcaption>\Q$title\E[^<]*<\/figcaption>.*?<svg viewBox="0 0 640 240"(.*?)<\/svg><p class="csv">/s or return;
	my %chart = (amounts => [ $svg =~ /class="y">([^<]*)</g ], times => [ $svg =~ /class="x">([^<]*)</g ], now => $svg =~ /class="now" d="M([\d.]+) / ? $1 : undef, furthest => 0);

	foreach my $path ($svg =~ /<path class="(?:area|line)[^"]*" d="([^"]*)"/g)
	{
		foreach my $x ($path =~ /H([\d.]+)/g, $path =~ /[ML]([\d.]+) /g)
		{
			$chart{furthest} = $x if $x > $chart{furthest};
		}
	}
	return \%chart;
}

my @charts = ('Credits by project', 'Credits by queue', 'Factor on base prices', 'Utilization of the cluster');
foreach my $title (@charts)
{
	my $chart = chart($page, $title);
	my @amounts = map { tr/kMGT%//dr } @{ $chart->{amounts} };
	my $step = $amounts[1] - $amounts[0];

	like(sprintf('%.0e', $step * 4), qr/^(?:4|8|1|2)e/, "$title: the axis has round steps");
	is(join(' ', map { sprintf '%g', $amounts[0] + $_ * $step } 0 .. $#amounts), "@amounts", 'all steps are equal');
	is($amounts[0], $title =~ /Factor/ ? 1 : 0, 'the axis begins at the right value');
	is(join(' ', @{ $chart->{times} }), 'Jan 01 Jan 03 Jan 05 Jan 07 Jan 09 Jan 11', 'the axis has round times');
	cmp_ok(abs($chart->{now} - (64 + 568 * 10 / 11)), '<', 0.1, 'the axis has the present');
	cmp_ok($chart->{furthest}, '<=', $chart->{now}, 'nothing is drawn after the present');
}
like($page, qr/<path class="line c1" d="M218\.9 128\.8H220\.0M578\.2 10\.0H580\.4"\/>/, 'utilization is drawn where it was measured, whatever the price was');

# Each bar and point shows its exact value, and the keyboard reaches it. The file of a chart has the same values.
sub values_of
{
	my ($html, $title) = @_;
	my ($figure) = $html =~ /<figcaption>\Q$title\E[^<]*<\/figcaption>(.*?)<\/figure>/s;
	my ($axis, $zone, $skip, $svg, $target, $name, $file) = $figure =~ /<p class="axis"><span>([^<]*)<\/span> <span>([^<]*)<\/span><\/p><a class="skip" href="#([^"]*)">[^<]*<\/a>(<svg .*)<p class="csv"><a id="([^"]*)" download="([^"]*)" href="data:text\/csv;charset=utf-8,([^"]*)">/s or return {};

	$file =~ s/&quot;/"/g; $file =~ s/&#39;/'/g; $file =~ s/&lt;/</g; $file =~ s/&gt;/>/g; $file =~ s/&amp;/&/g;
	$file =~ s/%([0-9A-F]{2})/chr(hex($1))/ge;
	return { axis => $axis, zone => $zone, file => $file, name => $name, skips => $skip eq $target, titles => [ $svg =~ /<g class="v" tabindex="0" role="img"><title>([^<]*)<\/title><rect x="[\d.]+" y="10" width="[\d.]+" height="200"\/><text [^<]*<\/text><\/g>/g ], stops => scalar(() = $svg =~ /tabindex=/g) };
}

my $by_project = values_of($page, 'Credits by project');
my @by_rank = map { s/^(.*) \d+$/$1/r =~ s/&lt;/</gr =~ s/&gt;/>/gr =~ s/&quot;/"/gr =~ s/&#39;/'/gr =~ s/&amp;/&/gr } (split /\n/, $by_project->{titles}[3])[ 2 .. 4 ];
is(join("\n\n", @{ $by_project->{titles} }), $node->safe_psql('postgres', <<~'SQL'), 'each bar tells the exact costs of its day');
	SELECT string_agg(concat(day::date, E', credits\nTotal ', coalesce(amount.total, 0), E'\n' || amount.lines), E'\n\n' ORDER BY day)
	FROM generate_series('2030-01-01'::date, '2030-01-10', '1 day') AS day
	CROSS JOIN LATERAL (
		SELECT sum(c.amount) AS total, string_agg(yquota_internal.html(c.project) || ' ' || c.amount, E'\n' ORDER BY ranked.amount DESC, c.project) AS lines
		FROM yquota.cost_by_day(day::date, day::date, '{project}', 'UTC') AS c
		JOIN yquota.cost_between('-infinity', 'infinity') AS ranked USING (project)) AS amount
	SQL
like($by_project->{titles}[3], qr/^2030-01-04, credits\nTotal 336960\n(?:[^\n]* 112320\n?){3}$/, 'a bar of a day at a factor of 1.3 is right');
is($by_project->{axis} . '; ' . $by_project->{zone}, 'credits per day; time zone UTC', 'the axes say their unit, step and time zone');
is((split /\n/, $by_project->{file})[4], '2030-01-04 00:00:00,2030-01-05 00:00:00,336960,112320,112320,112320', 'the file has the same amounts');
is(scalar(() = $by_project->{file} =~ /\n/g), 11, 'the file has a line for each bar, and a head');
is($by_project->{name}, 'credits-by-project.csv', 'the file has a name');
is((split /\n/, $by_project->{file})[0], join(',', map { qq("$_") } 'from, UTC', 'to, UTC', map { "$_, credits" } 'Total', map { s/"/""/gr } @by_rank), 'its head has the names, of which none is markup');
is($node->safe_psql('postgres', q(SELECT concat_ws(' ', yquota_internal.csv_name('=1+1'), yquota_internal.csv_name('a "b", c'), yquota_internal.data_uri(E'é<%&#\n')))), q("'=1+1" "a ""b"", c" data:text/csv;charset=utf-8,é&lt;%25&amp;%23%0A), 'names do not become formulas, and files fit in an attribute');
foreach my $title (@charts, 'Balance')
{
	my $values = values_of($page, $title);

	cmp_ok(scalar(@{ $values->{titles} }), '>', 0, "$title: the chart tells values");
	is($values->{stops}, scalar(@{ $values->{titles} }), 'each of its stops has a value');
	ok($values->{skips}, 'a link skips them');
}
is(join(' ', (map { values_of($page, $_)->{axis} } 'Balance', 'Factor', 'Utilization')), 'credits left, at the end of each day times the base price, the last in each 55.8 minutes % of the running nodes, average of 60 minutes', 'the other axes say their units and steps');
is_deeply(values_of($page, 'Factor on base prices')->{titles}, [ map { "$_->[0], times the base price\nGENERAL $_->[1]\nGPU 1" }
	[ '2030-01-01', 1 ], [ '2030-01-02 00:00 to 2030-01-04 00:00', 1.5 ], [ '2030-01-04 00:00 to 2030-01-11 00:00', 1.3 ] ], 'a line tells its value between two turns');
unlike($page, qr/is above 100 %/, 'a utilization below 100 % needs no explanation');
$node->safe_psql('postgres', q(UPDATE yquota.utilization_history SET average = 1.25, highest = 1.5 WHERE quarter_hour = '2030-01-10 23:45 UTC'));
like($node->safe_psql('postgres', q(SELECT yquota.report_html('2030-01-01', '2030-01-12'))), qr/<path class="capacity" d="M64 \d+\.\dH632"\/>.*<p>Utilization is above 100 % \(GENERAL: 125 %\) where containers hold more than/s, 'a utilization above 100 % is explained below its chart');
is(values_of($node->safe_psql('postgres', "SELECT yquota.report_html('$_->[0]', '2030-01-10')"), 'Credits by project')->{axis}, "credits per $_->[1]", "the axis of bars of a $_->[1] says so") foreach [ '2030-01-07' => 'hour' ], [ '2030-01-06 23:59' => 'day' ], [ '2029-09-01' => 'week' ];

is($node->safe_psql('postgres', <<~'SQL'), '50 2030-01-01, x|n 1 to 4', 'a long chart has fifty values, each of several rows');
	SELECT (SELECT count(*) FROM regexp_matches(html, 'tabindex', 'g')) || ' ' || replace(substring(html FROM '<title>(.*?)</title>'), E'\n', '|')
	FROM yquota_internal.chart_values(
		ARRAY(SELECT ROW('2030-01-01 UTC'::timestamptz + n * interval '6 hours', '2030-01-01 06:00 UTC'::timestamptz + n * interval '6 hours', ARRAY[n + 1])::yquota_internal.chart_row FROM generate_series(0, 199) AS n),
		'{n}', 'x', false, yquota_internal.chart_frame('2030-01-01 UTC', '2030-02-20 UTC', '2030-01-01 UTC', 'UTC', 0, 200)) AS html
	SQL

# The report compares a window with the window before it. Three containers pay 1.3 per second for 47 of the 48 hours
# from 4 January on, and 1.5 for 12 hours before.
is_deeply([ map { join '|', @$_ } (rows(section($node->safe_psql('postgres', q(SELECT yquota.report_html('2030-01-04', '2030-01-06'))), 'Money')))[ 0 .. 3 ] ], [
	'|Credits|Credits per day', 'This window|659,880|329,940', 'The window before, from 2030-01-02 00:00|194,400|97,200', 'Change|+239.40 %|+239.40 %'
], 'a window stands beside the one before it');
is_deeply([ map { join '|', @$_ } (rows(section($node->safe_psql('postgres', q(SELECT yquota.report_html('2030-01-10', '2030-01-14'))), 'Money')))[ 1 .. 3 ] ], [
	'This window|336,960|336,960', 'The window before, from 2030-01-06 00:00|1,347,840|336,960', 'Change|&ndash;|0 %'
], 'a window that has not ended is compared per day');
like($node->safe_psql('postgres', q(SELECT yquota.report_html('4713-12-01 BC', '4713-12-02 BC'))), qr/Nothing was spent/, 'the first window of all has none before it');

# On light and dark screens, the contrast with the paper is at least 3 to 1 for shapes, and 4.5 to 1 for texts.
sub luminance
{
	my ($r, $g, $b) = map { my $c = hex($_) / 255; $c <= 0.04045 ? $c / 12.92 : (($c + 0.055) / 1.055)**2.4 } shift =~ /^#(..)(..)(..)$/;

	return 0.2126 * $r + 0.7152 * $g + 0.0722 * $b;
}

sub contrast
{
	my ($one, $other) = sort { $a <=> $b } map { luminance(s/^#(.)(.)(.)$/#$1$1$2$2$3$3/r) } @_;

	return ($other + 0.05) / ($one + 0.05);
}

my ($style) = $page =~ /<style>(.*?)<\/style>/s;
my ($light, $dark) = map { { /--(\w+):(#\w+)/g } } $style =~ /:root\{([^}]*)\}/g;
my %series = $style =~ /\.c(\d+)\{--c:(#\w{6})\}/g;
is(scalar(keys %series), 16, 'there are sixteen colours');
is(join(' ', sort keys %$light), 'bad grid ink link paper rule shade', 'a light screen has its colours');
is(join(' ', sort keys %$dark), join(' ', sort keys %$light), 'a dark screen has the same ones');
foreach my $scheme ([ light => $light ], [ dark => $dark ])
{
	my ($name, $colours) = @$scheme;

	cmp_ok(contrast($colours->{$_}, $colours->{paper}), '>=', 4.5, "$name: texts in the colour $_ have contrast") foreach qw(ink bad link);
	cmp_ok(contrast($colours->{grid}, $colours->{paper}), '>=', 3, "$name: the grid has contrast");
	is(join(' ', grep { contrast($series{$_}, $colours->{paper}) < 3 } sort keys %series), '', "$name: all areas and lines have contrast");
}
is(contrast('#777', '#fff') > 4.47 && contrast('#777', '#ffffff') < 4.49, 1, 'the contrast is that of WCAG');
like($style, qr/\.v:is\(:focus,:hover\) rect\{stroke:var\(--ink\);/, 'a bar that has the focus has a frame');
is($style =~ s/--\w+:#\w+//gr =~ s/url\(#h\d+\)//gr =~ /(#\w+)/ ? $1 : '', '', 'there are no other colours');
my %uses = map { $_ => join ' ', sort { $a cmp $b } $style =~ /([\w-]+):[^;{}]*var\(--$_\)/g } qw(rule shade);
is_deeply(\%uses, { rule => 'border-bottom', shade => 'background' }, 'colours with less contrast draw no text or shape');

my $future = $node->safe_psql('postgres', q(SELECT yquota.report_html('2030-02-01', '2030-03-01')));
like($future, qr/<p>Written at 2030-01-11 00:00 for \w+, time zone UTC\. Amounts are credits, rounded\. This window has not begun\.<\/p>/, 'a window in the future is named as such');
is(() = $future =~ /<\/figcaption><p>This window has not begun\.<\/p>/g, 5, 'each chart is replaced by a sentence');
is(() = $future =~ /viewBox="0 0 640 240"/g, 0, 'no chart is drawn');
like(section($future, 'Money'), qr/<dt>Spent in this window<\/dt><dd>0<\/dd>.*<p>Nothing was spent in this window\.<\/p>/s, 'a sentence says that nothing was spent');
is(section($future, $_), undef, "the page has no section: $_") foreach 'Dearest applications', 'Running now', 'Waiting now', 'Reserved', 'Opportunistic containers', 'Preempted', 'Events set aside', 'Outages';

# The page names the role for which it was written.
like($page, qr/<title>Spending of all projects, 2030-01-01 00:00 to 2030-01-12 00:00<\/title>.*<p>Written at 2030-01-11 00:00 for \w+, time zone UTC\./s, 'the title names the projects and the window');
is($node->safe_psql('postgres', <<~'SQL'), '12|0', 'the balance at each instant of the report is that of the books, with running containers, grants and expiry');
	INSERT INTO yquota.project (name) VALUES ('mixed');
	INSERT INTO yquota.project (name, parent) VALUES ('part of mixed', 'mixed');
	INSERT INTO yquota.quota_grant (project, amount, reason, valid_from, expires_at) VALUES
		('mixed', 300000, '', '2030-01-02', 'infinity'), ('mixed', 200000, '', '2030-01-03', '2030-01-05'), ('mixed', -1000000, '', '2030-01-09', 'infinity');
	UPDATE yquota.quota_grant SET booked_at = valid_from WHERE project = 'mixed';
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
		('CONTAINER_START', 'm1', '2030-01-03 12:00 UTC', 'mixed', '[vcores=1]'), ('CONTAINER_FINISH', 'm1', '2030-01-06 13:00 UTC', NULL, NULL),
		('CONTAINER_START', 'm2', '2030-01-04 12:00 UTC', 'mixed', '[vcores=2]'), ('CONTAINER_START', 'm3', '2030-01-04 12:00 UTC', 'part of mixed', '[vcores=1]');
	SELECT count(*), count(*) FILTER (WHERE p.balance <> b.granted - b.spent)
	FROM (SELECT ARRAY(SELECT generate_series('2029-12-31'::timestamptz, '2030-01-12', '1 day')) AS at) AS cuts,
		yquota_internal.past_balances(yquota_internal.report_costs(cuts.at, '{mixed,part of mixed}'), cuts.at, yquota.clock(), yquota_internal.report_credits('{mixed,part of mixed}')) AS p,
		yquota.balance_at('mixed', p.at) AS b
	SQL
like($node->safe_psql('postgres', q(SELECT yquota.report_html('2030-01-01', '2030-01-12', 'mixed'))), qr/there were <span class="negative">-[0-9,.]+<\/span> credits\. </, 'an overdrawn project has no forecast');
$node->safe_psql('postgres', q(UPDATE yquota.project SET quota_mode = 'NOLIMIT' WHERE name = 'mixed'));
like($node->safe_psql('postgres', q(SELECT yquota.report_html('2030-01-01', '2030-01-12', 'mixed'))), qr/There is no balance to show/, 'a project without limit has no balance');
my $names = $node->safe_psql('postgres', q(SET ROLE member; SELECT yquota.report_html('2030-01-01', '2030-01-11')));
like($names, qr/&lt;svg onload/, 'a member sees the own project');
unlike($names, qr/onerror|taken/, 'a member sees no other project');
my (undef, undef, $error) = $node->psql('postgres', q(SET ROLE member; SELECT yquota.report_html('2030-01-01', '2030-01-11', $$"'><img src=x onerror=alert(1)>$$)));
like($error, qr/does not exist/, 'a member cannot have a report of another project');
(undef, undef, $error) = $node->psql('postgres', q(SELECT yquota.report_html('2030-01-01', 'infinity')));
like($error, qr/must have two ends/, 'a window without an end is refused');
foreach my $window (q('2020-01-01 00:00+00', '2030-12-14 00:00:00.000001+00'), q('4713-01-02 BC', '294275-02-01'))
{
	(undef, undef, $error) = $node->psql('postgres', qq(SET statement_timeout = '10s'; SELECT yquota.report_html($window)));
	like($error, qr/cannot report on more than 4000 days at once/, "the ends of the window are too far apart: $window");
}
like($node->safe_psql('postgres', q(SELECT yquota.report_html('2020-01-01', '2020-01-02'))), qr/Nothing was spent in this window\./, 'a report without data is a complete page');

# Running, waiting, reserved and preempted containers each have a section if there are any. A member of a sub-project
# sees the available amount, and the project that limits it.
is($node->safe_psql('postgres', <<~'SQL'), "t\nACTIVE\n1", 'a project has a sub-project with running, waiting and reserved containers');
	CREATE ROLE tenant;
	INSERT INTO yquota.project (name) VALUES ('site');
	INSERT INTO yquota.project (name, parent) VALUES ('site part', 'site');
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('site', 2000000, '');
	SELECT yquota.allow_role('tenant', 'member', 'site part') \g /dev/null
	INSERT INTO yquota.queue (path, capacity, reservable, reservation_agent) VALUES ('root', NULL, NULL, NULL), ('root.plan', '50', true, 'GreedyReservationAgent'), ('root.other', '50', NULL, NULL);
	INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=200000,vcores=200]');
	INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation, exit_status) VALUES
		('CONTAINER_START', 's1', '2030-01-10 00:00 UTC', 'site', 'a1', 'eva', 'root.other', '[vcores=1]', NULL), ('CONTAINER_FINISH', 's1', '2030-01-10 01:00 UTC', NULL, NULL, NULL, NULL, NULL, -102),
		('CONTAINER_START', 's2', '2030-01-10 12:00 UTC', 'site part', 'a2', 'kim', 'root.other', '[memory-mb=2048,vcores=3]', NULL);
	SELECT accepted FROM yquota.submit_reservation('reservation_1_10001', 'root.plan', 'kim', '{}', 'site part', yquota.reservation_contract('2030-01-11 06:00 UTC', '2030-01-11 12:00 UTC',
		ARRAY[yquota.reservation_request('[memory-mb=1000,vcores=1]', 20, '6 hours', 20)], 'ALL', NULL, NULL, 'night'));
	SELECT state FROM yquota.submit_application('application_1_0001', 'kim', '{}', 'root.other', project => 'site part', unmanaged => true);
	SELECT count(*) FROM yquota.request_containers('application_1_0001', ARRAY[ROW('*', '[memory-mb=4096,vcores=1]', 12, 1, 1, true, NULL, 'GUARANTEED', NULL)::yquota.container_request]);
	SQL
my $site = $node->safe_psql('postgres', q(SELECT yquota.report_html('2030-01-01', '2030-01-12', 'site')));
my %told = map { ($_ => [ map { join '|', @$_ } (rows(section($site, $_) // ''))[ 1 .. 1 ] ]) } 'Running now', 'Waiting now', 'Reserved', 'Preempted';
is_deeply(\%told, {
	'Running now' => ['site part|root.other|2,048 MiB, 3 vcores|1|1'],
	'Waiting now' => ['application_1_0001|site part|root.other|kim|49,152 MiB, 12 vcores|0|12'],
	Reserved => ['night, reservation_1_10001|site part|kim|root.plan|2030-01-11 06:00|2030-01-11 12:00|&ndash;|0'],
	Preempted => ['site|root.other|eva|1|4,680|0']
}, 'the sections are right for a project and its sub-project');
is_deeply(spent($site), {
	Project => { 'site part' => '168,480', site => '4,680', Total => '173,160' }, Queue => { 'root.other' => '173,160', Total => '173,160' },
	User => { kim => '168,480', eva => '4,680', Total => '173,160' }, 'Resource type' => { vcores => '173,160', Total => '173,160' }
}, 'the amount is that of both projects together');
like($site, qr/<title>Spending of project site and its sub-project, /, 'the title names the project and its sub-project');
my $tenant = $node->safe_psql('postgres', q(SET ROLE tenant; SELECT yquota.report_html('2030-01-01', '2030-01-12')));
like($tenant, qr/<title>Spending of project site part, .*<p>Written at 2030-01-11 00:00 for tenant, /, 'a tenant has a report of the sub-project');
like(section($tenant, 'Money'), qr/<dt>Spent in this window<\/dt><dd>168,480<\/dd><\/div><\/dl><div class="wide" tabindex="0"><table class="f2">.*?<\/table><\/div><p>site part: 1,826,840 are available, limited by site\.<\/p>/, 'the report of the tenant has the available credit');
is(join('|', @{ (rows(section($tenant, 'Balances')))[1] }[ 0 .. 7 ]), 'site part|site|&ndash;|168,480|0|&ndash;|1,826,840|14,040', 'the report does not show a negative remainder');
is((rows(section($tenant, 'Balances')))[1]->[8], $node->safe_psql('postgres', q(SELECT to_char(exhausted_at, 'YYYY-MM-DD HH24:MI') FROM yquota.project_balance WHERE project = 'site part')), 'the credit lasts as long as that of the project above');
is_deeply(spent($tenant)->{'Resource type'}, { vcores => '168,480', Total => '168,480' }, 'the resource types are those of the sub-project');
is(section($tenant, 'Preempted'), undef, 'the report has nothing of the project above');
# 173,160 credits were spent in ten of the eleven days.
is((rows(section($site, 'Balances')))[1]->[9], $node->safe_psql('postgres', q(SELECT to_char('2030-01-11'::timestamptz + 1826840 / 17316.0 * interval '1 day', 'YYYY-MM-DD HH24:MI'))), 'the rate uses only the past days of the window');

# With many projects the legend lists fifteen, and nineteen projects have their own lines in the
# table.
$node->safe_psql('postgres', <<~'SQL');
	INSERT INTO yquota.project (name) SELECT 'team ' || n FROM generate_series(1, 30) AS n;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT e.event, 'team ' || n, e.at, 'team ' || n, yquota.resource(vcores => n)
	FROM generate_series(1, 30) AS n, (VALUES ('CONTAINER_START'::yquota.container_event_type, '2030-01-08 00:00 UTC'::timestamptz), ('CONTAINER_FINISH', '2030-01-09 00:00 UTC')) AS e (event, at);
	SQL
my $many = $node->safe_psql('postgres', q(SELECT yquota.report_html('2030-01-08', '2030-01-09')));
my ($legend) = section($many, 'Spending over time') =~ /<p class="legend">(.*?)<\/p>/;
is(join(',', $legend =~ /<\/svg>(.*?)<\/span>/g), join(',', (map { "$_ team " . (31 - $_) } 1 .. 15), '16 20 others'), 'the report has forecasts of many projects');
is(scalar(keys %{ spent($many)->{Project} }), 21, 'a table has nineteen projects, the others and the total');
# Some windows divide rows of the ledger, and some divide running containers.
is($node->safe_psql('postgres', <<~'SQL'), '42|0', 'the costs by resource type add up to the exact cost of any window');
	SELECT count(*), count(*) FILTER (WHERE cost.amount <> types.amount)
	FROM (SELECT least(a, b) AS "from", greatest(a, b) AS "to"
		  FROM generate_series('2030-01-02 23:59:59.3 UTC'::timestamptz, '2030-01-11 UTC', '31 h 13 min 5.000007 s') AS a,
			   generate_series('2030-01-03 07:00 UTC'::timestamptz, '2030-01-12 UTC', '41 h') AS b WHERE a <> b) AS part
	CROSS JOIN LATERAL (SELECT coalesce(sum(c.amount), 0) AS amount FROM yquota.cost_between(part."from", part."to") AS c) AS cost
	CROSS JOIN LATERAL (SELECT coalesce(sum(t.amount), 0) AS amount
		FROM yquota_internal.report_types(ROW(part."from", part."to", yquota.clock(), 'UTC', NULL)::yquota_internal.report_window) AS found, unnest(found.amounts) AS t (amount)) AS types
	SQL
$node->stop;

if (is_soak())
{
	my @browser = (qw(chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update
		  --disable-sync --disable-dev-shm-usage), "--user-data-dir=$directory/browser");
	local $ENV{HOME} = $directory;

	append_to_file("$directory/report.html", $page);
	my $shown = `timeout 60 @browser --dump-dom file://$directory/report.html 2>/dev/null`;
	unlike($shown, qr/<(?:script|img)\b| on\w+="/, 'the browser finds no markup in names');
	like($shown, qr/<title>Spending of all projects, /, 'the browser has run no script of names');
	is(scalar(() = $shown =~ /<svg viewBox="0 0 640 240"/g), 5, 'the browser shows the charts');
	cmp_ok(scalar(() = $shown =~ /<path /g), '>=', 4 + 3 + 3 + 3 - 1, 'the charts have their shapes');
	system("timeout 60 @browser --window-size=390,2000 --screenshot=$directory/phone.png file://$directory/report.html 2>/dev/null");
	cmp_ok(-s "$directory/phone.png", '>', 20000, 'the page is drawn on a phone, too');

	# Only tables, which scroll by themselves, are wider than the screen.
	append_to_file("$directory/measured.html", "$many<script>parent.postMessage(document.documentElement.scrollWidth - document.documentElement.clientWidth, '*')</script>");
	foreach my $width (1280, 390)
	{
		append_to_file("$directory/frame$width.html", "<script>onmessage = said => document.title = said.data</script><iframe width=$width height=2000 src=measured.html></iframe>");
		my ($beyond) = `timeout 60 @browser --virtual-time-budget=10000 --dump-dom file://$directory/frame$width.html 2>/dev/null` =~ /<title>(-?\d+)</;

		is($beyond, 0, "on a screen of $width pixels nothing is cut off");
	}
}

done_testing();
