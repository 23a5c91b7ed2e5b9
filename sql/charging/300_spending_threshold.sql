--
-- Thresholds of spending are soft limits: they report that a share of the granted credit has
-- been spent, and stop nothing.  The hard limit is the whole credit, where on_exhausted names
-- the action of decisions.
--
-- At each compute interval the worker finds thresholds crossed since the last interval, raises
-- an alert, and notifies listeners.  Open alerts are the only record of reported crossings.
-- So each crossing is reported once, by any session and at any later time.
--
-- Late events can move spending below a threshold and over it again, so they clear no alert.
-- An alert is cleared when spending is below the threshold after a change with that purpose.
-- Such changes are a grant, a new threshold, a void, and forgiven time.
--

CREATE TABLE yquota.spending_threshold (
	project text COLLATE "C" REFERENCES yquota.project ON DELETE CASCADE,
	fraction numeric NOT NULL CHECK (fraction > 0 AND fraction <= 10 AND scale(fraction) <= 6),
	UNIQUE NULLS NOT DISTINCT (project, fraction)
);
COMMENT ON TABLE yquota.spending_threshold IS
	'Fractions of the granted credit at which an alert is raised and channel yquota notified.  Without a row they are 0.5, 0.8 and 1 for every project';
COMMENT ON COLUMN yquota.spending_threshold.project IS 'references project; NULL: all projects without rows of their own';
COMMENT ON COLUMN yquota.spending_threshold.fraction IS 'above 0, at most 10, at most 6 decimals; unique with project. 80 is refused with the hint to write 0.8';

-- A trigger checks the range, because a CHECK cannot give a hint.
CREATE FUNCTION yquota_internal.refuse_percent() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	value CONSTANT numeric := to_jsonb(NEW) ->> TG_ARGV[0];
BEGIN
	RAISE EXCEPTION '% of % in "%" is above 10', TG_ARGV[0], value, TG_TABLE_NAME
		USING ERRCODE = 'check_violation',
			HINT = format('The value is a fraction: write %s for %s percent.', trim_scale(value / 100), value);
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_percent() IS
	'Refuse a row in which a fraction, the argument of the trigger, looks like a percentage';
CREATE TRIGGER refuse_percent BEFORE INSERT OR UPDATE ON yquota.spending_threshold
	FOR EACH ROW WHEN (NEW.fraction > 10 AND NEW.fraction <> 'NaN') EXECUTE FUNCTION yquota_internal.refuse_percent('fraction');

CREATE VIEW yquota_internal.project_threshold AS
	SELECT own.project, own.fraction
	FROM yquota.spending_threshold AS own
	WHERE own.project IS NOT NULL
	UNION ALL
	SELECT project.name, common.fraction
	FROM yquota.project
	CROSS JOIN (
		SELECT every.fraction FROM yquota.spending_threshold AS every WHERE every.project IS NULL
		UNION ALL
		SELECT shipped.fraction FROM (VALUES (0.5), (0.8), (1)) AS shipped (fraction)
		WHERE NOT EXISTS (SELECT FROM yquota.spending_threshold AS every WHERE every.project IS NULL)
	) AS common
	WHERE NOT EXISTS (SELECT FROM yquota.spending_threshold AS own WHERE own.project = project.name);
COMMENT ON VIEW yquota_internal.project_threshold IS
	'Thresholds in force for each project';

CREATE VIEW yquota_internal.moved_credit AS
	SELECT moved.takes_from AS grant_id, - sum(moved.amount) AS amount
	FROM yquota.quota_grant AS moved
	WHERE moved.takes_from IS NOT NULL
	GROUP BY moved.takes_from;
COMMENT ON VIEW yquota_internal.moved_credit IS
	'Credits of grants that transfers moved when they were made';

-- Sums the spent credit of past months, which is no part of this month's credit.
CREATE VIEW yquota_internal.spent_of_expired_grants AS
	SELECT expired.project, sum(greatest(given.amount, 0) - expired.lost - coalesce(moved.amount, 0)) AS spent
	FROM yquota_internal.lost_credit AS expired
	JOIN yquota.quota_grant AS given ON given.grant_id = expired.grant_id
	LEFT JOIN yquota_internal.moved_credit AS moved ON moved.grant_id = expired.grant_id
	GROUP BY expired.project;
