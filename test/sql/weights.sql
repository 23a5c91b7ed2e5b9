--
-- Packed weights of rate classes: damaged lists, and sums that do not fit, cause errors and never a
-- wrong sum.
--
\set VERBOSITY sqlstate
SET bytea_output = hex;

-- class 1 with weight 2, class 3 with weight -64
SELECT yquota_internal.pack_weights(class_id, weight)
  FROM (VALUES (3, -64), (1, 5), (1, -3), (2, 7), (2, -7)) AS v (class_id, weight);
SELECT yquota_internal.merge_weights('\x0104028101', '\x0105'),
	   yquota_internal.merge_weights('', '\x0104028101'),
	   yquota_internal.merge_weights('\x0105', '\x0105');

-- Damaged lists: cut off, longer than needed, weights of zero and of minus zero, and a class twice.
-- Others have class numbers above 32 bits, or a weight of more than 128 bits.
SELECT yquota_internal.merge_weights('\x01', '');
SELECT yquota_internal.merge_weights('\x0184', '');
SELECT yquota_internal.merge_weights('\x018400', '');
SELECT yquota_internal.merge_weights('\x810004', '');
SELECT yquota_internal.merge_weights('\x0100', '');
SELECT yquota_internal.merge_weights('\x0101', '');
SELECT yquota_internal.merge_weights('\x01040004', '');
SELECT yquota_internal.merge_weights('\xffffffff0f040104', '');
SELECT yquota_internal.merge_weights('\xffffffff1f04', '');
SELECT yquota_internal.merge_weights('\x01ffffffffffffffffffffffffffffffffffff07', '');

-- the largest weight, and the next larger one
SELECT yquota_internal.merge_weights('\x01feffffffffffffffffffffffffffffffffff03', '');
SELECT yquota_internal.merge_weights('\x01feffffffffffffffffffffffffffffffffff03', '\x0102');
SELECT yquota_internal.merge_weights('\x01ffffffffffffffffffffffffffffffffffff03', '\x0103');
SELECT yquota_internal.pack_weights(1, 999999999999999999999999999999999999) FROM generate_series(1, 170);
SELECT yquota_internal.pack_weights(1, 999999999999999999999999999999999999) FROM generate_series(1, 171);

-- values that are neither a weight nor a class
SELECT yquota_internal.pack_weights(1, 1.5);
SELECT yquota_internal.pack_weights(1, 'NaN');
SELECT yquota_internal.pack_weights(1, '-Infinity');
SELECT yquota_internal.pack_weights(1, 1e36);
SELECT yquota_internal.pack_weights(0, 1);
SELECT yquota_internal.pack_weights(NULL, 1);
SELECT yquota_internal.pack_weights(1, NULL);
