--
-- Federation: this database reads several clusters, each in a database of its own.  It uses
-- foreign tables of postgres_fdw over the reports of 571_cluster_report.sql.
--
-- Each report has a table here that is partitioned by cluster; the foreign table of a cluster is
-- its partition.  The planner can therefore leave out clusters and push conditions down. The
-- executor asks several clusters at a time if their servers are async_capable.
--
-- A cluster that cannot be reached archives its rows into a ledger that several clusters share.
-- That ledger is a table here, which may be distributed or foreign. This database reads each
-- cluster either through its reports or from a ledger, so no row is counted twice.
--
-- Foreign tables and ledgers are read as the owner of yquota, whose user mapping names a viewer on
-- the other side. The owner of the foreign server can make that connection log in elsewhere. The
-- owner of the server must therefore be trusted when the cluster is federated and at each read
-- (store/055_trusted_owner.sql).  The table role_grant of this database decides which projects a
-- role sees.
--

CREATE TABLE yquota.federated_cluster (
	cluster text COLLATE "C" PRIMARY KEY CHECK (cluster <> '' AND cluster !~ '[[:cntrl:]]'),
	number integer NOT NULL UNIQUE,
	server name,
	ledger text,
	weight numeric NOT NULL DEFAULT 1 CHECK (weight >= 0 AND weight < 'Infinity' AND scale(weight) <= 6),
	federated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	federated_by name NOT NULL DEFAULT session_user,
	CHECK (num_nonnulls(server, ledger) = 1)
);
COMMENT ON TABLE yquota.federated_cluster IS
	'Clusters that this database reads, written by federate_cluster() and remove_federated_cluster()';
COMMENT ON COLUMN yquota.federated_cluster.cluster IS 'primary key: cluster_name() of the other database';
COMMENT ON COLUMN yquota.federated_cluster.number IS 'suffix of the names of the cluster''s foreign tables';
COMMENT ON COLUMN yquota.federated_cluster.server IS 'foreign server of postgres_fdw by which the cluster is read; NULL for a ledger';
COMMENT ON COLUMN yquota.federated_cluster.ledger IS 'table into which the cluster archives, and that is read in place of the cluster; NULL for a server';
COMMENT ON COLUMN yquota.federated_cluster.weight IS 'default 1, at least 0, at most 6 decimals: weight of the cluster''s shares of federated budgets; ignored for a ledger';
COMMENT ON COLUMN yquota.federated_cluster.federated_at IS 'clock of the system';
COMMENT ON COLUMN yquota.federated_cluster.federated_by IS 'the session''s user';

CREATE TRIGGER keep BEFORE UPDATE OF cluster, number, server, ledger ON yquota.federated_cluster
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('Only the weight of a federated cluster changes.');

CREATE TABLE yquota_internal.federated_status (
	cluster text COLLATE "C" NOT NULL,
	clock timestamptz,
	charged_through timestamptz,
	closed_until timestamptz,
	timezone text
) PARTITION BY LIST (cluster);
COMMENT ON TABLE yquota_internal.federated_status IS 'cluster_status of the federated clusters';

CREATE TABLE yquota_internal.federated_project_day (
	cluster text COLLATE "C" NOT NULL,
	day date,
	project text COLLATE "C",
	amount numeric
) PARTITION BY LIST (cluster);
COMMENT ON TABLE yquota_internal.federated_project_day IS 'charge_by_project_day of the federated clusters';
COMMENT ON COLUMN yquota_internal.federated_project_day.amount IS 'credits';

CREATE TABLE yquota_internal.federated_queue_day (
	cluster text COLLATE "C" NOT NULL,
	day date,
	project text COLLATE "C",
	queue text COLLATE "C",
	amount numeric
) PARTITION BY LIST (cluster);
COMMENT ON TABLE yquota_internal.federated_queue_day IS 'charge_by_queue_day of the federated clusters';
COMMENT ON COLUMN yquota_internal.federated_queue_day.amount IS 'credits';

