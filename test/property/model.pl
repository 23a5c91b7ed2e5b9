#!/usr/bin/env perl
#
# The independent model is tested with amounts that were computed by hand (docs/design.md 2, 3),
# before it may judge the extension.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Model;

use constant { SECOND => 1_000_000, HOUR => 3_600_000_000 };

my $container_count = 0;

sub cluster
{
	my $model = Model->new;

	$model->add_resource_type('memory-mb', 'GENERAL', '1', 1024);
	$model->add_resource_type('vcores', 'GENERAL', '1', 1);
	$model->add_resource_type('yarn.io/gpu', 'GPU', '1', 1);
	return $model;
}

# Take the events of one new container: a start, any updates ([at, {...}]), a finish or undef.
# Return its id.
sub run
{
	my ($model, $start, $held, $updates, $finish) = @_;
	my $id = 'container_' . ++$container_count;

	$model->take({ project => 'p', username => 'ann', %$held, event => 'START', id => $id, at => $start });
	$model->take({ %{ $_->[1] }, event => 'UPDATE', id => $id, at => $_->[0] }) foreach @$updates;
	$model->take({ event => 'FINISH', id => $id, at => $finish }) if defined $finish;
	return $id;
}

sub owes
{
	my ($model, $id, $now, $from, $to) = @_;

	$from = -Model::FOREVER unless defined $from;
	$to = Model::FOREVER unless defined $to;
	return Model::text(Model::cost($model->pieces($id, $now), $from, $to));
}

# Return the rows of the ledger, in seconds.
sub ledger
{
	my ($model, $id, $now) = @_;

	return join(', ', map {
		my ($from, $to, $amount, $dominant) = @$_;

		sprintf('%d-%d: %s', $from / SECOND, $to / SECOND,
			join(' ', Model::text($amount), defined $dominant ? $dominant : ()))
	} $model->settled($id, $now || 10 * SECOND));
}

sub half_even
{
	return Model::half_even(Math::BigInt->new($_[0]), Math::BigInt->new($_[1]))->bstr;
}

sub one_resource
{
	return { allocation => { vcores => $_[0] } };
}

# Arithmetic
is(half_even(5, 2), '2', '2.5 rounds to 2');
is(half_even(7, 2), '4', '3.5 rounds to 4');
is(half_even(8, 3), '3', '2.66 rounds to 3');
is(half_even(7, 3), '2', '2.33 rounds to 2');
is(Model::text(Model::amount('-12.3400')), '-12.34', 'a decimal number and its text');
is(Model::text(Model::amount('0.000')), '0', 'zero');

# Charging modes: 1 GB and one core, with and without two GPUs at 10, a mode of a project, and the dominant
# resource
{
	my $model = cluster();
	my @ids = map { run($model, 0, { project => $_->[0], allocation => { 'memory-mb' => 1024, vcores => 1, 'yarn.io/gpu' => $_->[1] } }, [], 40 * SECOND) }
	  ([ 'p', 0 ], [ 'p', 2 ], [ 'q', 2 ]);

	$model->set_base_price('yarn.io/gpu', 0, '10', 1);
	$model->set_mode('', 10 * SECOND, 'sum');
	$model->set_mode('', 20 * SECOND, 'sum_of_groups');
	$model->set_mode('', 30 * SECOND, 'dearest');
	$model->set_mode('q', 5 * SECOND, 'sum');
	$model->set_mode('q', 25 * SECOND, undef);
	is(owes($model, $ids[0], 40 * SECOND), '50', 'one resource for 30 s, both for 10 s');
	is(owes($model, $ids[1], 40 * SECOND), '830', '20 for 20 s, 22 for 10 s, 21 for 10 s');
	is(owes($model, $ids[2], 40 * SECOND), '845', '20 for 15 s, 22 for 20 s, 21 for 5 s');
	is(ledger($model, $ids[2], 40 * SECOND), '0-40: 845 yarn.io/gpu', 'the largest part is dominant');
}

