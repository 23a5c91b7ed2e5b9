--
-- Leasing shares of federated budgets (575_federated_budget.sql).
--
-- Each call reads the reports of the clusters.  Next it sends the clusters the leases that earlier
-- transactions have offered. Then it offers more leases for the next call to send. A lease is
-- therefore committed here before a cluster can take it. If the reply or the commit here is lost,
-- only the cluster knows that it has taken the lease. The next call sends the lease again, and the
-- cluster takes it only once. No two-phase commit is needed.
--
-- A server may lack commits of the server that it replaced. It offers nothing until each cluster
-- has reported all its leases. A report counts only if its transaction began after the cluster
-- stopped taking leases from the previous server. The identity of a lease tells which server made
-- it.
--
-- Clusters that spend more get larger shares. The part floor_fraction of an amount is divided among the clusters by
-- their weights. The rest is divided by weight times spending. Spending is what each cluster has spent from its leases
-- of the last day. While no cluster has spent anything, weight alone counts.
--

CREATE FUNCTION yquota_internal.lease_plan(now_at timestamptz)
	RETURNS TABLE (project text, period text, starts_on date, cluster text, free numeric, need numeric, share numeric,
				   taken_off numeric, valid_from timestamptz, expires_at timestamptz)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH term AS (
			SELECT t.*, t.amount - coalesce((SELECT sum(held.kept) FROM yquota_internal.lease_state AS held
											 WHERE held.project = t.project AND held.period = t.period AND held.starts_on = t.starts_on), 0) AS free
			FROM yquota_internal.budget_term AS t
			WHERE t.starts_at <= now_at + t.lease_duration / 2 AND t.ends_at > now_at
			  AND NOT EXISTS (SELECT FROM yquota_internal.unheard_cluster)
		), candidate AS (
			SELECT term.*, known.cluster, known.weight,
				   CASE WHEN term.free <= term.amount / 1000 THEN term.free ELSE term.free * term.lease_fraction END AS pool,
				   coalesce((SELECT sum(recent.spent) FROM yquota.budget_lease AS recent
							 WHERE recent.project = term.project AND recent.cluster = known.cluster
							   AND recent.expires_at > now_at - interval '1 day'), 0) AS need,
				   held.covered_until, held.is_low
			FROM term
			JOIN yquota.federated_cluster AS known ON term.clusters IS NULL OR known.cluster = ANY (term.clusters)
			JOIN yquota_internal.cluster_contact AS contact ON contact.cluster = known.cluster AND contact.problem IS NULL
			CROSS JOIN LATERAL (
				SELECT max(lease.expires_at) AS covered_until,
					   -- tell whether at least three quarters of the credit of the valid leases have been spent
					   coalesce(bool_and(lease.taken_at IS NOT NULL) FILTER (WHERE lease.valid_from <= now_at AND lease.settled_at IS NULL)
						AND sum(lease.spent) FILTER (WHERE lease.valid_from <= now_at AND now_at < lease.expires_at)
							>= 0.75 * sum(lease.share - lease.taken_off) FILTER (WHERE lease.valid_from <= now_at AND now_at < lease.expires_at), false) AS is_low
				FROM yquota.budget_lease AS lease
				WHERE lease.project = term.project AND lease.period = term.period AND lease.starts_on = term.starts_on
				  AND lease.cluster = known.cluster
			) AS held
			WHERE known.weight > 0 AND term.free > 0
		), divided AS (
			SELECT candidate.*,
				   sum(candidate.weight) OVER of_term AS weights,
				   sum(candidate.weight * candidate.need) OVER of_term AS needs
			FROM candidate
			WINDOW of_term AS (PARTITION BY candidate.project, candidate.period, candidate.starts_on)
		), due AS (
			SELECT divided.*,
				   -- rounds down, so that shares never add up to more than the divided amount
				   div(1000000 * divided.pool * divided.weight
					   * CASE WHEN divided.needs = 0 THEN 1
							  ELSE divided.floor_fraction * divided.needs + (1 - divided.floor_fraction) * divided.need * divided.weights END,
					   divided.weights * CASE WHEN divided.needs = 0 THEN 1 ELSE divided.needs END) * 0.000001 AS part,
				   CASE WHEN divided.covered_until > now_at AND NOT divided.is_low THEN divided.covered_until
						ELSE greatest(now_at, divided.starts_at) END AS begins_at
			FROM divided
			WHERE (divided.covered_until > now_at + divided.lease_duration / 2) IS NOT TRUE OR divided.is_low
		)
		SELECT due.project, due.period, due.starts_on, due.cluster, trim_scale(due.free), trim_scale(due.need), trim_scale(due.part),
			   CASE WHEN row_number() OVER (PARTITION BY due.project, due.cluster ORDER BY due.starts_at, due.period) = 1 THEN
					least(due.part, debt.owed) ELSE 0 END,
			   due.begins_at, least(due.begins_at + due.lease_duration, due.ends_at)
		FROM due
		CROSS JOIN LATERAL (
			SELECT greatest(coalesce(sum(lease.late - lease.taken_off), 0), 0) AS owed
			FROM yquota_internal.lease_state AS lease
			WHERE lease.project = due.project AND lease.cluster = due.cluster
		) AS debt
		WHERE due.part > 0 AND due.begins_at < due.ends_at;
