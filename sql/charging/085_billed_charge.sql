-- Charges on bills, with the quantities that were paid for.  Prices and outages decide which resource a charge pays
-- for, and may change later.  Bills must not change, so close_period() stores their charges.

CREATE TABLE yquota_internal.billed_charge (
	until timestamptz NOT NULL,
	charged_until timestamptz NOT NULL,
	project text COLLATE "C" NOT NULL,
	queue text COLLATE "C",
	username text COLLATE "C",
	application_id text COLLATE "C",
	resource_type text COLLATE "C",
	resource_seconds numeric NOT NULL,
	amount numeric NOT NULL
);
CREATE INDEX billed_charge_project_idx ON yquota_internal.billed_charge (project, until);
-- close_period() uses this index to find the charges that were billed for a period
CREATE INDEX billed_charge_charged_until_idx ON yquota_internal.billed_charge (charged_until);
COMMENT ON TABLE yquota_internal.billed_charge IS
	'Charges on the bills of a period, and corrections of earlier bills, by the resource type that was charged.  A correction is the change since the previous bills.  Append-only.  Rows with the same charged_until add up to the charges of that period';
COMMENT ON COLUMN yquota_internal.billed_charge.until IS 'end of the period of the bill';
COMMENT ON COLUMN yquota_internal.billed_charge.charged_until IS 'end of the period in which the resources were held; earlier than until for a correction';
COMMENT ON COLUMN yquota_internal.billed_charge.resource_type IS 'resource type that was charged; NULL for a part of the amount that the timelines do not explain';
COMMENT ON COLUMN yquota_internal.billed_charge.resource_seconds IS 'native units times seconds that were paid for; negative if a correction takes them back';
COMMENT ON COLUMN yquota_internal.billed_charge.amount IS 'credits; negative if a correction gives them back';

CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota_internal.billed_charge
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('Bills of the period have been issued.');

CREATE TABLE yquota_internal.archived_quantity (
	archived_through integer NOT NULL,
	period_from timestamptz NOT NULL,
	booked_after timestamptz NOT NULL,
	project text COLLATE "C" NOT NULL,
	queue text COLLATE "C",
	username text COLLATE "C",
	application_id text COLLATE "C",
	resource_type text COLLATE "C",
	resource_seconds numeric NOT NULL,
	amount numeric NOT NULL
);
CREATE INDEX archived_quantity_period_idx ON yquota_internal.archived_quantity (period_from);
COMMENT ON TABLE yquota_internal.archived_quantity IS
	'Archived ledger rows added up by billing period and by the resource type that was charged, for bills that are issued later';
COMMENT ON COLUMN yquota_internal.archived_quantity.archived_through IS 'as in opening_balance';
COMMENT ON COLUMN yquota_internal.archived_quantity.period_from IS 'as in archived_cost, but never infinity';
COMMENT ON COLUMN yquota_internal.archived_quantity.booked_after IS 'as in archived_cost';
COMMENT ON COLUMN yquota_internal.archived_quantity.resource_type IS 'as in billed_charge';
COMMENT ON COLUMN yquota_internal.archived_quantity.resource_seconds IS 'native units times seconds that were paid for';
COMMENT ON COLUMN yquota_internal.archived_quantity.amount IS 'credits';

SELECT pg_extension_config_dump('yquota_internal.billed_charge', '');
SELECT pg_extension_config_dump('yquota_internal.archived_quantity', '');
