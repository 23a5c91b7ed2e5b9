--
-- From 0.2.0 to 0.3.0: what goes when nothing uses it any more.
--

DROP FUNCTION yquota_internal.fill_key_filter(regclass, regclass, name);
DROP FUNCTION yquota_internal.has_key_filter(regclass);
DROP FUNCTION yquota_internal.check_may_hold(text, text);
DROP FUNCTION yquota_internal.factor_names(text, text, text, text, yquota.execution_type);
DROP FUNCTION yquota_internal.booked_cost(timestamptz, timestamptz, text[], timestamptz);

-- Rows that come to sealed tables empty the filter.
SELECT yquota_internal.note_sealed_ledger(format('yquota_internal.%I', segment.ledger_table)::regclass)
FROM yquota.history_segment AS segment WHERE segment.ledger_table IS NOT NULL;

-- Nothing is offered or asked for in negative amounts.
UPDATE yquota.node SET total = (SELECT coalesce(jsonb_object_agg(e.name, greatest(e.amount, 0)), '{}') FROM yquota.resource_entries(total) AS e)::yquota.resource
WHERE NOT yquota.fits_in('[]', total);
UPDATE yquota.pending_demand SET demand = (SELECT coalesce(jsonb_object_agg(e.name, greatest(e.amount, 0)), '{}') FROM yquota.resource_entries(demand) AS e)::yquota.resource
WHERE NOT yquota.fits_in('[]', demand);
ALTER TABLE yquota.node ADD CHECK (yquota.fits_in('[]', total));
ALTER TABLE yquota.pending_demand ADD CHECK (yquota.fits_in('[]', demand));

-- Utilization was known where a price changed.
INSERT INTO yquota.utilization_history (price_group, quarter_hour, measurements, average, highest)
SELECT price.price_group, yquota_internal.quarter_hour(price.effective_at), count(*), trim_scale(round(avg(price.utilization), 18)), max(price.utilization)
FROM yquota.price AS price
WHERE price.utilization IS NOT NULL AND isfinite(price.effective_at)
GROUP BY 1, 2;

-- The interval of sealing was a parameter of the server.
INSERT INTO yquota.retention_setting AS setting (seal_interval)
SELECT justify_hours(yquota_internal.duration('yquota.seal_interval'))
WHERE yquota_internal.duration('yquota.seal_interval') <> '30 days'
ON CONFLICT (only_row) DO UPDATE SET seal_interval = excluded.seal_interval;

-- So was the time that decisions may stay unacknowledged.
INSERT INTO yquota.scheduler_setting AS setting (allocation_expiry)
SELECT yquota_internal.duration('yquota.allocation_expiry')
WHERE yquota_internal.duration('yquota.allocation_expiry') <> '10 minutes'
ON CONFLICT (only_row) DO UPDATE SET allocation_expiry = excluded.allocation_expiry;

DROP FUNCTION yquota_internal.quarter_hours_query(text);

DROP FUNCTION yquota_internal.verify_grants();
DROP FUNCTION yquota_internal.mark_spending(text[], timestamptz, timestamptz);
DROP FUNCTION yquota_internal.credit_state(text, timestamptz);
DROP FUNCTION yquota_internal.take_credit(numeric[], numeric);
DROP FUNCTION yquota_internal.unnoted_loss(text, timestamptz);

-- Refunds and corrections of sub-projects may be credit of their ancestors, and have
-- expired there: the worker notes that anew.
DELETE FROM yquota.expired_grant AS expired
USING yquota.quota_grant AS given, yquota_internal.project_family AS family
WHERE given.grant_id = expired.grant_id AND given.kind IN ('refund', 'correction') AND family.member = expired.project;

-- Ends of containers that yquota has sent itself, as far as history has not been sealed since.
INSERT INTO yquota_internal.reported_end (container_id, occurred_at, exit_status, is_own, is_assumed, recorded_at, source, is_booked)
SELECT DISTINCT ON (log.container_id) log.container_id, log.occurred_at, log.exit_status, true, false, log.recorded_at, log.source, false
FROM ONLY yquota.container_event AS log
JOIN yquota_internal.charge_in_effect AS charge
	ON charge.container_id = log.container_id AND charge."to" = log.occurred_at
	AND charge.settled_by = 'CONTAINER_FINISH' AND charge.padding IS NULL
WHERE log.event = 'CONTAINER_FINISH' AND log.source IN ('scheduler', 'reconcile', 'node_lost');

-- Voids have the numbers of the events that they took back; from before it is inferred
-- here, for the last time.
INSERT INTO yquota_internal.voided_event (void_id, event_id)
SELECT min(void.void_id), log.event_id
FROM yquota.event_void AS void
JOIN yquota.container_event AS log
	ON log.container_id = void.container_id AND log.recorded_at <= void.recorded_until
