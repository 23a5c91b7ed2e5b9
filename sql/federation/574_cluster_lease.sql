--
-- Shares of budgets over several clusters, on the side of a cluster.  Each lease is a grant that
-- expires (charging/170_grant_expiry.sql). The cluster therefore decides about credit from its own
-- rows alone.
--
-- The federation inserts a lease into the view cluster_lease by postgres_fdw, and inserts it again when the reply is
-- lost. The external id of the grant contains the identity of the lease, so the second insertion grants nothing. A
-- lease that arrives after its end grants nothing. The spent amount of a lease follows from the books. If a late event
-- about the time before the end arrives, that amount changes in the same row.
--
-- The federation may fail over to a standby, or be restored from a backup, and lose the last leases
-- of the previous server. Each server of the federation therefore registers in lending_federation
-- here before it leases. Registration waits for transactions that are taking leases from the
-- previous server. After that the cluster takes no lease from the previous server.
--

CREATE FUNCTION yquota_internal.max_clock_skew() RETURNS interval
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	-- the clock loads the library, which defines the setting
	RETURN CASE WHEN yquota.statement_clock() IS NOT NULL THEN current_setting('yquota.max_clock_skew', true)::interval END;
COMMENT ON FUNCTION yquota_internal.max_clock_skew() IS 'Return the setting yquota.max_clock_skew of this server';

CREATE TABLE yquota_internal.lender (
	federation text COLLATE "C" PRIMARY KEY,
	history text COLLATE "C" NOT NULL CHECK (history ~ '^[0-9]+/[0-9]+/[0-9]+$'),
	known_since timestamptz NOT NULL
);
COMMENT ON TABLE yquota_internal.lender IS 'Database of each federation from which this cluster takes leases';
COMMENT ON COLUMN yquota_internal.lender.federation IS 'cluster_name() of that database';
COMMENT ON COLUMN yquota_internal.lender.history IS 'lease_history() of that database';
COMMENT ON COLUMN yquota_internal.lender.known_since IS 'clock when the database made itself known';

CREATE VIEW yquota.lending_federation WITH (security_barrier) AS
	SELECT yquota.cluster_name() AS cluster, lender.federation, lender.history, lender.known_since
	FROM yquota_internal.lender;
COMMENT ON VIEW yquota.lending_federation IS
	'Database of each federation from which this cluster takes leases.  The database registers by inserting its row, which replaces an earlier row';
COMMENT ON COLUMN yquota.lending_federation.cluster IS 'cluster_name()';
COMMENT ON COLUMN yquota.lending_federation.federation IS 'cluster_name() of the database that leases; one row each';
COMMENT ON COLUMN yquota.lending_federation.history IS 'system identifier and timeline of the database''s server, and oid of the database; they change with a failover or a restore';
COMMENT ON COLUMN yquota.lending_federation.known_since IS 'clock when the database made itself known';

CREATE FUNCTION yquota_internal.note_lender() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known yquota_internal.lender;
BEGIN
	IF NEW.cluster IS DISTINCT FROM yquota.cluster_name() THEN
		RAISE EXCEPTION 'federation calls this cluster "%", but its name is "%"', NEW.cluster, yquota.cluster_name()
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT * INTO known FROM yquota_internal.lender AS l WHERE l.federation = NEW.federation;
	IF known.history = NEW.history THEN
		RETURN NEW;
	ELSIF split_part(known.history, '/', 1) = split_part(NEW.history, '/', 1)
		AND split_part(known.history, '/', 2)::numeric > split_part(NEW.history, '/', 2)::numeric
	THEN
		RAISE EXCEPTION 'another server has taken the place of this one in federation "%"', NEW.federation
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('The other server is on timeline %s, and this server is on timeline %s.',
								split_part(known.history, '/', 2), split_part(NEW.history, '/', 2)),
				HINT = 'If that server is gone for good, delete the row of yquota_internal.lender in the cluster, as the owner of yquota.';
	END IF;
	-- wait for calls of take_lease() that are taking leases from the previous server
	INSERT INTO yquota_internal.lender AS l (federation, history, known_since) VALUES (NEW.federation, NEW.history, yquota.clock())
	ON CONFLICT (federation) DO UPDATE SET history = excluded.history, known_since = excluded.known_since;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_lender() IS
	'Record the database in a row that a federation inserts into lending_federation.  Refuse a database that another server has replaced';