CREATE TABLE yquota_internal.federated_user_day (
	cluster text COLLATE "C" NOT NULL,
	day date,
	project text COLLATE "C",
	username text COLLATE "C",
	amount numeric
) PARTITION BY LIST (cluster);
COMMENT ON TABLE yquota_internal.federated_user_day IS 'charge_by_user_day of the federated clusters';
COMMENT ON COLUMN yquota_internal.federated_user_day.amount IS 'credits';

CREATE TABLE yquota_internal.federated_project_bill (
	cluster text COLLATE "C" NOT NULL,
	month date,
	project text COLLATE "C",
	starts_at timestamptz,
	ends_at timestamptz,
	closed_at timestamptz,
	charged numeric,
	corrected numeric
) PARTITION BY LIST (cluster);
COMMENT ON TABLE yquota_internal.federated_project_bill IS 'bill_by_project of the federated clusters';
COMMENT ON COLUMN yquota_internal.federated_project_bill.charged IS 'credits';
COMMENT ON COLUMN yquota_internal.federated_project_bill.corrected IS 'credits';

CREATE TABLE yquota_internal.federated_lender (
	cluster text COLLATE "C" NOT NULL,
	federation text COLLATE "C",
	history text COLLATE "C"
) PARTITION BY LIST (cluster);
COMMENT ON TABLE yquota_internal.federated_lender IS 'lending_federation of the federated clusters; to register with a cluster, this database inserts a row into the partition of that cluster';

CREATE TABLE yquota_internal.federated_lease (
	cluster text COLLATE "C" NOT NULL,
	federation text COLLATE "C",
	identity uuid,
	history text COLLATE "C",
	lease bigint,
	project text COLLATE "C",
	period text COLLATE "C",
	starts_on date,
	amount numeric,
	valid_from timestamptz,
	expires_at timestamptz,
	taken_at timestamptz,
	spent numeric,
	is_final boolean
) PARTITION BY LIST (cluster);
COMMENT ON TABLE yquota_internal.federated_lease IS 'cluster_lease of the federated clusters; to give a lease to a cluster, this database inserts a row into the partition of that cluster';
COMMENT ON COLUMN yquota_internal.federated_lease.amount IS 'credits';
COMMENT ON COLUMN yquota_internal.federated_lease.spent IS 'credits';

CREATE VIEW yquota_internal.federated_report AS
	SELECT report.parent, report.remote_name
	FROM (VALUES
		('federated_status', 'cluster_status'),
		('federated_project_day', 'charge_by_project_day'),
		('federated_queue_day', 'charge_by_queue_day'),
		('federated_user_day', 'charge_by_user_day'),
		('federated_project_bill', 'bill_by_project'),
		('federated_lender', 'lending_federation'),
		('federated_lease', 'cluster_lease')
	) AS report (parent, remote_name);
COMMENT ON VIEW yquota_internal.federated_report IS
	'Reports that are read from each cluster: the partitioned table in this database, and the name of the view in the cluster''s database';

--
-- Adding and removing clusters
--

CREATE FUNCTION yquota_internal.check_foreign_server(server name) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	wrapper name;
	owner oid;
BEGIN
	SELECT w.fdwname, s.srvowner INTO wrapper, owner
	FROM pg_foreign_server AS s JOIN pg_foreign_data_wrapper AS w ON w.oid = s.srvfdw
	WHERE s.srvname = server;
	IF wrapper IS NULL THEN
		RAISE EXCEPTION 'server "%" does not exist', server
			USING ERRCODE = 'undefined_object',
				HINT = 'Create it with CREATE SERVER.';
	ELSIF wrapper <> 'postgres_fdw' THEN
		RAISE EXCEPTION 'server "%" is of foreign-data wrapper "%", not of postgres_fdw', server, wrapper
			USING ERRCODE = 'wrong_object_type';
	-- reads use the server as the owner of yquota, so check that the caller may use the server, too
	ELSIF NOT has_server_privilege(yquota_internal.acting_role(), server::text, 'USAGE') THEN
		RAISE EXCEPTION 'permission denied for foreign server %', server
			USING ERRCODE = 'insufficient_privilege';
	ELSIF NOT yquota_internal.is_trusted(owner) THEN
		RAISE EXCEPTION 'foreign server "%" belongs neither to the owner of yquota nor to a superuser', server
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'The owner of the server can make the owner of yquota log in elsewhere.',
				HINT = 'Have a superuser review its options and user mappings, and own it.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_foreign_server(name) IS
	'Fail unless a foreign server of this name exists and belongs to postgres_fdw, the calling role may use it, and its owner is trusted';

