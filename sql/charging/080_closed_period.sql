-- Closed billing periods.  No row of the ledger crosses the end of a closed period, and later postings are booked
-- after its closing (src/charging/container_life.h).

CREATE TABLE yquota.closed_period (
	until timestamptz PRIMARY KEY CHECK (isfinite(until)),
	begun_at timestamptz NOT NULL,
	closed_at timestamptz,
	amount numeric,
	closed_by name NOT NULL DEFAULT session_user,
	CHECK ((closed_at IS NULL) = (amount IS NULL))
);
COMMENT ON TABLE yquota.closed_period IS
	'Ends of billing periods that close_period() has closed or is closing.  Append-only';
COMMENT ON COLUMN yquota.closed_period.until IS 'primary key; instant at which the period ends and the next one begins. The first period begins at -infinity';
COMMENT ON COLUMN yquota.closed_period.begun_at IS 'clock when closing began; since then no charge crosses the end';
COMMENT ON COLUMN yquota.closed_period.closed_at IS 'instant up to which a row must have been booked (booked_at) to be on the bill; NULL until all containers are settled';
COMMENT ON COLUMN yquota.closed_period.amount IS 'credits for containers of all projects in the period, as booked by closed_at; verify() compares it with the ledger';
COMMENT ON COLUMN yquota.closed_period.closed_by IS 'the session''s user';

CREATE TRIGGER keep BEFORE DELETE OR TRUNCATE ON yquota.closed_period
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('Bills of the period have been issued.');
CREATE TRIGGER keep_closed BEFORE UPDATE ON yquota.closed_period
	FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL)
	EXECUTE FUNCTION yquota_internal.refuse_change('Bills of the period have been issued.');

CREATE VIEW yquota_internal.unsettled_at_period_end AS
	SELECT period.until, container.container_id
	FROM yquota.closed_period AS period
	JOIN yquota.container ON container.settled_at < period.until
	UNION ALL
	SELECT period.until, charge.container_id
	FROM yquota.closed_period AS period
	JOIN yquota_internal.charge_in_effect AS charge
		ON charge."from" < period.until AND charge."to" > period.until;
COMMENT ON VIEW yquota_internal.unsettled_at_period_end IS
	'Containers with a charge or an accrual that crosses the end of a period';

-- The table stores the losses of grants as they were when a bill was issued, because bills must not change.  Losses
-- follow from spending at instants within periods.  Later postings change this spending, and the books do not contain
-- the earlier state.
CREATE TABLE yquota_internal.billed_credit (
	until timestamptz NOT NULL,
	project text COLLATE "C" NOT NULL,
	grant_id bigint NOT NULL,
	granted numeric NOT NULL,
	lost numeric NOT NULL,
	reason text,
	PRIMARY KEY (project, until, grant_id)
);
COMMENT ON TABLE yquota_internal.billed_credit IS
	'Changes of the credit of projects that appear on the bill of a period.  Append-only.  The changes up to the end of a period add up to the project''s grants at that time';
COMMENT ON COLUMN yquota_internal.billed_credit.until IS 'end of the period';
COMMENT ON COLUMN yquota_internal.billed_credit.project IS 'owner of the credit';
COMMENT ON COLUMN yquota_internal.billed_credit.granted IS 'change of the grant''s amount compared with earlier bills, in credits; negative for credit that was taken back or now belongs to another project';
COMMENT ON COLUMN yquota_internal.billed_credit.lost IS 'credits left of the grant when it expired, minus the losses on earlier bills';
COMMENT ON COLUMN yquota_internal.billed_credit.reason IS 'reason of the grant; NULL when the owner has deleted it';

CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota_internal.billed_credit
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('Bills of the period have been issued.');

-- A ledger row may cover several nights, and its parts depend on the prices that were known when the period was
-- closed.  The division by calendars is therefore stored, too.
CREATE TABLE yquota_internal.billed_calendar (
	until timestamptz NOT NULL,
	project text COLLATE "C" NOT NULL,
	calendars text COLLATE "C" NOT NULL,
	amount numeric NOT NULL,
	PRIMARY KEY (project, until, calendars)
);
COMMENT ON TABLE yquota_internal.billed_calendar IS
	'Charges on the bill of a period, divided by the calendars that were open.  A period without calendars has no rows.  Append-only';
COMMENT ON COLUMN yquota_internal.billed_calendar.until IS 'end of the period';
COMMENT ON COLUMN yquota_internal.billed_calendar.calendars IS 'names of the calendars that were open, or an empty text for the rest of the time';
COMMENT ON COLUMN yquota_internal.billed_calendar.amount IS 'credits';

CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota_internal.billed_calendar
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('Bills of the period have been issued.');

SELECT pg_extension_config_dump('yquota_internal.billed_calendar', '');
SELECT pg_extension_config_dump('yquota.closed_period', '');
SELECT pg_extension_config_dump('yquota_internal.billed_credit', '');
