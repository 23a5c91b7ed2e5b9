-- Costs in the columns of FOCUS, the FinOps Open Cost and Usage Specification, version 1.2.
--
-- Every row of the ledgers is a charge.  So are the accruals of running containers and reservations, and the changes of
-- credit on bills.  Prices are in credits, a virtual currency.  A bill has a national currency, into which its charges
-- are converted.  One unit of the currency buys credits_per_unit credits.
--
-- A charge is on the bill of the period in which it ends (charging/535_bill.sql).  If that period was closed before the
-- charge was booked, the charge is on the next bill, and corrects the bill of its own period.

-- A period that has not been closed is divided into months, because most bills are those of months.  The first period
-- has no beginning.  FOCUS demands one, so the view lets this period begin with the month in which the period ends.
CREATE VIEW yquota_internal.focus_period AS
	WITH closed AS MATERIALIZED (
		SELECT period.until AS ends_at, coalesce(period.closed_at, 'infinity') AS closed_at
		FROM yquota.closed_period AS period
	), open AS (
		SELECT yquota_internal.billing_day_start((first.month + number * interval '1 month')::date, zone.name) AS starts_at,
			   yquota_internal.billing_day_start((first.month + (number + 1) * interval '1 month')::date, zone.name) AS ends_at
		FROM yquota_internal.billing_zone AS zone
		CROSS JOIN LATERAL (
			SELECT date_trunc('month', coalesce((SELECT max(closed.ends_at) FROM closed), '1970-01-01 00:00:00+00') AT TIME ZONE zone.name) AS month
		) AS first
		CROSS JOIN LATERAL (
			-- add a month, because events may be a little ahead of the clock
			SELECT greatest(extract(year FROM span.length) * 12 + extract(month FROM span.length), 0) + 1 AS months
			FROM (SELECT age(date_trunc('month', yquota.statement_clock() AT TIME ZONE zone.name), first.month) AS length) AS span
		) AS until_now
		CROSS JOIN LATERAL generate_series(0, until_now.months::integer) AS number
	), currency AS MATERIALIZED (
		-- amounts before the first currency are converted as if this currency had been in force
		SELECT known.code, known.credits_per_unit,
			   row_number() OVER timeline = 1 AS is_first, known.effective_at,
			   lead(known.effective_at, 1, 'infinity') OVER timeline AS until
		FROM yquota.billing_currency AS known
		WINDOW timeline AS (ORDER BY known.effective_at)
	)
	SELECT row_number() OVER (ORDER BY period.ends_at)::integer AS number, period.starts_at, period.ends_at, period.closed_at,
		   currency.code, currency.credits_per_unit
	FROM (SELECT lag(closed.ends_at, 1, yquota_internal.billing_day_start(
					date_trunc('month', (closed.ends_at - interval '1 microsecond') AT TIME ZONE zone.name)::date, zone.name))
					OVER (ORDER BY closed.ends_at) AS starts_at,
				 closed.ends_at, closed.closed_at
		  FROM closed CROSS JOIN yquota_internal.billing_zone AS zone
		  UNION ALL
		  SELECT greatest(open.starts_at, (SELECT max(closed.ends_at) FROM closed)), open.ends_at, 'infinity'
		  FROM open
		  WHERE open.ends_at > ALL (SELECT closed.ends_at FROM closed)) AS period
	JOIN currency ON (currency.is_first OR currency.effective_at < period.ends_at) AND currency.until >= period.ends_at;
COMMENT ON VIEW yquota_internal.focus_period IS
	'Billing periods of focus_cost: closed periods, and months since then.  Each period has the currency in force at its last instant.  There are no rows if bills have no currency';

-- The planner expects few rows from functions, and does not plan their queries again for each query of a reader.
CREATE FUNCTION yquota_internal.focus_periods()
	RETURNS TABLE (number integer, starts_at timestamptz, ends_at timestamptz, closed_at timestamptz, code text, credits_per_unit numeric)
	-- lets readers of a view get rows of tables that they may not read
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 50
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	IF NOT EXISTS (SELECT FROM yquota.billing_currency) THEN
		RAISE EXCEPTION 'no currency of bills has been set'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'BillingCurrency of FOCUS is a code of ISO 4217, which credits do not have.',
				HINT = 'Insert a row into yquota.billing_currency, with the code of the currency and the credits that one unit buys.';
	END IF;
	RETURN QUERY
	SELECT period.number, period.starts_at, period.ends_at, period.closed_at, period.code, period.credits_per_unit
	FROM yquota_internal.focus_period AS period;