WHERE NOT EXISTS (SELECT FROM yquota_internal.set_aside_event AS aside WHERE aside.event_id = log.event_id)
  AND NOT EXISTS (SELECT FROM yquota_internal.arrived_since_last_void AS arrived
				  WHERE arrived.container_id = log.container_id
					AND arrived.content = ROW(log.event, log.container_id, log.occurred_at, log.project, log.application_id,
											  log.username, log.queue, log.node, log.allocation, log.execution_type,
											  log.exit_status, log.source, log.recorded_at)::text)
GROUP BY log.event_id;
DROP TABLE yquota_internal.arrived_since_last_void;
ALTER TABLE yquota.event_void DROP COLUMN recorded_until;

-- So it is with events that were sent again: the earliest of them was accepted, except
-- for a START with a new allocation, which became an UPDATE.
WITH arrived AS (
	SELECT log.event_id, log.event, log.container_id, log.allocation, log.recorded_at,
		   row_number() OVER (PARTITION BY log.container_id, log.event,
							  CASE log.event WHEN 'CONTAINER_UPDATE' THEN log.occurred_at END
							  ORDER BY log.recorded_at, log.event_id) AS place,
		   log.event = 'CONTAINER_UPDATE'
		   AND num_nonnulls(log.allocation, log.execution_type, log.queue, log.node) = 0 AS says_nothing
	FROM yquota.container_event AS log
	WHERE log.event IN ('CONTAINER_START', 'CONTAINER_UPDATE')
	  AND NOT EXISTS (SELECT FROM yquota_internal.set_aside_event AS aside WHERE aside.event_id = log.event_id)
	  AND NOT EXISTS (SELECT FROM yquota_internal.voided_event AS voided WHERE voided.event_id = log.event_id)
), repeated AS MATERIALIZED (
	SELECT DISTINCT ON (change.ctid) change.ctid AS place, arrived.event_id
	FROM yquota.container_change AS change
	JOIN arrived ON arrived.container_id = change.container_id AND arrived.event = 'CONTAINER_START'
		AND arrived.place > 1 AND arrived.allocation OPERATOR(yquota.=) change.allocation
	WHERE change.repeated_start
	ORDER BY change.ctid, arrived.recorded_at, arrived.event_id
), numbered AS (
	UPDATE yquota.container_change AS change SET event_id = repeated.event_id
	FROM repeated WHERE repeated.place = change.ctid
)
INSERT INTO yquota_internal.event_without_effect (event_id)
SELECT arrived.event_id
FROM arrived
WHERE (arrived.place > 1 OR arrived.says_nothing)
  AND NOT EXISTS (SELECT FROM repeated WHERE repeated.event_id = arrived.event_id);

-- Settings of words have a check that is a function.
ALTER TABLE yquota.scheduler_setting
	ADD CHECK (yquota_internal.check_word('preemption_candidate_order', preemption_candidate_order, 'newest', 'least_paid')),
	ADD CHECK (yquota_internal.check_word('preemption_mode', preemption_mode, 'kill', 'advise')),
	ADD CHECK (yquota_internal.check_word('node_queue_order', node_queue_order, 'arrival', 'shortest_first', 'application_priority', 'fair_by_user')),
	ADD CHECK (yquota_internal.check_word('opportunistic_kill_order', opportunistic_kill_order, 'last_started', 'least_paid', 'lowest_priority', 'furthest_from_end', 'fewest'));

-- An update begins neither to kill containers nor to end applications.
WITH observing AS (
	UPDATE yquota.scheduler_setting SET preemption_observe_only = true
	WHERE scheduler_monitor_enable AND preemption_observe_only IS NULL
	RETURNING 1
)
INSERT INTO yquota.alert (kind, subject, detail, raised_at)
SELECT 'preemption_observes', 'scheduler_setting',
	   'Rounds of preemption compute, and kill nothing, because the update has set preemption_observe_only: set it to false, or to NULL, to have them kill.',
	   yquota.clock()
FROM observing
ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;
INSERT INTO yquota.scheduler_setting (end_expired_applications)
SELECT false
WHERE EXISTS (SELECT FROM yquota.application AS a WHERE a.finished_at IS NULL AND a.expires_at IS NOT NULL)
ON CONFLICT (only_row) DO UPDATE SET end_expired_applications = false;

-- Bills of periods that have been closed have grants as the present books tell of them.
DO $$
DECLARE
	closed record;
BEGIN
	FOR closed IN SELECT period.until FROM yquota.closed_period AS period WHERE period.closed_at IS NOT NULL ORDER BY period.until LOOP
		PERFORM yquota_internal.bill_credit(closed.until);
	END LOOP;
END
$$;
