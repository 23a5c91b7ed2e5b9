--
-- The name of this cluster.  Tables that several clusters share use it to tell their rows
-- apart.
--

-- Returns the value that yarn.resourcemanager.cluster-id has in yarn-default.xml.
CREATE FUNCTION yquota_internal.default_cluster_name() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN 'yarn_cluster';
COMMENT ON FUNCTION yquota_internal.default_cluster_name() IS 'Return the name that a cluster has if none is configured';

CREATE TABLE yquota.cluster_setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	cluster_name text NOT NULL DEFAULT yquota_internal.default_cluster_name() CHECK (cluster_name <> '' AND cluster_name !~ '[[:cntrl:]]')
);
COMMENT ON TABLE yquota.cluster_setting IS
	'Name of this cluster in tables that several clusters share, at most one row.  The name cannot change once history has been archived under this name';
COMMENT ON COLUMN yquota.cluster_setting.only_row IS 'primary key, always true';
COMMENT ON COLUMN yquota.cluster_setting.cluster_name IS 'not empty, no control characters; yarn_cluster if there is no row, the default of yarn.resourcemanager.cluster-id';

CREATE FUNCTION yquota.cluster_name() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN coalesce((SELECT setting.cluster_name FROM yquota.cluster_setting AS setting), yquota_internal.default_cluster_name());
COMMENT ON FUNCTION yquota.cluster_name() IS
	'Return the name of this cluster in tables that several clusters share: that of cluster_setting, or yarn_cluster if there is no row';

CREATE FUNCTION yquota_internal.keep_cluster_name() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	name_before text := CASE WHEN TG_OP = 'INSERT' THEN yquota.cluster_name() ELSE OLD.cluster_name END;
	name_after text := CASE WHEN TG_OP = 'DELETE' THEN yquota_internal.default_cluster_name() ELSE NEW.cluster_name END;
BEGIN
	IF yquota_internal.restoring() OR name_before = name_after THEN
		RETURN coalesce(NEW, OLD);
	END IF;
	PERFORM yquota_internal.require_read_committed('change the name of the cluster');
	PERFORM yquota_internal.lock_briefly('LOCK TABLE yquota.history_segment IN SHARE ROW EXCLUSIVE MODE', 120);
	IF EXISTS (SELECT FROM yquota.archived_history AS archived WHERE archived.cluster = name_before)
		OR EXISTS (SELECT FROM yquota.written_history AS written WHERE written.cluster = name_before)
	THEN
		RAISE EXCEPTION 'name of the cluster cannot be changed from "%" to "%" any more', name_before, name_after
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'History has been archived under the old name.';
	END IF;
	RETURN coalesce(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_cluster_name() IS
	'Refuse to change the name of the cluster once history has been archived under it';

CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.cluster_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_cluster_name();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.cluster_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();
SELECT pg_extension_config_dump('yquota.cluster_setting', '');