# A minimum run time
{
	my $model = cluster();
	my $small = { allocation => { 'memory-mb' => 1024, vcores => 1 } };
	my @ids;

	$model->set_rule(-1, 10 * SECOND);
	foreach my $attempt (1 .. 9)
	{
		foreach (1 .. $attempt)
		{
			push @ids,
			    $attempt <= 2 ? run($model, 0, $small, [], 1 * SECOND)
			  : $attempt <= 5 ? run($model, 0, $small, [], 19 * SECOND)
			  : run($model, 0, $small,
				[ [ 20 * SECOND, { allocation => { 'memory-mb' => 2048, vcores => 1 } } ] ], 30 * SECOND);
		}
	}
	my @group = ([ @ids[ 0 .. 2 ] ], [ @ids[ 3 .. 14 ] ], [ @ids[ 15 .. 44 ] ]);
	my $subtotal = sub {
		my ($ids, $from, $to) = @_;
		my $total = Math::BigInt->new(0);

		$total += Model::cost($model->pieces($_, 30 * SECOND), $from * SECOND, $to * SECOND) foreach @$ids;
		return Model::text($total);
	};

	is($subtotal->($group[0], 0, 31), '30', 'V1: the minimum run time');
	is($subtotal->([ @{ $group[1] }, @{ $group[2] } ], 0, 10), '420', 'V2: the first ten seconds');
	is($subtotal->($group[1], 10, 31), '108', 'V3: the rest of longer ones');
	is($subtotal->($group[2], 10, 20), '300', 'V4: up to the update');
	is($subtotal->($group[2], 20, 31), '600', 'V5: after the update');
	is($subtotal->(\@ids, 0, 31), '1458', 'V6: the project');
}

# A multiplier
foreach my $vector (
	[ 10000, 1, 128, 0, '1', '1', '1', '1', '10' ],
	[ 10000, 4, 2048, 1, '4', '17', '1', '1', '170' ],
	[ 10000, 8, 2048, 1, '1', '1', '1', '1', '80' ],
	[ 3600000, 2, 4096, 1, '1.5', '1.8', '1', '2', '21600' ],
	[ 500, 1, 1536, 0, '1', '1', '1', '1', '0.75' ])
{
	my ($ms, $vcores, $mb, $gpu, $m_general, $m_gpu, $b_general, $b_gpu, $charge) = @$vector;
	my $model = cluster();
	my $id = run($model, 0,
		{ allocation => { 'memory-mb' => $mb, vcores => $vcores, 'yarn.io/gpu' => $gpu } }, [], $ms * 1000);

	$model->set_multiplier('GENERAL', 0, $m_general);
	$model->set_multiplier('GPU', 0, $m_gpu);
	$model->set_base_price('vcores', 0, $b_general, 1);
	$model->set_base_price('memory-mb', 0, $b_general, 1024);
	$model->set_base_price('yarn.io/gpu', 0, $b_gpu, 1);
	is(owes($model, $id, $ms * 1000), $charge, "6.7: $vcores vcores, $mb MB, $gpu GPUs for $ms ms");
}