$$;
COMMENT ON FUNCTION yquota_internal.lease_plan(timestamptz) IS
	'Return the leases that are due at an instant, computed from the last reports of the clusters';

CREATE FUNCTION yquota.planned_leases()
	RETURNS TABLE (project text, period text, starts_on date, cluster text, free numeric, need numeric, share numeric,
				   taken_off numeric, valid_from timestamptz, expires_at timestamptz)
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota_internal.lease_plan(yquota.statement_clock()) AS plan
		ORDER BY plan.project, plan.period, plan.starts_on, plan.cluster;
$$;
COMMENT ON FUNCTION yquota.planned_leases() IS
	'Return the leases that renew_leases() would offer now if the clusters reported nothing new.  To try other weights or budgets, change them in a transaction, call this function, and roll back';

--
-- Steps for one cluster
--

CREATE FUNCTION yquota_internal.lease_report(cluster text, now_at timestamptz) RETURNS yquota_internal.federated_lease[]
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_variable
DECLARE
	since CONSTANT timestamptz := now_at - interval '32 days';
	wanted uuid[];
	names text[];
BEGIN
	-- include settled leases, because a late event may change the spent amount of a settled lease
	SELECT coalesce(array_agg(own.identity), '{}'), array_agg(DISTINCT own.federation) || yquota.cluster_name() INTO wanted, names
	FROM yquota.budget_lease AS own
	WHERE own.cluster = cluster AND (own.settled_at IS NULL OR own.expires_at > since);
	RETURN ARRAY(SELECT there FROM yquota_internal.federated_lease AS there
				 WHERE there.cluster = cluster AND there.federation = ANY (names)
				   AND (there.identity = ANY (wanted) OR there.expires_at > since));
END
$$;
COMMENT ON FUNCTION yquota_internal.lease_report(text, timestamptz) IS
	'Return a cluster''s report of its leases.  It includes all leases of the last 32 days, known here or not, and older leases that are not settled';

