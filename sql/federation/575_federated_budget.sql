--
-- Budgets over all clusters, on the side of the federation.  This database leases shares of a
-- period's credit to the clusters. It commits a lease here before it sends the lease to the
-- cluster. The whole share counts as spent until the cluster has reported its spending up to the
-- end of the lease. A lost message, machine or transaction therefore never puts the same credit
-- into two leases:
--
--     sum of (share - returned) over the leases of a period <= amount of the budget.
--
-- A cluster that spends more than its leases owes the difference in its own books, and its next
-- lease pays the debt. A late event may add spending to a lease whose rest has already been
-- returned. This database subtracts such spending from the next lease of that cluster.
--

CREATE TABLE yquota.federated_budget (
	project text COLLATE "C" NOT NULL REFERENCES yquota.project,
	period text COLLATE "C" NOT NULL CHECK (period IN ('day', 'week', 'month', 'quarter', 'year')),
	amount numeric NOT NULL
		CHECK (amount > 0 AND amount <= 1e30 AND scale(amount) <= 66),
	starts_on date NOT NULL CHECK (isfinite(starts_on)),
	clusters text[] CHECK (cardinality(clusters) > 0 AND array_position(clusters, NULL) IS NULL),
	lease_duration interval NOT NULL DEFAULT '6 hours' CHECK (lease_duration >= '1 minute' AND lease_duration <= '31 days'),
	lease_fraction numeric NOT NULL DEFAULT 0.5 CHECK (lease_fraction > 0 AND lease_fraction <= 1 AND scale(lease_fraction) <= 6),
	floor_fraction numeric NOT NULL DEFAULT 0.2 CHECK (floor_fraction >= 0 AND floor_fraction <= 1 AND scale(floor_fraction) <= 6),
	PRIMARY KEY (project, period)
);
COMMENT ON TABLE yquota.federated_budget IS
	'Recurring credit of projects in all federated clusters together, leased to the clusters in shares.  A change takes effect at once';
COMMENT ON COLUMN yquota.federated_budget.project IS 'primary key with period; the project has the same name here and in the clusters';
COMMENT ON COLUMN yquota.federated_budget.period IS 'day, week (from Monday on), month, quarter or year, of the time zone of bills here';
COMMENT ON COLUMN yquota.federated_budget.amount IS 'credits per period, above 0, at most 10^30';
COMMENT ON COLUMN yquota.federated_budget.starts_on IS 'default today. The amount of the first period is granted in full, for the days from this one on';
COMMENT ON COLUMN yquota.federated_budget.clusters IS 'clusters that have the project; NULL (default) for all';
COMMENT ON COLUMN yquota.federated_budget.lease_duration IS 'validity of a lease: default 6 hours, 1 minute to 31 days';
COMMENT ON COLUMN yquota.federated_budget.lease_fraction IS 'part of the free credit that is leased at a time: default 0.5, above 0, at most 1';
COMMENT ON COLUMN yquota.federated_budget.floor_fraction IS 'part of the leased credit that is divided by weight alone, while the rest follows spending: default 0.2, 0 to 1';

CREATE FUNCTION yquota_internal.keep_federated_budget() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	NEW.starts_on := coalesce(NEW.starts_on,
		yquota_internal.billing_day(yquota.statement_clock(), yquota_internal.billing_timezone()));
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_federated_budget() IS 'Set the first day of a budget over all clusters to today if no first day is given';
CREATE TRIGGER keep BEFORE INSERT OR UPDATE ON yquota.federated_budget
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_federated_budget();

