--
-- The views of FOCUS 1.2. The books have closed periods with corrections, grants, transfers, expired credit, forgiven
-- time, padding, waits, a reservation and running containers. A table lists the rules of the specification, and each
-- rule is a query for rows that break it. A vcore costs one credit per second, and 100 credits are one euro.
--
CREATE DATABASE yquota_focus;
\c yquota_focus
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-01 00:00+00');
INSERT INTO yquota.project (name, parent) VALUES ('lab', NULL), ('lab.ml', 'lab'), ('web', NULL);

-- Without a currency there is no row, and the error says what to do.
SELECT count(*) FROM yquota.focus_cost;
SELECT "FocusVersion", count(*) FROM yquota.focus_metadata GROUP BY 1;
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('-infinity', 'EUR', '€', 100);
SELECT count(*) FROM yquota.focus_cost;

INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES ('lab', 'month', 20000, '2026-03-01');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 5000, 'bought'), ('web', 1000, 'bought'), ('web', -100, 'taken back');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('lab', 300, 'prize', '2026-03-05 00:00+00');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, waiting_factor, reserved_factor) VALUES ('-infinity', '10 s', 0.25, 0.5);
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores', 'yarn.io/gpu');
INSERT INTO yquota.queue (path, capacity, reservable, reservation_policy) VALUES
	('root', NULL, NULL, NULL), ('root.plan', '80', true, 'NoOverCommitPolicy'), ('root.a', '10', NULL, NULL), ('root.b', '10', NULL, NULL);
