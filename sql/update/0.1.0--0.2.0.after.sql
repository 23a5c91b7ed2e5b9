--
-- From 0.1.0 to 0.2.0: what goes when nothing uses it any more.
--

-- One function keeps all tables that are only added to.
DROP FUNCTION yquota_internal.refuse_change_of_balance();

-- The time zone of bills was a setting.  What was charged has been told by its days.
ALTER TABLE yquota.billing_setting DISABLE TRIGGER USER;
INSERT INTO yquota.billing_setting (timezone)
SELECT setting.timezone
FROM (SELECT 1, nullif(current_setting('yquota.billing_timezone', true), '')
	  UNION ALL
	  SELECT CASE WHEN role_setting.setdatabase = 0 THEN 3 ELSE 2 END, split_part(assigned.setting, '=', 2)
	  FROM pg_catalog.pg_db_role_setting AS role_setting, unnest(role_setting.setconfig) AS assigned (setting)
	  WHERE role_setting.setrole = 0
		AND role_setting.setdatabase IN (0, (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database()))
		AND split_part(assigned.setting, '=', 1) = 'yquota.billing_timezone'
	  UNION ALL
	  SELECT 4, file.setting FROM pg_catalog.pg_file_settings AS file WHERE file.name = 'yquota.billing_timezone') AS setting (place, timezone)
WHERE setting.timezone IS NOT NULL
ORDER BY setting.place LIMIT 1;
ALTER TABLE yquota.billing_setting ENABLE TRIGGER USER;