CREATE TABLE yquota.budget_lease (
	lease bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	identity uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
	federation text COLLATE "C" NOT NULL DEFAULT yquota.cluster_name(),
	project text COLLATE "C" NOT NULL,
	period text COLLATE "C" NOT NULL,
	starts_on date NOT NULL,
	cluster text COLLATE "C" NOT NULL,
	share numeric NOT NULL CHECK (share > 0 AND share <= 1e30),
	taken_off numeric NOT NULL DEFAULT 0 CONSTRAINT budget_lease_taken_off_check CHECK (taken_off >= 0 AND taken_off <= share),
	valid_from timestamptz NOT NULL,
	expires_at timestamptz NOT NULL CONSTRAINT budget_lease_expires_at_check CHECK (expires_at > valid_from),
	offered_at timestamptz NOT NULL,
	offered_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
	taken_at timestamptz,
	spent numeric CHECK (spent >= 0 AND spent <= 1e60),
	reported_at timestamptz,
	returned numeric CONSTRAINT budget_lease_returned_check CHECK (returned >= 0 AND returned <= share - taken_off),
	settled_at timestamptz,
	problem text,
	CONSTRAINT budget_lease_settled_at_check CHECK ((settled_at IS NULL) = (returned IS NULL))
);
CREATE INDEX budget_lease_period_idx ON yquota.budget_lease (project, period, starts_on);
CREATE INDEX budget_lease_cluster_idx ON yquota.budget_lease (cluster, expires_at);
COMMENT ON TABLE yquota.budget_lease IS
	'Shares of federated budgets that have been leased to clusters. renew_leases() writes the rows and never deletes them';
COMMENT ON COLUMN yquota.budget_lease.lease IS 'primary key; a server that has lost its last commits may use a number again';
COMMENT ON COLUMN yquota.budget_lease.identity IS 'random and unique; identifies the lease on both sides';
COMMENT ON COLUMN yquota.budget_lease.federation IS 'cluster_name() of this database when the lease was offered';
COMMENT ON COLUMN yquota.budget_lease.period IS 'period of the budget: day, week, month, quarter or year; starts_on tells which one';
COMMENT ON COLUMN yquota.budget_lease.starts_on IS 'first day of the period of the budget';
COMMENT ON COLUMN yquota.budget_lease.share IS 'credits of the budget in the lease';
COMMENT ON COLUMN yquota.budget_lease.taken_off IS 'credits of the share that pay for late spending of earlier leases, found after their unspent credits had been returned. The cluster is granted the other credits of the share';
COMMENT ON COLUMN yquota.budget_lease.expires_at IS 'end of the lease, not after the end of the period';
COMMENT ON COLUMN yquota.budget_lease.offered_at IS 'clock here';
COMMENT ON COLUMN yquota.budget_lease.offered_by IS 'transaction that offered the lease; a later transaction makes the cluster take the lease';
COMMENT ON COLUMN yquota.budget_lease.taken_at IS 'clock of the cluster; NULL while the cluster is not known to have taken the lease';
COMMENT ON COLUMN yquota.budget_lease.spent IS 'credits that the cluster has spent from the lease, by its last report';
COMMENT ON COLUMN yquota.budget_lease.reported_at IS 'clock of the cluster at its last report';
COMMENT ON COLUMN yquota.budget_lease.returned IS 'credits returned to the budget after the end of the lease';
COMMENT ON COLUMN yquota.budget_lease.settled_at IS 'clock here when the cluster had reported its spending until the end of the lease; NULL: the whole share counts';
COMMENT ON COLUMN yquota.budget_lease.problem IS 'reason why the last attempt to make the cluster take the lease failed';

CREATE TABLE yquota_internal.cluster_contact (
	cluster text COLLATE "C" PRIMARY KEY,
	tried_at timestamptz NOT NULL,
	reached_at timestamptz,
	ahead interval,
	history text COLLATE "C",
	problem text
);
COMMENT ON TABLE yquota_internal.cluster_contact IS 'Result of the last attempt of renew_leases() to reach each cluster';
COMMENT ON COLUMN yquota_internal.cluster_contact.tried_at IS 'clock here';
COMMENT ON COLUMN yquota_internal.cluster_contact.reached_at IS 'clock of this database when the cluster last answered';
COMMENT ON COLUMN yquota_internal.cluster_contact.ahead IS 'clock of the cluster less the clock here at reached_at';
COMMENT ON COLUMN yquota_internal.cluster_contact.history IS 'lease_history() of the server to which the cluster has reported all its leases; NULL: none';
COMMENT ON COLUMN yquota_internal.cluster_contact.problem IS 'reason why the cluster gets no leases; NULL when it gets leases';

