--
-- Reports of this cluster for a database that reads several clusters (572_federated_cluster.sql).
-- Rows carry the name of the cluster.  The sums come from the functions behind the reports of this
-- cluster. Sums are per day in the time zone of bills, and include archived days.
--
-- The planner applies a condition on the day before any day is added up. It may do so behind the
-- security barrier, too, because comparing dates leaks nothing. The first day may be earlier than
-- the first charge. Ledger rows that roll_up_charges() has read have their days in rollup_day;
-- booked_at finds the other rows.
--

CREATE VIEW yquota_internal.charged_day AS
	SELECT days.first + number.n AS day
	FROM (
		SELECT yquota_internal.billing_day(least(
				(SELECT min(archived.quarter_hour) FROM yquota_internal.archived_cost AS archived),
				(SELECT min(known.day) FROM yquota_internal.rollup_day AS known),
				(SELECT min(charge."from") FROM yquota.charge
				 WHERE charge.booked_at >= (SELECT state.booked_from FROM yquota_internal.rollup_state AS state)),
				(SELECT min(reserved."from") FROM yquota.reservation_charge AS reserved),
				(SELECT min(container.settled_at) FROM yquota.container),
				(SELECT min(accruing."from") FROM yquota_internal.accruing_segment AS accruing)), zone.name) AS first,
			   yquota_internal.billing_day(yquota.statement_clock(), zone.name) AS last
		FROM yquota_internal.billing_zone AS zone
		-- keep the planner from computing the range again for each compared day
		OFFSET 0
	) AS days
	-- include tomorrow, because the time of an event may be ahead of the clock
	CROSS JOIN LATERAL generate_series(0, days.last + 1 - days.first) AS number (n);
COMMENT ON VIEW yquota_internal.charged_day IS
	'Days in the time zone of bills.  The first day is that of the first charge or earlier, and the last day is tomorrow';

CREATE VIEW yquota.charge_by_project_day WITH (security_barrier) AS
	SELECT yquota.cluster_name() AS cluster, charged.day, cost.project COLLATE "C" AS project, cost.amount
	FROM yquota_internal.charged_day AS charged
	CROSS JOIN LATERAL yquota.cost_by_day(charged.day, charged.day, '{project}') AS cost;
COMMENT ON VIEW yquota.charge_by_project_day IS
	'Cost of each day by project, including archived days and running containers.  A condition on the day makes queries fast';
COMMENT ON COLUMN yquota.charge_by_project_day.cluster IS 'cluster_name()';
COMMENT ON COLUMN yquota.charge_by_project_day.day IS 'date in the time zone of billing_setting';
COMMENT ON COLUMN yquota.charge_by_project_day.amount IS 'credits';

CREATE VIEW yquota.charge_by_queue_day WITH (security_barrier) AS
	SELECT yquota.cluster_name() AS cluster, charged.day, cost.project COLLATE "C" AS project,
		   cost.queue COLLATE "C" AS queue, cost.amount
	FROM yquota_internal.charged_day AS charged
	CROSS JOIN LATERAL yquota.cost_by_day(charged.day, charged.day, '{project,queue}') AS cost;
COMMENT ON VIEW yquota.charge_by_queue_day IS
	'Cost of each day by project and queue; otherwise like charge_by_project_day';
COMMENT ON COLUMN yquota.charge_by_queue_day.cluster IS 'cluster_name()';
COMMENT ON COLUMN yquota.charge_by_queue_day.day IS 'date in the time zone of billing_setting';
COMMENT ON COLUMN yquota.charge_by_queue_day.queue IS 'in charge_by_queue_day';
COMMENT ON COLUMN yquota.charge_by_queue_day.amount IS 'credits';

CREATE VIEW yquota.charge_by_user_day WITH (security_barrier) AS
	SELECT yquota.cluster_name() AS cluster, charged.day, cost.project COLLATE "C" AS project,
		   cost.username COLLATE "C" AS username, cost.amount
	FROM yquota_internal.charged_day AS charged
	CROSS JOIN LATERAL yquota.cost_by_day(charged.day, charged.day, '{project,username}') AS cost;
COMMENT ON VIEW yquota.charge_by_user_day IS
	'Cost of each day by project and user; otherwise like charge_by_project_day';
