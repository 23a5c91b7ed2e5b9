--
-- Tables that are gone by the time C gets to them: an error, no crash.
--
SELECT yquota_internal.copy_out('SELECT 1 AS a', 4294967295, 'a', false);
SELECT yquota_internal.copy_out('SELECT 1 AS a', 0, 'a', false);
SELECT yquota_internal.copy_out('', 'pg_class', 'a', false);
SELECT yquota_internal.copy_out('CREATE TABLE never_made ()', 'pg_class', 'a', false);
SELECT yquota_internal.exchange_storage(4294967295, 'yquota.charge');
SELECT yquota_internal.exchange_storage('yquota.charge', 0);