-- A server that is promoted, or that recovers to an earlier time, may lack commits of the server before it. Such a
-- server begins a new timeline, so that the history gets another value.
CREATE FUNCTION yquota_internal.lease_history() RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN format('%s/%s/%s',
		(SELECT control.system_identifier FROM pg_control_system() AS control),
		CASE WHEN pg_is_in_recovery() THEN (SELECT control.timeline_id FROM pg_control_checkpoint() AS control)
			 -- the timeline in the control file changes only some time after a promotion
			 ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END,
		(SELECT own.oid FROM pg_database AS own WHERE own.datname = current_database()));
COMMENT ON FUNCTION yquota_internal.lease_history() IS
	'Return the system identifier and timeline of this server, and the oid of this database.  A failover or a restore changes the result';

CREATE VIEW yquota_internal.unheard_cluster AS
	SELECT known.cluster
	FROM yquota.federated_cluster AS known
	LEFT JOIN yquota_internal.cluster_contact AS contact ON contact.cluster = known.cluster
	WHERE known.server IS NOT NULL AND contact.history IS DISTINCT FROM (SELECT yquota_internal.lease_history());
COMMENT ON VIEW yquota_internal.unheard_cluster IS
	'Clusters that may have leases unknown to this database.  Nothing is leased until all of them have reported';

CREATE VIEW yquota_internal.lease_state AS
	SELECT lease.*, lease.share - coalesce(lease.returned, 0) AS kept,
		   CASE WHEN lease.settled_at IS NOT NULL THEN 'settled'
				WHEN yquota.statement_clock() >= lease.expires_at + yquota_internal.max_clock_skew() THEN 'unreported'
				WHEN lease.taken_at IS NULL THEN 'offered'
				ELSE 'taken' END AS state,
		   -- compute the credits that were spent from the rest of the lease, but reported only after the rest had been
		   -- returned
		   CASE WHEN lease.settled_at IS NOT NULL THEN
				greatest(lease.spent - (lease.share - lease.taken_off - lease.returned), 0) ELSE 0 END AS late
	FROM yquota.budget_lease AS lease;
COMMENT ON VIEW yquota_internal.lease_state IS
	'Leases with their states, the credits that each takes from its budget, and the spending that was reported too late';

CREATE VIEW yquota.budget_lease_status WITH (security_barrier) AS
	SELECT lease.lease, lease.project, lease.period, lease.starts_on, lease.cluster, lease.state, lease.share, lease.taken_off,
		   lease.spent, lease.returned, lease.late, lease.valid_from, lease.expires_at, lease.offered_at, lease.taken_at,
		   lease.reported_at, lease.settled_at, lease.problem
	FROM yquota_internal.lease_state AS lease
	WHERE (SELECT yquota_internal.reads_all())
	   OR lease.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.budget_lease_status IS
	'Shares of federated budgets that have been leased to clusters, with their states at the clock';
COMMENT ON COLUMN yquota.budget_lease_status.lease IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.project IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.period IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.starts_on IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.cluster IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.state IS
	'offered (the cluster is not known to have taken the lease), taken, unreported, or settled. Unreported: the lease ended at least yquota.max_clock_skew ago, and the cluster has not reported its spending up to the end';
COMMENT ON COLUMN yquota.budget_lease_status.share IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.taken_off IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.spent IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.returned IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.late IS
	'credits spent from the lease, but found after its rest had been returned; the next leases of the cluster pay for them';