CREATE FUNCTION yquota_internal.check_trusted(of_table regclass) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	untrusted CONSTANT text := yquota_internal.untrusted_part(of_table);
BEGIN
	IF untrusted IS NOT NULL THEN
		RAISE EXCEPTION '% belongs neither to the owner of yquota nor to a superuser', untrusted
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = format('Table "%s" is read with the rights of the owner of yquota, and the owner of any part of it could use these rights.', of_table),
				HINT = 'Have a superuser review and own it.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_trusted(regclass) IS
	'Fail unless a table, and every relation that is read with it, belongs to the owner of yquota or to superusers';

CREATE FUNCTION yquota_internal.check_ledger(ledger regclass) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	missing text;
BEGIN
	-- refuse views: functions of a view's author would run with the rights of the owner of yquota
	IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = ledger AND c.relkind IN ('r', 'p', 'f')) THEN
		RAISE EXCEPTION '"%" is not a table', ledger
			USING ERRCODE = 'wrong_object_type',
				HINT = 'Use an ordinary, partitioned, distributed or foreign table.';
	END IF;
	PERFORM yquota_internal.check_trusted(ledger);
	SELECT string_agg(format('%I %s', wanted.name, wanted.type), ', ') INTO missing
	FROM (VALUES ('cluster', 'text'), ('project', 'text'), ('queue', 'text'), ('username', 'text'), ('from', 'timestamptz'),
				 ('to', 'timestamptz'), ('amount', 'numeric')) AS wanted (name, type)
	WHERE NOT EXISTS (SELECT FROM pg_attribute AS a
					  WHERE a.attrelid = ledger AND a.attname = wanted.name AND a.atttypid = wanted.type::regtype
						AND a.attnum > 0 AND NOT a.attisdropped);
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION 'table "%" is not a ledger of several clusters', ledger
			USING ERRCODE = 'datatype_mismatch',
				DETAIL = format('The table lacks these columns: %s.', missing),
				HINT = 'Use a table like yquota.charge with a column "cluster" of type text, into which clusters archive.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_ledger(regclass) IS
	'Fail unless a table has the columns that reports over clusters read from a ledger, and the owner of yquota may read it';

CREATE FUNCTION yquota_internal.ledger_reach(ledger text, cluster text) RETURNS timestamptz
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	-- refuse row security: functions in policies would run with the rights of the owner of yquota
	SET row_security = off
	AS $$
DECLARE
	reach timestamptz;
BEGIN
	PERFORM yquota_internal.check_ledger(ledger::regclass);
	EXECUTE format('SELECT max(r."to") FROM %s AS r WHERE r.cluster = $1', ledger) INTO reach USING cluster;
	IF reach IS NULL THEN
		RAISE EXCEPTION 'table % has no rows of cluster "%"', ledger, cluster
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'The name of a cluster is in yquota.cluster_setting of the database that archives into the table.';
	END IF;
	RETURN reach;
END
$$;
COMMENT ON FUNCTION yquota_internal.ledger_reach(text, text) IS
	'Return the end of the last charge that a ledger has of a cluster; raises an error when it has none';

-- Reports and leases read these tables in any order.  The function locks all these tables before
-- the transaction changes any row. A later lock could deadlock with a transaction that has read one
-- of these tables and wants to read another.
CREATE FUNCTION yquota_internal.lock_foreign_reports() RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT yquota_internal.lock_briefly(
		'LOCK TABLE ' || string_agg(format('yquota_internal.%I', report.parent), ', ' ORDER BY report.parent) || ' IN ACCESS EXCLUSIVE MODE',
		120, subject => 'reports of clusters')
	FROM yquota_internal.federated_report AS report;