COMMENT ON COLUMN yquota.charge_by_user_day.cluster IS 'cluster_name()';
COMMENT ON COLUMN yquota.charge_by_user_day.day IS 'date in the time zone of billing_setting';
COMMENT ON COLUMN yquota.charge_by_user_day.username IS 'in charge_by_user_day';
COMMENT ON COLUMN yquota.charge_by_user_day.amount IS 'credits';

CREATE FUNCTION yquota_internal.period_bills(ends_at timestamptz)
	RETURNS TABLE (project text, starts_at timestamptz, closed_at timestamptz, charged numeric, corrected numeric)
	-- SECURITY DEFINER reads tables that readers of the view may not read
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	period record;
BEGIN
	SELECT * INTO period FROM yquota_internal.billed_period(period_bills.ends_at);
	RETURN QUERY
	SELECT line.project, period.starts_at, period.closed_at, trim_scale(sum(line.charged)), trim_scale(sum(line.corrected))
	FROM (SELECT cost.project, cost.amount AS charged, 0 AS corrected
		  FROM yquota_internal.booked_cost(period.starts_at, period_bills.ends_at, '{project}', period.closed_at) AS cost
		  UNION ALL
		  SELECT cost.project, 0, cost.amount
		  FROM yquota_internal.booked_cost('-infinity', period.starts_at, '{project}', period.closed_at, period.closed_before) AS cost) AS line
	GROUP BY line.project
	HAVING sum(line.charged) <> 0 OR sum(line.corrected) <> 0;
END
$$;
COMMENT ON FUNCTION yquota_internal.period_bills(timestamptz) IS
	'Return the amounts on the bills of a closed period by project: charges of the period, and corrections of earlier periods';

CREATE VIEW yquota.bill_by_project WITH (security_barrier) AS
	SELECT yquota.cluster_name() AS cluster,
		   date_trunc('month', (period.until - interval '1 microsecond') AT TIME ZONE zone.name)::date AS month,
		   bill.project COLLATE "C" AS project, bill.starts_at, period.until AS ends_at, bill.closed_at,
		   bill.charged, bill.corrected
	FROM yquota.closed_period AS period
	CROSS JOIN yquota_internal.billing_zone AS zone
	CROSS JOIN LATERAL yquota_internal.period_bills(period.until) AS bill
	WHERE period.closed_at IS NOT NULL
	  AND ((SELECT yquota_internal.reads_all())
		   OR bill.project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
COMMENT ON VIEW yquota.bill_by_project IS
	'Charges on bills of closed periods for each project itself, without its sub-projects: the lines charge and correction of bill(), with the opposite sign';
COMMENT ON COLUMN yquota.bill_by_project.cluster IS 'cluster_name()';
COMMENT ON COLUMN yquota.bill_by_project.month IS 'first day of the month in which the period ends, in the time zone of billing_setting';
COMMENT ON COLUMN yquota.bill_by_project.starts_at IS 'start of the period; -infinity for the first one';
COMMENT ON COLUMN yquota.bill_by_project.ends_at IS 'end of the period';
COMMENT ON COLUMN yquota.bill_by_project.closed_at IS 'as in closed_period';
COMMENT ON COLUMN yquota.bill_by_project.charged IS 'credits for the period';
COMMENT ON COLUMN yquota.bill_by_project.corrected IS 'credits that the bill adds to earlier bills; negative if it takes credits back';

CREATE VIEW yquota.cluster_status AS
	SELECT yquota.cluster_name() AS cluster, yquota.statement_clock() AS clock, mark.at AS charged_through,
		   (SELECT max(period.until) FROM yquota.closed_period AS period WHERE period.closed_at IS NOT NULL) AS closed_until,
		   zone.name AS timezone
	FROM yquota.charged_through AS mark
	CROSS JOIN yquota_internal.billing_zone AS zone;
COMMENT ON VIEW yquota.cluster_status IS
	'Status of this cluster, one row: its name and clock, and how far its reports go';
COMMENT ON COLUMN yquota.cluster_status.cluster IS 'cluster_name()';
COMMENT ON COLUMN yquota.cluster_status.charged_through IS 'the charged-through mark; NULL before the first QUOTA_COMPUTE';
COMMENT ON COLUMN yquota.cluster_status.closed_until IS 'end of the last closed period; NULL: none';
COMMENT ON COLUMN yquota.cluster_status.timezone IS 'time zone of bills; its midnights separate the days of this cluster''s reports';