COMMENT ON COLUMN yquota.budget_lease_status.valid_from IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.expires_at IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.offered_at IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.taken_at IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.reported_at IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.settled_at IS 'as in budget_lease';
COMMENT ON COLUMN yquota.budget_lease_status.problem IS 'as in budget_lease';

CREATE VIEW yquota_internal.budget_term AS
	SELECT budget.project, budget.period, budget.amount, budget.clusters, budget.lease_duration, budget.lease_fraction,
		   budget.floor_fraction, term.first_day AS starts_on,
		   yquota_internal.billing_day_start(greatest(term.first_day, budget.starts_on), zone.name) AS starts_at,
		   yquota_internal.billing_day_start(yquota_internal.next_period_start(budget.period, term.first_day), zone.name) AS ends_at
	FROM yquota.federated_budget AS budget
	CROSS JOIN yquota_internal.billing_zone AS zone
	CROSS JOIN LATERAL (
		SELECT yquota_internal.period_start(budget.period,
			greatest(yquota_internal.billing_day(yquota.statement_clock(), zone.name), budget.starts_on)) AS first_day
	) AS this
	CROSS JOIN LATERAL (
		SELECT this.first_day
		UNION ALL
		SELECT yquota_internal.next_period_start(budget.period, this.first_day)
	) AS term;
COMMENT ON VIEW yquota_internal.budget_term IS
	'Periods of federated budgets: the present period (or the first one, if it is still ahead), and the period after it';

CREATE VIEW yquota.federated_budget_status WITH (security_barrier) AS
	SELECT term.project, term.period, term.starts_on, term.starts_at, term.ends_at, term.amount,
		   coalesce(held.spent, 0) AS spent, coalesce(held.in_force, 0) AS in_force,
		   coalesce(held.unreported, 0) AS unreported, trim_scale(term.amount - coalesce(held.kept, 0)) AS free
	FROM yquota_internal.budget_term AS term
	LEFT JOIN LATERAL (
		SELECT trim_scale(sum(lease.kept)) AS kept,
			   trim_scale(sum(lease.kept) FILTER (WHERE lease.state = 'settled')) AS spent,
			   trim_scale(sum(lease.kept) FILTER (WHERE lease.state IN ('offered', 'taken'))) AS in_force,
			   trim_scale(sum(lease.kept) FILTER (WHERE lease.state = 'unreported')) AS unreported
		FROM yquota_internal.lease_state AS lease
		WHERE lease.project = term.project AND lease.period = term.period AND lease.starts_on = term.starts_on
	) AS held ON true
	WHERE term.starts_at <= yquota.statement_clock() AND yquota.statement_clock() < term.ends_at
	  AND ((SELECT yquota_internal.reads_all())
		   OR term.project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
COMMENT ON VIEW yquota.federated_budget_status IS
	'Credit of the present period of each federated budget, by use: spent + in_force + unreported + free = amount';
COMMENT ON COLUMN yquota.federated_budget_status.starts_on IS 'first day of the period';
COMMENT ON COLUMN yquota.federated_budget_status.amount IS 'credits';
COMMENT ON COLUMN yquota.federated_budget_status.spent IS 'credits that clusters have reported as spent until the ends of leases';
COMMENT ON COLUMN yquota.federated_budget_status.in_force IS 'credits of leases that are valid now or later, or ended less than yquota.max_clock_skew ago';
COMMENT ON COLUMN yquota.federated_budget_status.unreported IS 'credits of leases that ended at least yquota.max_clock_skew ago and have not been reported by their clusters; they count as spent until then';
COMMENT ON COLUMN yquota.federated_budget_status.free IS 'credits that can be leased; negative when the budget was made smaller';

SELECT pg_extension_config_dump('yquota.federated_budget', '');
SELECT pg_extension_config_dump('yquota.budget_lease', '');
SELECT pg_extension_config_dump('yquota.budget_lease_lease_seq', '');