$$;
COMMENT ON FUNCTION yquota_internal.lock_foreign_reports() IS
	'Lock the foreign tables of all clusters until the end of the transaction, so that no other transaction reads them';

CREATE FUNCTION yquota_internal.make_foreign_reports(cluster text, number integer, server name) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	report yquota_internal.federated_report;
	found_name text;
BEGIN
	FOR report IN SELECT r.* FROM yquota_internal.federated_report AS r ORDER BY r.parent LOOP
		EXECUTE format('CREATE FOREIGN TABLE yquota_internal.%I PARTITION OF yquota_internal.%I FOR VALUES IN (%L) '
					   'SERVER %I OPTIONS (schema_name ''yquota'', table_name %L)',
					   report.parent || '_' || number, report.parent, cluster, server, report.remote_name);
		EXECUTE format('COMMENT ON FOREIGN TABLE yquota_internal.%I IS %L', report.parent || '_' || number,
					   format('%s of cluster %s', report.remote_name, cluster));
	END LOOP;
	EXECUTE format('SELECT status.cluster FROM yquota_internal.%I AS status', 'federated_status_' || number) INTO found_name;
	IF found_name IS DISTINCT FROM cluster THEN
		RAISE EXCEPTION 'database of server "%" is cluster "%", not "%"', server, found_name, cluster
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'The name of the cluster is in yquota.cluster_setting of that database.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_foreign_reports(text, integer, name) IS
	'Make the foreign tables of a cluster, and fail unless the database behind them has the cluster''s name';

CREATE FUNCTION yquota_internal.federate_cluster_as_owner(cluster text, server name, ledger regclass) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	new_one yquota.federated_cluster;
	known yquota.federated_cluster;
BEGIN
	IF federate_cluster_as_owner.cluster IS NULL
		OR num_nonnulls(federate_cluster_as_owner.server, federate_cluster_as_owner.ledger) <> 1
	THEN
		RAISE EXCEPTION 'cluster, and either server or ledger, must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF federate_cluster_as_owner.server IS NOT NULL THEN
		PERFORM yquota_internal.check_foreign_server(federate_cluster_as_owner.server);
	ELSIF NOT has_table_privilege(yquota_internal.acting_role(), federate_cluster_as_owner.ledger, 'SELECT') THEN
		RAISE EXCEPTION 'permission denied for table %', federate_cluster_as_owner.ledger
			USING ERRCODE = 'insufficient_privilege';
	END IF;
	-- exclude other calls of this function, but no reports
	LOCK TABLE yquota.federated_cluster IN SHARE ROW EXCLUSIVE MODE;
	new_one.cluster := federate_cluster_as_owner.cluster;
	new_one.server := federate_cluster_as_owner.server;
	new_one.ledger := yquota_internal.table_name(federate_cluster_as_owner.ledger);
	SELECT * INTO known FROM yquota.federated_cluster AS c WHERE c.cluster = new_one.cluster;
	IF known.server = new_one.server OR known.ledger = new_one.ledger THEN
		RETURN;
	ELSIF known.cluster IS NOT NULL THEN
		RAISE EXCEPTION 'cluster "%" is federated by %', known.cluster,
				CASE WHEN known.ledger IS NULL THEN format('server "%s"', known.server) ELSE format('ledger %s', known.ledger) END
			USING ERRCODE = 'duplicate_object',
				DETAIL = 'The cluster would be read twice.',
				HINT = 'Call yquota.remove_federated_cluster() first.';
	END IF;
	IF new_one.server IS NOT NULL THEN
		PERFORM yquota_internal.lock_foreign_reports();
	END IF;
	SELECT coalesce(max(c.number), 0) + 1 INTO new_one.number FROM yquota.federated_cluster AS c;
	INSERT INTO yquota.federated_cluster (cluster, number, server, ledger)
	VALUES (new_one.cluster, new_one.number, new_one.server, new_one.ledger);
	IF new_one.ledger IS NULL THEN
		PERFORM yquota_internal.make_foreign_reports(new_one.cluster, new_one.number, new_one.server);
	ELSE
		PERFORM yquota_internal.ledger_reach(new_one.ledger, new_one.cluster);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.federate_cluster_as_owner(text, name, regclass) IS
	'Do the work of federate_cluster(), with the rights of the owner';

