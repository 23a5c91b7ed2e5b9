#
# Calendar.pm: recurring prices, computed in the most naive way. A window is a pair of wall-clock times. The model
# asks the C library only for the offset of a time zone at an instant.
#
# Instants are microseconds since 1970 UTC. A calendar is a hash with the columns of yquota.price_calendar. The column
# weekdays is an array of 1 (Monday) to 7, from and to are microseconds of a day, and the factor is text.
#
package Calendar;

use strict;
use warnings;
use POSIX ();
use Time::Local ();

use constant { SECOND => 1_000_000, DAY => 86_400_000_000, FOREVER => 9_000_000_000_000_000_000 };

our $columns = 'timezone, weekdays, "from", "to", factor, valid_from, valid_until';

my %offset_known;

# Return the microseconds by which a zone's wall clock is ahead of UTC at an instant.
sub offset_at
{
	my ($zone, $at) = @_;
	my $seconds = POSIX::floor($at / SECOND);

	return $offset_known{$zone}{$seconds} //= do
	{
		local $ENV{TZ} = $zone;
		POSIX::tzset();
		my @wall = localtime $seconds;

		(Time::Local::timegm(@wall[ 0 .. 4 ], $wall[5] + 1900) - $seconds) * SECOND;
	};
}

# Return the instant at which the wall clock shows a time. If the time occurs twice, this is the second occurrence.
# A skipped time is read with the offset from before the change.
sub instant_of
{
	my ($zone, $wall) = @_;
	my $before = offset_at($zone, $wall - DAY);
	my $after = offset_at($zone, $wall + DAY);
	my @shown = sort { $b <=> $a } grep { $_ + offset_at($zone, $_) == $wall } $wall - $before, $wall - $after;

	return @shown ? $shown[0] : $wall - $before;
}

# Return the window that opens on a day (days since 1970), or nothing.
sub window_of_day
{
	my ($calendar, $day) = @_;
	my $weekday = ($day + 3) % 7 + 1;
	my $to = $calendar->{to} + ($calendar->{to} > $calendar->{from} ? 0 : DAY);

	return unless grep { $_ == $weekday } @{ $calendar->{weekdays} };
	my $opens = instant_of($calendar->{timezone}, $day * DAY + $calendar->{from});
	my $closes = instant_of($calendar->{timezone}, $day * DAY + $to);

	$opens = $calendar->{valid_from} if $opens < $calendar->{valid_from};
	$closes = $calendar->{valid_until} if $closes > $calendar->{valid_until};
	return $opens < $closes ? [ $opens, $closes ] : ();
}

# Return the windows that may be open at an instant.
sub windows_near
{
	my ($calendar, $at) = @_;
	my $day = POSIX::floor($at / DAY);

	return map { window_of_day($calendar, $_) } $day - 3 .. $day + 2;
}

# Return the factor and the name in force at an instant; there is no name while no window is open.
sub factor_at
{
	my ($calendars, $at) = @_;
	my ($lowest) = sort { $a->{factor} <=> $b->{factor} || $a->{name} cmp $b->{name} }
	  grep { my $calendar = $_; grep { $_->[0] <= $at && $at < $_->[1] } windows_near($calendar, $at) } @$calendars;

	return $lowest ? ($lowest->{factor}, $lowest->{name}) : ('1', '');
}

# Return points [instant, factor, name]: one at the first instant, and one at each later change up to
# the second instant.
sub points
{
	my ($calendars, $from, $to) = @_;
	my %cut = ($from => 1);
	my @points;

	foreach my $calendar (@$calendars)
	{
		foreach my $day (POSIX::floor($from / DAY) - 3 .. POSIX::floor($to / DAY) + 2)
		{
			$cut{$_} = 1 foreach grep { $from < $_ && $_ <= $to } map { @$_ } window_of_day($calendar, $day);
		}
	}
	foreach my $at (sort { $a <=> $b } keys %cut)
	{
		my ($factor, $name) = factor_at($calendars, $at);

		push @points, [ $at, $factor, $name ] if !@points || $points[-1][1] != $factor || $points[-1][2] ne $name;
	}
	return @points;
}

# Return the statement that sets a calendar of a price group. If the calendar is undef, the statement removes the
# calendar of that name.
sub statement
{
	my ($group, $name, $calendar) = @_;

	return "DELETE FROM yquota.price_calendar WHERE name = '$name' AND price_group = '$group'" if !$calendar;
	return "INSERT INTO yquota.price_calendar (name, price_group, $columns) VALUES ('$name', '$group', " . values_of($calendar)
	  . ') ON CONFLICT (name, price_group) DO UPDATE SET ' . join(', ', map { "$_ = EXCLUDED.$_" } split /, /, $columns);
}

# Return the values of a row of yquota.price_calendar, without the group.
sub values_of
{
	my ($calendar) = @_;
	my ($from, $to) = map { sprintf(q(time '00:00' + interval '%d microseconds'), $_) } @$calendar{qw(from to)};
	my ($valid_from, $valid_until) = map {
		    $_ == FOREVER ? q('infinity')
		  : $_ == -(FOREVER) ? q('-infinity')
		  : sprintf(q(timestamptz '1970-01-01 00:00+00' + interval '%d microseconds'), $_)
	} @$calendar{qw(valid_from valid_until)};

	return sprintf(q('%s', '{%s}', %s, %s, %s, %s, %s),
		$calendar->{timezone}, join(',', @{ $calendar->{weekdays} }), $from, $to, $calendar->{factor}, $valid_from, $valid_until);
}

our @zones = qw(UTC Europe/Madrid Europe/Dublin America/New_York America/Santiago Australia/Lord_Howe Asia/Kathmandu
  Pacific/Chatham Pacific/Kiritimati Africa/Casablanca);

sub pick { return $_[ rand @_ ] }

# Return a random time of day, often a full hour or a time near changes of clocks.
sub random_time
{
	return pick(
		sub { 3_600_000_000 * int rand 24 },
		sub { 900_000_000 * int rand 96 },
		sub { 60_000_000 * int rand 240 },
		sub { int rand DAY })->();
}

# Return a random calendar. If its validity is bounded, it begins or ends between two instants.
sub random
{
	my ($name, $from, $to) = @_;
	my $opens = random_time();
	my ($valid_from, $valid_until) = sort { $a <=> $b } map { $from + int rand($to - $from) } 1, 2;

	return {
		name => $name, timezone => pick(@zones), from => $opens, to => pick($opens, random_time(), random_time(), random_time()),
		weekdays => pick([ 1 .. 7 ], [ 1 .. 5 ], [ 6, 7 ], [ grep { $_ == 3 || rand() < 0.5 } 2 .. 7 ], [1]),
		factor => pick('0', '0.5', '0.25', '1', '1.5', '0.333333', '12.000001'),
		valid_from => rand() < 0.7 ? -(FOREVER) : $valid_from, valid_until => rand() < 0.7 ? FOREVER : $valid_until + 1 };
}

1;
