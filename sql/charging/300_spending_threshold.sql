-- Thresholds of spending are soft limits.  They report that little credit is left, but stop nothing.  The hard limit is
-- the whole credit.  When it is spent, decisions follow on_exhausted.  The worker looks for crossed thresholds
-- (worker/587_threshold_watch.sql).

CREATE TABLE yquota.spending_threshold (
	project text COLLATE "C" REFERENCES yquota.project ON DELETE CASCADE,
	fraction numeric CHECK (fraction > 0 AND fraction <= 10 AND scale(fraction) <= 6),
	remaining numeric CHECK (abs(remaining) <= 1e30 AND scale(remaining) <= 54),
	before_expiry interval CHECK (before_expiry > '0' AND before_expiry <= '10 years'),
	lasts_less_than interval CHECK (lasts_less_than > '0' AND lasts_less_than <= '10 years'),
	CHECK (num_nonnulls(fraction, remaining, before_expiry, lasts_less_than) = 1),
	UNIQUE NULLS NOT DISTINCT (project, fraction, remaining, before_expiry, lasts_less_than)
);
COMMENT ON TABLE yquota.spending_threshold IS
	'Thresholds at which an alert reports that little credit is left, and a notification is sent on channel yquota.  If no row sets fraction for all projects, the fractions are 0.5, 0.8 and 1';
COMMENT ON COLUMN yquota.spending_threshold.project IS 'references project; NULL for all projects that have no row of their own which sets the same threshold column';
COMMENT ON COLUMN yquota.spending_threshold.fraction IS 'part of the granted credit that has been spent: above 0, at most 10, at most 6 decimals. A value such as 80 is refused with the hint to write 0.8';
COMMENT ON COLUMN yquota.spending_threshold.remaining IS 'credits that are left, held or not: at least -10^30, at most 10^30, at most 54 decimals';
COMMENT ON COLUMN yquota.spending_threshold.before_expiry IS 'time before the expiry of a grant that still has credit: above 0, at most 10 years';
COMMENT ON COLUMN yquota.spending_threshold.lasts_less_than IS 'threshold for the time that credit lasts if spending continues as in the last 24 hours: above 0, at most 10 years';

COMMENT ON CONSTRAINT spending_threshold_check ON yquota.spending_threshold IS
	'A row sets exactly one of fraction, remaining, before_expiry and lasts_less_than. Insert a row for each.';

CREATE VIEW yquota_internal.known_threshold AS
	SELECT given.project, given.fraction, given.remaining, given.before_expiry, given.lasts_less_than,
		   CASE WHEN given.fraction IS NOT NULL THEN 'fraction'
				WHEN given.remaining IS NOT NULL THEN 'remaining'
				WHEN given.before_expiry IS NOT NULL THEN 'before_expiry'
				ELSE 'lasts_less_than' END AS measure
	FROM yquota.spending_threshold AS given
	UNION ALL
	SELECT NULL, shipped.fraction, NULL, NULL, NULL, 'fraction'
	FROM (VALUES (0.5), (0.8), (1)) AS shipped (fraction)
	WHERE NOT EXISTS (SELECT FROM yquota.spending_threshold AS every WHERE every.project IS NULL AND every.fraction IS NOT NULL);
COMMENT ON VIEW yquota_internal.known_threshold IS
	'Rows of spending_threshold, and the default fractions if no row sets fraction for all projects. Each row has the name of the column that it sets';

CREATE VIEW yquota_internal.project_threshold AS
	SELECT own.* FROM yquota_internal.known_threshold AS own
	WHERE own.project IS NOT NULL
	UNION ALL
	SELECT project.name, common.fraction, common.remaining, common.before_expiry, common.lasts_less_than, common.measure
	FROM yquota.project
	CROSS JOIN yquota_internal.known_threshold AS common
	WHERE common.project IS NULL
	  AND NOT EXISTS (SELECT FROM yquota_internal.known_threshold AS own
					  WHERE own.project = project.name AND own.measure = common.measure);