CREATE FUNCTION yquota.federate_cluster(cluster text, server name DEFAULT NULL, ledger regclass DEFAULT NULL) RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.federate_cluster(text, name, regclass) IS
	'Include a cluster in reports over all clusters.  The cluster is read through a server of postgres_fdw, or from a ledger into which it archives.  The caller needs USAGE on the server, for which the owner of yquota has a user mapping, or SELECT on the ledger.  Server and ledger must belong to the owner of yquota or to a superuser.  Fails unless the database behind the server has that cluster_name(), or the ledger has rows of the cluster.  Repeating the call does nothing';

CREATE FUNCTION yquota.remove_federated_cluster(cluster text, leave_leases boolean DEFAULT false) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	removed yquota.federated_cluster;
	report yquota_internal.federated_report;
	open_leases bigint;
BEGIN
	LOCK TABLE yquota.federated_cluster IN SHARE ROW EXCLUSIVE MODE;
	SELECT * INTO removed FROM yquota.federated_cluster AS c WHERE c.cluster = remove_federated_cluster.cluster;
	IF removed.cluster IS NULL THEN
		RETURN false;
	ELSIF removed.server IS NOT NULL THEN
		PERFORM yquota_internal.lock_foreign_reports();
	END IF;
	DELETE FROM yquota.federated_cluster AS c WHERE c.cluster = removed.cluster;
	SELECT count(*) INTO open_leases FROM yquota.budget_lease AS lease
	WHERE lease.cluster = removed.cluster AND lease.settled_at IS NULL;
	IF open_leases > 0 AND leave_leases IS NOT TRUE THEN
		RAISE EXCEPTION 'cluster "%" has % leases of budgets that it has not reported', removed.cluster, open_leases
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'Without the cluster their shares count as spent.',
				HINT = 'Set its weight to 0 and wait until yquota.budget_lease_status shows them as settled, or call the function with leave_leases => true.';
	END IF;
	DELETE FROM yquota_internal.cluster_contact AS contact WHERE contact.cluster = removed.cluster;
	FOR report IN SELECT r.* FROM yquota_internal.federated_report AS r ORDER BY r.parent LOOP
		EXECUTE format('DROP FOREIGN TABLE IF EXISTS yquota_internal.%I', report.parent || '_' || removed.number);
	END LOOP;
	RETURN true;
END
$$;
COMMENT ON FUNCTION yquota.remove_federated_cluster(text, boolean) IS
	'Undo federate_cluster().  Returns whether there was anything to undo.  The cluster need not be reachable.  With leave_leases, leases whose spending the cluster has not reported count as spent';

--
-- Asks each cluster whether it can be reached, before a report that must not silently leave
-- out a cluster.
--

CREATE FUNCTION yquota_internal.read_status(known yquota.federated_cluster) RETURNS yquota_internal.federated_status
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_status yquota_internal.federated_status;
BEGIN
	IF known.ledger IS NOT NULL THEN
		found_status.cluster := known.cluster;
		found_status.charged_through := yquota_internal.ledger_reach(known.ledger, known.cluster);
		found_status.timezone := yquota_internal.billing_timezone();
		RETURN found_status;
	END IF;
	-- check again, because the server may have a new owner
	PERFORM yquota_internal.check_trusted(format('yquota_internal.federated_status_%s', known.number)::regclass);
	SELECT status.* INTO found_status FROM yquota_internal.federated_status AS status WHERE status.cluster = known.cluster;
	IF found_status.cluster IS NULL THEN
		RAISE EXCEPTION 'database of server "%" is no longer called "%"', known.server, known.cluster
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	RETURN found_status;
END
$$;
COMMENT ON FUNCTION yquota_internal.read_status(yquota.federated_cluster) IS
	'Return the present status of a federated cluster.  If the cluster is read from a ledger, return the end of its last charge in the ledger';