# Timelines
{
	my $model = cluster();

	$model->set_base_price('vcores', -1, '1', 3);
	my $id = run($model, 0, one_resource(1), [], 3 * SECOND);
	is(owes($model, $id, 0), '0.999999999999999999', 'the price is rounded, the amount is not');
	$model->set_multiplier('GENERAL', 1 * SECOND, '2');
	is(owes($model, $id, 0), '1.666666666666666667', '1/3 for one second, 2/3 for two');
	$model->set_multiplier('GENERAL', 1 * SECOND, '0.5');
	is(owes($model, $id, 0), '0.666666666666666667', 'a second point at an instant replaces the first');
	is(owes($model, $id, 0, 500_000, 1_500_000), '0.25', 'a window over a change of price');
}
{
	my $model = cluster();
	my $id = run($model, 0, { allocation => { 'memory-mb' => 2048, 'yarn.io/gpu' => 1 } }, [], undef);

	$model->set_multiplier('GPU', 4 * SECOND, '5');
	$model->set_multiplier('GENERAL', 6 * SECOND, '3');
	is(owes($model, $id, 10 * SECOND), '42', 'dominance flips: 4 s at 2, 2 s at 5, 4 s at 6');
	$model->take({ event => 'UPDATE', id => $id, at => 8 * SECOND, allocation => {} });
	is(owes($model, $id, 10 * SECOND), '30', 'nothing held, nothing paid');
	$model->take({ event => 'UPDATE', id => $id, at => 9 * SECOND, queue => 'root.a' });
	is(owes($model, $id, 10 * SECOND), '30', 'an update without an allocation keeps it');
	$model->take({ event => 'UPDATE', id => $id, at => 9 * SECOND + 1 });
	is(ledger($model, $id), '0-8: 30 memory-mb, 8-9: 0', 'the ledger of a running container');
	is(ledger($model, $id, 9 * SECOND), '0-8: 30 memory-mb, 8-9: 0', 'the ledger of a container that has just been updated');
	$model->take({ event => 'FINISH', id => $id, at => 12 * SECOND });
	$model->set_rule(0, 15 * SECOND);
	$model->take({ event => 'UPDATE', id => $id, at => 11 * SECOND, allocation => { 'yarn.io/gpu' => 2 } });
	is(ledger($model, $id), '0-8: 30 memory-mb, 8-9: 0, 9-11: 0, 11-12: 10 yarn.io/gpu, 12-12: 30',
		'the ledger after the finish');
}

# Factors
{
	my $model = cluster();
	my %queue = map { $_ => run($model, 0, { %{ one_resource(1) }, queue => $_ }, [], 10 * SECOND) }
	  qw(root.a root.a.b root.ab);
	my $spot = run($model, 0,
		{ %{ one_resource(1) }, queue => 'root.a', execution_type => 'OPPORTUNISTIC' }, [], 10 * SECOND);

	$model->set_factor('queue', 'root.a', 0, '2');
	is(owes($model, $queue{'root.a.b'}, 0), '20', 'a factor matches the queues below');
	is(owes($model, $queue{'root.ab'}, 0), '10', 'a factor does not match another queue of which it is a prefix');
	$model->set_factor('queue', 'root.a.b', 5 * SECOND, '0.5');
	is(owes($model, $queue{'root.a.b'}, 0), '12.5', 'the most specific wins, once it has begun');
	$model->set_factor('queue', 'root.a.b', 7 * SECOND, 'NULL');
	is(owes($model, $queue{'root.a.b'}, 0), '17', 'until it ends');
	$model->set_factor('execution_type', 'OPPORTUNISTIC', 0, '0.1');
	$model->set_factor('username', 'ann', 0, '0.5');
	is(owes($model, $spot, 0), '1', 'across dimensions they multiply: 2, 0.1, 0.5');
	is(owes($model, $queue{'root.a'}, 0), '10', 'no execution type is GUARANTEED');
	$model->set_factor('username', 'ann', 9 * SECOND, '0');
	is(owes($model, $queue{'root.a'}, 0), '9', 'a factor of 0 is free');
}

# Outages
{
	my $model = cluster();
	my $id = run($model, 0, one_resource(1), [], 10 * SECOND);

	$model->add_outage(undef, 1 * SECOND, 4 * SECOND);
	$model->add_outage('p', 3 * SECOND, 5 * SECOND);
	$model->add_outage('q', 0, 10 * SECOND);
	is(owes($model, $id, 0), '6', 'overlaps count once, outages of other projects not at all');
}