COMMENT ON VIEW yquota_internal.project_threshold IS
	'Thresholds in force for each project';

-- Credit that was spent in past months is not part of this month's credit.
CREATE VIEW yquota_internal.expired_credit AS
	SELECT expired.project, sum(expired.lost) AS lost, sum(greatest(given.amount, 0) - expired.lost - expired.taken) AS spent
	FROM yquota_internal.lost_credit AS expired
	JOIN yquota.quota_grant AS given ON given.grant_id = expired.grant_id
	GROUP BY expired.project;
COMMENT ON VIEW yquota_internal.expired_credit IS
	'Credits of grants that have expired by the clock: how many were lost, and how many the project had spent';

CREATE TABLE yquota_internal.told_crossing (
	alert_id bigint PRIMARY KEY,
	project text COLLATE "C" NOT NULL,
	fraction numeric,
	remaining numeric,
	before_expiry interval,
	lasts_less_than interval,
	grant_id bigint,
	causes text COLLATE "C" NOT NULL
);
COMMENT ON TABLE yquota_internal.told_crossing IS
	'Thresholds of the open alerts.  Thresholds before the expiry of a grant stay until the grant expires.  There is no foreign key, because administrators truncate yquota.alert';
COMMENT ON COLUMN yquota_internal.told_crossing.grant_id IS 'grant to which a threshold before_expiry applies';
COMMENT ON COLUMN yquota_internal.told_crossing.causes IS
	'result of crossing_causes() when the threshold was last found crossed.  The alert is not cleared while this result stays the same.  If it is empty, the alert is cleared as soon as the threshold is not crossed any more';

CREATE FUNCTION yquota_internal.crossing_causes(projects text[]) RETURNS TABLE (project text, causes text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH credit AS (
			SELECT life.project, count(*) AS begun, sum(life.amount) AS amount,
				   count(*) FILTER (WHERE life.amount > 0 AND life.expires_at <= yquota.statement_clock()) AS expired
			FROM yquota_internal.grant_life AS life
			WHERE life.project = ANY (projects)
			  AND life.valid_from <= yquota.statement_clock() AND yquota.statement_clock() < life.leaves_at
			GROUP BY life.project
		), member AS (
			SELECT p.project, p.project AS name FROM unnest(projects) AS p (project)
			UNION ALL
			SELECT family.ancestor, family.member
			FROM yquota_internal.project_family AS family WHERE family.ancestor = ANY (projects)
		), void AS (
			SELECT member.project, count(*) AS voids
			FROM member JOIN yquota.event_void ON event_void.project = member.name
			GROUP BY member.project
		), forgiven AS (
			SELECT member.project, count(*) AS outages, sum(extract(epoch FROM outage.ended_at - outage.started_at)) AS seconds
			FROM member JOIN yquota.outage ON outage.project = member.name AND outage.forgiven
			GROUP BY member.project
		)
		SELECT p.project, concat_ws(' ', credit.begun, credit.amount, credit.expired, coalesce(void.voids, 0),
									coalesce(forgiven.outages, 0), coalesce(forgiven.seconds, 0), of_all.outages, of_all.seconds)
		FROM unnest(projects) AS p (project)
		LEFT JOIN credit ON credit.project = p.project
		LEFT JOIN void ON void.project = p.project
		LEFT JOIN forgiven ON forgiven.project = p.project
		CROSS JOIN (SELECT count(*) AS outages, coalesce(sum(extract(epoch FROM outage.ended_at - outage.started_at)), 0) AS seconds
					FROM yquota.outage WHERE outage.project IS NULL AND outage.forgiven) AS of_all;
$$;
COMMENT ON FUNCTION yquota_internal.crossing_causes(text[]) IS
	'Return figures about the grants of projects that have begun or expired, about voided containers and forgiven time.  The result is a text that changes with each addition';

SELECT pg_extension_config_dump('yquota.spending_threshold', '');
SELECT pg_extension_config_dump('yquota_internal.told_crossing', '');