COMMENT ON VIEW yquota_internal.spent_of_expired_grants IS
	'Credits that projects spent from grants that have expired by the clock';

CREATE VIEW yquota_internal.crossed_threshold AS
	SELECT project.name AS project,
		   threshold.fraction,
		   threshold.fraction >= 1 AND project.quota_mode = 'PREPAID' AND project.on_exhausted <> 'allow'
		   AND (project.credit_limit = 0 OR (threshold.fraction - 1) * balance.granted >= project.credit_limit) AS hard,
		   -- truncate the name, because an index limits the length of the subject
		   concat(left(project.name, 600), ' ', trim_scale(threshold.fraction * 100), ' %') AS subject,
		   balance.granted,
		   balance.spent
	FROM yquota_internal.granted_credit AS credit
	JOIN yquota.project ON project.name = credit.project
	LEFT JOIN yquota_internal.spending ON spending.project = credit.project
	LEFT JOIN yquota_internal.spent_of_expired_grants AS expired ON expired.project = credit.project
	-- compute this once for all thresholds
	CROSS JOIN LATERAL (
		SELECT trim_scale(credit.granted - coalesce(expired.spent, 0)) AS granted,
			   trim_scale(coalesce(spending.charged + spending.accrued, 0) - coalesce(expired.spent, 0)) AS spent
		OFFSET 0
	) AS balance
	JOIN yquota_internal.project_threshold AS threshold
		ON threshold.project = project.name AND balance.spent >= threshold.fraction * balance.granted;
COMMENT ON VIEW yquota_internal.crossed_threshold IS
	'Thresholds that spending has reached by the clock, of projects with granted credit.  Spending paid by expired grants is left out of both spent and granted';

CREATE TABLE yquota_internal.told_crossing (
	alert_id bigint PRIMARY KEY,
	project text COLLATE "C" NOT NULL,
	fraction numeric NOT NULL,
	causes text COLLATE "C" NOT NULL
);
COMMENT ON TABLE yquota_internal.told_crossing IS
	'Thresholds with open alerts.  No foreign key, because administrators truncate yquota.alert';
COMMENT ON COLUMN yquota_internal.told_crossing.causes IS
	'result of crossing_causes() when spending was last seen at or above the threshold; while it stays the same, the alert is not cleared';

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
	'Return grants of projects that have begun and expired, voided containers and forgiven time, as text that changes with each addition';

-- Sets ROWS, because the planner overestimates the number of crossings by far.
CREATE FUNCTION yquota_internal.crossed_thresholds() RETURNS SETOF yquota_internal.crossed_threshold
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1000
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- a plan made for few grants does not suit many
	RETURN QUERY EXECUTE 'SELECT crossed.* FROM yquota_internal.crossed_threshold AS crossed';
END
$$;
COMMENT ON FUNCTION yquota_internal.crossed_thresholds() IS 'Return the rows of crossed_threshold';

