--
-- Samples for a monitoring system, one per row, with names as in Prometheus.  Each branch of the
-- UNION computes one family of metrics, so a query for one family computes no other.
--

-- Runs with the owner's rights: the measured tables are hidden from roles that read metrics.
CREATE FUNCTION yquota_internal.price_check()
	RETURNS TABLE (price_group text, multiplier numeric, computed_multiplier numeric,
				   utilization numeric, pinned boolean, calendar_known_until timestamptz)
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH measured AS MATERIALIZED (
			-- read counters, which already include events ahead of the clock
			SELECT * FROM yquota_internal.measure_price_groups(
				greatest(yquota.statement_clock(), yquota_internal.last_event_at()))
		), priced AS MATERIALIZED (
			SELECT own.price_group, in_force.multiplier, own.utilization, own.unknown IS NULL AS is_known,
				   own.multiplier AS wanted,
				   yquota_internal.pinned_until(own.price_group, yquota.statement_clock()) IS NOT NULL AS is_pinned
			FROM measured AS own
			CROSS JOIN LATERAL (
				SELECT price.multiplier
				FROM yquota.price AS price
				WHERE price.price_group = own.price_group
				  AND price.effective_at <= yquota.statement_clock()
				ORDER BY price.effective_at DESC
				LIMIT 1
			) AS in_force
		), lowest AS (
			-- compute the multiplier that GENERAL will have, because it is the floor of all groups; a pinned GENERAL
			-- keeps its multiplier
			SELECT CASE WHEN priced.is_known AND NOT priced.is_pinned THEN priced.wanted
						ELSE priced.multiplier END AS multiplier
			FROM priced
			WHERE priced.price_group = 'GENERAL'
		)
		SELECT priced.price_group, priced.multiplier,
			   CASE WHEN priced.is_known THEN greatest(priced.wanted, (SELECT lowest.multiplier FROM lowest)) END,
			   CASE WHEN priced.is_known THEN priced.utilization END,
			   priced.is_pinned, calendar.until
		FROM priced
		LEFT JOIN yquota_internal.calendar_points_known() AS calendar USING (price_group);
$$;
COMMENT ON FUNCTION yquota_internal.price_check() IS
	'Return the multiplier in force of every price group, and the multiplier computed from its utilization; NULL while the cluster is not known.  Also returns the instant until which the points of its calendars have been made; NULL without calendars';

