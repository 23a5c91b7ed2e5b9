--
-- The name of this cluster, by which tables that several clusters share tell
-- its rows from those of the others.
--

CREATE TABLE yquota.cluster_setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	cluster_name text NOT NULL DEFAULT 'yarn_cluster' CHECK (cluster_name <> '' AND cluster_name !~ '[[:cntrl:]]')
);
COMMENT ON TABLE yquota.cluster_setting IS
	'At most one row: how this cluster is called in tables that several clusters share';
COMMENT ON COLUMN yquota.cluster_setting.cluster_name IS
	'name of the cluster, as yarn.resourcemanager.cluster-id; yarn_cluster without a row';

CREATE FUNCTION yquota.cluster_name() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN coalesce((SELECT setting.cluster_name FROM yquota.cluster_setting AS setting), 'yarn_cluster');
COMMENT ON FUNCTION yquota.cluster_name() IS
	'Name of this cluster in tables that several clusters share: that of cluster_setting, yarn_cluster without a row';
REVOKE ALL ON FUNCTION yquota.cluster_name() FROM PUBLIC;

SELECT pg_extension_config_dump('yquota.cluster_setting', '');
