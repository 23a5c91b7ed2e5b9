-- Budgets: credit that projects get every day, week, month, quarter or year.  Each period has one row of
-- yquota.quota_grant.  The worker or pg_cron inserts the row a day before the period begins.  No project therefore
-- lacks credit between midnight and the next run.

CREATE TABLE yquota.budget (
	project text COLLATE "C" NOT NULL REFERENCES yquota.project ON DELETE CASCADE,
	period text COLLATE "C" NOT NULL CHECK (period IN ('day', 'week', 'month', 'quarter', 'year')),
	amount numeric NOT NULL
		CHECK (amount > 0 AND amount <= 1e30 AND scale(amount) <= 66),
	rollover boolean NOT NULL DEFAULT false,
	starts_on date NOT NULL CHECK (isfinite(starts_on)),
	PRIMARY KEY (project, period)
);
COMMENT ON TABLE yquota.budget IS
	'Recurring credit of projects for each period, in the time zone of bills. A change of a budget applies from the first period that has not been granted';
COMMENT ON COLUMN yquota.budget.project IS 'primary key with period; references project';
COMMENT ON COLUMN yquota.budget.period IS 'day, week (from Monday on), month, quarter or year';
COMMENT ON COLUMN yquota.budget.amount IS 'credits per period, above 0, at most 10^30';
COMMENT ON COLUMN yquota.budget.rollover IS 'default false: credit left at the end of a period is lost; true: it can still be spent later';
COMMENT ON COLUMN yquota.budget.starts_on IS 'first day, default today, at most 4000 days ago (22023). The period that contains this day is granted in full, from this day on';

CREATE TABLE yquota_internal.budget_grant (
	project text COLLATE "C" NOT NULL,
	period text COLLATE "C" NOT NULL,
	starts_on date NOT NULL,
	grant_id bigint UNIQUE REFERENCES yquota.quota_grant ON DELETE SET NULL,
	PRIMARY KEY (project, period, starts_on)
);
COMMENT ON TABLE yquota_internal.budget_grant IS
	'Periods of budgets that have been granted; no period is granted twice, even if the budget changes';
COMMENT ON COLUMN yquota_internal.budget_grant.starts_on IS 'first day of the period';
COMMENT ON COLUMN yquota_internal.budget_grant.grant_id IS 'row of quota_grant; NULL when the owner has deleted it';

CREATE FUNCTION yquota_internal.period_start(period text, day date) RETURNS date
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN date_trunc(period, day::timestamp)::date;
COMMENT ON FUNCTION yquota_internal.period_start(text, date) IS 'Return the first day of the period that contains a day';

CREATE FUNCTION yquota_internal.next_period_start(period text, first_day date) RETURNS date
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN (first_day + CASE period WHEN 'quarter' THEN interval '3 months' ELSE concat('1 ', period)::interval END)::date;
COMMENT ON FUNCTION yquota_internal.next_period_start(text, date) IS 'Return the first day of the next period, given the first day of a period';

CREATE FUNCTION yquota_internal.grant_budgets(now_at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	zone text := yquota_internal.billing_timezone();
	budget yquota.budget;
	first_day date;
	next_day date;
	begins_at timestamptz;
	granted bigint := 0;
BEGIN
	-- grants of other transactions may not be visible yet; the worker retries later
	IF NOT yquota_internal.sees_commits() THEN
		RETURN 0;
	END IF;
	-- run one call at a time; readers do not wait
	LOCK TABLE yquota_internal.budget_grant IN SHARE ROW EXCLUSIVE MODE;
	FOR budget IN SELECT b.* FROM yquota.budget AS b ORDER BY b.project, b.period LOOP
		first_day := coalesce(
			(SELECT yquota_internal.next_period_start(budget.period, max(done.starts_on))
			 FROM yquota_internal.budget_grant AS done
			 WHERE done.project = budget.project AND done.period = budget.period),
			budget.starts_on);
		-- do not grant periods before the budget existed
		first_day := yquota_internal.period_start(budget.period, greatest(first_day, budget.starts_on));
		LOOP
			begins_at := yquota_internal.billing_day_start(greatest(first_day, budget.starts_on), zone);
			EXIT WHEN begins_at > now_at + interval '1 day';
			next_day := yquota_internal.next_period_start(budget.period, first_day);
			WITH given AS (
				INSERT INTO yquota.quota_grant (project, amount, reason, kind, external_id, valid_from, expires_at)
				VALUES (budget.project, budget.amount, format('budget of the %s from %s on', budget.period, to_char(first_day, 'YYYY-MM-DD')), 'budget',
						format('yquota budget: %s, %s from %s on', budget.project, budget.period, to_char(first_day, 'YYYY-MM-DD')), begins_at,
						CASE WHEN budget.rollover THEN 'infinity' ELSE yquota_internal.billing_day_start(next_day, zone) END)
				ON CONFLICT (external_id) DO NOTHING
				RETURNING quota_grant.grant_id
			)
			INSERT INTO yquota_internal.budget_grant (project, period, starts_on, grant_id)
			SELECT budget.project, budget.period, first_day, (SELECT given.grant_id FROM given);
			-- the grant also pays for past time; losses of other grants may be stored for this time, so delete them
			DELETE FROM yquota.expired_grant AS expired
			WHERE expired.expired_at > begins_at
			  AND (expired.project = budget.project
				   OR expired.project IN (SELECT family.ancestor FROM yquota_internal.project_family AS family
										  WHERE family.member = budget.project));
			granted := granted + 1;
			first_day := next_day;
		END LOOP;
	END LOOP;
	RETURN granted;
END
$$;
COMMENT ON FUNCTION yquota_internal.grant_budgets(timestamptz) IS
	'Grant the periods of budgets that begin at most a day after an instant and have not been granted.  Returns their number';

CREATE FUNCTION yquota_internal.keep_budget() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	today CONSTANT date := yquota_internal.billing_day(yquota.statement_clock(), yquota_internal.billing_timezone());
BEGIN
	NEW.starts_on := coalesce(NEW.starts_on, today);
	IF isfinite(NEW.starts_on) AND NEW.starts_on < today - 4000 AND NOT yquota_internal.restoring()
		AND (TG_OP = 'INSERT' OR NEW.starts_on IS DISTINCT FROM OLD.starts_on)
	THEN
		RAISE EXCEPTION 'budget cannot begin on %, more than 4000 days ago', NEW.starts_on
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Every period since then would be granted at once.';
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_budget() IS 'Set the first day of a budget to today if none is given.  Refuse a day so long ago that it must be a mistake';
CREATE TRIGGER keep BEFORE INSERT OR UPDATE ON yquota.budget
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_budget();

CREATE FUNCTION yquota_internal.grant_new_budget() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- a dump contains the grants of budgets
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.grant_budgets(yquota.statement_clock());
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.grant_new_budget() IS 'Grant the first period of a new budget at once';
CREATE TRIGGER grant_budgets AFTER INSERT ON yquota.budget
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.grant_new_budget();

SELECT pg_extension_config_dump('yquota.budget', '');
SELECT pg_extension_config_dump('yquota_internal.budget_grant', '');
