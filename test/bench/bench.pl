#!/usr/bin/env perl
#
# bench.pl FILES REPORT
#
# Run the cases that BENCH_ONLY matches, print the table and write REPORT.md and REPORT.json. FILES
# is a directory that the server reads and the bench may fill. The cluster is that of PGHOST.
# test/scripts/bench.sh makes both.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Allocation;
use Cluster;
use Bench;
use Events;
use History;
use Opportunistic;
use POSIX qw(strftime);
use Preemption;
use Queues;
use Report;
use Reservation;
use Running;
use ScaleOut;
use Time::HiRes qw(time);

die "usage: bench.pl FILES REPORT\n" if @ARGV != 2;
my $only = $ENV{BENCH_ONLY} || '.';
my @cases = (Events::cases(), Running::cases(), History::cases(), Queues::cases(), Allocation::cases(), Preemption::cases(), Opportunistic::cases(), Reservation::cases(), ScaleOut::cases());
my $began = time;
my $ran = 0;
my $failed = 0;

while (my ($name, $code) = splice @cases, 0, 2)
{
	next unless $name =~ /$only/;
	my $started = time;
	print STDERR "$name\n";
	# If a case cannot be measured, the table says so, and the other cases are measured.
	unless (eval { $code->($name); 1 })
	{
		my ($reason) = $@ =~ /^(.*)/;
		print STDERR $@;
		Report::add($name, missing => 'failed', note => $reason);
		$failed++;
	}
	printf STDERR "  %.1f s\n", time - $started;
	$ran++;
}
die "no case matches BENCH_ONLY \"$only\"\n" unless $ran;

sub about
{
	my $memory = `cat /proc/meminfo`;
	my ($kib) = $memory =~ /^MemTotal:\s+(\d+)/m;
	my $cores = () = `cat /proc/cpuinfo` =~ /^processor\s*:/mg;

	return {
		'server' => Cluster::administer('SHOW server_version'),
		'shared_buffers' => Cluster::administer('SHOW shared_buffers'),
		'machine' => sprintf('%d cores, %.0f GB of memory', $cores, $kib / 1048576),
		'load' => (split ' ', `cat /proc/loadavg`)[0] + 0,
		'scale' => $ENV{BENCH_SCALE},
		'repetitions' => repetitions() + 0,
		'date' => strftime('%Y-%m-%d %H:%M UTC', gmtime),
		'seconds' => sprintf('%.0f', time - $began) + 0,
	};
}

print Report::write_files($ARGV[1], about());
exit($failed ? 1 : 0);