END
$$;
COMMENT ON FUNCTION yquota_internal.focus_periods() IS
	'Return the rows of focus_period, or raise an error if bills have no currency';

CREATE VIEW yquota_internal.focus_sku AS
	SELECT type.name, type.price_group, unit.meter,
		   unit.name || '-Hours' AS pricing_unit, unit.per_hour * 3600 AS pricing_divisor,
		   unit.native_name || '-Seconds' AS consumed_unit,
		   jsonb_build_object('x_PriceGroup', type.price_group) AS details
	FROM yquota.resource_type AS type
	CROSS JOIN LATERAL (
		SELECT CASE WHEN type.name = 'memory-mb' THEN 'Memory' WHEN known.unit = type.name THEN type.name ELSE named.unit END || ' Usage' AS meter,
			   CASE WHEN known.unit = type.name THEN 'Unit' ELSE named.unit END AS name,
			   CASE WHEN type.name = 'memory-mb' THEN 'MiB' WHEN known.unit = type.name OR known.size > 1 THEN 'Unit' ELSE named.unit END AS native_name,
			   known.size AS per_hour
		FROM (SELECT yquota_internal.resource_unit(type.name) AS unit, yquota_internal.resource_unit_size(type.name) AS size) AS known
		-- names of units begin with a capital letter in FOCUS
		CROSS JOIN LATERAL (SELECT upper(left(known.unit, 1) COLLATE "C") || substr(known.unit, 2) AS unit) AS named
	) AS unit;
COMMENT ON VIEW yquota_internal.focus_sku IS
	'Resource types as the SKUs of focus_cost, with the units of their quantities';

-- The credit of closed periods comes from their bills.  Later changes of credit are the differences between the present
-- books and all bills, as the next closing would compute them.
CREATE VIEW yquota_internal.focus_credit AS
	WITH period AS MATERIALIZED (
		SELECT known.number, known.starts_at, known.ends_at, known.closed_at FROM yquota_internal.focus_periods() AS known
	), billed AS (
		SELECT credit.project, credit.grant_id, side.is_loss, credit.until AS at, side.amount
		FROM yquota_internal.billed_credit AS credit
		CROSS JOIN LATERAL (VALUES (false, credit.granted), (true, - credit.lost)) AS side (is_loss, amount)
	), change AS (
		SELECT billed.*, true AS is_billed FROM billed WHERE billed.amount <> 0
		UNION ALL
		SELECT present.project, present.grant_id, present.is_loss, max(present.at), trim_scale(sum(present.amount)), false
		FROM (SELECT life.project, life.grant_id, false AS is_loss, life.begins_at AS at, life.amount
			  FROM yquota_internal.grant_life AS life
			  WHERE life.begins_at <= yquota.statement_clock() AND life.leaves_at > yquota.statement_clock()
			  UNION ALL
			  SELECT life.project, life.grant_id, true, life.loses_at, - lost.lost
			  FROM yquota_internal.lost_credit AS lost
			  JOIN yquota_internal.grant_life AS life ON life.grant_id = lost.grant_id AND life.project = lost.project
			  UNION ALL
			  SELECT billed.project, billed.grant_id, billed.is_loss, billed.at, - billed.amount FROM billed) AS present
		GROUP BY present.project, present.grant_id, present.is_loss
		HAVING sum(present.amount) <> 0
	)
	SELECT change.project, change.is_loss, change.amount, given.kind, given.reason,
		   period.starts_at, period.ends_at, least(period.closed_at, yquota.statement_clock()) AS booked_at,
		   row_number() OVER (PARTITION BY change.project, change.grant_id, change.is_loss ORDER BY period.number) > 1
		   OR given.kind IN ('refund', 'correction') AND NOT change.is_loss AND period.number > 1 AND books.first_open > 1 AS is_correction
	FROM change
	CROSS JOIN (SELECT array_agg(p.ends_at ORDER BY p.number) AS ends,
					   1 + count(*) FILTER (WHERE p.closed_at < 'infinity')::integer AS first_open
				FROM period AS p) AS books
	JOIN period ON period.number = CASE WHEN change.is_billed THEN width_bucket(change.at - interval '1 microsecond', books.ends) + 1
		ELSE least(greatest(width_bucket(change.at, books.ends) + 1, books.first_open), cardinality(books.ends)) END
	LEFT JOIN yquota.quota_grant AS given ON given.grant_id = change.grant_id;