-- Adopts leases that have no row here: a previous server offered them, and a failover or a restore lost the last
-- commits of that server. These leases count from now on. All clusters must then report again, because other clusters
-- may have such leases, too.
CREATE FUNCTION yquota_internal.adopt_leases(report yquota_internal.federated_lease[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	INSERT INTO yquota.budget_lease (identity, federation, project, period, starts_on, cluster, share, valid_from, expires_at, offered_at, taken_at)
	SELECT there.identity, there.federation, there.project, there.period, there.starts_on, there.cluster, there.amount,
		   there.valid_from, there.expires_at, there.taken_at, there.taken_at
	FROM unnest(report) AS there
	WHERE there.spent IS NOT NULL
	ON CONFLICT (identity) DO NOTHING;
	IF FOUND THEN
		UPDATE yquota_internal.cluster_contact SET history = NULL;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.adopt_leases(yquota_internal.federated_lease[]) IS
	'Add leases of this database that a cluster has taken, but that have no row here';

CREATE FUNCTION yquota_internal.note_lease_report(
	cluster text, report yquota_internal.federated_lease[], clock_there timestamptz, now_at timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH outcome AS (
			SELECT own.lease, there.taken_at, there.spent, there.is_final
			FROM yquota.budget_lease AS own
			JOIN unnest(report) AS there ON there.identity = own.identity AND there.spent IS NOT NULL
			WHERE own.cluster = note_lease_report.cluster AND (own.settled_at IS NULL OR own.spent IS DISTINCT FROM there.spent)
			UNION ALL
			-- settle a lease that the cluster has not taken: after its end it would grant nothing
			SELECT own.lease, NULL, 0, true
			FROM yquota.budget_lease AS own
			WHERE own.cluster = note_lease_report.cluster AND own.settled_at IS NULL
			  AND clock_there >= own.expires_at + yquota_internal.max_clock_skew()
			  AND NOT EXISTS (SELECT FROM unnest(report) AS there WHERE there.identity = own.identity)
		), changed AS (
			UPDATE yquota.budget_lease AS own
			SET taken_at = coalesce(own.taken_at, outcome.taken_at), spent = outcome.spent, reported_at = clock_there, problem = NULL,
				returned = CASE WHEN outcome.is_final OR own.settled_at IS NOT NULL THEN
								greatest(coalesce(own.returned, 0), own.share - own.taken_off - outcome.spent) END,
				settled_at = coalesce(own.settled_at, CASE WHEN outcome.is_final THEN now_at END)
			FROM outcome
			WHERE outcome.lease = own.lease
			RETURNING own.settled_at = now_at AS is_settled_now
		)
		SELECT count(*) FILTER (WHERE changed.is_settled_now) FROM changed;
$$;
COMMENT ON FUNCTION yquota_internal.note_lease_report(text, yquota_internal.federated_lease[], timestamptz, timestamptz) IS
	'Record the report of a cluster about its leases, and settle leases that the report covers up to their ends.  The rest of a settled lease returns to the budget.  Returns how many leases were settled';

CREATE FUNCTION yquota_internal.deliver_leases(cluster text, clock_there timestamptz, now_at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_variable
DECLARE
	due yquota.budget_lease;
	trouble text;
	delivered bigint := 0;
BEGIN
	FOR due IN
		SELECT own.* FROM yquota.budget_lease AS own
		WHERE own.cluster = cluster AND own.taken_at IS NULL AND own.settled_at IS NULL AND own.expires_at > now_at
		  AND own.offered_by <> pg_current_xact_id()
		ORDER BY own.lease
	LOOP
		BEGIN
			INSERT INTO yquota_internal.federated_lease (cluster, federation, identity, history, lease, project, period, starts_on, amount,
														 valid_from, expires_at)
			VALUES (due.cluster, due.federation, due.identity, yquota_internal.lease_history(), due.lease, due.project, due.period, due.starts_on, due.share - due.taken_off,
					due.valid_from, due.expires_at);
			UPDATE yquota.budget_lease AS own SET taken_at = clock_there, problem = NULL WHERE own.lease = due.lease;
			delivered := delivered + 1;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS trouble = MESSAGE_TEXT;
			UPDATE yquota.budget_lease AS own SET problem = trouble WHERE own.lease = due.lease;
		END;
	END LOOP;
	RETURN delivered;
END
$$;
COMMENT ON FUNCTION yquota_internal.deliver_leases(text, timestamptz, timestamptz) IS
	'Send a cluster the leases that earlier transactions have offered.  Returns how many it has taken';

-- A cluster without a row in lending_federation has no leases; it may be federated only for
-- reports.
CREATE FUNCTION yquota_internal.make_known(cluster text, OUT is_known boolean, OUT problem text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_variable
DECLARE
	history CONSTANT text := yquota_internal.lease_history();
	known_there text;
BEGIN
	SELECT there.history INTO known_there FROM yquota_internal.federated_lender AS there
	WHERE there.cluster = cluster AND there.federation = yquota.cluster_name();
	is_known := coalesce(known_there = history, false);
	IF NOT is_known THEN
		INSERT INTO yquota_internal.federated_lender (cluster, federation, history) VALUES (cluster, yquota.cluster_name(), history);
	END IF;
EXCEPTION WHEN insufficient_privilege THEN
	problem := SQLERRM;
	is_known := known_there IS NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_known(text) IS
	'Register this database with a cluster as the database that leases. is_known is true if the cluster knew the database before the transaction; its report then has all leases of the previous server. problem tells why the database could not register';

CREATE FUNCTION yquota_internal.tend_leases(
	cluster text, now_at timestamptz, OUT taken bigint, OUT settled bigint, OUT ahead interval, OUT history text, OUT problem text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_variable
DECLARE
	clock_there timestamptz;
	report yquota_internal.federated_lease[];
	is_known boolean;
	detail text;
BEGIN
	taken := 0;
	settled := 0;
	BEGIN
		SELECT status.clock INTO clock_there
		FROM yquota.federated_cluster AS known CROSS JOIN LATERAL yquota_internal.read_status(known) AS status
		WHERE known.cluster = tend_leases.cluster;
		ahead := clock_there - now_at;
		SELECT there.is_known, there.problem INTO is_known, problem FROM yquota_internal.make_known(cluster) AS there;
		report := yquota_internal.lease_report(cluster, now_at);
		PERFORM yquota_internal.adopt_leases(report);
		settled := yquota_internal.note_lease_report(cluster, report, clock_there, now_at);
		IF is_known THEN
			history := yquota_internal.lease_history();
		END IF;
		IF greatest(ahead, - ahead) > yquota_internal.max_clock_skew() THEN
			problem := format('The clock of the cluster shows %s, more than yquota.max_clock_skew from %s.', yquota_internal.instant_text(clock_there),
							  yquota_internal.instant_text(now_at));
		ELSIF is_known AND problem IS NULL THEN
			taken := yquota_internal.deliver_leases(cluster, clock_there, now_at);
		END IF;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
		problem := concat_ws(': ', problem, nullif(detail, ''));
		taken := 0;
		settled := 0;
		ahead := NULL;
		history := NULL;
	END;
END
$$;
COMMENT ON FUNCTION yquota_internal.tend_leases(text, timestamptz) IS
	'Read the report of a cluster about its leases, and send it the leases that it lacks.  Returns the numbers of settled and taken leases, and the problem if there is one.  Also returns the lease_history() to which the cluster has reported all its leases';

--
-- Leasing to all clusters
--

CREATE FUNCTION yquota_internal.watch_leases(now_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		UPDATE yquota.alert AS open SET cleared_at = now_at
		WHERE open.cleared_at IS NULL
		  AND (open.kind = 'lease_unreported'
			   AND NOT EXISTS (SELECT FROM yquota_internal.lease_state AS lease WHERE lease.cluster = open.subject AND lease.state = 'unreported')
			   OR open.kind = 'leases_withheld'
			   AND NOT EXISTS (SELECT FROM yquota_internal.unheard_cluster AS unheard WHERE unheard.cluster = open.subject));
		INSERT INTO yquota.alert AS open (kind, subject, detail, raised_at)
		SELECT 'lease_unreported', lease.cluster,
			   format('%s leases of %s credits count as spent: the cluster has not reported since their ends, the first one at %s.',
					  count(*), trim_scale(sum(lease.kept)), yquota_internal.instant_text(min(lease.expires_at))), now_at
		FROM yquota_internal.lease_state AS lease
		WHERE lease.state = 'unreported'
		GROUP BY lease.cluster
		UNION ALL
		SELECT 'leases_withheld', unheard.cluster,
			   'Nothing is leased to any cluster until the cluster reports its leases. This server may lack the last commits of its predecessor.', now_at
		FROM yquota_internal.unheard_cluster AS unheard
		JOIN yquota_internal.cluster_contact AS contact ON contact.cluster = unheard.cluster AND contact.problem IS NOT NULL
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO UPDATE SET detail = excluded.detail;
$$;
COMMENT ON FUNCTION yquota_internal.watch_leases(timestamptz) IS
	'Raise an alert for each cluster whose leases count as spent because it has not reported, and for each cluster that stops all leasing';

CREATE FUNCTION yquota.renew_leases(OUT offered bigint, OUT taken bigint, OUT settled bigint, OUT problems text[])
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	now_at CONSTANT timestamptz := yquota.clock();
	known text;
	outcome record;
BEGIN
	PERFORM yquota_internal.require_read_committed('renew leases');
	-- flush the commit of the offers before any cluster can take them
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'local', true);
	END IF;
	-- exclude other calls of this function, but no readers
	LOCK TABLE yquota.budget_lease IN SHARE ROW EXCLUSIVE MODE;
	taken := 0;
	settled := 0;
	problems := '{}';
	FOR known IN SELECT c.cluster FROM yquota.federated_cluster AS c WHERE c.server IS NOT NULL ORDER BY c.cluster LOOP
		SELECT * INTO outcome FROM yquota_internal.tend_leases(known, now_at);
		taken := taken + outcome.taken;
		settled := settled + outcome.settled;
		IF outcome.problem IS NOT NULL THEN
			problems := problems || format('%s: %s', known, outcome.problem);
		END IF;
		INSERT INTO yquota_internal.cluster_contact AS contact (cluster, tried_at, reached_at, ahead, history, problem)
		VALUES (known, now_at, CASE WHEN outcome.ahead IS NOT NULL THEN now_at END, outcome.ahead, outcome.history, outcome.problem)
		ON CONFLICT (cluster) DO UPDATE
		SET tried_at = excluded.tried_at, reached_at = coalesce(excluded.reached_at, contact.reached_at),
			ahead = coalesce(excluded.ahead, contact.ahead), history = coalesce(excluded.history, contact.history),
			problem = excluded.problem;
	END LOOP;
	problems := problems || ARRAY(
		SELECT format('%s: Nothing is leased until the cluster has reported its leases to this server.', unheard.cluster)
		FROM yquota_internal.unheard_cluster AS unheard
		JOIN yquota_internal.cluster_contact AS contact ON contact.cluster = unheard.cluster AND contact.problem IS NOT NULL
		ORDER BY unheard.cluster);
	INSERT INTO yquota.budget_lease (project, period, starts_on, cluster, share, taken_off, valid_from, expires_at, offered_at,
									 spent, returned, settled_at)
	SELECT plan.project, plan.period, plan.starts_on, plan.cluster, plan.share, plan.taken_off, plan.valid_from, plan.expires_at, now_at,
		   -- settle the lease at once when debts use up its whole share
		   CASE WHEN plan.taken_off = plan.share THEN 0 END, CASE WHEN plan.taken_off = plan.share THEN 0 END,
		   CASE WHEN plan.taken_off = plan.share THEN now_at END
	FROM yquota_internal.lease_plan(now_at) AS plan
	ORDER BY plan.project, plan.period, plan.starts_on, plan.cluster;
	GET DIAGNOSTICS offered = ROW_COUNT;
	PERFORM yquota_internal.watch_leases(now_at);
END
$$;
COMMENT ON FUNCTION yquota.renew_leases() IS
	'Read the reports of clusters about their leases, send clusters the leases that earlier transactions offered, and offer due leases.  Returns how many leases were settled, taken and offered, and the problems of clusters.  The job yquota leases calls it every minute';

CREATE FUNCTION yquota_internal.has_leases() RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (SELECT FROM yquota.federated_cluster)
		AND (EXISTS (SELECT FROM yquota.federated_budget)
			 OR EXISTS (SELECT FROM yquota.budget_lease AS lease WHERE lease.settled_at IS NULL));
COMMENT ON FUNCTION yquota_internal.has_leases() IS
	'Tell whether renew_leases() has anything to do';