CREATE FUNCTION yquota_internal.seconds_since(at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE WHEN isfinite(at) THEN extract(epoch FROM yquota.statement_clock()) - extract(epoch FROM at) END;
COMMENT ON FUNCTION yquota_internal.seconds_since(timestamptz) IS
	'Return the seconds from an instant to the clock; NULL if the instant is NULL';

CREATE FUNCTION yquota_internal.usable_interceptors() RETURNS TABLE ("position" integer, function text, usable numeric)
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT interceptor.position, interceptor.function::text,
			   ((yquota_internal.request_interceptor_problem(interceptor.function, interceptor.intercepts)).problem IS NULL)::integer::numeric
		FROM yquota.request_interceptor AS interceptor;
$$;
COMMENT ON FUNCTION yquota_internal.usable_interceptors() IS
	'Return request interceptors, with 1 if the interceptor can be called, else 0.  If it is 0 for one of them, each call of an application is refused';

CREATE FUNCTION yquota_internal.federation_figures() RETURNS TABLE (family text, metric text, labels jsonb, value numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT 'federated_budget', 'yquota_federated_budget_' || sample.name,
		   jsonb_build_object('project', status.project, 'period', status.period), sample.value
	FROM yquota.federated_budget_status AS status
	CROSS JOIN LATERAL (VALUES
		('amount_credits', status.amount),
		('spent_credits', status.spent),
		('in_force_credits', status.in_force),
		('unreported_credits', status.unreported),
		('free_credits', status.free)
	) AS sample (name, value)
	UNION ALL
	SELECT 'federated_cluster', 'yquota_federated_cluster_' || sample.name,
		   jsonb_build_object('cluster', known.cluster), sample.value
	FROM yquota.federated_cluster AS known
	LEFT JOIN yquota_internal.cluster_contact AS contact ON contact.cluster = known.cluster
	CROSS JOIN LATERAL (
		SELECT coalesce(sum(of_budget.unreported), 0) AS unreported, min(of_budget.covered_until) AS covered_until
		FROM (SELECT count(*) FILTER (WHERE lease.state = 'unreported') AS unreported,
					 max(lease.expires_at) FILTER (WHERE lease.state = 'taken') AS covered_until
			  FROM yquota_internal.lease_state AS lease
			  WHERE lease.cluster = known.cluster AND lease.settled_at IS NULL
			  GROUP BY lease.project, lease.period) AS of_budget
	) AS held
	CROSS JOIN LATERAL (VALUES
		('reached', (contact.reached_at = contact.tried_at)::integer::numeric),
		('contact_age_seconds', yquota_internal.seconds_since(contact.reached_at)),
		('ahead_seconds', extract(epoch FROM contact.ahead)),
		('unreported_leases', held.unreported),
		('lease_seconds_left', greatest(- yquota_internal.seconds_since(held.covered_until), 0))
	) AS sample (name, value)
	WHERE sample.value IS NOT NULL;
$$;
COMMENT ON FUNCTION yquota_internal.federation_figures() IS
	'Return the credit of federated budgets by use, and the state of the clusters that get shares of this credit';

--
-- The number of series is at most the number of configured queues times the number of reasons.
-- A reason names no project, user or label.
--
CREATE FUNCTION yquota_internal.waiting_figures() RETURNS TABLE (metric text, labels jsonb, value numeric)
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
	WITH of_leaf AS MATERIALIZED (
		SELECT a.queue, why.reason, count(*) AS applications,
			   min(a.submitted_at) FILTER (WHERE a.waits_for = 'activation' OR a.waits_for_master) AS submitted_at
		FROM yquota_internal.application_wait AS a
		CROSS JOIN LATERAL (VALUES (
			-- use the names that submit_application() gives to limits; the diagnostics begin with the words of a limit
			CASE WHEN a.state = 'NON_RUNNABLE' THEN 'max_parallel_apps'
				 WHEN a.waits_for <> 'activation' THEN a.waits_for
				 WHEN starts_with(a.diagnostics, 'Skipping AM assignment as cluster resource is empty.') THEN 'empty_cluster'
				 WHEN starts_with(a.diagnostics, 'Queue''s AM resource limit exceeded.') THEN 'am_limit'
				 WHEN starts_with(a.diagnostics, 'User''s AM resource limit exceeded.') THEN 'user_am_limit'
				 ELSE 'activation' END)) AS why (reason)
		WHERE a.waits_for <> 'requests'
		GROUP BY a.queue, why.reason
	), configured AS (
		SELECT leaf.queue,
			   (SELECT q.path::text FROM yquota.queue AS q
				WHERE NOT q.auto_created AND q.path IN (SELECT yquota_internal.queue_and_parents(leaf.queue))
				ORDER BY length(q.path) DESC
				LIMIT 1) AS path
		FROM (SELECT DISTINCT of_leaf.queue FROM of_leaf) AS leaf
	), of_queue AS (
		SELECT coalesce(configured.path, 'root') AS queue, of_leaf.reason,
			   sum(of_leaf.applications) AS applications, min(of_leaf.submitted_at) AS submitted_at
		FROM of_leaf
		JOIN configured USING (queue)
		GROUP BY 1, 2
	)
	SELECT 'yquota_waiting_' || sample.name, jsonb_build_object('queue', of_queue.queue, 'reason', of_queue.reason), sample.value
	FROM of_queue
	CROSS JOIN LATERAL (VALUES
		('applications', of_queue.applications),
		('oldest_seconds', yquota_internal.seconds_since(of_queue.submitted_at))
	) AS sample (name, value)
	WHERE sample.value IS NOT NULL;
$$;
COMMENT ON FUNCTION yquota_internal.waiting_figures() IS
	'Return the number of waiting applications by queue and reason, and the age of the oldest that has not started.  An application in a created queue, or in the queue of a reservation, counts in the nearest configured queue above';

CREATE VIEW yquota.metrics AS
	SELECT 'price' AS family, 'yquota_price_' || sample.name AS metric,
		   jsonb_build_object('price_group', price.price_group) AS labels, sample.value
	FROM yquota_internal.price_check() AS price
	CROSS JOIN LATERAL (VALUES
		('multiplier', price.multiplier),
		('computed_multiplier', price.computed_multiplier),
		('utilization_ratio', price.utilization),
		('pinned', price.pinned::integer::numeric),
		('calendar_ahead_seconds', - yquota_internal.seconds_since(price.calendar_known_until))
	) AS sample (name, value)
	WHERE sample.value IS NOT NULL
	UNION ALL
	SELECT 'opportunistic_price', 'yquota_opportunistic_price_' || figure.name, '{}', figure.value
	FROM yquota_internal.opportunistic_price_figures() AS figure
	UNION ALL
	SELECT 'request_interceptor', 'yquota_request_interceptor_usable',
		   jsonb_build_object('position', interceptor.position, 'function', interceptor.function), interceptor.usable
	FROM yquota_internal.usable_interceptors() AS interceptor
	UNION ALL
	SELECT 'resource', 'yquota_resource_price_credits',
		   jsonb_build_object('resource_type', price.resource_type),
		   trim_scale(price.price * price.unit)
	FROM yquota.current_price AS price
	UNION ALL
	SELECT 'containers', 'yquota_containers_running',
		   jsonb_build_object('execution_type', kind.of_containers),
		   coalesce(sum(held.containers), 0)
	FROM unnest(enum_range(NULL::yquota.execution_type)) AS kind (of_containers)
	LEFT JOIN yquota.queue_usage AS held ON held.execution_type = kind.of_containers
	GROUP BY kind.of_containers
	UNION ALL
	SELECT 'nodes', 'yquota_nodes_registered', jsonb_build_object('state', node.state), count(*)
	FROM yquota.node AS node
	GROUP BY node.state
	UNION ALL
	SELECT 'project', 'yquota_project_' || sample.name,
		   jsonb_build_object('project', balance.project), sample.value
	FROM yquota.project AS known
	CROSS JOIN LATERAL yquota_internal.credit_of(known.name) AS balance
	CROSS JOIN LATERAL (VALUES
		('granted_credits', balance.granted),
		('spent_credits', balance.charged + balance.accrued),
		('held_credits', balance.held),
		('remaining_credits', balance.remaining),
		('available_credits', balance.available),
		('burn_rate_credits', balance.burn_rate),
		('exhausted', (balance.unspent <= 0)::integer::numeric),
		('seconds_left', CASE WHEN balance.burn_rate > 0 THEN
							 round(extract(epoch FROM balance.exhausted_at - yquota.statement_clock()), 3) END),
		('action_seconds_left', round(extract(epoch FROM balance.acts_at - yquota.statement_clock()), 3))
	) AS sample (name, value)
	WHERE sample.value IS NOT NULL
	UNION ALL
	-- write the limiting project as a separate sample: as a label, it would start a new series of
	-- amounts at each change
	SELECT 'project_limit', 'yquota_project_limit_info',
		   jsonb_build_object('project', balance.project, 'limited_by', balance.limited_by), 1
	FROM yquota.project AS known
	CROSS JOIN LATERAL yquota_internal.credit_of(known.name) AS balance
	WHERE balance.limited_by IS NOT NULL
	UNION ALL
	SELECT 'feed', 'yquota_feed_' || sample.name,
		   jsonb_build_object('source', coalesce(feed.source, '')), sample.value
	FROM yquota.feed_status AS feed
	CROSS JOIN LATERAL (VALUES
		('events_total', feed.events::numeric),
		('silence_seconds', yquota_internal.seconds_since(feed.last_recorded_at)),
		('lag_seconds', yquota_internal.seconds_since(feed.last_event_at)),
		('rejected_events', feed.rejected::numeric),
		('waiting_events', feed.waiting::numeric),
		('deferred_events', feed.deferred::numeric),
		('rejected_calls', feed.rejected_calls::numeric),
		('problem', (feed.problem IS NOT NULL)::integer::numeric)
	) AS sample (name, value)
	WHERE sample.value IS NOT NULL
	UNION ALL
	SELECT 'worker', 'yquota_worker_' || sample.name, '{}', sample.value
	FROM yquota.worker_status AS worker
	CROSS JOIN LATERAL (VALUES
		('up', (worker.state IN ('running', 'starting', 'standby'))::integer::numeric),
		('failures', worker.failures::numeric),
		('postponed_tasks', cardinality(worker.postponed)::numeric),
		('price_age_seconds', yquota_internal.seconds_since(worker.last_price_at)),
		('compute_age_seconds', yquota_internal.seconds_since(worker.last_compute_at)),
		('compact_age_seconds', yquota_internal.seconds_since(worker.last_compact_at))
	) AS sample (name, value)
	WHERE worker.database = current_database() AND sample.value IS NOT NULL
	UNION ALL
	SELECT 'mark', 'yquota_mark_age_seconds', '{}', yquota_internal.seconds_since(mark.at)
	FROM yquota.charged_through AS mark
	WHERE isfinite(mark.at)
	UNION ALL
	SELECT 'suspect', 'yquota_suspect_containers', '{}', count(DISTINCT suspect.container_id)
	FROM yquota_internal.suspect_container AS suspect
	UNION ALL
	SELECT 'scheduler', 'yquota_scheduler_' || counted.name || '_total', '{}', sum(counted.total)
	FROM yquota_internal.scheduler_count AS counted
	GROUP BY counted.name
	UNION ALL
	SELECT 'waiting', figure.metric, figure.labels, figure.value
	FROM yquota_internal.waiting_figures() AS figure
	UNION ALL
	SELECT 'submission_refused', 'yquota_submission_refused_total', jsonb_build_object('decided_by', refusal.decided_by), sum(refusal.refused)
	FROM yquota_internal.submission_refusal AS refusal
	GROUP BY refusal.decided_by
	UNION ALL
	SELECT 'verify', 'yquota_verify_' || sample.name, '{}', sample.value
	FROM (SELECT * FROM yquota.verification ORDER BY verified_at DESC LIMIT 1) AS last
	CROSS JOIN LATERAL (VALUES
		('problems', last.problems::numeric),
		('age_seconds', yquota_internal.seconds_since(last.verified_at))
	) AS sample (name, value)
	UNION ALL
	SELECT 'preemption', 'yquota_preemption_' || sample.name, '{}', sample.value
	FROM yquota_internal.preemption_round AS last
	CROSS JOIN LATERAL (VALUES
		('rounds_total', last.rounds::numeric),
		('containers_marked_total', last.marked::numeric),
		('containers_preempted_total', last.killed::numeric),
		('containers_unreserved_total', last.unreserved::numeric),
		('containers_waiting', (SELECT count(*) FROM yquota.preemption_mark AS mark WHERE mark.told_at IS NULL)::numeric),
		('age_seconds', yquota_internal.seconds_since(last.round_at))
	) AS sample (name, value)
	UNION ALL
	SELECT 'opportunistic', 'yquota_opportunistic_' || figure.name, figure.labels, figure.value
	FROM yquota_internal.opportunistic_figures() AS figure
	UNION ALL
	SELECT figure.family, figure.metric, figure.labels, figure.value
	FROM yquota_internal.over_allocation_figures() AS figure
	UNION ALL
	SELECT figure.family, figure.metric, figure.labels, figure.value
	FROM yquota_internal.federation_figures() AS figure
	UNION ALL
	SELECT 'reservation', 'yquota_reservation_' || sample.name, jsonb_build_object('plan', figure.plan), sample.value
	FROM yquota_internal.reservation_figures() AS figure
	CROSS JOIN LATERAL (VALUES
		('accepted', figure.accepted::numeric),
		('active', figure.active::numeric),
		('replanned', figure.replanned::numeric),
		('queues_missing', figure.queues_missing::numeric)
	) AS sample (name, value)
	UNION ALL
	SELECT 'reservation_refused', 'yquota_reservation_refused_total',
		   jsonb_build_object('plan', refusal.plan, 'decided_by', refusal.decided_by), refusal.refused
	FROM yquota_internal.reservation_refusal AS refusal
	UNION ALL
	SELECT 'plan', 'yquota_plan_committed_ratio',
		   jsonb_build_object('plan', now.plan, 'resource_type', now.resource_name), round(now.committed::numeric / now.capacity, 6)
	FROM yquota_internal.plans_now() AS now
	WHERE now.capacity > 0
	UNION ALL
	SELECT 'plan_follower', 'yquota_plan_follower_' || sample.name, '{}', sample.value
	FROM yquota_internal.plan_follower_round AS last
	CROSS JOIN LATERAL (VALUES
		('rounds_total', last.rounds::numeric),
		('changes_total', last.changes::numeric),
		('duration_seconds', extract(epoch FROM last.duration)),
		('age_seconds', yquota_internal.seconds_since(last.round_at))
	) AS sample (name, value)
	UNION ALL
	SELECT 'alert', 'yquota_alert_open', jsonb_build_object('kind', alert.kind), count(*)
	FROM yquota.alert AS alert
	WHERE alert.cleared_at IS NULL
	GROUP BY alert.kind;
COMMENT ON VIEW yquota.metrics IS
	'Samples for a monitoring system, one row each; query one family at a time.  docs/prometheus/queries.yaml has the queries for postgres_exporter';
COMMENT ON COLUMN yquota.metrics.family IS 'price, opportunistic_price, request_interceptor, resource, containers, nodes, project, project_limit, feed, worker, mark, suspect, waiting, submission_refused or verify. Or preemption, opportunistic, over_allocation, node_preemption, federated_budget, federated_cluster, reservation, reservation_refused, plan, plan_follower or alert';
COMMENT ON COLUMN yquota.metrics.metric IS 'name as in Prometheus; its last part is the unit';
COMMENT ON COLUMN yquota.metrics.labels IS 'labels as in Prometheus';
COMMENT ON COLUMN yquota.metrics.value IS 'value of the sample, in the unit that is the last part of the name; credits per second for a rate or price';