COMMENT ON VIEW yquota_internal.focus_credit IS
	'Changes of the credit of projects in the billing periods of focus_cost: grants, and credit that expired (is_loss)';

CREATE FUNCTION yquota_internal.focus_credits()
	RETURNS TABLE (project text, is_loss boolean, amount numeric, kind text, reason text, starts_at timestamptz, ends_at timestamptz,
				   booked_at timestamptz, is_correction boolean)
	-- lets readers of a view get rows of tables that they may not read
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 100
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	SELECT credit.project, credit.is_loss, credit.amount, credit.kind, credit.reason, credit.starts_at, credit.ends_at, credit.booked_at, credit.is_correction
	FROM yquota_internal.focus_credit AS credit;
END
$$;
COMMENT ON FUNCTION yquota_internal.focus_credits() IS
	'Return the rows of focus_credit';

CREATE VIEW yquota.focus_cost WITH (security_barrier) AS
	WITH period AS MATERIALIZED (
		SELECT known.* FROM yquota_internal.focus_periods() AS known
	)
	SELECT NULL::text AS "AvailabilityZone",
		   cost.billed AS "BilledCost",
		   cluster.name AS "BillingAccountId",
		   cluster.name AS "BillingAccountName",
		   'Cluster' AS "BillingAccountType",
		   terms.code AS "BillingCurrency",
		   bill.ends_at AS "BillingPeriodEnd",
		   bill.starts_at AS "BillingPeriodStart",
		   entry.reservation_id AS "CapacityReservationId",
		   NULL::text AS "CapacityReservationStatus",
		   entry.category AS "ChargeCategory",
		   CASE WHEN entry.is_credit_correction OR place.own < place.billed THEN 'Correction' END AS "ChargeClass",
		   CASE WHEN entry.is_reversal THEN 'Reversal of ' ELSE '' END
		   || CASE WHEN entry.category = 'Credit' THEN entry.purpose
				   WHEN entry.reservation_id IS NOT NULL THEN concat('reservation ', entry.reservation_id, ', priced by ', sku.name)
				   ELSE concat(entry.purpose, ' of container ', entry.container_id, ', priced by ', sku.name) END AS "ChargeDescription",
		   entry.frequency AS "ChargeFrequency",
		   entry.ends_at AS "ChargePeriodEnd",
		   entry.starts_at AS "ChargePeriodStart",
		   NULL::text AS "CommitmentDiscountCategory",
		   NULL::text AS "CommitmentDiscountId",
		   NULL::text AS "CommitmentDiscountName",
		   NULL::numeric AS "CommitmentDiscountQuantity",
		   NULL::text AS "CommitmentDiscountStatus",
		   NULL::text AS "CommitmentDiscountType",
		   NULL::text AS "CommitmentDiscountUnit",
		   CASE WHEN entry.category <> 'Usage' THEN NULL WHEN entry.is_used THEN trim_scale(quantity.native) ELSE 0 END AS "ConsumedQuantity",
		   CASE WHEN entry.category = 'Usage' THEN coalesce(sku.consumed_unit, 'Unit-Seconds') END AS "ConsumedUnit",
		   cost.billed AS "ContractedCost",
		   price.billed AS "ContractedUnitPrice",
		   cost.billed AS "EffectiveCost",
		   invoice.number AS "InvoiceId",
		   cluster.name AS "InvoiceIssuerName",
		   cost.billed AS "ListCost",
		   price.billed AS "ListUnitPrice",
		   CASE WHEN entry.category <> 'Credit' THEN 'Dynamic' END AS "PricingCategory",
		   'credits' AS "PricingCurrency",
		   price.credits AS "PricingCurrencyContractedUnitPrice",
		   trim_scale(entry.amount) AS "PricingCurrencyEffectiveCost",
		   price.credits AS "PricingCurrencyListUnitPrice",
		   trim_scale(yquota_internal.divide_half_even(quantity.native, quantity.per_unit, 18)) AS "PricingQuantity",
		   CASE WHEN entry.category <> 'Credit' THEN coalesce(sku.pricing_unit, 'Unit-Hours') END AS "PricingUnit",
		   cluster.name AS "ProviderName",
		   cluster.name AS "PublisherName",
		   NULL::text AS "RegionId",
		   NULL::text AS "RegionName",
		   coalesce(entry.container_id, entry.reservation_id) AS "ResourceId",
		   NULL::text AS "ResourceName",
		   CASE WHEN entry.container_id IS NOT NULL THEN 'Container' WHEN entry.reservation_id IS NOT NULL THEN 'Reservation' END AS "ResourceType",
		   'Compute' AS "ServiceCategory",
		   'Cluster Resources' AS "ServiceName",
		   'Containers' AS "ServiceSubcategory",
		   held.name AS "SkuId",
		   CASE WHEN held.name IS NOT NULL THEN coalesce(sku.meter, held.name || ' Usage') END AS "SkuMeter",
		   sku.details AS "SkuPriceDetails",
		   nullif(concat_ws('/', sku.price_group, held.name), '') AS "SkuPriceId",
		   entry.project AS "SubAccountId",
		   entry.project AS "SubAccountName",
		   'Project' AS "SubAccountType",
		   -- FOCUS has true for a tag without a value
		   CASE WHEN jsonb_path_exists(tagged.tags, '$.* ? (@ == "")')
				THEN (SELECT jsonb_object_agg(tag.key, CASE WHEN tag.value = '""' THEN 'true' ELSE tag.value END) FROM jsonb_each(tagged.tags) AS tag)
				ELSE nullif(tagged.tags, '{}') END AS "Tags",
		   entry.application_id AS "x_ApplicationId",
		   corrected_invoice.number AS "x_CorrectedInvoiceId",
		   entry.execution_type::text AS "x_ExecutionType",
		   nullif(label.label, '') AS "x_NodeLabel",
		   entry.node AS "x_NodeName",
		   entry.queue AS "x_Queue",
		   entry.username AS "x_UserName"
	-- Charges in credits: rows of the ledgers, accruals up to the clock, and changes of credit. counts_until is the end
	-- by which a charge belongs to a billing period. is_used is false for padding, waits and reservations, which are
	-- paid but not used.  A view in place of this function would have dependencies for each column, and pg_dump would
	-- follow all of them.
	FROM (
		SELECT charge.project, 'Usage' AS category, 'Usage-Based' AS frequency,
			   CASE WHEN charge.padding IS NULL THEN 'use' ELSE 'minimum run time' END AS purpose,
			   charge.corrects IS NOT NULL AS is_reversal, false AS is_credit_correction,
			   charge.container_id, NULL::text COLLATE "C" AS reservation_id, charge.application_id, charge.username, charge.queue, charge.node,
			   charge.execution_type, charge.allocation, charge.dominant,
			   charge."from" AS starts_at, CASE WHEN charge.padding IS NULL THEN charge."to" ELSE charge."to" + charge.padding END AS ends_at,
			   charge."to" AS counts_until, charge.booked_at, charge.amount,
			   charge.padding IS NULL AND charge.waiting_factor IS NULL AS is_used
		FROM yquota.charge
		UNION ALL
		SELECT container.project, 'Usage', 'Usage-Based', 'use', false, false,
			   container.container_id, NULL, container.application_id, container.username, container.queue, container.node,
			   container.execution_type, container.allocation,
			   yquota_internal.dominant(container.allocation, container.factors, container.settled_at, yquota.statement_clock()),
			   container.settled_at, yquota.statement_clock(), yquota.statement_clock(), yquota.statement_clock(),
			   yquota_internal.accrued(container.allocation, container.factors, container.settled_at, yquota.statement_clock()),
			   container.waiting_factor IS NULL
		FROM yquota.container
		WHERE container.settled_at < yquota.statement_clock()
		UNION ALL
		SELECT reserved.project, 'Purchase', 'Recurring', 'reservation', reserved.corrects IS NOT NULL, false,
			   NULL, reserved.reservation_id, NULL, reserved.username, reserved.queue, NULL, NULL, reserved.allocation,
			   yquota_internal.dominant(reserved.allocation, yquota_internal.factor_names(reserved.project, NULL, reserved.username,
				   reserved.queue, NULL, NULL, 'GUARANTEED', reserved.reserved_factor), reserved."from", reserved."to"),
			   reserved."from", reserved."to", reserved."to", reserved.booked_at, reserved.amount, false
		FROM yquota.reservation_charge AS reserved
		UNION ALL
		SELECT reserved.project COLLATE "C", 'Purchase', 'Recurring', 'reservation', false, false,
			   NULL, reserved.reservation_id COLLATE "C", NULL, reserved.username COLLATE "C", reserved.queue COLLATE "C", NULL, NULL, reserved.allocation,
			   yquota_internal.dominant(reserved.allocation, reserved.factors, reserved."from", reserved."to"),
			   reserved."from", reserved."to", reserved."to", yquota.statement_clock(),
			   yquota_internal.accrued(reserved.allocation, reserved.factors, reserved."from", reserved."to"), false
		FROM yquota_internal.accruing_segments() AS reserved
		WHERE reserved."from" < reserved."to"
		UNION ALL
		SELECT credit.project COLLATE "C", 'Credit', CASE WHEN credit.kind = 'budget' THEN 'Recurring' ELSE 'One-Time' END,
			   concat_ws(': ', CASE WHEN credit.is_loss THEN 'expired ' ELSE '' END || coalesce(credit.kind, 'grant'), credit.reason), false, credit.is_correction,
			   NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
			   credit.starts_at, credit.ends_at, credit.ends_at, credit.booked_at, - credit.amount, false
		FROM yquota_internal.focus_credits() AS credit
	) AS entry
	CROSS JOIN (SELECT yquota.cluster_name() AS name) AS cluster
	CROSS JOIN (SELECT array_agg(p.ends_at ORDER BY p.number) AS ends, array_agg(p.closed_at ORDER BY p.number) AS closings FROM period AS p) AS books
	CROSS JOIN LATERAL (
		SELECT least(period.own, cardinality(books.ends)) AS own,
			   least(greatest(period.own, width_bucket(entry.booked_at - interval '1 microsecond', books.closings) + 1), cardinality(books.ends)) AS billed
		FROM (SELECT width_bucket(yquota_internal.last_instant(entry.starts_at, entry.counts_until), books.ends) + 1 AS own) AS period
		OFFSET 0
	) AS place
	JOIN period AS bill ON bill.number = place.billed
	-- a correction keeps the currency of its bill
	JOIN period AS terms ON terms.number = place.own
	LEFT JOIN yquota.issued_bill AS invoice
		ON invoice.project = entry.project AND invoice.ends_at = bill.ends_at AND invoice.currency IS NOT NULL
	LEFT JOIN yquota.issued_bill AS corrected_invoice
		ON corrected_invoice.project = entry.project AND corrected_invoice.ends_at = terms.ends_at AND corrected_invoice.currency IS NOT NULL
		   AND place.own < place.billed
	CROSS JOIN LATERAL (
		-- a free charge has the SKU that it would have at prices without factors
		SELECT coalesce(entry.dominant, yquota_internal.dominant(entry.allocation, NULL, entry.starts_at, entry.ends_at),
						(SELECT e.name FROM yquota.resource_entries(entry.allocation) AS e ORDER BY e.name LIMIT 1)) AS name
		OFFSET 0
	) AS held
	LEFT JOIN yquota_internal.focus_sku AS sku ON sku.name = held.name
	LEFT JOIN yquota.application_tags AS tagged ON tagged.application_id = entry.application_id
	LEFT JOIN yquota_internal.label_span AS label
		ON label.node = entry.node AND label."from" <= entry.starts_at AND label."to" > entry.starts_at
	CROSS JOIN LATERAL (
		SELECT yquota.amount(entry.allocation, held.name) * extract(epoch FROM entry.ends_at - entry.starts_at)
			   * CASE WHEN entry.is_reversal THEN -1 ELSE 1 END AS native,
			   coalesce(sku.pricing_divisor, 3600) AS per_unit
		OFFSET 0
	) AS quantity
	CROSS JOIN LATERAL (
		SELECT trim_scale(yquota_internal.divide_half_even(entry.amount, terms.credits_per_unit, scale(entry.amount) + 20)) AS billed
		OFFSET 0
	) AS cost
	CROSS JOIN LATERAL (
		SELECT trim_scale(yquota_internal.divide_half_even(entry.amount * quantity.per_unit, quantity.native, 18)) AS credits,
			   trim_scale(yquota_internal.divide_half_even(cost.billed * quantity.per_unit, quantity.native, 18)) AS billed
		OFFSET 0
	) AS price
	WHERE (entry.category = 'Credit' OR held.name IS NOT NULL)
	  AND ((SELECT yquota_internal.reads_all())
		   OR entry.project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
COMMENT ON VIEW yquota.focus_cost IS
	'Charges in the columns of FOCUS 1.2: rows of both ledgers, accruals up to the clock, and grants.  Shows the projects that the reader may see.  Charges that have been archived are left out.  Query the view with a condition on "ChargePeriodStart".  Raises an error (55000) if bills have no currency';
COMMENT ON COLUMN yquota.focus_cost."AvailabilityZone" IS 'always NULL';
COMMENT ON COLUMN yquota.focus_cost."BilledCost" IS 'cost in BillingCurrency: PricingCurrencyEffectiveCost / credits_per_unit. The value is exact, unless the quotient needs more than 20 decimals beyond those of the credits; then it is rounded to that many';
COMMENT ON COLUMN yquota.focus_cost."BillingAccountId" IS 'name of the cluster';
COMMENT ON COLUMN yquota.focus_cost."BillingAccountName" IS 'name of the cluster';
COMMENT ON COLUMN yquota.focus_cost."BillingAccountType" IS 'Cluster';
COMMENT ON COLUMN yquota.focus_cost."BillingCurrency" IS 'code of the currency of the bill (billing_currency). A correction keeps the currency of the bill that it corrects. The amounts of a bill in credits are converted to the first currency';
COMMENT ON COLUMN yquota.focus_cost."BillingPeriodEnd" IS 'end of the period of the bill. Time since the last closed period is divided into months';
COMMENT ON COLUMN yquota.focus_cost."BillingPeriodStart" IS 'start of the period of the bill. In this view, the first period begins with the month in which it ends';
COMMENT ON COLUMN yquota.focus_cost."CapacityReservationId" IS 'reservation that is charged; NULL for containers and credit';
COMMENT ON COLUMN yquota.focus_cost."CapacityReservationStatus" IS 'always NULL: a reservation pays whether or not it is used';
COMMENT ON COLUMN yquota.focus_cost."ChargeCategory" IS 'Usage of containers, Purchase of reservations, or Credit: grants (negative) and credit that expired (positive)';
COMMENT ON COLUMN yquota.focus_cost."ChargeClass" IS 'Correction if the row corrects a bill of an earlier period. NULL for other rows, also for rows that reverse others of the same bill';
COMMENT ON COLUMN yquota.focus_cost."ChargeDescription" IS 'the charge in words, or the kind and the reason of a grant';
COMMENT ON COLUMN yquota.focus_cost."ChargeFrequency" IS 'Usage-Based for containers, Recurring for reservations and budgets, One-Time for other grants';
COMMENT ON COLUMN yquota.focus_cost."ChargePeriodEnd" IS 'end of the segment, including padding up to the minimum run time; for credit, end of the billing period';
COMMENT ON COLUMN yquota.focus_cost."ChargePeriodStart" IS 'start of the segment; for credit, start of the billing period';
COMMENT ON COLUMN yquota.focus_cost."ConsumedQuantity" IS 'amount held times seconds, exact; negative in a reversal. 0 for padding and for time in which the container waited. NULL for reservations and credit';
COMMENT ON COLUMN yquota.focus_cost."ConsumedUnit" IS 'Core-Seconds, MiB-Seconds, GPU-Seconds, or Unit-Seconds for other resource types';
COMMENT ON COLUMN yquota.focus_cost."ContractedCost" IS 'equal to BilledCost, because prices are not negotiated';
COMMENT ON COLUMN yquota.focus_cost."ContractedUnitPrice" IS 'average price of a PricingUnit in BillingCurrency, with all factors; NULL for credit';
COMMENT ON COLUMN yquota.focus_cost."EffectiveCost" IS 'equal to BilledCost, because no charge is prepaid';
COMMENT ON COLUMN yquota.focus_cost."InvoiceId" IS 'number of the bill; NULL before it is issued, and for a bill in credits';
COMMENT ON COLUMN yquota.focus_cost."InvoiceIssuerName" IS 'name of the cluster';
COMMENT ON COLUMN yquota.focus_cost."ListCost" IS 'equal to BilledCost, because factors are part of the published prices';
COMMENT ON COLUMN yquota.focus_cost."ListUnitPrice" IS 'as ContractedUnitPrice';
COMMENT ON COLUMN yquota.focus_cost."PricingCategory" IS 'Dynamic; NULL for credit';
COMMENT ON COLUMN yquota.focus_cost."PricingCurrency" IS 'credits';
COMMENT ON COLUMN yquota.focus_cost."PricingCurrencyContractedUnitPrice" IS 'average price of a PricingUnit in credits, at most 18 decimals; NULL for credit';
COMMENT ON COLUMN yquota.focus_cost."PricingCurrencyEffectiveCost" IS 'credits, exact. The rows Usage and Purchase add up to the result of cost_between()';
COMMENT ON COLUMN yquota.focus_cost."PricingCurrencyListUnitPrice" IS 'as PricingCurrencyContractedUnitPrice';
COMMENT ON COLUMN yquota.focus_cost."PricingQuantity" IS 'amount of the priced resource type times hours, at most 18 decimals; negative in a reversal. NULL for credit';
COMMENT ON COLUMN yquota.focus_cost."PricingUnit" IS 'Core-Hours, GiB-Hours, GPU-Hours, or Unit-Hours for other resource types';
COMMENT ON COLUMN yquota.focus_cost."ProviderName" IS 'name of the cluster';
COMMENT ON COLUMN yquota.focus_cost."PublisherName" IS 'name of the cluster';
COMMENT ON COLUMN yquota.focus_cost."RegionId" IS 'always NULL';
COMMENT ON COLUMN yquota.focus_cost."RegionName" IS 'always NULL';
COMMENT ON COLUMN yquota.focus_cost."ResourceId" IS 'container or reservation; NULL for credit';
COMMENT ON COLUMN yquota.focus_cost."ResourceName" IS 'always NULL';
COMMENT ON COLUMN yquota.focus_cost."ResourceType" IS 'Container or Reservation; NULL for credit';
COMMENT ON COLUMN yquota.focus_cost."SkuId" IS 'resource type with the largest part of the cost, as in charge.dominant. For a free charge, the resource type with the largest part at prices without factors. NULL for credit';
COMMENT ON COLUMN yquota.focus_cost."SkuMeter" IS 'Core Usage, Memory Usage, GPU Usage, or the name of the resource type with Usage';
COMMENT ON COLUMN yquota.focus_cost."SkuPriceDetails" IS 'price group of the resource type: {"x_PriceGroup": "GENERAL"}';
COMMENT ON COLUMN yquota.focus_cost."SkuPriceId" IS 'price group and resource type, such as GENERAL/vcores';
COMMENT ON COLUMN yquota.focus_cost."SubAccountId" IS 'project';
COMMENT ON COLUMN yquota.focus_cost."SubAccountName" IS 'project';
COMMENT ON COLUMN yquota.focus_cost."SubAccountType" IS 'Project';
COMMENT ON COLUMN yquota.focus_cost."Tags" IS 'tags of the application, a JSON object; true for a tag without a value. NULL for an application without tags';
COMMENT ON COLUMN yquota.focus_cost."x_ApplicationId" IS 'application of the container';
COMMENT ON COLUMN yquota.focus_cost."x_CorrectedInvoiceId" IS 'number of the bill that a correction of a charge corrects';
COMMENT ON COLUMN yquota.focus_cost."x_ExecutionType" IS 'GUARANTEED or OPPORTUNISTIC; NULL for reservations and credit';
COMMENT ON COLUMN yquota.focus_cost."x_NodeLabel" IS 'label of the node at the start of the segment; NULL for the default partition';
COMMENT ON COLUMN yquota.focus_cost."x_NodeName" IS 'node of the container';
COMMENT ON COLUMN yquota.focus_cost."x_Queue" IS 'queue of the container, or plan of the reservation';
COMMENT ON COLUMN yquota.focus_cost."x_UserName" IS 'user of the container or reservation';

-- The id of the schema changes with the columns.
CREATE VIEW yquota.focus_metadata AS
	WITH definition AS (
		SELECT attribute.attnum AS place, attribute.attname::text COLLATE "C" AS name,
			   CASE attribute.atttypid
					WHEN 'numeric'::regtype THEN 'DECIMAL' WHEN 'timestamptz'::regtype THEN 'DATETIME'
					WHEN 'jsonb'::regtype THEN 'JSON' ELSE 'STRING' END AS type
		FROM pg_attribute AS attribute
		WHERE attribute.attrelid = 'yquota.focus_cost'::regclass AND attribute.attnum > 0
	)
	SELECT (SELECT md5(string_agg(all_columns.name || ' ' || all_columns.type, ',' ORDER BY all_columns.place))::uuid::text FROM definition AS all_columns) AS "SchemaId",
		   '1.2' AS "FocusVersion",
		   timestamptz '2026-11-29 00:00:00+00' AS "CreationDate",
		   'yquota' AS "DataGenerator",
		   extension.extversion AS "DataGeneratorVersion",
		   definition.name AS "ColumnName",
		   definition.type AS "DataType",
		   CASE WHEN definition.type = 'STRING' THEN pg_encoding_to_char(database.encoding)::text END AS "StringEncoding",
		   CASE WHEN definition.name = 'Tags' THEN '{}'::text[] END AS "ProviderTagPrefixes"
	FROM definition
	CROSS JOIN pg_extension AS extension
	CROSS JOIN pg_database AS database
	WHERE extension.extname = 'yquota' AND database.datname = current_database()
	ORDER BY definition.place;
COMMENT ON VIEW yquota.focus_metadata IS
	'Metadata about focus_cost, as FOCUS 1.2 demands, with one row per column, in the order of the columns';
COMMENT ON COLUMN yquota.focus_metadata."SchemaId" IS 'id of this set of columns';
COMMENT ON COLUMN yquota.focus_metadata."FocusVersion" IS 'version of FOCUS: 1.2';
COMMENT ON COLUMN yquota.focus_metadata."CreationDate" IS 'date of this set of columns';
COMMENT ON COLUMN yquota.focus_metadata."DataGenerator" IS 'yquota';
COMMENT ON COLUMN yquota.focus_metadata."DataGeneratorVersion" IS 'version of the extension';
COMMENT ON COLUMN yquota.focus_metadata."ColumnName" IS 'column of focus_cost';
COMMENT ON COLUMN yquota.focus_metadata."DataType" IS 'STRING, DECIMAL, DATETIME or JSON';
COMMENT ON COLUMN yquota.focus_metadata."StringEncoding" IS 'encoding of the database; NULL for other types';
COMMENT ON COLUMN yquota.focus_metadata."ProviderTagPrefixes" IS 'empty for Tags, because yquota defines no tags itself; NULL for other columns';

CREATE FUNCTION yquota.focus_query("from" timestamptz, "to" timestamptz) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT format('SELECT %s FROM yquota.focus_cost WHERE "ChargePeriodStart" >= %L AND "ChargePeriodStart" < %L',
					  string_agg(CASE WHEN known."DataType" = 'DATETIME'
									  THEN format($part$to_char("%1$s" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "%1$s"$part$, known."ColumnName")
									  ELSE format('"%s"', known."ColumnName") END, ', '),
					  bounds.texts[1], bounds.texts[2])
		FROM yquota.focus_metadata AS known
		CROSS JOIN (SELECT array_agg(CASE WHEN isfinite(b.at) THEN to_char(b.at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') || '+00' ELSE b.at::text END ORDER BY b.number) AS texts
					FROM (VALUES (1, "from"), (2, "to")) AS b (number, at)) AS bounds
		GROUP BY bounds.texts;
	$$;
COMMENT ON FUNCTION yquota.focus_query(timestamptz, timestamptz) IS
	'Return a query for COPY: the rows of focus_cost whose charge period begins in a window, including its start and excluding its end.  Times are texts in the format of FOCUS, in UTC and full seconds';
