-- The tariff of each project: the prices of its containers, from all timelines that determine these prices.  The factor
-- of an application depends on the container; price_quote() includes it.

CREATE VIEW yquota.tariff WITH (security_barrier) AS
	WITH price AS MATERIALIZED (
		SELECT * FROM yquota.current_price
	), factor AS MATERIALIZED (
		SELECT coalesce(jsonb_object_agg(latest.name, latest.factor) FILTER (WHERE latest.dimension = 'label'), '{}') AS by_label,
			   coalesce(jsonb_object_agg(latest.name, latest.factor) FILTER (WHERE latest.dimension = 'queue'), '{}') AS by_queue,
			   coalesce(min(latest.factor) FILTER (WHERE latest.dimension = 'username'), 1) AS of_user,
			   coalesce(min(latest.factor) FILTER (WHERE latest.dimension = 'execution_type'), 1) AS of_guaranteed
		FROM (
			SELECT DISTINCT ON (f.dimension, f.name) f.dimension, f.name, f.factor
			FROM yquota.price_factor AS f
			WHERE (f.dimension IN ('label', 'queue') OR (f.dimension = 'execution_type' AND f.name = 'GUARANTEED')
				   OR (f.dimension = 'username' AND f.name = (SELECT yquota_internal.acting_role())::text))
			  AND f.effective_at <= yquota.statement_clock()
			ORDER BY f.dimension, f.name, f.effective_at DESC
		) AS latest
		WHERE latest.factor IS NOT NULL
	), rule AS MATERIALIZED (
		SELECT r.minimum_run_time, r.free_before_preemption, r.waiting_factor, r.reserved_factor, r.charging_mode
		FROM yquota.charging_rule AS r
		WHERE r.project = '' AND r.effective_at <= yquota.statement_clock()
		ORDER BY r.effective_at DESC
		LIMIT 1
	)
	SELECT project.name AS project, price.resource_type, price.price_group, price.base_price, price.unit,
		   price.multiplier, price.calendar_factor, price.calendar, price.price,
		   own.factor AS project_factor,
		   trim_scale(price.unit_hour_price * own.factor) AS unit_hour_price,
		   factor.by_queue AS queue_factors, factor.by_label AS label_factors, factor.of_user AS user_factor,
		   factor.of_guaranteed AS guaranteed_factor, price.opportunistic_factor,
		   coalesce(mode.charging_mode, rule.charging_mode, 'dearest') AS charging_mode,
		   coalesce(rule.minimum_run_time, '0') AS minimum_run_time,
		   coalesce(rule.free_before_preemption, '0') AS free_before_preemption,
		   coalesce(rule.waiting_factor, 0) AS waiting_factor,
		   coalesce(rule.reserved_factor, 0) AS reserved_factor,
		   price.next_multiplier, price.next_effective_at,
		   price.next_calendar_factor, price.next_calendar, price.next_calendar_effective_at
	FROM yquota.project AS project
	CROSS JOIN LATERAL (
		SELECT coalesce((SELECT f.factor FROM yquota.price_factor AS f
						 WHERE f.dimension = 'project' AND f.name = project.name AND f.effective_at <= yquota.statement_clock()
						 ORDER BY f.effective_at DESC
						 LIMIT 1), 1) AS factor
		OFFSET 0
	) AS own
	LEFT JOIN LATERAL (
		SELECT r.charging_mode FROM yquota.charging_rule AS r
		WHERE r.project = project.name AND r.effective_at <= yquota.statement_clock()
		ORDER BY r.effective_at DESC
		LIMIT 1
	) AS mode ON true
	LEFT JOIN rule ON true
	CROSS JOIN factor
	CROSS JOIN price
	WHERE (SELECT yquota_internal.reads_all())
	   OR project.name = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.tariff IS
	'Tariff of every project now: the price of each resource type and its parts, factors, charging rules, and the next known changes';
COMMENT ON COLUMN yquota.tariff.base_price IS 'credits per unit and second';
COMMENT ON COLUMN yquota.tariff.unit IS 'native units';
COMMENT ON COLUMN yquota.tariff.multiplier IS 'multiplier of the price group';
COMMENT ON COLUMN yquota.tariff.calendar_factor IS 'factor of the open calendar; 1 while no window is open';
COMMENT ON COLUMN yquota.tariff.calendar IS 'name of the calendar; NULL while no window is open';
COMMENT ON COLUMN yquota.tariff.price IS 'credits per native unit and second: multiplier * calendar_factor * base_price / unit, rounded half to even to 18 decimals';
COMMENT ON COLUMN yquota.tariff.project_factor IS 'factor of the project; 1 for none';
COMMENT ON COLUMN yquota.tariff.unit_hour_price IS 'credits for holding one unit (unit native units) for an hour, project_factor included';
COMMENT ON COLUMN yquota.tariff.queue_factors IS 'by queue: factor by which the price is multiplied in the queue and below it; the factor of the nearest queue applies; {} for none';
COMMENT ON COLUMN yquota.tariff.label_factors IS 'by label of the node: factor by which the price is multiplied on nodes with the label; {} for none';
COMMENT ON COLUMN yquota.tariff.user_factor IS 'factor of the user with the name of the role that reads the view; 1 for none';
COMMENT ON COLUMN yquota.tariff.guaranteed_factor IS 'factor by which the price of GUARANTEED containers is multiplied; 1 for none';
COMMENT ON COLUMN yquota.tariff.opportunistic_factor IS 'factor by which the price of OPPORTUNISTIC containers is multiplied; 1 for none';
COMMENT ON COLUMN yquota.tariff.charging_mode IS 'mode of the project, or else of all projects: which resource types of a container are charged';
COMMENT ON COLUMN yquota.tariff.minimum_run_time IS 'shortest life that a container pays for';
COMMENT ON COLUMN yquota.tariff.free_before_preemption IS 'time before the end of a preempted container that is free';
COMMENT ON COLUMN yquota.tariff.waiting_factor IS 'part of the price that a container pays while it waits';
COMMENT ON COLUMN yquota.tariff.reserved_factor IS 'part of the full price that a reservation pays';
COMMENT ON COLUMN yquota.tariff.next_multiplier IS 'multiplier published ahead; NULL if there is none';
COMMENT ON COLUMN yquota.tariff.next_effective_at IS 'start of next_multiplier';
COMMENT ON COLUMN yquota.tariff.next_calendar_factor IS 'calendar_factor from the next point on; NULL if there is no point within 14 days';
COMMENT ON COLUMN yquota.tariff.next_calendar IS 'name of the calendar of next_calendar_factor; NULL if no window is open then';
COMMENT ON COLUMN yquota.tariff.next_calendar_effective_at IS 'start of next_calendar_factor';