CREATE TRIGGER note INSTEAD OF INSERT ON yquota.lending_federation
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_lender();

CREATE TABLE yquota_internal.taken_lease (
	federation text COLLATE "C" NOT NULL,
	identity uuid NOT NULL,
	history text COLLATE "C" NOT NULL,
	lease bigint NOT NULL,
	period text COLLATE "C" NOT NULL,
	starts_on date NOT NULL,
	grant_id bigint UNIQUE REFERENCES yquota.quota_grant ON DELETE SET NULL,
	PRIMARY KEY (federation, identity)
);
COMMENT ON TABLE yquota_internal.taken_lease IS
	'Leases of budgets over several clusters that this cluster has taken.  A repeated lease finds its row here and is not taken twice';
COMMENT ON COLUMN yquota_internal.taken_lease.federation IS 'cluster_name() of the database that leases';
COMMENT ON COLUMN yquota_internal.taken_lease.identity IS 'identity by which both sides know the lease';
COMMENT ON COLUMN yquota_internal.taken_lease.history IS 'lease_history() of the lender when the lease was taken';
COMMENT ON COLUMN yquota_internal.taken_lease.lease IS 'number of the lease at the lender; a server that has lost its last commits may use a number again';
COMMENT ON COLUMN yquota_internal.taken_lease.period IS 'period of the budget: day, week, month, quarter or year; starts_on tells which one';
COMMENT ON COLUMN yquota_internal.taken_lease.starts_on IS 'first day of the period of the budget';
COMMENT ON COLUMN yquota_internal.taken_lease.grant_id IS 'row of quota_grant; NULL when the owner has deleted it';

CREATE VIEW yquota.cluster_lease WITH (security_barrier) AS
	SELECT yquota.cluster_name() AS cluster, taken.federation, taken.identity, taken.history, taken.lease, given.project, taken.period, taken.starts_on,
		   given.amount, given.valid_from, given.expires_at, given.booked_at AS taken_at,
		   trim_scale(given.amount - coalesce(found.rest, found.lost, given.amount)) AS spent,
		   coalesce(yquota.statement_clock() >= given.expires_at + yquota_internal.max_clock_skew(), false) AS is_final
	FROM yquota_internal.taken_lease AS taken
	LEFT JOIN yquota.quota_grant AS given ON given.grant_id = taken.grant_id
	LEFT JOIN (
		SELECT leased.project, outcome.grant_id, outcome.rest, outcome.lost
		FROM (SELECT DISTINCT known.project
			  FROM yquota_internal.taken_lease AS lease
			  JOIN yquota.quota_grant AS known ON known.grant_id = lease.grant_id) AS leased
		CROSS JOIN LATERAL yquota_internal.grant_outcome(leased.project, yquota.statement_clock()) AS outcome
	) AS found ON found.project = given.project AND found.grant_id = given.grant_id
	WHERE (SELECT yquota_internal.reads_all())
	   OR given.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.cluster_lease IS
	'Leases of budgets over several clusters that this cluster has taken, each a row of quota_grant; the federation inserts them here';