# Minimum run time
{
	my $model = cluster();

	$model->set_rule(10 * SECOND, 20 * SECOND);
	is(owes($model, run($model, 9_999_999, one_resource(1), [], 11 * SECOND), 0), '1.000001',
		'the rule in force at the start');
	my $id = run($model, 10 * SECOND, one_resource(1),
		[ [ 12 * SECOND, { allocation => { vcores => 3 } } ] ], 15 * SECOND);
	is(owes($model, $id, 0), '56', '2 s at 1, 3 s at 3, 15 s of padding at 3');
	is(owes($model, $id, 0, 15 * SECOND, 15 * SECOND + 1), '45', 'booked at the finish');
	is(owes($model, $id, 0, 0, 15 * SECOND), '11', 'no padding is booked before the finish');
	$model->set_multiplier('GENERAL', 15 * SECOND, '2');
	is(owes($model, $id, 0), '101', 'at the price of the finish');
	$model->add_outage(undef, 15 * SECOND, 16 * SECOND);
	is(owes($model, $id, 0), '11', 'nothing when the finish lies in an outage');
	is(owes($model, run($model, 20 * SECOND, one_resource(1), [], 40 * SECOND), 0), '40', 'long enough');
	is(owes($model, run($model, 20 * SECOND, one_resource(1), [], undef), 21 * SECOND), '2', 'a running container has no padding');
}

# Free time before a preemption
{
	my $model = cluster();
	my $preempted = sub {
		my ($start, $finish, $source, $updates) = @_;
		my $id = run($model, $start, one_resource(1), $updates || [], undef);

		$model->take({ event => 'FINISH', id => $id, at => $finish, exit_status => -102, source => $source });
		return $id;
	};

	$model->set_rule(0, 0, 10 * SECOND);
	is(owes($model, run($model, 0, one_resource(1), [], 60 * SECOND), 0), '60', 'all is charged of what ends by itself');
	is(owes($model, $preempted->(0, 60 * SECOND, 'rm'), 0), '60', 'a container that a feed reports as preempted is charged to its end');
	my $id = $preempted->(0, 60 * SECOND, 'scheduler', [ [ 55 * SECOND, { allocation => { vcores => 3 } } ] ]);
	is(owes($model, $id, 0), '50', 'the last 10 s of what yquota preempts are free');
	is(owes($model, $id, 0, 45 * SECOND, 52 * SECOND), '5', 'a window over the beginning of that');
	is(ledger($model, $id), '0-50: 50 vcores, 50-55: 0, 55-60: 0', 'the ledger of a preempted container');
	is(join(' ', map { Model::text($_) } $model->lost($id, 0)), '70 20', 'gross, and what is given back');
	is(owes($model, $preempted->(50 * SECOND, 55 * SECOND, 'scheduler'), 0), '0', 'all of a short life');

	$id = $preempted->(0, 60 * SECOND, 'rm');
	$model->take({ event => 'FINISH', id => $id, at => 70 * SECOND, exit_status => -102, source => 'scheduler' });
	is(owes($model, $id, 0), '50', 'a later FINISH of yquota tells whose preemption it was');
	$model->take({ event => 'FINISH', id => $id, at => 58 * SECOND, exit_status => 0, source => 'rm' });
	is(owes($model, $id, 0), '58', 'an earlier end with another status is none');
	is(join(' ', $model->lost($id, 0)), '', 'no cost is lost by an ordinary end');

	$id = $preempted->(0, 60 * SECOND, 'scheduler');
	$model->add_outage(undef, 45 * SECOND, 52 * SECOND);
	is(owes($model, $id, 0), '45', 'time that an outage has forgiven is free once');
	is(join(' ', map { Model::text($_) } $model->lost($id, 0)), '53 8', 'time that an outage has forgiven is not lost');

	$model->set_rule(100 * SECOND, 20 * SECOND, 10 * SECOND, 1);
	is(owes($model, $preempted->(100 * SECOND, 112 * SECOND, 'rm'), 0), '10', '2 s, and 8 s of padding, by any source');
	is(owes($model, $preempted->(99 * SECOND, 119 * SECOND, 'rm'), 0), '20', 'the rule in force at the start');
}

done_testing();