INSERT INTO yquota.node (name, label, total) VALUES ('n1', '', '[memory-mb=102400,vcores=100]'), ('n2', 'fast', '[memory-mb=102400,vcores=100,yarn.io/gpu=4]');
INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
SELECT yquota.set_clock('2026-03-10 12:00+00');
SELECT yquota.set_application_tags('app_2', '{team=ml,urgent}');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running) VALUES
	('CONTAINER_START', 'c1', '2026-03-10 08:00+00', 'lab', 'app_1', 'ann', 'root.a', 'n1', '[memory-mb=1024,vcores=2]', NULL, NULL),
	('CONTAINER_FINISH', 'c1', '2026-03-10 09:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	-- memory is dearest and pays: 3 GiB for a third of an hour
	('CONTAINER_START', 'c2', '2026-03-10 08:00+00', 'lab.ml', 'app_2', 'bob', 'root.b', 'n2', '[memory-mb=3072,vcores=1]', NULL, NULL),
	('CONTAINER_FINISH', 'c2', '2026-03-10 08:20+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'gpu', '2026-03-10 08:00+00', 'lab.ml', 'app_2', 'bob', 'root.b', 'n2', '[vcores=1,yarn.io/gpu=2]', NULL, NULL),
	('CONTAINER_FINISH', 'gpu', '2026-03-10 08:00:00.000001+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'short', '2026-03-10 08:00+00', 'web', NULL, NULL, NULL, NULL, '[vcores=1]', NULL, NULL),
	('CONTAINER_FINISH', 'short', '2026-03-10 08:00:04+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'free', '2026-03-10 08:00+00', 'web', 'app_3', 'cyd', 'root.a', 'n1', '[memory-mb=512,vcores=1]', NULL, NULL),
	('CONTAINER_FINISH', 'free', '2026-03-10 08:01+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'w1', '2026-03-10 08:00+00', 'web', 'app_3', 'cyd', 'root.a', 'n1', '[vcores=1]', NULL, NULL),
	('CONTAINER_FINISH', 'w1', '2026-03-10 08:05+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'o1', '2026-03-10 08:00+00', 'web', 'app_3', 'cyd', 'root.a', 'n1', '[vcores=4]', 'OPPORTUNISTIC', false),
	('CONTAINER_UPDATE', 'o1', '2026-03-10 08:01+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, true),
	('CONTAINER_FINISH', 'o1', '2026-03-10 08:02+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'empty', '2026-03-10 08:00+00', 'web', 'app_3', 'cyd', 'root.a', 'n1', '[]', NULL, NULL),
	('CONTAINER_FINISH', 'empty', '2026-03-10 08:02+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT * FROM yquota.forgive('2026-03-10 08:00+00', '2026-03-10 08:01+00', 'switch replaced', 'web');
SELECT yquota.set_clock('2026-03-20 07:00+00');
SELECT accepted FROM yquota.submit_reservation('reservation_1_0001', 'root.plan', 'cyd', '{}', 'web', yquota.reservation_contract('2026-03-20 08:00', '2026-03-20 08:10',
	ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', 1, interval '10 min', 1)], 'ALL', NULL));
SELECT yquota.transfer_credit('lab', 'web', 50, 'help') AS transfer_id;
SELECT yquota.set_clock('2026-03-31 23:00+00');
INSERT INTO yquota.container_event (event, container_id, project, application_id, username, queue, node, allocation) VALUES
	('CONTAINER_START', 'across', 'lab', 'app_1', 'ann', 'root.a', 'n2', '[vcores=1]');
SELECT yquota.set_clock('2026-04-02 09:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'across', '2026-04-01 00:30+00');
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT closed_at FROM yquota.close_period('2026-04-01');

-- Corrections of March, and April. From April on, a euro is 125 credits.
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('2026-04-01 00:00+00', 'EUR', '€', 125);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'late', '2026-03-04 23:58+00', 'lab', 'app_4', 'ann', 'root.b', '[vcores=1]'), ('CONTAINER_FINISH', 'late', '2026-03-04 23:59+00', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_UPDATE', 'c1', '2026-03-10 08:30+00', NULL, NULL, NULL, 'root.b', NULL);
SELECT count(*) FROM yquota.void_events('w1', 'never ran');
INSERT INTO yquota.quota_grant (project, amount, reason, kind) VALUES ('web', 70, 'sorry', 'refund');
SELECT yquota.set_clock('2026-05-02 09:00+00');
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT closed_at FROM yquota.close_period('2026-05-01');

-- May is open. A container and a reservation are running.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation) VALUES
	('CONTAINER_START', 'runs', '2026-05-02 08:00+00', 'lab.ml', 'app_5', 'bob', 'root.b', 'n2', '[memory-mb=1024,vcores=2]');
SELECT accepted FROM yquota.submit_reservation('reservation_1_0002', 'root.plan', 'cyd', '{}', 'web', yquota.reservation_contract('2026-05-02 09:00', '2026-05-02 11:00',
	ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', 1, interval '2 h', 1)], 'ALL', NULL));
SELECT yquota.set_clock('2026-05-02 10:00+00');
SELECT * FROM yquota.verify();

SELECT "SubAccountId", "ChargeCategory" AS category, "ChargeClass" AS class, to_char("ChargePeriodStart", 'MM-DD HH24:MI:SS') AS starts_at, to_char("ChargePeriodEnd", 'MM-DD HH24:MI:SS') AS ends_at,
	   "InvoiceId", "x_CorrectedInvoiceId" AS corrects, "PricingCurrencyEffectiveCost" AS credits, "BilledCost", "PricingQuantity" AS quantity, "PricingUnit" AS unit,
	   "PricingCurrencyContractedUnitPrice" AS price, "ConsumedQuantity" AS consumed, "ConsumedUnit", "SkuPriceId", "ChargeDescription"
FROM yquota.focus_cost ORDER BY "SubAccountId", "ChargePeriodStart", "BillingPeriodStart", "ChargeDescription", "BilledCost";
SELECT DISTINCT "x_ApplicationId", "Tags" FROM yquota.focus_cost ORDER BY 1;

-- The columns of the specification: the reason why the view has them, their types, whether they allow null values, and
-- their allowed values. Each line stands for the rules on presence, type, null values and allowed values of a column.
CREATE TABLE focus_column (name text PRIMARY KEY, level text, type regtype, allows_null boolean, allowed text[]);
INSERT INTO focus_column VALUES
	('AvailabilityZone', 'Recommended', 'text', true, NULL),
	('BilledCost', 'Mandatory', 'numeric', false, NULL),
	('BillingAccountId', 'Mandatory', 'text', false, NULL),
	('BillingAccountName', 'Mandatory', 'text', false, NULL),
	('BillingAccountType', 'Conditional', 'text', false, NULL),
	('BillingCurrency', 'Mandatory', 'text', false, NULL),
	('BillingPeriodEnd', 'Mandatory', 'timestamptz', false, NULL),
	('BillingPeriodStart', 'Mandatory', 'timestamptz', false, NULL),
	('CapacityReservationId', 'Conditional', 'text', true, NULL),
	('CapacityReservationStatus', 'Conditional', 'text', true, '{Used,Unused}'),
	('ChargeCategory', 'Mandatory', 'text', false, '{Usage,Purchase,Tax,Credit,Adjustment}'),
	('ChargeClass', 'Mandatory', 'text', true, '{Correction}'),
	('ChargeDescription', 'Mandatory', 'text', false, NULL),
	('ChargeFrequency', 'Recommended', 'text', false, '{One-Time,Recurring,Usage-Based}'),
	('ChargePeriodEnd', 'Mandatory', 'timestamptz', false, NULL),
	('ChargePeriodStart', 'Mandatory', 'timestamptz', false, NULL),
	('CommitmentDiscountCategory', 'Conditional', 'text', true, '{Spend,Usage}'),
	('CommitmentDiscountId', 'Conditional', 'text', true, NULL),
	('CommitmentDiscountName', 'Conditional', 'text', true, NULL),
	('CommitmentDiscountQuantity', 'Conditional', 'numeric', true, NULL),
	('CommitmentDiscountStatus', 'Conditional', 'text', true, '{Used,Unused}'),
	('CommitmentDiscountType', 'Conditional', 'text', true, NULL),
	('CommitmentDiscountUnit', 'Conditional', 'text', true, NULL),
	('ConsumedQuantity', 'Conditional', 'numeric', true, NULL),
	('ConsumedUnit', 'Conditional', 'text', true, NULL),
	('ContractedCost', 'Mandatory', 'numeric', false, NULL),
	('ContractedUnitPrice', 'Conditional', 'numeric', true, NULL),
	('EffectiveCost', 'Mandatory', 'numeric', false, NULL),
	('InvoiceId', 'Recommended', 'text', true, NULL),
	('InvoiceIssuerName', 'Mandatory', 'text', false, NULL),
	('ListCost', 'Mandatory', 'numeric', false, NULL),
	('ListUnitPrice', 'Conditional', 'numeric', true, NULL),
	('PricingCategory', 'Conditional', 'text', true, '{Standard,Dynamic,Committed,Other}'),
	('PricingCurrency', 'Conditional', 'text', false, NULL),
	('PricingCurrencyContractedUnitPrice', 'Conditional', 'numeric', true, NULL),
	('PricingCurrencyEffectiveCost', 'Conditional', 'numeric', false, NULL),
	('PricingCurrencyListUnitPrice', 'Conditional', 'numeric', true, NULL),
	('PricingQuantity', 'Mandatory', 'numeric', true, NULL),
	('PricingUnit', 'Mandatory', 'text', true, NULL),
	('ProviderName', 'Mandatory', 'text', false, NULL),
	('PublisherName', 'Mandatory', 'text', false, NULL),
	('RegionId', 'Conditional', 'text', true, NULL),
	('RegionName', 'Conditional', 'text', true, NULL),
	('ResourceId', 'Conditional', 'text', true, NULL),
	('ResourceName', 'Conditional', 'text', true, NULL),
	('ResourceType', 'Conditional', 'text', true, NULL),
	('ServiceCategory', 'Mandatory', 'text', false, '{AI and Machine Learning,Analytics,Business Applications,Compute,Databases,Developer Tools,Multicloud,Identity,Integration,Internet of Things,Management and Governance,Media,Migration,Mobile,Networking,Security,Storage,Web,Other}'),
	('ServiceName', 'Mandatory', 'text', false, NULL),
	('ServiceSubcategory', 'Recommended', 'text', false, '{Containers,End User Computing,Quantum Compute,Serverless Compute,Virtual Machines,Other (Compute)}'),
	('SkuId', 'Conditional', 'text', true, NULL),
	('SkuMeter', 'Conditional', 'text', true, NULL),
	('SkuPriceDetails', 'Conditional', 'jsonb', true, NULL),
	('SkuPriceId', 'Conditional', 'text', true, NULL),
	('SubAccountId', 'Conditional', 'text', true, NULL),
	('SubAccountName', 'Conditional', 'text', true, NULL),
	('SubAccountType', 'Conditional', 'text', true, NULL),
	('Tags', 'Conditional', 'jsonb', true, NULL);

-- Rules about the values of columns. The id is the name of the column and the place of the rule among the requirements
-- of the column in the specification. Rows that fulfil the condition break the rule. The change makes a correct copy
-- break it.
CREATE TABLE focus_rule (id text PRIMARY KEY, rule text, broken text, change text);
INSERT INTO focus_rule VALUES
	('BilledCost.7', 'the cost is in the billing currency', $$NOT EXISTS (SELECT FROM yquota.billing_currency AS c WHERE c.code = "BillingCurrency" AND abs("BilledCost" * c.credits_per_unit - "PricingCurrencyEffectiveCost") <= c.credits_per_unit * 1e-20)$$, $$"BilledCost" = "BilledCost" + 0.01$$),
	('BilledCost.8', 'the costs of an invoice add up to the change of its balance', $$"InvoiceId" IN (SELECT i.number FROM yquota.issued_bill AS i WHERE (SELECT sum(f."PricingCurrencyEffectiveCost") FROM focus_rows AS f WHERE f."InvoiceId" = i.number) <>
		(SELECT - sum(b.amount) FROM yquota.bill(i.project, i.ends_at) AS b WHERE b.subject = i.project AND b.item NOT LIKE '%balance'))$$, $$"PricingCurrencyEffectiveCost" = 0$$),
	('BillingAccountId.5', 'a billing account is one of its provider', $$(SELECT count(DISTINCT f."BillingAccountId") FROM focus_rows AS f WHERE f."ProviderName" = focus_rows."ProviderName") > 1$$, $$"BillingAccountId" = "SubAccountId"$$),
	('BillingAccountName.4', 'an account has a name', $$"BillingAccountName" IS NULL$$, $$"BillingAccountName" = NULL$$),
	('BillingAccountType.4', 'an account has a type, and only an account has one', $$("BillingAccountType" IS NULL) <> ("BillingAccountId" IS NULL)$$, $$"BillingAccountType" = NULL$$),
	('BillingCurrency.4', 'a currency is a code of ISO 4217', $$"BillingCurrency" !~ '^[A-Z]{3}$'$$, $$"BillingCurrency" = 'credits'$$),
	('BillingCurrency.6', 'the currency is that of the invoice', $$"BillingCurrency" <> (SELECT i.currency FROM yquota.issued_bill AS i WHERE i.number = coalesce("x_CorrectedInvoiceId", "InvoiceId"))$$, $$"BillingCurrency" = 'USD'$$),
	('BillingPeriodEnd.5', 'the end of a period is exclusive, and lies after its start', $$"BillingPeriodEnd" <= "BillingPeriodStart"$$, $$"BillingPeriodEnd" = "BillingPeriodStart"$$),
	('BillingPeriodStart.5', 'a period begins where another ends', $$EXISTS (SELECT FROM focus_rows AS f WHERE f."BillingPeriodStart" < focus_rows."BillingPeriodStart" AND f."BillingPeriodEnd" > focus_rows."BillingPeriodStart")$$, $$"BillingPeriodStart" = "BillingPeriodStart" - interval '1 us' WHERE "BillingPeriodStart" > '2026-03-15'$$),
	('CapacityReservationId.4', 'other charges have no reservation', $$"CapacityReservationId" IS NOT NULL AND "ResourceType" IS DISTINCT FROM 'Reservation'$$, $$"CapacityReservationId" = 'r'$$),
	('CapacityReservationId.5', 'the charge of a reservation names it', $$"CapacityReservationId" IS DISTINCT FROM "ResourceId" AND "ResourceType" = 'Reservation'$$, $$"CapacityReservationId" = NULL$$),
	('CapacityReservationStatus.3', 'there is no status without a reservation', $$"CapacityReservationStatus" IS NOT NULL AND "CapacityReservationId" IS NULL$$, $$"CapacityReservationStatus" = 'Used'$$),
	('CapacityReservationStatus.4', 'usage of a reservation has a status', $$"CapacityReservationStatus" IS NULL AND "CapacityReservationId" IS NOT NULL AND "ChargeCategory" = 'Usage'$$, $$"ChargeCategory" = 'Usage'$$),
	('ChargeClass.3', 'a row that corrects no earlier bill has no class', $$"ChargeClass" IS NOT NULL AND "ChargePeriodEnd" > "BillingPeriodStart" AND "ChargeCategory" <> 'Credit'$$, $$"ChargeClass" = 'Correction'$$),
	('ChargeClass.4', 'a row that corrects an earlier bill is a correction', $$"ChargeClass" IS NULL AND "ChargePeriodEnd" <= "BillingPeriodStart"$$, $$"ChargeClass" = NULL$$),
	('ChargeFrequency.5', 'a purchase is not usage-based', $$"ChargeFrequency" = 'Usage-Based' AND "ChargeCategory" = 'Purchase'$$, $$"ChargeFrequency" = 'Usage-Based'$$),
	('ChargePeriodEnd.5', 'the end of a charge is exclusive, and lies after its start', $$"ChargePeriodEnd" <= "ChargePeriodStart"$$, $$"ChargePeriodEnd" = "ChargePeriodStart"$$),
	('ChargePeriodStart.5', 'the start of a charge is that of its segment', $$"ChargeCategory" = 'Usage' AND NOT EXISTS (SELECT FROM yquota.charge AS c WHERE c.container_id = "ResourceId" AND c."from" = "ChargePeriodStart" UNION ALL SELECT FROM yquota.container AS r WHERE r.container_id = "ResourceId" AND r.settled_at = "ChargePeriodStart")$$, $$"ChargePeriodStart" = "ChargePeriodStart" - interval '1 us'$$),
	('CommitmentDiscountCategory.4', 'only a commitment discount has a category', $$("CommitmentDiscountCategory" IS NULL) <> ("CommitmentDiscountId" IS NULL)$$, $$"CommitmentDiscountCategory" = 'Usage'$$),
	('CommitmentDiscountId.4', 'a charge without a commitment discount names none', $$"CommitmentDiscountId" IS NOT NULL AND "PricingCategory" IS DISTINCT FROM 'Committed'$$, $$"CommitmentDiscountId" = 'd'$$),
	('CommitmentDiscountName.4', 'only a commitment discount has a name', $$"CommitmentDiscountName" IS NOT NULL AND "CommitmentDiscountId" IS NULL$$, $$"CommitmentDiscountName" = 'd'$$),
	('CommitmentDiscountQuantity.7', 'only a commitment discount has a quantity', $$"CommitmentDiscountQuantity" IS NOT NULL AND "CommitmentDiscountId" IS NULL$$, $$"CommitmentDiscountQuantity" = 1$$),
	('CommitmentDiscountStatus.4', 'only a commitment discount has a status', $$"CommitmentDiscountStatus" IS NOT NULL AND "CommitmentDiscountId" IS NULL$$, $$"CommitmentDiscountStatus" = 'Used'$$),
	('CommitmentDiscountType.4', 'only a commitment discount has a type', $$("CommitmentDiscountType" IS NULL) <> ("CommitmentDiscountId" IS NULL)$$, $$"CommitmentDiscountType" = 'd'$$),
	('CommitmentDiscountUnit.6', 'only a quantity of a commitment discount has a unit', $$("CommitmentDiscountUnit" IS NULL) <> ("CommitmentDiscountQuantity" IS NULL)$$, $$"CommitmentDiscountUnit" = 'Hours'$$),
	('ConsumedQuantity.5', 'only usage has a consumed quantity', $$"ConsumedQuantity" IS NOT NULL AND "ChargeCategory" <> 'Usage'$$, $$"ConsumedQuantity" = 1$$),
	('ConsumedQuantity.7', 'usage has a consumed quantity', $$"ConsumedQuantity" IS NULL AND "ChargeCategory" = 'Usage' AND "ChargeClass" IS NULL$$, $$"ConsumedQuantity" = NULL$$),
	('ConsumedUnit.6', 'a unit belongs to a consumed quantity', $$("ConsumedUnit" IS NULL) <> ("ConsumedQuantity" IS NULL)$$, $$"ConsumedUnit" = 'Hours'$$),
	('ContractedCost.9', 'the cost of credit is the billed cost', $$"ContractedCost" <> "BilledCost" AND "ContractedUnitPrice" IS NULL$$, $$"ContractedCost" = "BilledCost" - 1$$),
	('ContractedCost.10', 'the cost is the product of price and quantity', $$abs("ContractedUnitPrice" * "PricingQuantity" - "ContractedCost") > 1e-12 AND "ChargeClass" IS NULL$$, $$"ContractedCost" = "ContractedCost" + 1e-10$$),
	('ContractedUnitPrice.5', 'tax has no price', $$"ContractedUnitPrice" IS NOT NULL AND "ChargeCategory" = 'Tax'$$, $$"ChargeCategory" = 'Tax'$$),
	('ContractedUnitPrice.6', 'usage and purchases have prices', $$"ContractedUnitPrice" IS NULL AND "ChargeCategory" IN ('Usage', 'Purchase') AND "ChargeClass" IS NULL$$, $$"ContractedUnitPrice" = NULL$$),
	('ContractedUnitPrice.9', 'no price is negative', $$"ContractedUnitPrice" < 0$$, $$"ContractedUnitPrice" = -1$$),
	('ContractedUnitPrice.10', 'the price is in the billing currency', $$abs("ContractedUnitPrice" * "PricingCurrencyEffectiveCost" - "PricingCurrencyContractedUnitPrice" * "BilledCost") > 1e-9$$, $$"ContractedUnitPrice" = "PricingCurrencyContractedUnitPrice"$$),
	('EffectiveCost.6', 'no purchase is prepaid', $$"EffectiveCost" <> "BilledCost" AND "ChargeCategory" = 'Purchase'$$, $$"EffectiveCost" = 0$$),
	('EffectiveCost.11', 'the effective cost of credit is the billed cost', $$"EffectiveCost" <> "BilledCost" AND "ChargeCategory" = 'Credit'$$, $$"EffectiveCost" = 0$$),
	('InvoiceId.4', 'a charge of an open period has no invoice', $$"InvoiceId" IS NOT NULL AND "BillingPeriodEnd" > (SELECT max(p.ends_at) FROM yquota.billing_period AS p)$$, $$"InvoiceId" = '1'$$),
	('InvoiceId.5', 'a charge of a closed period has an invoice', $$"InvoiceId" IS NULL AND "BillingPeriodEnd" <= (SELECT max(p.ends_at) FROM yquota.billing_period AS p)$$, $$"InvoiceId" = NULL$$),
	('InvoiceId.7', 'the invoice is that of the project and period', $$NOT EXISTS (SELECT FROM yquota.issued_bill AS i WHERE i.number = "InvoiceId" AND i.project = "SubAccountId" AND i.ends_at = "BillingPeriodEnd") AND "InvoiceId" IS NOT NULL$$, $$"BillingPeriodEnd" = '2026-05-01'$$),
	('ListCost.8', 'the list cost of credit is the billed cost', $$"ListCost" <> "BilledCost" AND "ListUnitPrice" IS NULL$$, $$"ListCost" = "BilledCost" - 1$$),
	('ListCost.9', 'the list cost is the product of list price and quantity', $$abs("ListUnitPrice" * "PricingQuantity" - "ListCost") > 1e-12 AND "ChargeClass" IS NULL$$, $$"ListCost" = "ListCost" + 1e-10$$),
	('ListUnitPrice.5', 'tax has no list price', $$"ListUnitPrice" IS NOT NULL AND "ChargeCategory" = 'Tax'$$, $$"ChargeCategory" = 'Tax'$$),
	('ListUnitPrice.6', 'usage and purchases have list prices', $$"ListUnitPrice" IS NULL AND "ChargeCategory" IN ('Usage', 'Purchase') AND "ChargeClass" IS NULL$$, $$"ListUnitPrice" = NULL$$),
	('ListUnitPrice.9', 'no list price is negative', $$"ListUnitPrice" < 0$$, $$"ListUnitPrice" = -1$$),
	('PricingCategory.4', 'tax has no pricing category', $$"PricingCategory" IS NOT NULL AND "ChargeCategory" = 'Tax'$$, $$"ChargeCategory" = 'Tax'$$),
	('PricingCategory.5', 'usage and purchases have pricing categories', $$"PricingCategory" IS NULL AND "ChargeCategory" IN ('Usage', 'Purchase') AND "ChargeClass" IS NULL$$, $$"PricingCategory" = NULL$$),
	('PricingCategory.9', 'only charges with a commitment discount are committed', $$"PricingCategory" = 'Committed' AND "CommitmentDiscountId" IS NULL$$, $$"PricingCategory" = 'Committed'$$),
	('PricingCategory.10', 'prices that change with utilization are dynamic', $$"PricingCategory" <> 'Dynamic'$$, $$"PricingCategory" = 'Standard'$$),
	('PricingCurrency.4', 'prices are in credits', $$"PricingCurrency" <> 'credits'$$, $$"PricingCurrency" = 'EUR'$$),
	('PricingCurrencyContractedUnitPrice.7', 'tax has no price in credits', $$"PricingCurrencyContractedUnitPrice" IS NOT NULL AND "ChargeCategory" = 'Tax'$$, $$"ChargeCategory" = 'Tax'$$),
	('PricingCurrencyContractedUnitPrice.8', 'usage and purchases have prices in credits', $$"PricingCurrencyContractedUnitPrice" IS NULL AND "ChargeCategory" IN ('Usage', 'Purchase') AND "ChargeClass" IS NULL$$, $$"PricingCurrencyContractedUnitPrice" = NULL$$),
	('PricingCurrencyContractedUnitPrice.11', 'no price in credits is negative', $$"PricingCurrencyContractedUnitPrice" < 0$$, $$"PricingCurrencyContractedUnitPrice" = -1$$),
	('PricingCurrencyContractedUnitPrice.12', 'the price is in credits', $$abs("PricingCurrencyContractedUnitPrice" * "PricingQuantity" - "PricingCurrencyEffectiveCost") > 1e-12$$, $$"PricingCurrencyContractedUnitPrice" = "ContractedUnitPrice"$$),
	('PricingCurrencyEffectiveCost.9', 'the effective cost is in credits', $$"EffectiveCost" <> 0 AND NOT EXISTS (SELECT FROM yquota.billing_currency AS c WHERE abs("EffectiveCost" * c.credits_per_unit - "PricingCurrencyEffectiveCost") <= c.credits_per_unit * 1e-20)$$, $$"PricingCurrencyEffectiveCost" = "EffectiveCost"$$),
	('PricingCurrencyListUnitPrice.7', 'tax has no list price in credits', $$"PricingCurrencyListUnitPrice" IS NOT NULL AND "ChargeCategory" = 'Tax'$$, $$"ChargeCategory" = 'Tax'$$),
	('PricingCurrencyListUnitPrice.8', 'usage and purchases have list prices in credits', $$"PricingCurrencyListUnitPrice" IS NULL AND "ChargeCategory" IN ('Usage', 'Purchase') AND "ChargeClass" IS NULL$$, $$"PricingCurrencyListUnitPrice" = NULL$$),
	('PricingCurrencyListUnitPrice.11', 'no list price in credits is negative', $$"PricingCurrencyListUnitPrice" < 0$$, $$"PricingCurrencyListUnitPrice" = -1$$),
	('PricingQuantity.4', 'tax has no quantity', $$"PricingQuantity" IS NOT NULL AND "ChargeCategory" = 'Tax'$$, $$"ChargeCategory" = 'Tax'$$),
	('PricingQuantity.5', 'usage and purchases have quantities', $$"PricingQuantity" IS NULL AND "ChargeCategory" IN ('Usage', 'Purchase') AND "ChargeClass" IS NULL$$, $$"PricingQuantity" = NULL$$),
	('PricingUnit.6', 'a unit belongs to a quantity', $$("PricingUnit" IS NULL) <> ("PricingQuantity" IS NULL)$$, $$"PricingUnit" = 'Hours'$$),
	('RegionName.4', 'a region has a name', $$("RegionName" IS NULL) <> ("RegionId" IS NULL)$$, $$"RegionName" = 'r'$$),
	('ResourceId.4', 'credit belongs to no resource', $$"ResourceId" IS NOT NULL AND "ChargeCategory" = 'Credit'$$, $$"ResourceId" = 'c'$$),
	('ResourceId.5', 'other charges belong to a resource', $$"ResourceId" IS NULL AND "ChargeCategory" <> 'Credit'$$, $$"ResourceId" = NULL$$),
	('ResourceId.7', 'a resource has one id in the provider', $$(SELECT count(DISTINCT f."ResourceType") FROM focus_rows AS f WHERE f."ResourceId" = focus_rows."ResourceId") > 1$$, $$"ResourceId" = 'c'$$),
	('ResourceName.4', 'only a resource has a name, which is not its id', $$"ResourceName" IS NOT NULL AND ("ResourceId" IS NULL OR "ResourceName" = "ResourceId")$$, $$"ResourceName" = "ResourceId"$$),
	('ResourceType.4', 'a resource has a type', $$("ResourceType" IS NULL) <> ("ResourceId" IS NULL)$$, $$"ResourceType" = NULL$$),
	('ServiceName.5', 'a service has one category', $$(SELECT count(DISTINCT f."ServiceCategory") FROM focus_rows AS f WHERE f."ServiceName" = focus_rows."ServiceName") > 1$$, $$"ServiceCategory" = 'Other' WHERE "SubAccountId" = 'web'$$),
	('ServiceSubcategory.5', 'the subcategory belongs to the category', $$"ServiceCategory" <> 'Compute'$$, $$"ServiceCategory" = 'Storage'$$),
	('SkuId.4', 'tax has no SKU', $$"SkuId" IS NOT NULL AND "ChargeCategory" = 'Tax'$$, $$"ChargeCategory" = 'Tax'$$),
	('SkuId.5', 'usage and purchases have SKUs', $$"SkuId" IS NULL AND "ChargeCategory" IN ('Usage', 'Purchase') AND "ChargeClass" IS NULL$$, $$"SkuId" = NULL$$),
	('SkuId.8', 'a SKU is the same in all projects and periods', $$"SkuId" NOT IN (SELECT t.name FROM yquota.resource_type AS t)$$, $$"SkuId" = "SkuId" || '-1'$$),
	('SkuMeter.4', 'only a SKU has a meter', $$"SkuMeter" IS NOT NULL AND "SkuId" IS NULL$$, $$"SkuMeter" = 'Core Usage'$$),
	('SkuPriceDetails.4', 'only a SKU price has details', $$"SkuPriceDetails" IS NOT NULL AND "SkuPriceId" IS NULL$$, $$"SkuPriceDetails" = '{}'$$),
	('SkuPriceDetails.6', 'a SKU price has the same details in every row', $$(SELECT count(DISTINCT f."SkuPriceDetails") FROM focus_rows AS f WHERE f."SkuPriceId" = focus_rows."SkuPriceId") > 1$$, $$"SkuPriceDetails" = jsonb_build_object('x_PriceGroup', "SubAccountId")$$),
	('SkuPriceDetails.14', 'keys begin with x_ unless FOCUS defines them', $$EXISTS (SELECT FROM jsonb_object_keys(CASE WHEN jsonb_typeof("SkuPriceDetails") = 'object' THEN "SkuPriceDetails" END) AS k WHERE k !~ '^x_' AND k NOT IN ('CoreCount', 'GpuCount', 'MemorySize'))$$, $$"SkuPriceDetails" = '{"PriceGroup": "GENERAL"}'$$),
	('SkuPriceId.4', 'tax has no SKU price', $$"SkuPriceId" IS NOT NULL AND "ChargeCategory" = 'Tax'$$, $$"ChargeCategory" = 'Tax'$$),
	('SkuPriceId.5', 'usage and purchases have SKU prices', $$"SkuPriceId" IS NULL AND "ChargeCategory" IN ('Usage', 'Purchase') AND "ChargeClass" IS NULL$$, $$"SkuPriceId" = NULL$$),
	('SkuPriceId.8', 'a SKU price belongs to one SKU', $$(SELECT count(DISTINCT f."SkuId") FROM focus_rows AS f WHERE f."SkuPriceId" = focus_rows."SkuPriceId") > 1$$, $$"SkuPriceId" = 'GENERAL'$$),
	('SkuPriceId.13', 'a SKU price is in the price list', $$NOT EXISTS (SELECT FROM yquota.current_price AS p WHERE "SkuPriceId" = p.price_group || '/' || p.resource_type) AND "SkuPriceId" IS NOT NULL$$, $$"SkuPriceId" = "SkuId"$$),
	('SubAccountId.5', 'a charge names its project', $$"SubAccountId" IS NULL OR "SubAccountId" NOT IN (SELECT p.name FROM yquota.project AS p)$$, $$"SubAccountId" = NULL$$),
	('SubAccountName.4', 'a project has a name', $$("SubAccountName" IS NULL) <> ("SubAccountId" IS NULL)$$, $$"SubAccountName" = NULL$$),
	('SubAccountType.4', 'a project has a type', $$("SubAccountType" IS NULL) <> ("SubAccountId" IS NULL)$$, $$"SubAccountType" = NULL$$),
	('Tags.8', 'a tag without a value is true', $$EXISTS (SELECT FROM jsonb_each("Tags") AS e WHERE e.value IN ('""', 'null'))$$, $$"Tags" = '{"urgent": ""}'$$),
	('Tags.9', 'tags are those that were set', $$"Tags" - 'urgent' <> (SELECT t.tags - 'urgent' FROM yquota.application_tags AS t WHERE t.application_id = "x_ApplicationId")$$, $$"Tags" = '{"team": "web"}' WHERE "x_ApplicationId" = 'app_2'$$),
	('KeyValueFormat.1', 'key-value columns are objects', $$jsonb_typeof("SkuPriceDetails") <> 'object' OR jsonb_typeof("Tags") <> 'object'$$, $$"SkuPriceDetails" = '[]'$$),
	('KeyValueFormat.4', 'values are no objects or arrays', $$EXISTS (SELECT FROM jsonb_each(coalesce("SkuPriceDetails", '{}') || coalesce("Tags", '{}')) AS e WHERE jsonb_typeof(e.value) IN ('object', 'array'))$$, $$"Tags" = '{"a": {}}'$$),
	('NumericFormat.2', 'numbers are decimals without other characters', $$concat_ws(' ', "BilledCost", "ContractedUnitPrice", "ConsumedQuantity", "PricingQuantity", "PricingCurrencyEffectiveCost") !~ '^(-?[0-9]+([.][0-9]+)?( |$))+$'$$, $$"BilledCost" = 'NaN'$$),
	('UnitFormat.1', 'units are counts or sizes in hours or seconds', $$concat_ws(' ', "PricingUnit", "ConsumedUnit", "CommitmentDiscountUnit") !~ '^((Core|GiB|MiB|GPU|Unit)-(Hours|Seconds)( |$))*$'$$, $$"PricingUnit" = 'core-hours'$$),
	('DiscountHandling.10', 'credit that is given afterwards is Credit', $$"BilledCost" < 0 AND "PricingQuantity" IS NULL AND "ChargeCategory" <> 'Credit'$$, $$"ChargeCategory" = 'Adjustment'$$);

CREATE TABLE focus_rows AS TABLE yquota.focus_cost;

-- All rules: each has a query that counts the rows that break the rule, and a statement that breaks the rule. Rules of
-- columns are broken by dropping the column, by null values, by another value and by an empty string.
CREATE VIEW focus_test AS
	SELECT r.id, format('SELECT count(*) FROM focus_rows WHERE %s', r.broken) AS query, format('UPDATE focus_rows SET %s', r.change) AS change FROM focus_rule AS r
	UNION ALL
	SELECT format('%s: %s', c.name, v.rule), format(v.query, c.name, c.type, c.allowed), format(v.change, c.name)
	FROM focus_column AS c
	CROSS JOIN LATERAL (VALUES
		('present with its type', true, 'SELECT 1 - count(*) FROM pg_attribute WHERE attrelid = ''focus_rows''::regclass AND attname = %L AND atttypid = %L::regtype', 'ALTER TABLE focus_rows DROP COLUMN %I'),
		('not null', NOT c.allows_null, 'SELECT count(*) FROM focus_rows WHERE %I IS NULL', 'UPDATE focus_rows SET %I = NULL'),
		('allowed value', c.allowed IS NOT NULL, 'SELECT count(*) FROM focus_rows WHERE %1$I <> ALL (%3$L)', 'UPDATE focus_rows SET %I = ''none'''),
		('no empty string', c.type = 'text'::regtype, 'SELECT count(*) FROM focus_rows WHERE trim(%I) = ''''', 'UPDATE focus_rows SET %I = '' ''')
	) AS v (rule, applies, query, change)
	WHERE v.applies;
CREATE FUNCTION broken_rows(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	found bigint;
BEGIN
	EXECUTE query INTO found;
	RETURN found;
END
$$;
CREATE FUNCTION broken_by(query text, change text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	found bigint;
BEGIN
	EXECUTE change;
	found := broken_rows(query);
	RAISE EXCEPTION USING ERRCODE = 'P0999';
EXCEPTION WHEN SQLSTATE 'P0999' THEN
	RETURN found;
END
$$;
SELECT count(*) AS rules, sum(broken_rows(query)) AS broken FROM focus_test;
SELECT id, broken_rows(query) FROM focus_test WHERE broken_rows(query) <> 0;
-- each rule can fail
SELECT id FROM focus_test WHERE broken_by(query, change) = 0;

-- Names of columns, and metadata: columns of FOCUS come first, and each other column begins with x_.
SELECT count(*) AS columns, count(*) FILTER (WHERE attname LIKE 'x\_%') AS custom, bool_and(attname ~ '^(x_)?[A-Z][A-Za-z]*$' AND length(attname) <= 50) AS are_named,
	   max(attnum) FILTER (WHERE attname NOT LIKE 'x\_%') < min(attnum) FILTER (WHERE attname LIKE 'x\_%') AS are_ordered
FROM pg_attribute WHERE attrelid = 'yquota.focus_cost'::regclass AND attnum > 0;
SELECT m."FocusVersion", m."DataType", count(*), bool_and(m."SchemaId" ~ '^[0-9a-f-]{36}$') AS has_id, count(m."StringEncoding") AS encodings, array_agg(m."ColumnName") FILTER (WHERE m."ProviderTagPrefixes" = '{}') AS prefixed
FROM yquota.focus_metadata AS m GROUP BY 1, 2 ORDER BY 2;

-- The costs are those of cost_between(), to the last digit: of each project in each closed period and in the open one.
WITH window_of AS (
	SELECT starts_at, ends_at FROM yquota.billing_period UNION ALL SELECT max(ends_at), 'infinity' FROM yquota.billing_period
), focus AS (
	SELECT w.ends_at, f."SubAccountId" AS project, sum(f."PricingCurrencyEffectiveCost") AS credits
	FROM window_of AS w
	JOIN yquota.focus_cost AS f ON f."ChargePeriodStart" >= w.starts_at AND f."ChargePeriodStart" < w.ends_at AND f."ChargeCategory" <> 'Credit'
	GROUP BY 1, 2
), cost AS (
	SELECT w.ends_at, c.project, c.amount FROM window_of AS w CROSS JOIN LATERAL yquota.cost_between(w.starts_at, w.ends_at) AS c
)
SELECT ends_at, project, trim_scale(focus.credits) AS credits, focus.credits = cost.amount AS is_equal
FROM focus FULL JOIN cost USING (ends_at, project) WHERE coalesce(focus.credits, 0) <> 0 OR cost.amount <> 0 ORDER BY 1, 2;
SELECT trim_scale(sum(f."BilledCost" * c.credits_per_unit)) AS credits, sum(f."BilledCost" * c.credits_per_unit) = (SELECT amount FROM yquota.cost_between('-infinity', 'infinity', '{}')) AS is_equal
FROM yquota.focus_cost AS f
JOIN yquota.billing_currency AS c ON c.effective_at = CASE WHEN f."BillingPeriodEnd" > '2026-04-01' AND f."x_CorrectedInvoiceId" IS NULL THEN timestamptz '2026-04-01' ELSE '-infinity' END
WHERE f."ChargeCategory" <> 'Credit';
-- all rows together are the balances with the opposite sign
SELECT b.project, b.granted - b.charged - b.accrued AS balance,
	   b.granted - b.charged - b.accrued = - (SELECT sum(f."PricingCurrencyEffectiveCost") FROM yquota.focus_cost AS f
											  WHERE f."SubAccountId" = b.project OR b.project = 'lab' AND f."SubAccountId" = 'lab.ml') AS is_equal
FROM yquota.project_balance AS b ORDER BY 1;
-- a quotient that has no end is rounded, and all rules still hold
BEGIN;
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('2026-05-01', 'EUR', '€', 7);
SELECT "BilledCost", "ContractedUnitPrice" FROM yquota.focus_cost WHERE "ChargePeriodStart" = '2026-05-02 09:00+00';
TRUNCATE focus_rows;
INSERT INTO focus_rows TABLE yquota.focus_cost;
SELECT id, broken_rows(query) FROM focus_test WHERE broken_rows(query) <> 0;
ROLLBACK;

-- The query for COPY writes times in the format that FOCUS demands, whatever the settings of the session are.
SET datestyle = 'German';
SET timezone = 'Asia/Tokyo';
SELECT format('COPY (SELECT "ChargePeriodStart", "ChargePeriodEnd", "BillingPeriodStart", "BilledCost", "x_Queue", "x_UserName", "x_ApplicationId", "x_NodeLabel" FROM (%s) AS f ORDER BY "ChargePeriodStart", "BilledCost") TO STDOUT WITH (FORMAT csv, HEADER)',
	yquota.focus_query('2026-03-10 08:00:03+00', '2026-04-01 00:00+00')) \gexec
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- Members see their projects, viewers all.
CREATE ROLE focus_member;
CREATE ROLE focus_viewer;
SELECT yquota.allow_role('focus_member', 'member', 'web'), yquota.allow_role('focus_viewer', 'viewer');
SET ROLE focus_member;
SELECT "SubAccountId", count(*) FROM yquota.focus_cost GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM yquota.focus_metadata;
SET ROLE focus_viewer;
SELECT "SubAccountId", count(*) FROM yquota.focus_cost GROUP BY 1 ORDER BY 1;
RESET ROLE;

-- A condition on the start of charges reaches the index of the ledger.
CREATE FUNCTION uses_index() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT * FROM yquota.focus_cost WHERE "ChargePeriodStart" >= ''2026-03-10'' AND "ChargePeriodStart" < ''2026-03-11''' INTO plan;
	RETURN plan::text LIKE '%charge_time_idx%';
END
$$;
SET enable_seqscan = off;
SELECT uses_index();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_focus WITH (FORCE);
DROP ROLE focus_member, focus_viewer;