CREATE FUNCTION yquota_internal.note_crossings(now_at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- in most calls nothing has been crossed, which the planner cannot know
	SET jit = off
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found bigint;
BEGIN
	-- reports of other transactions may be invisible; the worker retries later
	IF NOT yquota_internal.sees_commits() THEN
		RETURN 0;
	END IF;
	-- run one call at a time; transactions that change or read thresholds do not wait
	LOCK TABLE yquota.spending_threshold IN SHARE UPDATE EXCLUSIVE MODE;
	WITH crossed AS MATERIALIZED (
		SELECT c.* FROM yquota_internal.crossed_thresholds() AS c
	), told_before AS MATERIALIZED (
		SELECT alert.alert_id, alert.subject, known.project, known.fraction, known.causes
		FROM yquota.alert
		LEFT JOIN yquota_internal.told_crossing AS known ON known.alert_id = alert.alert_id
		WHERE alert.kind = 'spending_threshold' AND alert.cleared_at IS NULL
	), cause AS MATERIALIZED (
		SELECT c.project, c.causes
		FROM yquota_internal.crossing_causes(ARRAY(SELECT crossed.project FROM crossed
												   UNION SELECT t.project FROM told_before AS t WHERE t.project IS NOT NULL)) AS c
	), forgotten AS (
		DELETE FROM yquota_internal.told_crossing AS known
		WHERE NOT EXISTS (SELECT FROM told_before AS t WHERE t.alert_id = known.alert_id)
	), below AS (
		UPDATE yquota.alert SET cleared_at = now_at
		FROM told_before AS t LEFT JOIN cause ON cause.project = t.project
		WHERE alert.alert_id = t.alert_id
		  AND NOT EXISTS (SELECT FROM crossed WHERE crossed.subject = t.subject)
		  AND (t.causes IS DISTINCT FROM cause.causes
			   OR NOT EXISTS (SELECT FROM yquota_internal.project_threshold AS threshold
							  WHERE threshold.project = t.project AND threshold.fraction = t.fraction))
	), raised AS (
		INSERT INTO yquota.alert (kind, subject, detail, raised_at, figures)
		SELECT 'spending_threshold', crossed.subject,
			   concat(CASE WHEN crossed.granted = 0 AND crossed.spent = 0
						   THEN format('All that was granted to project "%s" has expired or been taken back.', crossed.project)
						   ELSE format('Project "%s" has spent %s of the %s credits granted to it.',
									   crossed.project, round(crossed.spent, 2), round(crossed.granted, 2)) END,
					  CASE WHEN crossed.hard THEN format(' Its on_exhausted is %s.', project.on_exhausted) END),
			   now_at,
			   jsonb_build_object(
				   'project', crossed.project, 'threshold', trim_scale(crossed.fraction), 'hard', crossed.hard,
				   'spent', crossed.spent, 'granted', crossed.granted,
				   'remaining', trim_scale(crossed.granted - crossed.spent - coalesce(
					   (SELECT holds.held FROM yquota_internal.held_credit AS holds
						WHERE holds.project = crossed.project), 0)))
		FROM crossed JOIN yquota.project ON project.name = crossed.project
		-- skip reported crossings, which are nearly all
		WHERE NOT EXISTS (SELECT FROM yquota.alert AS open
						  WHERE open.kind = 'spending_threshold' AND open.cleared_at IS NULL
							AND open.subject = crossed.subject)
		ORDER BY crossed.project, crossed.fraction
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING
		RETURNING alert_id, subject
	), noted AS (
		INSERT INTO yquota_internal.told_crossing AS known (alert_id, project, fraction, causes)
		SELECT t.alert_id, crossed.project, crossed.fraction, cause.causes
		FROM (SELECT raised.alert_id, raised.subject, NULL AS causes FROM raised
			  UNION ALL
			  SELECT told_before.alert_id, told_before.subject, told_before.causes FROM told_before) AS t
		JOIN crossed ON crossed.subject = t.subject
		JOIN cause ON cause.project = crossed.project
		WHERE cause.causes IS DISTINCT FROM t.causes
		ON CONFLICT (alert_id) DO UPDATE SET causes = excluded.causes
	), told AS MATERIALIZED (
		-- notify only the id: every role may listen, but not every role may read the alert
		SELECT pg_notify('yquota', jsonb_build_object('kind', 'spending_threshold', 'alert_id', message.alert_id)::text)
		FROM (SELECT * FROM raised ORDER BY raised.alert_id) AS message
	)
	SELECT count(told) INTO found FROM told;
	RETURN found;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_crossings(timestamptz) IS
	'Raise an alert and notify channel yquota for every threshold crossed since the last look.  Clear alerts whose spending is lower again after a grant, another threshold, a void or a forgiveness.  Returns how many were crossed';

SELECT pg_extension_config_dump('yquota.spending_threshold', '');
SELECT pg_extension_config_dump('yquota_internal.told_crossing', '');