CREATE FUNCTION yquota_internal.contact_clusters()
	RETURNS TABLE (cluster text, clock timestamptz, charged_through timestamptz, closed_until timestamptz,
				   timezone text, problem text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	known yquota.federated_cluster;
	detail text;
	code text;
BEGIN
	FOR known IN SELECT c.* FROM yquota.federated_cluster AS c ORDER BY c.cluster LOOP
		BEGIN
			SELECT status.clock, status.charged_through, status.closed_until, status.timezone, NULL
			INTO clock, charged_through, closed_until, timezone, problem
			FROM yquota_internal.read_status(known) AS status;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, code = RETURNED_SQLSTATE;
			SELECT NULL, NULL, NULL, NULL INTO clock, charged_through, closed_until, timezone;
			-- omit the details of failed connections: they contain addresses and role names, but members read
			-- the message
			IF code !~ '^08' THEN
				problem := concat_ws(': ', problem, nullif(detail, ''));
			END IF;
		END;
		cluster := known.cluster;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.contact_clusters() IS
	'Return the status of each federated cluster, or the problem of reading it; NULL: none';

CREATE FUNCTION yquota.federation_status()
	RETURNS TABLE (cluster text, server name, is_reachable boolean, clock timestamptz, charged_through timestamptz,
				   closed_until timestamptz, timezone text, ahead interval, problem text, ledger text)
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT known.cluster, known.server, contact.problem IS NULL, contact.clock, contact.charged_through,
			   contact.closed_until, contact.timezone, contact.clock - yquota.clock(), contact.problem, known.ledger
		FROM yquota.federated_cluster AS known
		JOIN yquota_internal.contact_clusters() AS contact ON contact.cluster = known.cluster
		ORDER BY known.cluster;
$$;
COMMENT ON FUNCTION yquota.federation_status() IS
	'Return the present status of each federated cluster.  The row has the clock of the cluster, how far that clock is ahead of the clock here, and how far the cluster''s reports go.  If the cluster cannot be read, the row has the problem.  For a cluster that is read from a ledger, the reports go to the end of its last charge in the ledger';

CREATE FUNCTION yquota_internal.clusters_of_report(
	skip_unreachable boolean, OUT clusters text[], OUT clocks timestamptz[], OUT unclosed text[], OUT missing text[],
	of_month date DEFAULT NULL)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	problems text;
BEGIN
	SELECT coalesce(array_agg(c.cluster) FILTER (WHERE c.problem IS NULL), '{}'),
		   coalesce(array_agg(coalesce(c.clock, c.charged_through)) FILTER (WHERE c.problem IS NULL), '{}'),
		   coalesce(array_agg(c.cluster) FILTER (
				WHERE (c.closed_until >= yquota_internal.billing_day_start((of_month + interval '1 month')::date, c.timezone)) IS NOT TRUE
				  AND c.problem IS NULL), '{}'),
		   coalesce(array_agg(c.cluster) FILTER (WHERE c.problem IS NOT NULL), '{}'),
		   string_agg(format('%s: %s', c.cluster, c.problem), E'\n') FILTER (WHERE c.problem IS NOT NULL)
	INTO clusters, clocks, unclosed, missing, problems
	FROM yquota_internal.contact_clusters() AS c;
	IF clusters = '{}' AND missing = '{}' THEN
		RAISE EXCEPTION 'no cluster has been federated'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call yquota.federate_cluster().';
	ELSIF missing <> '{}' AND skip_unreachable IS NOT TRUE THEN
		RAISE EXCEPTION 'cannot read all clusters: missing %', array_to_string(missing, ', ')
			USING ERRCODE = 'connection_failure',
				DETAIL = problems,
				HINT = 'Call the function with skip_unreachable => true for a report that leaves these clusters out and names them in each row.';
	ELSIF missing <> '{}' THEN
		RAISE WARNING 'report leaves out clusters %', array_to_string(missing, ', ')
			USING ERRCODE = 'connection_failure', DETAIL = problems;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.clusters_of_report(boolean, date) IS
	'Return the clusters that a report reads, with the instants until which it reads them.  Also return the clusters that have not closed a month, and those that cannot be read.  An unreadable cluster is an error unless it may be left out';

SELECT pg_extension_config_dump('yquota.federated_cluster', '');
