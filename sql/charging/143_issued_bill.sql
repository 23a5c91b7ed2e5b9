--
-- Bills that have been issued.  close_period() issues a bill to each project, in the transaction in which it closes
-- the period.
--
CREATE TABLE yquota.issued_bill (
	project text COLLATE "C" NOT NULL,
	ends_at timestamptz NOT NULL,
	number text COLLATE "C" NOT NULL,
	cluster text COLLATE "C" NOT NULL,
	starts_at timestamptz NOT NULL,
	issued_at timestamptz NOT NULL,
	addressee text,
	cost_centre text,
	currency text COLLATE "C",
	symbol text,
	credits_per_unit numeric NOT NULL,
	places smallint NOT NULL,
	PRIMARY KEY (project, ends_at)
);
COMMENT ON TABLE yquota.issued_bill IS
	'Bills of closed periods: one row per project and period.  Append-only';
COMMENT ON COLUMN yquota.issued_bill.project IS 'key; name of the project when the bill was issued';
COMMENT ON COLUMN yquota.issued_bill.ends_at IS 'key; end of the period, as in billing_period';
COMMENT ON COLUMN yquota.issued_bill.number IS 'number of the bill, such as 2026-03/atlas, or 2026-03/north/atlas in a cluster that has a name. If the period is not a month, the number begins with the last day of the period: 2026-03-15/atlas';
COMMENT ON COLUMN yquota.issued_bill.cluster IS 'name of the cluster when the bill was issued';
COMMENT ON COLUMN yquota.issued_bill.starts_at IS 'end of the previous period; -infinity for the first period';
COMMENT ON COLUMN yquota.issued_bill.issued_at IS 'clock when the period was closed';
COMMENT ON COLUMN yquota.issued_bill.addressee IS 'billing_contact of the project when the bill was issued';
COMMENT ON COLUMN yquota.issued_bill.cost_centre IS 'cost_centre of the project when the bill was issued';
COMMENT ON COLUMN yquota.issued_bill.currency IS 'code of ISO 4217; NULL for a bill in credits';
COMMENT ON COLUMN yquota.issued_bill.symbol IS 'symbol of the currency; NULL for a bill in credits';
COMMENT ON COLUMN yquota.issued_bill.credits_per_unit IS 'credits that one unit of the currency buys; 1 for a bill in credits';
COMMENT ON COLUMN yquota.issued_bill.places IS 'decimals of rounded amounts; 2 for a bill in credits';

CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.issued_bill
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('Bills of the period have been issued.');
SELECT pg_extension_config_dump('yquota.issued_bill', '');