COMMENT ON COLUMN yquota.cluster_lease.cluster IS 'cluster_name()';
COMMENT ON COLUMN yquota.cluster_lease.federation IS 'cluster_name() of the database that leases';
COMMENT ON COLUMN yquota.cluster_lease.identity IS 'identity by which both sides know the lease';
COMMENT ON COLUMN yquota.cluster_lease.history IS 'value of lending_federation.history when the lease was taken';
COMMENT ON COLUMN yquota.cluster_lease.lease IS 'number of the lease at the lender';
COMMENT ON COLUMN yquota.cluster_lease.period IS 'period of the budget: day, week, month, quarter or year; starts_on tells which one';
COMMENT ON COLUMN yquota.cluster_lease.starts_on IS 'first day of the period of the budget';
COMMENT ON COLUMN yquota.cluster_lease.amount IS 'credits';
COMMENT ON COLUMN yquota.cluster_lease.taken_at IS 'clock when the lease was taken';
COMMENT ON COLUMN yquota.cluster_lease.spent IS 'credits spent from the lease, by the clock or until it expired; NULL when its grant has been deleted';
COMMENT ON COLUMN yquota.cluster_lease.is_final IS 'true if the lease expired at least yquota.max_clock_skew ago, so that no timely event can still arrive';

CREATE FUNCTION yquota_internal.take_lease() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	own_id CONSTANT text := format('yquota lease: %s of %s', NEW.identity, NEW.federation);
	new_grant bigint;
BEGIN
	IF NEW.cluster IS DISTINCT FROM yquota.cluster_name() THEN
		RAISE EXCEPTION 'lease is for cluster "%", not for "%"', NEW.cluster, yquota.cluster_name()
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF num_nulls(NEW.federation, NEW.identity, NEW.history, NEW.lease, NEW.project, NEW.period, NEW.starts_on, NEW.amount, NEW.valid_from, NEW.expires_at) > 0 THEN
		RAISE EXCEPTION 'terms of a lease must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NEW.amount <= 0 THEN
		RAISE EXCEPTION 'amount of a lease must be positive'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	-- keep other servers from registering as the lender until this transaction commits
	PERFORM FROM yquota_internal.lender AS l WHERE l.federation = NEW.federation AND l.history = NEW.history FOR SHARE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'lease % does not come from the database that leases for "%" now', NEW.lease, NEW.federation
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('The lease comes from %s, but yquota.lending_federation has %s.', NEW.history,
								coalesce((SELECT l.history FROM yquota_internal.lender AS l WHERE l.federation = NEW.federation), 'none'));
	END IF;
	INSERT INTO yquota.quota_grant (project, amount, reason, kind, external_id, valid_from, expires_at)
	VALUES (NEW.project, NEW.amount, format('lease %s of %s: budget of the %s from %s on', NEW.lease, NEW.federation, NEW.period,
										to_char(NEW.starts_on, 'YYYY-MM-DD')),
			'budget', own_id, NEW.valid_from, NEW.expires_at)
	ON CONFLICT (external_id) DO NOTHING
	RETURNING grant_id INTO new_grant;
	IF new_grant IS NOT NULL THEN
		INSERT INTO yquota_internal.taken_lease (federation, identity, history, lease, period, starts_on, grant_id)
		VALUES (NEW.federation, NEW.identity, NEW.history, NEW.lease, NEW.period, NEW.starts_on, new_grant);
	ELSIF NOT EXISTS (
		SELECT FROM yquota.quota_grant AS given
		WHERE given.external_id = own_id AND given.project = NEW.project AND given.amount = NEW.amount
		  AND given.valid_from = NEW.valid_from AND given.expires_at = NEW.expires_at)
	THEN
		RAISE EXCEPTION 'lease % of "%" has been taken with other terms', NEW.lease, NEW.federation
			USING ERRCODE = 'unique_violation',
				HINT = 'Two databases lease under one name: give each its own in yquota.cluster_setting.';
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.take_lease() IS
	'Take a lease that is inserted into cluster_lease: make it a grant, and only one grant even if the lease is inserted again';

CREATE TRIGGER take INSTEAD OF INSERT ON yquota.cluster_lease
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.take_lease();

SELECT pg_extension_config_dump('yquota_internal.lender', '');
SELECT pg_extension_config_dump('yquota_internal.taken_lease', '');
