-- Types and tables.  Comments of columns give the unit.  Every instant is a timestamptz, every amount of money is in
-- credits, and every allocation is in the native units of its resource types.
--
-- Container ids sort bytewise (COLLATE "C").  The events of a statement are processed in this order, and the order
-- must not depend on the locale of a database.

CREATE TYPE yquota.container_event_type AS ENUM
	('CONTAINER_START', 'CONTAINER_UPDATE', 'CONTAINER_FINISH', 'QUOTA_COMPUTE');
COMMENT ON TYPE yquota.container_event_type IS
	'The three lifecycle events of a container, and QUOTA_COMPUTE';

CREATE TYPE yquota.execution_type AS ENUM ('GUARANTEED', 'OPPORTUNISTIC');
COMMENT ON TYPE yquota.execution_type IS
	'YARN''s execution types; only GUARANTEED containers count as utilization';

CREATE TYPE yquota.queue_state AS ENUM ('RUNNING', 'STOPPED', 'DRAINING');
COMMENT ON TYPE yquota.queue_state IS 'YARN''s queue states';

CREATE TYPE yquota.node_state AS ENUM
	('NEW', 'RUNNING', 'UNHEALTHY', 'DECOMMISSIONING', 'DECOMMISSIONED', 'LOST',
	 'REBOOTED', 'SHUTDOWN');
COMMENT ON TYPE yquota.node_state IS
	'YARN''s node states; only RUNNING nodes count as capacity';

CREATE TYPE yquota.quota_mode AS ENUM ('PREPAID', 'NOLIMIT');
COMMENT ON TYPE yquota.quota_mode IS
	'Whether a project needs credit for new work: PREPAID does, NOLIMIT does not; both are charged alike';

CREATE TYPE yquota.exhaustion_policy AS ENUM
	('allow', 'refuse_submission', 'drain', 'stop');
COMMENT ON TYPE yquota.exhaustion_policy IS
	'Effect on decisions when a PREPAID project has no credit left; charging never refuses an event';

CREATE TYPE yquota.factor_dimension AS ENUM
	('queue', 'application', 'username', 'project', 'label', 'execution_type');
COMMENT ON TYPE yquota.factor_dimension IS 'Dimensions of price factors';

CREATE TYPE yquota.charging_mode AS ENUM ('dearest', 'sum', 'sum_of_groups');
COMMENT ON TYPE yquota.charging_mode IS
	'Resources that a container pays for: the dearest one, all of them, or the dearest one of each price group';

--
-- Pricing
--

