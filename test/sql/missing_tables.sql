--
-- Tables that no longer exist when C code opens them cause an error, not a crash.
--
SELECT yquota_internal.copy_out('SELECT 1 AS a', 4294967295, 'a', false);
SELECT yquota_internal.copy_out('SELECT 1 AS a', 0, 'a', false);
SELECT yquota_internal.copy_out('', 'pg_class', 'a', false);
SELECT yquota_internal.copy_out('CREATE TABLE never_made ()', 'pg_class', 'a', false);
SELECT yquota_internal.exchange_storage(4294967295, 'yquota.charge');
SELECT yquota_internal.exchange_storage('yquota.charge', 0);
