--
-- Views to be looked at: they fit into a hundred columns, and amounts are
-- rounded.  Exact ones are in the views that these are made of.
--

CREATE VIEW yquota.balance_overview WITH (security_barrier) AS
	SELECT balance.project,
		   CASE WHEN balance.quota_mode <> 'NOLIMIT' THEN round(balance.granted) END AS granted,
		   round(balance.charged + balance.accrued) AS spent,
		   round(balance.held) AS held,
		   CASE WHEN balance.quota_mode <> 'NOLIMIT' THEN round(balance.remaining) END AS remaining,
		   round(balance.burn_rate * 3600, 2) AS per_hour,
		   to_char(balance.exhausted_at, 'YYYY-MM-DD HH24:MI') AS lasts_until
	FROM yquota.project_balance AS balance;
COMMENT ON VIEW yquota.balance_overview IS
	'Balances to be looked at, rounded to credits; project_balance has the exact ones';
COMMENT ON COLUMN yquota.balance_overview.granted IS 'credits; NULL for a project without a limit';
COMMENT ON COLUMN yquota.balance_overview.spent IS 'credits, running containers up to the clock included';
COMMENT ON COLUMN yquota.balance_overview.held IS 'credits set aside for applications';
COMMENT ON COLUMN yquota.balance_overview.remaining IS 'credits; NULL for a project without a limit';
COMMENT ON COLUMN yquota.balance_overview.per_hour IS 'credits that running containers cost in an hour at the present prices';
COMMENT ON COLUMN yquota.balance_overview.lasts_until IS 'when credit is used up at that rate, in the time zone of the session; NULL for never';

CREATE VIEW yquota.price_overview AS
	SELECT price.resource_type, price.price_group, round(price.multiplier, 4) AS multiplier,
		   round(price.price * price.unit * 3600, 4) AS unit_hour, price.unit,
		   CASE WHEN isfinite(price.effective_at) THEN to_char(price.effective_at, 'YYYY-MM-DD HH24:MI') END AS since
	FROM yquota.current_price AS price;
COMMENT ON VIEW yquota.price_overview IS
	'Prices to be looked at, rounded; current_price has the exact ones';
COMMENT ON COLUMN yquota.price_overview.unit_hour IS 'credits for holding one unit for an hour';
COMMENT ON COLUMN yquota.price_overview.unit IS 'how many native units that is';
COMMENT ON COLUMN yquota.price_overview.since IS 'in the time zone of the session; NULL when it has always been so';