CREATE TABLE yquota.price_group (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
	tipping_point numeric NOT NULL DEFAULT 0.2 CHECK (tipping_point BETWEEN 0 AND 1),
	increment_factor numeric NOT NULL DEFAULT 1
		CHECK (increment_factor >= 0 AND increment_factor <= 1000000),
	max_multiplier numeric CHECK (max_multiplier >= 1 AND max_multiplier <= 1000000000000),
	count_pending boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE yquota.price_group IS
	'Groups of resource types. The most used type of a group determines the multiplier of all its types. No group has a lower multiplier than GENERAL';
COMMENT ON COLUMN yquota.price_group.name IS 'primary key';
COMMENT ON COLUMN yquota.price_group.tipping_point IS 'utilization above which the multiplier rises: 0 to 1, default 0.2';
COMMENT ON COLUMN yquota.price_group.increment_factor IS 'rise of the multiplier per 1 of utilization above the tipping point: 0 to 10^6, default 1';
COMMENT ON COLUMN yquota.price_group.max_multiplier IS 'cap of the group''s own multiplier, 1 to 10^12; NULL (default) for none';
COMMENT ON COLUMN yquota.price_group.count_pending IS 'true if demand that has no containers yet counts as utilization, too: resource_request, application masters that wait for their containers, and pending_demand; default false';

CREATE TABLE yquota.resource_type (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
	price_group text COLLATE "C" NOT NULL REFERENCES yquota.price_group,
	base_price numeric NOT NULL DEFAULT 1
		CHECK (base_price >= 0 AND base_price <= 1000000000000 AND scale(base_price) <= 18),
	unit bigint NOT NULL DEFAULT 1 CHECK (unit > 0)
);
COMMENT ON TABLE yquota.resource_type IS
	'Resource types that containers may hold, with the base price in force. Changes become points of yquota.base_price';
COMMENT ON COLUMN yquota.resource_type.name IS 'primary key; a name of type resource, not an alias';
COMMENT ON COLUMN yquota.resource_type.price_group IS 'references price_group';
COMMENT ON COLUMN yquota.resource_type.base_price IS 'present base price, credits per unit native units and second: 0 to 10^12, at most 18 decimals, default 1. An UPDATE adds a point to the timeline base_price at the clock';
COMMENT ON COLUMN yquota.resource_type.unit IS 'number of native units to which the base price applies: 1024 for memory-mb, default 1';

CREATE TABLE yquota.base_price (
	resource_type text COLLATE "C" NOT NULL REFERENCES yquota.resource_type ON DELETE CASCADE,
	effective_at timestamptz NOT NULL,
	base_price numeric NOT NULL
		CHECK (base_price >= 0 AND base_price <= 1000000000000 AND scale(base_price) <= 18),
	unit bigint NOT NULL CHECK (unit > 0),
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (resource_type, effective_at)
);
COMMENT ON TABLE yquota.base_price IS
	'Timeline of base prices; each type begins at -infinity, and each row applies until the next one';
COMMENT ON COLUMN yquota.base_price.resource_type IS 'key; references resource_type';
COMMENT ON COLUMN yquota.base_price.effective_at IS 'key; each type begins at -infinity';
COMMENT ON COLUMN yquota.base_price.base_price IS 'credits per second for unit native units, at multiplier 1';
COMMENT ON COLUMN yquota.base_price.unit IS 'number of native units to which the base price applies';

CREATE TABLE yquota.price (
	price_group text COLLATE "C" NOT NULL REFERENCES yquota.price_group ON DELETE CASCADE,
	effective_at timestamptz NOT NULL,
	multiplier numeric NOT NULL
		CHECK (multiplier >= 0 AND multiplier <= 1000000000000 AND scale(multiplier) <= 18),
	utilization numeric,
	pinned boolean NOT NULL DEFAULT false,
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (price_group, effective_at)
);
COMMENT ON TABLE yquota.price IS
	'Timeline of multipliers; each group begins at -infinity with 1, and each row applies until the next one';
COMMENT ON COLUMN yquota.price.price_group IS 'key; references price_group';
COMMENT ON COLUMN yquota.price.effective_at IS 'key; each group begins at -infinity with 1';
COMMENT ON COLUMN yquota.price.multiplier IS 'factor by which base prices are multiplied, 0 to 10^12; a computed multiplier is rounded half-even to 18 decimals';
COMMENT ON COLUMN yquota.price.utilization IS 'utilization, as a fraction, from which the multiplier was computed; NULL when the multiplier was set by hand';
COMMENT ON COLUMN yquota.price.pinned IS 'true if set_multiplier() set the multiplier';

CREATE TABLE yquota.price_pin (
	price_group text COLLATE "C" PRIMARY KEY REFERENCES yquota.price_group ON DELETE CASCADE,
	until timestamptz NOT NULL,
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE yquota.price_pin IS
	'Groups whose multiplier was set by hand; compute_prices() does not change the multiplier until the given instant';
COMMENT ON COLUMN yquota.price_pin.price_group IS 'primary key';
COMMENT ON COLUMN yquota.price_pin.until IS 'end of the pin; infinity until clear_multiplier() ends it';

CREATE TABLE yquota.price_factor (
	dimension yquota.factor_dimension NOT NULL,
	name text COLLATE "C" NOT NULL CHECK (name <> ''),
	effective_at timestamptz NOT NULL,
	factor numeric CHECK (factor >= 0 AND factor <= 1000000 AND scale(factor) <= 6),
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	load numeric CHECK (load IS NULL OR load >= 0 AND load <= 1 AND factor IS NOT NULL),
	PRIMARY KEY (dimension, name, effective_at)
);
COMMENT ON TABLE yquota.price_factor IS
	'Timeline of factors by which the price of matching containers is multiplied.  In each dimension the most specific name applies.  Factors of several dimensions are multiplied';
COMMENT ON COLUMN yquota.price_factor.dimension IS 'key';
COMMENT ON COLUMN yquota.price_factor.name IS 'key: a queue path (also matches the queues below: root.a matches root.a.b, not root.ab), application id, user name, project, node label or execution type. A project must exist. If queues are configured, a NOTICE warns of an unknown queue';
COMMENT ON COLUMN yquota.price_factor.effective_at IS 'key; default the clock';
COMMENT ON COLUMN yquota.price_factor.factor IS '0 to 10^6, at most 6 decimals; 0 makes matching containers free. NULL ends the factor, so that a less specific factor applies again';
COMMENT ON COLUMN yquota.price_factor.load IS 'load of node queues, a fraction, from which compute_prices() computed the factor (opportunistic_price); NULL for a factor set by hand. Only functions of the owner may set the load (42501)';
COMMENT ON CONSTRAINT price_factor_check ON yquota.price_factor IS
	'A load is at least 0 and at most 1, and its row has a factor.';

CREATE TABLE yquota.charging_rule (
	project text COLLATE "C" NOT NULL DEFAULT '',
	effective_at timestamptz NOT NULL,
	minimum_run_time interval NOT NULL DEFAULT '0'
		CHECK (minimum_run_time >= '0' AND minimum_run_time <= '365 days'),
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	free_before_preemption interval NOT NULL DEFAULT '0'
		CHECK (free_before_preemption >= '0' AND free_before_preemption <= '1 hour'),
	any_preemption_source boolean NOT NULL DEFAULT false,
	waiting_factor numeric NOT NULL DEFAULT 0
		CHECK (waiting_factor >= 0 AND waiting_factor <= 1 AND scale(waiting_factor) <= 6),
	reserved_factor numeric NOT NULL DEFAULT 0
		CHECK (reserved_factor >= 0 AND reserved_factor <= 1 AND scale(reserved_factor) <= 6),
	charging_mode yquota.charging_mode DEFAULT 'dearest',
	PRIMARY KEY (project, effective_at),
	CONSTRAINT charging_rule_mode_check CHECK (charging_mode IS NOT NULL OR project <> ''),
	CONSTRAINT charging_rule_project_check CHECK (project = ''
		OR minimum_run_time = '0' AND free_before_preemption = '0' AND NOT any_preemption_source
		   AND waiting_factor = 0 AND reserved_factor = 0)
);
COMMENT ON TABLE yquota.charging_rule IS
	'Timeline of charging rules.  A container is charged by the rule in force at its start.  A wait is charged by the rule in force when it began, and a reservation by the rule in force when it was accepted.  The charging mode of a rule applies to containers, waits and reservations from effective_at on, whenever they began';
COMMENT ON COLUMN yquota.charging_rule.project IS 'key: empty (default) for a rule for all projects; a rule of one project has only a charging mode';
COMMENT ON COLUMN yquota.charging_rule.effective_at IS 'key; default the clock';
COMMENT ON COLUMN yquota.charging_rule.minimum_run_time IS 'shortest life that a container pays for, 0 (default) to 365 days; a shorter life is padded at its end';
COMMENT ON COLUMN yquota.charging_rule.free_before_preemption IS 'time before the end of a preempted container that is free, 0 (default) to 1 hour';
COMMENT ON COLUMN yquota.charging_rule.any_preemption_source IS 'true if any feed may report a preemption; default false: one of the FINISH events must come from yquota';

COMMENT ON COLUMN yquota.charging_rule.waiting_factor IS 'part of the price that a container pays while it waits: 0 (default) to 1, at most 6 decimals';
COMMENT ON COLUMN yquota.charging_rule.reserved_factor IS 'part of the full price that a reservation pays, used or not: 0 (default, free) to 1, at most 6 decimals. The full price is that of a container with all reserved resources';
COMMENT ON COLUMN yquota.charging_rule.charging_mode IS 'dearest (default), sum or sum_of_groups. NULL in a rule of one project ends its own mode, so that the mode of all projects applies again';
COMMENT ON CONSTRAINT charging_rule_mode_check ON yquota.charging_rule IS
	'A rule of all projects sets charging_mode.';
COMMENT ON CONSTRAINT charging_rule_project_check ON yquota.charging_rule IS
	'Only the rule of all projects sets minimum_run_time, free_before_preemption, any_preemption_source, waiting_factor and reserved_factor.';

CREATE TABLE yquota.outage (
	outage_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project text COLLATE "C",
	started_at timestamptz NOT NULL CHECK (isfinite(started_at)),
	ended_at timestamptz NOT NULL CHECK (isfinite(ended_at)),
	forgiven boolean NOT NULL DEFAULT true,
	reason text NOT NULL,
	reported_by name NOT NULL DEFAULT session_user,
	reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	CHECK (started_at < ended_at)
);
COMMENT ON TABLE yquota.outage IS
	'Intervals of time that are forgiven; where intervals overlap, time is forgiven once';
COMMENT ON COLUMN yquota.outage.outage_id IS 'primary key';
COMMENT ON COLUMN yquota.outage.project IS 'project to which the outage is limited; NULL: all projects';
COMMENT ON COLUMN yquota.outage.started_at IS 'finite';
COMMENT ON COLUMN yquota.outage.ended_at IS 'finite, later than started_at';
COMMENT ON COLUMN yquota.outage.forgiven IS 'default true; false if the time is charged until an administrator decides otherwise';
COMMENT ON COLUMN yquota.outage.reason IS 'not null';
COMMENT ON COLUMN yquota.outage.reported_by IS 'filled in by the server';
COMMENT ON COLUMN yquota.outage.reported_at IS 'filled in by the server';

CREATE TABLE yquota_internal.feed_sign (
	source text COLLATE "C" NOT NULL,
	at timestamptz NOT NULL,
	is_recovery boolean NOT NULL,
	outage_id bigint,
	PRIMARY KEY (source, at)
);
COMMENT ON TABLE yquota_internal.feed_sign IS
	'Instants at which the resource manager that sends a feed is known to have run: see report_recovery()';
COMMENT ON COLUMN yquota_internal.feed_sign.is_recovery IS 'true if the resource manager became active at this instant';
COMMENT ON COLUMN yquota_internal.feed_sign.outage_id IS 'outage that ended at this instant; NULL if none did';

CREATE TABLE yquota.pricing_change (
	version bigint PRIMARY KEY,
	effective_from timestamptz NOT NULL,
	changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	description text NOT NULL,
	corrected boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE yquota.pricing_change IS
	'Changes of timelines, factors, rules and outages in the order of commit, each with the instant from which amounts may change';
COMMENT ON COLUMN yquota.pricing_change.version IS
	'number of the change, without gaps, because changes wait for each other; the statement of an event records the newest version that it saw';
COMMENT ON COLUMN yquota.pricing_change.effective_from IS 'instant from which amounts may change; infinity if no amount changes';
COMMENT ON COLUMN yquota.pricing_change.changed_at IS 'system''s clock';
COMMENT ON COLUMN yquota.pricing_change.description IS 'description of the change';
COMMENT ON COLUMN yquota.pricing_change.corrected IS
	'true for a change of labels of nodes: it has waited for statements that insert events, and has corrected the charges of these events';

CREATE TABLE yquota.utilization (
	resource_type text COLLATE "C" PRIMARY KEY REFERENCES yquota.resource_type ON DELETE CASCADE,
	utilization numeric NOT NULL CHECK (utilization >= 0 AND utilization <= 1000000),
	reported_at timestamptz NOT NULL,
	source text
);
COMMENT ON TABLE yquota.utilization IS
	'Utilization reported from outside. A row replaces the computed utilization while the row is younger than yquota.utilization_max_age';
COMMENT ON COLUMN yquota.utilization.resource_type IS 'primary key';
COMMENT ON COLUMN yquota.utilization.utilization IS 'a fraction, 0 to 10^6';
COMMENT ON COLUMN yquota.utilization.reported_at IS 'not null';

CREATE TABLE yquota.utilization_history (
	price_group text COLLATE "C" NOT NULL REFERENCES yquota.price_group ON DELETE CASCADE,
	quarter_hour timestamptz NOT NULL,
	measurements integer NOT NULL CHECK (measurements > 0),
	average numeric NOT NULL,
	highest numeric NOT NULL,
	PRIMARY KEY (price_group, quarter_hour)
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota.utilization_history IS
	'Utilization as measured by compute_prices(), whether or not a price changed. Each row is about a quarter-hour, and is kept for retention_setting.keep_months';
COMMENT ON COLUMN yquota.utilization_history.price_group IS 'references price_group';
COMMENT ON COLUMN yquota.utilization_history.quarter_hour IS 'first instant of the quarter-hour';
COMMENT ON COLUMN yquota.utilization_history.measurements IS 'at least 1';
COMMENT ON COLUMN yquota.utilization_history.average IS 'average of the measurements, a fraction, which may exceed 1; rounded to 18 decimals';
COMMENT ON COLUMN yquota.utilization_history.highest IS 'highest measurement, a fraction';

CREATE TABLE yquota.pending_demand (
	source text PRIMARY KEY,
	demand yquota.resource NOT NULL CHECK (yquota.fits_in('[]', demand)),
	reported_at timestamptz NOT NULL
);
COMMENT ON TABLE yquota.pending_demand IS
	'Demand that has no containers yet, as reported by a resource manager.  A row counts for price groups with count_pending while it is younger than yquota.utilization_max_age';
COMMENT ON COLUMN yquota.pending_demand.source IS 'primary key';
COMMENT ON COLUMN yquota.pending_demand.demand IS 'native units, none negative';
COMMENT ON COLUMN yquota.pending_demand.reported_at IS 'not null';

CREATE TABLE yquota.alert (
	alert_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	kind text NOT NULL,
	subject text NOT NULL,
	detail text NOT NULL,
	raised_at timestamptz NOT NULL,
	cleared_at timestamptz,
	figures jsonb,
	severity text GENERATED ALWAYS AS (
		CASE WHEN kind IN ('books_differ', 'cluster_empty', 'cluster_lost', 'feed_problem', 'leases_withheld')
				  OR coalesce(figures @> '{"hard": true}', false)
			 THEN 'critical' ELSE 'warning' END) STORED
);
CREATE UNIQUE INDEX alert_open_key ON yquota.alert (kind, subject) WHERE cleared_at IS NULL;
COMMENT ON TABLE yquota.alert IS
	'Problems that an administrator should check; one open row per kind and subject';
COMMENT ON COLUMN yquota.alert.alert_id IS 'primary key';
COMMENT ON COLUMN yquota.alert.kind IS 'kind of problem, listed below';
COMMENT ON COLUMN yquota.alert.subject IS 'price group, task, outage_id, project and threshold, or a function to call';
COMMENT ON COLUMN yquota.alert.detail IS 'description in one sentence';
COMMENT ON COLUMN yquota.alert.cleared_at IS 'NULL while open';
COMMENT ON COLUMN yquota.alert.figures IS 'figures of a spending_threshold when it was crossed, listed below; else NULL';
COMMENT ON COLUMN yquota.alert.severity IS 'critical or warning. books_differ, cluster_empty, cluster_lost, feed_problem, leases_withheld and hard figures are critical';

--
-- The cluster
--

CREATE TABLE yquota.node (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> '' AND octet_length(name) <= 255),
	rack text COLLATE "C" NOT NULL DEFAULT '/default-rack',
	label text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(label) <= 255),
	total yquota.resource NOT NULL CHECK (yquota.fits_in('[]', total)),
	state yquota.node_state NOT NULL DEFAULT 'RUNNING',
	updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE yquota.node IS 'Nodes of the cluster and their resources';
COMMENT ON COLUMN yquota.node.name IS 'primary key; at most 255 bytes';
COMMENT ON COLUMN yquota.node.rack IS 'default /default-rack';
COMMENT ON COLUMN yquota.node.label IS 'partition; empty (default) for the default partition; at most 255 bytes';
COMMENT ON COLUMN yquota.node.total IS 'resources offered to containers, native units, none negative';
COMMENT ON COLUMN yquota.node.state IS 'default RUNNING';

CREATE TABLE yquota.node_label_history (
	node text COLLATE "C" NOT NULL CHECK (node <> '' AND octet_length(node) <= 255),
	effective_at timestamptz NOT NULL,
	label text COLLATE "C" NOT NULL CHECK (octet_length(label) <= 255),
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (node, effective_at)
);
COMMENT ON TABLE yquota.node_label_history IS 'Timeline of the labels of nodes, from which the price factors of labels follow';
COMMENT ON COLUMN yquota.node_label_history.node IS 'key; the rows of a deleted node remain';
COMMENT ON COLUMN yquota.node_label_history.effective_at IS 'key; not later than the clock. The first point of a node is at -infinity';
COMMENT ON COLUMN yquota.node_label_history.label IS 'as node.label';

--
-- Projects
--

CREATE TABLE yquota.project (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> '' AND octet_length(name) <= 255),
	quota_mode yquota.quota_mode NOT NULL DEFAULT 'PREPAID',
	on_exhausted yquota.exhaustion_policy NOT NULL DEFAULT 'allow',
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	description text,
	parent text COLLATE "C" REFERENCES yquota.project,
	credit_limit numeric NOT NULL DEFAULT 0
		CHECK (credit_limit >= 0 AND credit_limit <= 1e30 AND scale(credit_limit) <= 66),
	exhaustion_grace interval NOT NULL DEFAULT '0'
		CHECK (exhaustion_grace >= '0' AND exhaustion_grace <= '10 years'),
	billing_contact text CHECK (billing_contact <> ''),
	cost_centre text CHECK (cost_centre <> '')
);
COMMENT ON TABLE yquota.project IS 'Projects, which pay for containers';
COMMENT ON COLUMN yquota.project.name IS 'primary key, not empty, at most 255 bytes';
COMMENT ON COLUMN yquota.project.quota_mode IS 'default PREPAID';
COMMENT ON COLUMN yquota.project.on_exhausted IS 'effect on decisions when a PREPAID project, or a sub-project that lives on its credit, has no credit left; default allow';
COMMENT ON COLUMN yquota.project.created_at IS 'system''s clock';
COMMENT ON COLUMN yquota.project.parent IS
	'project that also pays for this one; cannot change once this project or one below it has been charged or has held credit';
COMMENT ON COLUMN yquota.project.credit_limit IS 'credits by which the balance may go below zero; default 0, at most 10^30, at most 66 decimals';
COMMENT ON COLUMN yquota.project.exhaustion_grace IS 'time from the use of the last credit until drain or stop begins; default 0, at most 10 years';
COMMENT ON COLUMN yquota.project.billing_contact IS 'addressee of the project''s bills, not empty; NULL (default) for none. A bill keeps the addressee to whom it was issued';
COMMENT ON COLUMN yquota.project.cost_centre IS 'account of the project in an accounting system, not empty; NULL (default) for none. A bill keeps the cost centre with which it was issued';

CREATE TABLE yquota.credit_transfer (
	transfer_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	from_project text COLLATE "C" NOT NULL REFERENCES yquota.project,
	to_project text COLLATE "C" NOT NULL REFERENCES yquota.project,
	amount numeric NOT NULL
		CHECK (amount > 0 AND amount <= 1e30 AND scale(amount) <= 66),
	reason text NOT NULL,
	external_id text UNIQUE,
	reverses bigint REFERENCES yquota.credit_transfer,
	transferred_by name NOT NULL,
	transferred_at timestamptz NOT NULL,
	CHECK (from_project <> to_project)
);
CREATE INDEX credit_transfer_reverses_idx ON yquota.credit_transfer (reverses) WHERE reverses IS NOT NULL;
COMMENT ON TABLE yquota.credit_transfer IS
	'Credit that transfer_credit() and reverse_transfer() have moved between projects. Each part of a transfer has two rows in quota_grant, one for each project';
COMMENT ON COLUMN yquota.credit_transfer.transfer_id IS 'primary key';
COMMENT ON COLUMN yquota.credit_transfer.from_project IS 'project that gave the credit; references project';
COMMENT ON COLUMN yquota.credit_transfer.to_project IS 'project that received the credit; references project';
COMMENT ON COLUMN yquota.credit_transfer.amount IS 'credits, above 0, at most 10^30, at most 66 decimals';
COMMENT ON COLUMN yquota.credit_transfer.reason IS 'not null';
COMMENT ON COLUMN yquota.credit_transfer.external_id IS 'unique id that the caller gave the transfer; with an id, repeating the call is safe';
COMMENT ON COLUMN yquota.credit_transfer.reverses IS 'transfer whose unspent credit this transfer returns; NULL for other transfers';
COMMENT ON COLUMN yquota.credit_transfer.transferred_by IS 'role that called the function';
COMMENT ON COLUMN yquota.credit_transfer.transferred_at IS 'clock at the time of the transfer';

CREATE TABLE yquota.quota_grant (
	grant_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project text COLLATE "C" NOT NULL REFERENCES yquota.project,
	amount numeric NOT NULL
		CHECK (abs(amount) <= 1e30 AND scale(amount) <= 66),
	reason text NOT NULL,
	granted_by name NOT NULL DEFAULT session_user,
	granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	external_id text UNIQUE,
	valid_from timestamptz NOT NULL DEFAULT '-infinity',
	expires_at timestamptz NOT NULL DEFAULT 'infinity',
	kind text COLLATE "C" NOT NULL DEFAULT 'grant' CHECK (kind IN ('grant', 'refund', 'correction', 'budget', 'transfer')),
	booked_at timestamptz NOT NULL DEFAULT '-infinity',
	transfer_id bigint REFERENCES yquota.credit_transfer,
	takes_from bigint REFERENCES yquota.quota_grant,
	CONSTRAINT quota_grant_expires_at_check CHECK (valid_from < expires_at),
	CONSTRAINT quota_grant_transfer_id_check CHECK ((kind = 'transfer') = (transfer_id IS NOT NULL)),
	CONSTRAINT quota_grant_takes_from_check CHECK (takes_from IS NULL OR kind = 'transfer' AND amount < 0)
);
CREATE INDEX quota_grant_project_idx ON yquota.quota_grant (project);
CREATE INDEX quota_grant_transfer_idx ON yquota.quota_grant (transfer_id) WHERE transfer_id IS NOT NULL;
CREATE INDEX quota_grant_takes_from_idx ON yquota.quota_grant (takes_from) WHERE takes_from IS NOT NULL;
CREATE INDEX quota_grant_refund_idx ON yquota.quota_grant (project) WHERE kind IN ('refund', 'correction');
COMMENT ON TABLE yquota.quota_grant IS
	'Credit given to projects, or taken back (negative).  Insert with ON CONFLICT (external_id) DO NOTHING, so that repeating an INSERT is safe';
COMMENT ON COLUMN yquota.quota_grant.grant_id IS 'primary key';
COMMENT ON COLUMN yquota.quota_grant.project IS 'references project';
COMMENT ON COLUMN yquota.quota_grant.amount IS 'credits, at most 10^30 and at least -10^30, at most 66 decimals';
COMMENT ON COLUMN yquota.quota_grant.reason IS 'not null';
COMMENT ON COLUMN yquota.quota_grant.granted_by IS 'filled in by the server: the session''s user';
COMMENT ON COLUMN yquota.quota_grant.granted_at IS 'filled in by the server: the system''s clock';
COMMENT ON COLUMN yquota.quota_grant.valid_from IS 'start of validity; default -infinity';
COMMENT ON COLUMN yquota.quota_grant.expires_at IS 'instant at which the remaining credit is lost, default infinity. The grant of a project that expires first is spent first. Negative rows ignore this instant. If the instant has passed already, a NOTICE says so';
COMMENT ON COLUMN yquota.quota_grant.kind IS 'grant (default), budget (a recurring grant), transfer (between projects), refund of spending, or correction of other rows. The first three limit a sub-project to its own credit';
COMMENT ON COLUMN yquota.quota_grant.booked_at IS
	'clock when the credit was given; earlier spending does not use this credit';
COMMENT ON COLUMN yquota.quota_grant.transfer_id IS 'transfer to which the row belongs; references credit_transfer; NULL for other kinds';
COMMENT ON COLUMN yquota.quota_grant.takes_from IS 'grant from which a negative row of a transfer takes credit first; references quota_grant; NULL in all other rows';
COMMENT ON COLUMN yquota.quota_grant.external_id IS 'unique id in the granting system; with an id, repeating the INSERT is safe';
COMMENT ON CONSTRAINT quota_grant_transfer_id_check ON yquota.quota_grant IS
	'Only transfer_credit() writes grants of kind "transfer", which have a transfer_id.';
COMMENT ON CONSTRAINT quota_grant_takes_from_check ON yquota.quota_grant IS
	'Only a negative grant of kind "transfer" has takes_from.';

-- The log of events and the books.

CREATE TABLE yquota.container_event (
	event yquota.container_event_type NOT NULL,
	container_id text COLLATE "C",
	occurred_at timestamptz,
	project text COLLATE "C",
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	allocation yquota.resource,
	execution_type yquota.execution_type,
	exit_status integer,
	source text,
	recorded_at timestamptz NOT NULL,
	priority integer,
	allocation_request_id bigint,
	asked_label text COLLATE "C",
	is_am boolean,
	is_running boolean,
	event_id bigint GENERATED ALWAYS AS IDENTITY (CACHE 64)
);
COMMENT ON TABLE yquota.container_event IS
	'Log of lifecycle events, filled by INSERT or COPY. Each event is charged when it is inserted.  Append-only; contains everything that arrived, in order of arrival';
COMMENT ON COLUMN yquota.container_event.event IS 'not null';
COMMENT ON COLUMN yquota.container_event.container_id IS 'unique in the cluster, at most 2600 bytes; required unless QUOTA_COMPUTE';
COMMENT ON COLUMN yquota.container_event.occurred_at IS 'time of the event; decides the charge; default the clock. At most yquota.max_clock_skew ahead of the clock, or one microsecond after the last known event of a running container. Never before 2000-01-01 00:00 UTC. The START of an unknown container is at most yquota.max_event_age old';
COMMENT ON COLUMN yquota.container_event.project IS 'project that pays. If a START names no project, username is read as project__user. Other events need not name the project; if they do, it must be the same';
COMMENT ON COLUMN yquota.container_event.application_id IS 'START: application of the container';
COMMENT ON COLUMN yquota.container_event.username IS 'START: user of the container. If project was left out, only the part of username after __ is stored';
COMMENT ON COLUMN yquota.container_event.queue IS 'START, UPDATE: queue path, such as root.prod';
COMMENT ON COLUMN yquota.container_event.node IS 'START, UPDATE: name of the node; it need not be in yquota.node';
COMMENT ON COLUMN yquota.container_event.allocation IS 'START: required, [] is legal and costs nothing. UPDATE: NULL means unchanged';
COMMENT ON COLUMN yquota.container_event.execution_type IS 'START: NULL means GUARANTEED. UPDATE: NULL means unchanged';
COMMENT ON COLUMN yquota.container_event.exit_status IS 'FINISH: YARN''s container exit status';
COMMENT ON COLUMN yquota.container_event.source IS 'name of the feed. Sources of yquota itself are scheduler, reconcile and node_lost, and node_queue for ends that agents report with container_ended';
COMMENT ON COLUMN yquota.container_event.recorded_at IS 'clock of the statement when the event arrived. It decides amounts only for a START repeated with a new allocation';
COMMENT ON COLUMN yquota.container_event.priority IS 'priority of the request for which the container was allocated. START: NULL means 0. UPDATE: NULL means unchanged';
COMMENT ON COLUMN yquota.container_event.allocation_request_id IS 'id of the request for which the container was allocated. START: NULL means -1. UPDATE: NULL means unchanged';
COMMENT ON COLUMN yquota.container_event.asked_label IS 'node label that was requested. START: NULL means the empty string. UPDATE: NULL means unchanged';
COMMENT ON COLUMN yquota.container_event.is_am IS 'true if the container is its application''s master. START: NULL means true if the container''s id ends with _000001, YARN''s number 1 of an attempt. UPDATE: NULL means unchanged';
COMMENT ON COLUMN yquota.container_event.is_running IS 'false while the container is allocated but waits at its node or is paused. An OPPORTUNISTIC container then pays by waiting_factor; a GUARANTEED one pays as if it ran. START: NULL means true. UPDATE: NULL means unchanged';
COMMENT ON COLUMN yquota.container_event.event_id IS 'generated number of the row: leave it out. Numbers have gaps, and their order is not the order of acceptance';

CREATE TABLE yquota.container (
	container_id text COLLATE "C" PRIMARY KEY,
	project text COLLATE "C" NOT NULL,
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	label text COLLATE "C",
	allocation yquota.resource NOT NULL,
	execution_type yquota.execution_type NOT NULL,
	started_at timestamptz NOT NULL,
	settled_at timestamptz NOT NULL,
	charges integer NOT NULL,
	factors text[] COLLATE "C",
	accrual_base numeric NOT NULL,
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	asked_label text COLLATE "C" NOT NULL,
	is_am boolean NOT NULL,
	is_running boolean NOT NULL,
	waiting_factor numeric,
	is_given boolean NOT NULL,
	settled_lately boolean
);
-- New rows reuse free space, so they are often stored in block ranges that have been summarized already.  With these
-- parameters a summary is too short to be compressed.  A compressed summary would be unpacked and packed again for
-- every page.
CREATE INDEX container_application_id_idx ON yquota.container
	USING brin (application_id text_bloom_ops (n_distinct_per_range = 360, false_positive_rate = 0.005))
	WITH (pages_per_range = 64, autosummarize = on);
-- settled_ahead() uses this index.  Containers of loaded history have no entries in it.
CREATE INDEX container_settled_at_idx ON yquota.container (settled_at) WHERE settled_lately IS NOT NULL;
COMMENT ON TABLE yquota.container IS
	'Containers that have started and not finished, including those that wait at their nodes.  Only the trigger of container_event writes this table';
COMMENT ON COLUMN yquota.container.container_id IS 'primary key';
COMMENT ON COLUMN yquota.container.project IS 'project that pays';
COMMENT ON COLUMN yquota.container.label IS 'label of the node, or the last known one if the node was deleted';
COMMENT ON COLUMN yquota.container.allocation IS 'native units';
COMMENT ON COLUMN yquota.container.started_at IS 'creation of the container';
COMMENT ON COLUMN yquota.container.settled_at IS 'start of the segment that has no row in the table charge yet: the start or the last UPDATE';
COMMENT ON COLUMN yquota.container.charges IS 'number of rows that this container has so far in the table charge';
COMMENT ON COLUMN yquota.container.factors IS 'factors that apply to the container: dimension, name, dimension, name ...; NULL if none does. For a waiting container, waiting and waiting_factor come first';
COMMENT ON COLUMN yquota.container.accrual_base IS 'credits for this allocation from the full hour before settled_at to settled_at, as the counters contain them';
COMMENT ON COLUMN yquota.container.priority IS 'priority of the request for which the container was allocated';
COMMENT ON COLUMN yquota.container.allocation_request_id IS 'id of the request for which the container was allocated; -1 if the request had none';
COMMENT ON COLUMN yquota.container.asked_label IS 'node label that was requested; empty if none was';
COMMENT ON COLUMN yquota.container.is_am IS 'true if the container is its application''s master';
COMMENT ON COLUMN yquota.container.is_running IS 'false while the container waits at its node or is paused';
COMMENT ON COLUMN yquota.container.waiting_factor IS 'part of the price that the container pays while it waits, that is, while it is OPPORTUNISTIC and does not run; NULL when it does not wait';
COMMENT ON COLUMN yquota.container.settled_lately IS 'true if settled_at was less than a day before the clock of the statement that wrote the row, or after that clock; otherwise NULL. It restricts an index';
COMMENT ON COLUMN yquota.container.is_given IS 'true if yquota''s scheduler allocated the container (the source of its START is scheduler); it then ends with its application';

CREATE TABLE yquota.container_change (
	container_id text COLLATE "C" NOT NULL,
	event yquota.container_event_type NOT NULL,
	occurred_at timestamptz NOT NULL,
	allocation yquota.resource,
	execution_type yquota.execution_type,
	queue text COLLATE "C",
	node text COLLATE "C",
	repeated_start boolean NOT NULL,
	priority integer,
	allocation_request_id bigint,
	asked_label text COLLATE "C",
	is_am boolean,
	is_running boolean,
	event_id bigint
);
CREATE INDEX container_change_container_id_idx ON yquota.container_change (container_id);
COMMENT ON TABLE yquota.container_change IS
	'Accepted START and UPDATE events of containers that have had an UPDATE, and STARTs of containers that never ran.  They are needed to put late events in order.  UPDATEs after an end that was reported later stay in the table and are ignored';
COMMENT ON COLUMN yquota.container_change.allocation IS 'NULL: unchanged';
COMMENT ON COLUMN yquota.container_change.execution_type IS 'NULL: unchanged';
COMMENT ON COLUMN yquota.container_change.queue IS 'NULL: unchanged';
COMMENT ON COLUMN yquota.container_change.node IS 'NULL: unchanged';
COMMENT ON COLUMN yquota.container_change.event_id IS 'number of the event in container_event; NULL for the START';
COMMENT ON COLUMN yquota.container_change.repeated_start IS 'true if the UPDATE arrived as a START repeated with a new allocation. A repetition of that START is then recognized';
COMMENT ON COLUMN yquota.container_change.priority IS 'NULL: unchanged';
COMMENT ON COLUMN yquota.container_change.allocation_request_id IS 'NULL: unchanged';
COMMENT ON COLUMN yquota.container_change.asked_label IS 'NULL: unchanged';
COMMENT ON COLUMN yquota.container_change.is_am IS 'NULL: unchanged';
COMMENT ON COLUMN yquota.container_change.is_running IS 'NULL: unchanged';

CREATE TABLE yquota.charge (
	container_id text COLLATE "C" NOT NULL,
	project text COLLATE "C" NOT NULL,
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	execution_type yquota.execution_type NOT NULL,
	allocation yquota.resource NOT NULL,
	started_at timestamptz NOT NULL,
	"from" timestamptz NOT NULL,
	"to" timestamptz NOT NULL,
	booked_at timestamptz NOT NULL,
	number integer NOT NULL,
	corrects integer,
	settled_by yquota.container_event_type NOT NULL,
	exit_status integer,
	padding interval,
	dominant text COLLATE "C",
	amount numeric NOT NULL,
	given_back numeric,
	waiting_factor numeric
);
CREATE INDEX charge_container_id_idx ON yquota.charge (container_id);
-- The index finds the corrections of a row without reading all rows of its container.
CREATE INDEX charge_corrects_idx ON yquota.charge (container_id, corrects) WHERE corrects IS NOT NULL;
-- Block ranges add almost nothing to the cost of an INSERT. Rows of the same time or application are mostly stored
-- close together.
CREATE INDEX charge_time_idx ON yquota.charge USING brin ("to", "from", booked_at) WITH (pages_per_range = 32);
-- A summary has room for as many applications as a range has rows, because applications of a large cluster end in
-- any order.
CREATE INDEX charge_application_id_idx ON yquota.charge
	USING brin (application_id text_bloom_ops (n_distinct_per_range = 2400, false_positive_rate = 0.005))
	WITH (pages_per_range = 64, autosummarize = on);
COMMENT ON TABLE yquota.charge IS
	'The ledger: one row per settled segment of a container.  Append-only; corrections are further rows';
COMMENT ON COLUMN yquota.charge.allocation IS 'native units held in the segment';
COMMENT ON COLUMN yquota.charge.started_at IS 'start of the container';
COMMENT ON COLUMN yquota.charge."from" IS 'start of the segment';
COMMENT ON COLUMN yquota.charge."to" IS 'end of the segment';
COMMENT ON COLUMN yquota.charge.booked_at IS 'clock when the row was posted';
COMMENT ON COLUMN yquota.charge.number IS 'number of the row among the rows of its container, from 1';
COMMENT ON COLUMN yquota.charge.corrects IS 'number of the row of the same container that this row reverses; NULL when it reverses none';
COMMENT ON COLUMN yquota.charge.settled_by IS 'event that ended the segment: CONTAINER_UPDATE or CONTAINER_FINISH; QUOTA_COMPUTE where a closed period ends or the free window of a preempted container begins';
COMMENT ON COLUMN yquota.charge.exit_status IS 'exit status of the container if the feed reported one; only in the row of the FINISH';
COMMENT ON COLUMN yquota.charge.padding IS 'time added to reach the minimum run time; from and to are then the finish. NULL in rows of real time';
COMMENT ON COLUMN yquota.charge.dominant IS 'resource type with the largest part of the amount; NULL when the amount is 0';
COMMENT ON COLUMN yquota.charge.amount IS 'credits, exact; negative in a row that reverses another one';
COMMENT ON COLUMN yquota.charge.given_back IS
	'credits that a free segment of a preempted container would cost (charging_rule.free_before_preemption); negative in a row that reverses another one; NULL in all other rows';
COMMENT ON COLUMN yquota.charge.waiting_factor IS
	'fraction of the price that the segment pays while the container waits, because it is OPPORTUNISTIC and does not run (charging_rule.waiting_factor); NULL if it does not wait';

CREATE VIEW yquota_internal.charge_in_effect AS
	SELECT charge.*
	FROM yquota.charge AS charge
	WHERE charge.corrects IS NULL
	  AND NOT EXISTS (SELECT FROM yquota.charge AS taken_back
					  WHERE taken_back.container_id = charge.container_id
						AND taken_back.corrects = charge.number);
COMMENT ON VIEW yquota_internal.charge_in_effect IS
	'Rows of the ledger that neither reverse another row nor have been reversed';

CREATE TABLE yquota.event_reject (
	reject_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	event yquota.container_event_type NOT NULL,
	container_id text COLLATE "C",
	occurred_at timestamptz,
	project text COLLATE "C",
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	allocation yquota.resource,
	execution_type yquota.execution_type,
	exit_status integer,
	source text,
	recorded_at timestamptz NOT NULL,
	waiting boolean NOT NULL,
	sqlstate text NOT NULL,
	reason text NOT NULL,
	detail text,
	priority integer,
	allocation_request_id bigint,
	asked_label text COLLATE "C",
	is_am boolean,
	is_running boolean,
	event_id bigint,
	sent_by text COLLATE "C"
);
CREATE INDEX event_reject_waiting_idx ON yquota.event_reject (container_id) WHERE waiting;
COMMENT ON TABLE yquota.event_reject IS
	'Events set aside (yquota.on_bad_event = set_aside), with the reason; retry_rejects() inserts them again';
COMMENT ON COLUMN yquota.event_reject.reject_id IS 'primary key';
COMMENT ON COLUMN yquota.event_reject.event IS 'kind of event; this column and the next ones are as in container_event';
COMMENT ON COLUMN yquota.event_reject.waiting IS 'true for an UPDATE or FINISH that waits for its START, and is applied when the START arrives';
COMMENT ON COLUMN yquota.event_reject.sqlstate IS 'SQLSTATE of the error that the event would have raised';
COMMENT ON COLUMN yquota.event_reject.reason IS 'primary message of the error';
COMMENT ON COLUMN yquota.event_reject.event_id IS 'number of the event in container_event';
COMMENT ON COLUMN yquota.event_reject.sent_by IS 'name, at that time, of the role that sent the event: the current user of the INSERT, or the caller of a function of yquota';

-- A dump contains neither waiting_look nor skipped_waiting.  After a restore, the worker searches all rows.
CREATE TABLE yquota_internal.waiting_look (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	looked_by xid8 NOT NULL,
	seen_before xid8 NOT NULL,
	settled_before xid8 NOT NULL,
	all_looked_at timestamptz NOT NULL
);
COMMENT ON TABLE yquota_internal.waiting_look IS 'Searches of the worker for waiting events whose START is known: see apply_waiting()';
COMMENT ON COLUMN yquota_internal.waiting_look.looked_by IS 'transaction of the last search. Once every snapshot sees this transaction as ended, the rows before seen_before are settled';
COMMENT ON COLUMN yquota_internal.waiting_look.seen_before IS 'transaction id before which the search saw all rows';
COMMENT ON COLUMN yquota_internal.waiting_look.settled_before IS 'transaction id before which all rows are settled';
COMMENT ON COLUMN yquota_internal.waiting_look.all_looked_at IS 'clock when the worker last looked at all rows';

CREATE TABLE yquota_internal.skipped_waiting (
	container_id text COLLATE "C" NOT NULL
);
COMMENT ON TABLE yquota_internal.skipped_waiting IS
	'Containers that are in the books but have an event that still waits, because another transaction had locked the row of the event. The worker looks at them in every round';

CREATE TABLE yquota_internal.reported_end (
	container_id text COLLATE "C" NOT NULL,
	occurred_at timestamptz NOT NULL,
	exit_status integer,
	is_own boolean NOT NULL,
	is_assumed boolean NOT NULL,
	recorded_at timestamptz NOT NULL,
	source text,
	is_booked boolean NOT NULL
);
CREATE INDEX reported_end_container_id_idx ON yquota_internal.reported_end (container_id);
COMMENT ON TABLE yquota_internal.reported_end IS
	'Ends of containers for which different instants were reported, and ends that yquota reported itself. The earliest one counts';
COMMENT ON COLUMN yquota_internal.reported_end.is_own IS 'true if yquota itself sent the FINISH: expiry, release_containers(), reconcile(), node_lost()';
COMMENT ON COLUMN yquota_internal.reported_end.is_assumed IS 'true if the end was only concluded from the end of the application: see import_rm_audit()';
COMMENT ON COLUMN yquota_internal.reported_end.recorded_at IS 'clock of the statement that recorded the end';
COMMENT ON COLUMN yquota_internal.reported_end.source IS 'feed that reported the end; if several did, the first one';
COMMENT ON COLUMN yquota_internal.reported_end.is_booked IS 'true if the ledger had this end when a different end was reported; the source of this end is not known';

CREATE TABLE yquota_internal.discarded_event (
	reject_id bigint NOT NULL,
	removed boolean NOT NULL,
	event yquota.container_event_type NOT NULL,
	container_id text COLLATE "C",
	occurred_at timestamptz,
	project text COLLATE "C",
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	allocation yquota.resource,
	execution_type yquota.execution_type,
	exit_status integer,
	source text,
	recorded_at timestamptz NOT NULL,
	priority integer,
	allocation_request_id bigint,
	asked_label text COLLATE "C",
	is_am boolean,
	is_running boolean,
	event_id bigint
);
COMMENT ON TABLE yquota_internal.discarded_event IS
	'Events, as they are in the log, that were set aside and whose rows in event_reject an administrator has removed or changed';
COMMENT ON COLUMN yquota_internal.discarded_event.removed IS 'true if the row was removed; false if it was changed and may be tried again';

CREATE TABLE yquota_internal.event_without_effect (
	event_id bigint NOT NULL
);
COMMENT ON TABLE yquota_internal.event_without_effect IS
	'Events of the log that changed nothing when they arrived.  They were known already, they had no content, or the container had ended before.  Events that were set aside and then sent again are listed, too, because their later row in the log counts';

CREATE TABLE yquota_internal.charged_through (
	at timestamptz NOT NULL,
	recorded_at timestamptz NOT NULL,
	source text
);
CREATE INDEX charged_through_at_idx ON yquota_internal.charged_through (at);
COMMENT ON TABLE yquota_internal.charged_through IS
	'Charged-through marks. The mark with the greatest "at" counts. Each QUOTA_COMPUTE inserts a row, and the worker deletes all others';

-- Counters.  Statements insert changes into counter_delta and never wait.  The worker compacts these changes into
-- the tables below.  Readers add up both.
CREATE TABLE yquota_internal.counter_delta (
	scope "char" NOT NULL,
	project text COLLATE "C",
	shape yquota.resource,
	factors text[] COLLATE "C",
	reference_at timestamptz,
	weight numeric,
	accrual_base numeric,
	charged numeric,
	queue text COLLATE "C",
	label text COLLATE "C",
	username text COLLATE "C",
	node text COLLATE "C",
	execution_type yquota.execution_type,
	allocation yquota.resource,
	containers bigint,
	source text,
	events bigint,
	last_event_at timestamptz,
	pricing_version bigint,
	priced_through timestamptz,
	recorded_at timestamptz,
	changed_from timestamptz,
	changed_by xid8,
	packed bytea
);
-- The index is for sessions that cache the cluster.
CREATE INDEX counter_delta_changed_by_idx ON yquota_internal.counter_delta (changed_by) WHERE changed_by IS NOT NULL;
COMMENT ON TABLE yquota_internal.counter_delta IS
	'Changes of counters that have not been compacted, one or more rows per statement; counter_change shows the changes one by one';
COMMENT ON COLUMN yquota_internal.counter_delta.scope IS
	'counters that the row changes: p a project and its rate classes, u queues and users, n nodes, f a feed.  A statement about one container needs only one row, with scope a for all of these';
COMMENT ON COLUMN yquota_internal.counter_delta.shape IS 'allocation divided by the greatest common divisor of its amounts';
COMMENT ON COLUMN yquota_internal.counter_delta.reference_at IS 'full hour (UTC) from which accrual_base counts; in a row with several rate classes, the latest one';
COMMENT ON COLUMN yquota_internal.counter_delta.weight IS 'sum of the greatest common divisors of the allocations';
COMMENT ON COLUMN yquota_internal.counter_delta.accrual_base IS 'credits from reference_at to the containers'' settled_at; in a row with several rate classes, their sum';
COMMENT ON COLUMN yquota_internal.counter_delta.containers IS 'number of containers that started minus those that ended; in a row with several queues or nodes, their sum';
COMMENT ON COLUMN yquota_internal.counter_delta.charged IS 'credits posted to charge';
COMMENT ON COLUMN yquota_internal.counter_delta.pricing_version IS 'newest pricing_change that the statement saw; only the first row of the statement has this column and priced_through';
COMMENT ON COLUMN yquota_internal.counter_delta.priced_through IS 'latest instant whose price the statement used; only in the first row of the statement';
COMMENT ON COLUMN yquota_internal.counter_delta.recorded_at IS 'clock of the statement, or the latest recorded_at of its events; only in rows about feeds';
COMMENT ON COLUMN yquota_internal.counter_delta.changed_from IS
	'instant from which the statement has changed the spending of the project; NULL if it has not changed the spending';
COMMENT ON COLUMN yquota_internal.counter_delta.changed_by IS
	'transaction of this database that inserted the row, in rows about usage; NULL until a session requests transaction numbers (usage_numbering)';
COMMENT ON COLUMN yquota_internal.counter_delta.packed IS
	'several rate classes of the project, or several queues or nodes, packed as unpack_delta() reads them';

CREATE FUNCTION yquota_internal.unpack_delta(
	scope "char", packed bytea,
	OUT shape yquota.resource, OUT factors text[], OUT reference_at timestamptz, OUT weight numeric, OUT accrual_base numeric,
	OUT queue text, OUT label text, OUT username text, OUT node text, OUT is_opportunistic boolean,
	OUT allocation yquota.resource, OUT containers bigint) RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 50
	AS 'MODULE_PATHNAME', 'yq_sql_unpack_delta';
COMMENT ON FUNCTION yquota_internal.unpack_delta("char", bytea) IS
	'Return the rate classes in a row of counter_delta with scope p, or the usage in a row with scope u or n';

CREATE VIEW yquota_internal.packed_change AS
	SELECT delta.scope, delta.project, entry.shape, entry.factors COLLATE "C" AS factors,
		   entry.reference_at, entry.weight, entry.accrual_base,
		   entry.queue COLLATE "C" AS queue, entry.label COLLATE "C" AS label,
		   entry.username COLLATE "C" AS username, entry.node COLLATE "C" AS node,
		   CASE WHEN entry.is_opportunistic THEN 'OPPORTUNISTIC'
				WHEN NOT entry.is_opportunistic THEN 'GUARANTEED' END::yquota.execution_type AS execution_type,
		   entry.allocation, entry.containers, delta.changed_by
	FROM yquota_internal.counter_delta AS delta
	-- unpack_delta() returns no rows for a row without packed changes
	CROSS JOIN LATERAL yquota_internal.unpack_delta(delta.scope, delta.packed) AS entry
	WHERE delta.scope <> 'a';
COMMENT ON VIEW yquota_internal.packed_change IS
	'Changes of rate classes, queues and nodes in packed rows of counter_delta, one by one';

CREATE VIEW yquota_internal.counter_change AS
	SELECT delta.scope, delta.project, delta.shape, delta.factors, delta.reference_at, delta.weight, delta.accrual_base,
		   delta.queue, delta.label, delta.username, delta.node, delta.execution_type, delta.allocation, delta.containers,
		   delta.changed_by
	FROM yquota_internal.counter_delta AS delta
	WHERE delta.weight IS NOT NULL OR delta.allocation IS NOT NULL
	UNION ALL
	SELECT * FROM yquota_internal.packed_change;
COMMENT ON VIEW yquota_internal.counter_change IS
	'Changes that have not been compacted, one by one. They concern rate classes (with a weight), queues (scopes a and u) and nodes (a and n)';

-- Replaces the transaction id of rows that a dump, a publication or a manual INSERT brings.  An id of another database
-- has no meaning here.
CREATE FUNCTION yquota_internal.set_changed_by() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	NEW.changed_by := CASE WHEN NEW.containers IS NOT NULL THEN pg_current_xact_id() END;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.set_changed_by() IS
	'Write the current transaction id into a row about usage that comes from a dump, from a publication or by hand';
CREATE TRIGGER set_changed_by BEFORE INSERT ON yquota_internal.counter_delta
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.set_changed_by();
ALTER TABLE yquota_internal.counter_delta ENABLE ALWAYS TRIGGER set_changed_by;

-- Once a session wants to cache a cluster, transactions write their ids into rows about usage
-- (src/scheduler/cache/cluster_cache.h).  A dump leaves this table out, because a restored database has no such
-- session.
CREATE TABLE yquota_internal.usage_numbering (
	asked_by xid8 NOT NULL,
	complete_from xid8
);
COMMENT ON TABLE yquota_internal.usage_numbering IS
	'Empty until an allocation cycle has run.  From then on, rows of counter_delta about usage contain the ids of their transactions';
COMMENT ON COLUMN yquota_internal.usage_numbering.asked_by IS 'transaction that inserted the row';
COMMENT ON COLUMN yquota_internal.usage_numbering.complete_from IS
	'transaction from which on every transaction writes its id; NULL in the first row, which requests the ids';
CREATE FUNCTION yquota_internal.leave_out() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.leave_out() IS
	'Omit a row about transactions of another database, which has no meaning here';
CREATE TRIGGER leave_out BEFORE INSERT ON yquota_internal.usage_numbering
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.leave_out();
ALTER TABLE yquota_internal.usage_numbering ENABLE REPLICA TRIGGER leave_out;

CREATE TABLE yquota_internal.project_counter (
	project text COLLATE "C" PRIMARY KEY,
	charged numeric NOT NULL,
	accrual_base numeric NOT NULL
);
COMMENT ON TABLE yquota_internal.project_counter IS 'Compacted counters per project: credits posted to charge, and the accrual base of running_total';
COMMENT ON COLUMN yquota_internal.project_counter.accrual_base IS
	'credits to subtract from the cost of the project''s running_total since running_reference; negative if running containers already owed credits at that instant';

CREATE TABLE yquota_internal.rate_class_counter (
	project text COLLATE "C" NOT NULL,
	shape yquota.resource NOT NULL,
	factors text[] COLLATE "C",
	reference_at timestamptz NOT NULL,
	weight numeric NOT NULL,
	accrual_base numeric NOT NULL,
	UNIQUE NULLS NOT DISTINCT (project, shape, factors, reference_at)
);
COMMENT ON TABLE yquota_internal.rate_class_counter IS
	'Compacted counters: running containers per project, rate class (shape and factors) and hour of their settled_at';

-- Reading a balance must not take longer because containers have been running for many hours.  These tables therefore
-- combine all hours of a rate class, with costs counted from one instant, at the prices of one version of
-- pricing_change.  A later change of prices for those hours invalidates the result, and the next compaction computes
-- it again.  A balance reads one row per project, in which a number stands for each class.
CREATE TABLE yquota_internal.running_class (
	class_id integer PRIMARY KEY CHECK (class_id > 0),
	shape yquota.resource NOT NULL,
	factors text[] COLLATE "C",
	UNIQUE NULLS NOT DISTINCT (shape, factors)
);
COMMENT ON TABLE yquota_internal.running_class IS
	'Numbers of rate classes in running_total.  Compaction assigns them, and never assigns a number twice';

CREATE TABLE yquota_internal.running_total (
	project text COLLATE "C" PRIMARY KEY,
	weights bytea NOT NULL
) WITH (fillfactor = 50, toast_tuple_target = 8160);
ALTER TABLE yquota_internal.running_total ALTER COLUMN weights SET STORAGE MAIN;
COMMENT ON TABLE yquota_internal.running_total IS
	'The counts of rate_class_counter without the hours, in one row per project, for project_balance';
COMMENT ON COLUMN yquota_internal.running_total.weights IS
	'packed list of the number of each class (running_class) and the sum of its weights';

CREATE TABLE yquota_internal.running_reference (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	reference_at timestamptz NOT NULL,
	pricing_version bigint NOT NULL,
	classes integer NOT NULL,
	priced_through timestamptz NOT NULL CHECK (priced_through >= reference_at)
);
COMMENT ON TABLE yquota_internal.running_reference IS
	'Instant from which the accrual bases of project_counter count.  If there is no row, these bases and running_total must not be used';
COMMENT ON COLUMN yquota_internal.running_reference.priced_through IS
	'latest instant whose price is contained in the accrual bases: reference_at, or the hour of containers that were settled ahead of the clock';
COMMENT ON COLUMN yquota_internal.running_reference.pricing_version IS
	'newest pricing_change seen. If a later pricing_change affects prices before priced_through, the accrual bases are invalid';
COMMENT ON COLUMN yquota_internal.running_reference.classes IS 'highest number of a rate class so far';

CREATE TABLE yquota_internal.usage_counter (
	queue text COLLATE "C",
	label text COLLATE "C",
	username text COLLATE "C",
	execution_type yquota.execution_type NOT NULL,
	allocation yquota.resource NOT NULL,
	containers bigint NOT NULL,
	UNIQUE NULLS NOT DISTINCT (queue, label, username, execution_type)
);
COMMENT ON TABLE yquota_internal.usage_counter IS 'Compacted counters: usage of running containers, per queue, label, user and execution type';

CREATE TABLE yquota_internal.node_counter (
	node text COLLATE "C" NOT NULL,
	execution_type yquota.execution_type NOT NULL,
	allocation yquota.resource NOT NULL,
	containers bigint NOT NULL,
	PRIMARY KEY (node, execution_type)
);
COMMENT ON TABLE yquota_internal.node_counter IS 'Compacted counters: usage of running containers, per node and execution type';

CREATE TABLE yquota_internal.feed_counter (
	source text COLLATE "C",
	events bigint NOT NULL,
	last_event_at timestamptz,
	last_recorded_at timestamptz,
	UNIQUE NULLS NOT DISTINCT (source)
);
COMMENT ON TABLE yquota_internal.feed_counter IS 'Compacted counters: events received, per source';

CREATE TABLE yquota_internal.correction_due (
	changed_from timestamptz NOT NULL,
	noted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE yquota_internal.correction_due IS
	'Instants from which settlements missed a change of price. correct_late_prices() settles again from these instants, and deletes them';

-- State of the clock and of the worker.
CREATE TABLE yquota_internal.clock_setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	at timestamptz NOT NULL
);
COMMENT ON TABLE yquota_internal.clock_setting IS
	'Clock set by hand, for tests and demonstrations; without a row the system''s clock is used';

CREATE TABLE yquota_internal.cluster_total (
	resource_type text COLLATE "C" PRIMARY KEY,
	total bigint NOT NULL,
	accepted_at timestamptz NOT NULL,
	shrunk_since timestamptz
);
COMMENT ON TABLE yquota_internal.cluster_total IS
	'Totals from which prices were last computed. A cluster that is suddenly halved keeps its price for some time';

CREATE TABLE yquota_internal.worker_state (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	pid integer,
	started_at timestamptz,
	stopped_at timestamptz,
	stopped_on_purpose boolean NOT NULL DEFAULT false,
	system_identifier bigint,
	database_oid oid,
	last_price_at timestamptz,
	last_compute_at timestamptz,
	last_compact_at timestamptz,
	last_error text,
	last_error_at timestamptz,
	failures integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE yquota_internal.worker_state IS 'Last runs of the worker of this database';
