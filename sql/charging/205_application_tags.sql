-- Tags of applications, by which reports group costs.
--
-- A tag is a key with a value.  A row of application_tags stays after the application has gone, because the ledger and
-- the sums of archived history name the application forever.  Reports read the roll-ups and the ledger by application,
-- and join the tags.  So no statement that inserts events reads or writes tags.
--
-- The first value of a key cannot be changed.  After the first charge, no key can be added either, because the cost of
-- the application has been reported without it.

CREATE TABLE yquota.application_tags (
	application_id text COLLATE "C" PRIMARY KEY,
	tags jsonb NOT NULL,
	set_at timestamptz NOT NULL,
	set_by name NOT NULL DEFAULT session_user
);
COMMENT ON TABLE yquota.application_tags IS
	'Tags of applications, by which reports group costs.  submit_application() and set_application_tags() write the rows, which stay as long as the ledger or the archived history names the application';
COMMENT ON COLUMN yquota.application_tags.application_id IS 'primary key, at most 255 bytes';
COMMENT ON COLUMN yquota.application_tags.tags IS 'values by key, as a JSON object of strings; an empty string for a tag without a value';
COMMENT ON COLUMN yquota.application_tags.set_at IS 'clock when the first tags were set';
COMMENT ON COLUMN yquota.application_tags.set_by IS 'user of the session that set the first tags';

SELECT pg_extension_config_dump('yquota.application_tags', '');

-- charge_application_id_idx finds an application faster than a scan, but the planner expects the scan to end early.
CREATE FUNCTION yquota_internal.has_been_charged(application_id text) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_seqscan = off
	RETURN EXISTS (SELECT FROM yquota.charge AS c WHERE c.application_id = has_been_charged.application_id)
		OR EXISTS (SELECT FROM yquota_internal.archived_cost AS a WHERE a.application_id = has_been_charged.application_id);
COMMENT ON FUNCTION yquota_internal.has_been_charged(text) IS
	'Tell whether the ledger or the archived history has a row of an application';

CREATE FUNCTION yquota_internal.forget_application_tags(before timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH forgotten AS (
			DELETE FROM yquota.application_tags AS t
			WHERE t.set_at < before
			  AND NOT EXISTS (SELECT FROM yquota_internal.archived_cost AS a WHERE a.application_id = t.application_id)
			  AND NOT EXISTS (SELECT FROM yquota.charge AS c WHERE c.application_id = t.application_id)
			  AND NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.application_id = t.application_id)
			  AND NOT EXISTS (SELECT FROM yquota.application AS a WHERE a.application_id = t.application_id)
			RETURNING 1)
		SELECT count(*) FROM forgotten;
$$;
COMMENT ON FUNCTION yquota_internal.forget_application_tags(timestamptz) IS
	'Delete tags that were set before an instant, of applications that neither exist nor have ever been charged.  Returns the number of deleted rows';
