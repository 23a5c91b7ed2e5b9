--
-- From 0.2.0 to 0.3.0: what exists and changes.  What is new needs no line here.
--

-- What is archived from now on is kept as it was booked.
ALTER TABLE yquota.archived_history ADD COLUMN as_booked boolean NOT NULL DEFAULT false;
ALTER TABLE yquota.archived_history ALTER COLUMN as_booked SET DEFAULT true;
ALTER TABLE yquota.archived_history ADD COLUMN cluster text COLLATE "C";

-- The database, not the server, decides when history is sealed.
ALTER TABLE yquota.retention_setting ALTER COLUMN keep_months DROP NOT NULL,
	ADD COLUMN seal_interval interval NOT NULL DEFAULT '30 days' CHECK (seal_interval >= '0');

-- OPPORTUNISTIC requests are kept beside the others.
ALTER TABLE yquota.resource_request DROP CONSTRAINT resource_request_execution_type_check, DROP CONSTRAINT resource_request_pkey,
	ADD COLUMN first_seen_at timestamptz CHECK ((first_seen_at IS NOT NULL) = (execution_type = 'OPPORTUNISTIC')),
	ADD COLUMN expected_duration interval,
	ADD PRIMARY KEY (application_id, priority, allocation_request_id, execution_type, resource_name);
ALTER TABLE yquota_internal.request_counter DROP CONSTRAINT request_counter_pkey,
	ADD COLUMN execution_type yquota.execution_type NOT NULL DEFAULT 'GUARANTEED',
	ADD PRIMARY KEY (application_id, priority, allocation_request_id, execution_type);
ALTER TABLE yquota_internal.request_counter ALTER COLUMN execution_type DROP DEFAULT;

-- As in the other tables of settings.
ALTER TABLE yquota.scheduler_setting RENAME COLUMN one_row TO only_row;
ALTER TABLE yquota.scheduler_setting RENAME CONSTRAINT scheduler_setting_one_row_check TO scheduler_setting_only_row_check;

-- Time before a preemption can be free.
ALTER TABLE yquota.charging_rule
	ADD COLUMN free_before_preemption interval NOT NULL DEFAULT '0'
		CHECK (free_before_preemption >= '0' AND free_before_preemption <= '1 hour'),
	ADD COLUMN any_preemption_source boolean NOT NULL DEFAULT false;
ALTER TABLE yquota.charge ADD COLUMN given_back numeric;

-- Amounts may have six decimals more.
ALTER TABLE yquota.quota_grant
	DROP CONSTRAINT quota_grant_amount_check,
	ADD CONSTRAINT quota_grant_amount_check
		CHECK (amount NOT IN ('NaN', 'Infinity', '-Infinity') AND scale(amount) <= 54);
ALTER TABLE yquota.budget
	DROP CONSTRAINT budget_amount_check,
	ADD CONSTRAINT budget_amount_check
		CHECK (amount > 0 AND amount NOT IN ('NaN', 'Infinity') AND scale(amount) <= 54);
ALTER TABLE yquota.hold
	DROP CONSTRAINT hold_amount_check,
	ADD CONSTRAINT hold_amount_check
		CHECK (amount > 0 AND amount NOT IN ('NaN', 'Infinity') AND scale(amount) <= 54);

-- Indexes of counters hold names of this length.
ALTER TABLE yquota.project
	DROP CONSTRAINT project_name_check,
	ADD CONSTRAINT project_name_check CHECK (name <> '' AND octet_length(name) <= 255);
ALTER TABLE yquota.node
	DROP CONSTRAINT node_name_check,
	ADD CONSTRAINT node_name_check CHECK (name <> '' AND octet_length(name) <= 255),
	ADD CONSTRAINT node_label_check CHECK (octet_length(label) <= 255);

-- Factors may be computed.
ALTER TABLE yquota.price_factor
	ADD COLUMN load numeric CHECK (load IS NULL OR load >= 0 AND load <= 1 AND factor IS NOT NULL);

-- Containers may wait.  None did before, so no amount changes.
ALTER TABLE yquota.charging_rule
	ADD COLUMN waiting_factor numeric NOT NULL DEFAULT 0
		CHECK (waiting_factor >= 0 AND waiting_factor <= 1 AND scale(waiting_factor) <= 6);
ALTER TABLE yquota.charge ADD COLUMN waiting_factor numeric;

-- Credit is held for reservations as well.
ALTER TABLE yquota.hold
	ALTER COLUMN application_id DROP NOT NULL,
	ADD COLUMN reservation_id text COLLATE "C",
	ADD COLUMN queue text COLLATE "C",
	ADD CHECK ((application_id IS NULL) = (reservation_id IS NOT NULL)),
	ADD CHECK ((reservation_id IS NULL) = (queue IS NULL));

-- Reservations may cost something.
ALTER TABLE yquota.charging_rule
	ADD COLUMN reserved_factor numeric NOT NULL DEFAULT 0
		CHECK (reserved_factor >= 0 AND reserved_factor <= 1 AND scale(reserved_factor) <= 6);
DROP FUNCTION yquota.explain_charge(text);
DROP FUNCTION yquota_internal.explain_charge_as_owner(text);

-- Archives tell of their containers, and of balances.
DROP FUNCTION yquota_internal.is_searchable_archive(regclass);
DROP FUNCTION yquota_internal.find_archived_container(text);
DROP FUNCTION yquota_internal.refuse_archived_container(text);
DROP FUNCTION yquota_internal.spent_at(text, timestamptz);
DROP FUNCTION yquota_internal.burn_rate_at(text, timestamptz);

ALTER TABLE yquota_internal.counter_delta ADD COLUMN changed_from timestamptz;

-- Rows that are there have no number: no session with the new library has a cluster that was made before.
ALTER TABLE yquota_internal.counter_delta ADD COLUMN changed_by xid8;

-- A row about a project has its rate classes.  Rows that are there have one, and no packed ones.
ALTER TABLE yquota_internal.counter_delta ADD COLUMN packed bytea;
UPDATE yquota_internal.counter_delta SET scope = 'p' WHERE scope = 'r';

-- Rows tell in columns of their own what cycles have left of requests and reservations.  Rows that are there tell nothing
-- that matters: sessions notice another file, and load the cluster anew.
DROP INDEX yquota_internal.scheduler_change_changed_by_idx;
DROP TABLE yquota_internal.scheduler_change;

-- Siblings have the order of the configuration, and applications in fair order the places
-- of what they hold.
ALTER TABLE yquota_internal.queue_status DROP COLUMN refreshed;
DROP TRIGGER keep_place ON yquota.application;
DROP FUNCTION yquota_internal.keep_place();
ALTER TABLE yquota_internal.application_attempt
	DROP COLUMN placed_memory, DROP COLUMN placed_pending, DROP COLUMN uncounted_memory;

-- Limits for application masters follow from what queues use now.
DROP TRIGGER forget_am_limits ON yquota.node;
DROP TRIGGER forget_am_limits_of_change ON yquota.node;
DROP FUNCTION yquota_internal.forget_am_limits();
ALTER EXTENSION yquota DROP TABLE yquota_internal.am_limit;
DROP TABLE yquota_internal.am_limit;

-- What had been spent by an instant was looked at again once a day only: the worker
-- finds it anew, as far as the books reach.
DELETE FROM yquota_internal.spending_mark WHERE at >= yquota_internal.archive_horizon();

-- A request may tell how long its containers are expected to run.
ALTER TYPE yquota.container_request ADD ATTRIBUTE expected_duration interval;
DROP FUNCTION yquota.request_containers(text, yquota.resource, bigint, text, integer, bigint, boolean, text, yquota.execution_type);

-- They return more.
DROP FUNCTION yquota.place_application(text, text[], text, text);
DROP FUNCTION yquota.submit_application(text, text, text[], text, text, yquota.resource, integer, bigint, text[], text, boolean, text, text, text, text, text);
-- With the parameter even_if_mutable.
DROP FUNCTION yquota.import_hadoop_configuration(text, text);
DROP FUNCTION yquota.import_hadoop_configuration(xml, text);
DROP FUNCTION yquota.import_hadoop_configuration(jsonb, text);
DROP FUNCTION yquota.import_hadoop_configuration(text[], text);
DROP FUNCTION yquota.import_rm_audit(text, text, integer, text, text, text, timestamptz);
DROP FUNCTION yquota.import_rm_audit_file(text, text, integer, text, text, text, timestamptz);
DROP FUNCTION yquota_internal.send_rm_audit_events(yquota_internal.rm_audit_event[], text);

-- Containers may be promoted by a rule of their queue, and sharing may be limited.
ALTER TABLE yquota.queue
	ADD COLUMN auto_promote_after interval CHECK (auto_promote_after > '0' AND auto_promote_after <= '36500 days'),
	ADD COLUMN opportunistic_maximum_containers integer CHECK (opportunistic_maximum_containers >= 0),
	ADD COLUMN opportunistic_maximum_resource yquota.resource CHECK (opportunistic_maximum_resource OPERATOR(yquota.@>) '[]' AND opportunistic_maximum_resource OPERATOR(yquota.<>) '[]');

-- An application may be submitted to a reservation.
ALTER TABLE yquota.application ADD COLUMN reservation_id text COLLATE "C";

-- A container that a node is kept for is no reservation of capacity ahead of time.
ALTER TABLE yquota.reservation RENAME TO reserved_container;
ALTER INDEX yquota.reservation_pkey RENAME TO reserved_container_pkey;
ALTER INDEX yquota.reservation_application_id_idx RENAME TO reserved_container_application_id_idx;

-- Preemption: reservations that it has moved, and what it decides.
ALTER TABLE yquota.reserved_container ADD COLUMN moved_at timestamptz;
ALTER TABLE yquota.decision
	ADD COLUMN advised boolean NOT NULL DEFAULT false CHECK (NOT advised OR decision = 'killed'),
	ADD COLUMN farthest text CHECK (farthest IN ('NODE_LOCAL', 'RACK_LOCAL', 'OFF_SWITCH')),
	ADD COLUMN diagnostics text,
	ADD COLUMN execution_type yquota.execution_type NOT NULL DEFAULT 'GUARANTEED',
	DROP CONSTRAINT decision_decision_check,
	ADD CONSTRAINT decision_decision_check CHECK (decision IN ('allocated', 'reserved', 'unreserved', 'swapped', 'increased', 'promoted', 'marked', 'killed', 'killable',
		'rejected', 'shed', 'paused', 'resumed', 'expired'));
ALTER TABLE yquota.scheduler_setting
	ADD COLUMN preemption_candidate_order text,
	ADD COLUMN preemption_mode text,
	ADD COLUMN preemption_balance_keeps_marks boolean,
	ADD COLUMN end_expired_applications boolean,
	ADD COLUMN opportunistic_allocation_enabled boolean,
	ADD COLUMN opportunistic_nodes_used integer CHECK (opportunistic_nodes_used >= 0),
	ADD COLUMN opportunistic_max_per_heartbeat integer,
	ADD COLUMN node_sorting_interval interval CHECK (node_sorting_interval BETWEEN '1 ms' AND '3155760000000 ms'
			AND date_trunc('milliseconds', node_sorting_interval) = node_sorting_interval),
	ADD COLUMN node_load_comparator text CHECK (node_load_comparator IN ('QUEUE_LENGTH', 'QUEUE_WAIT_TIME', 'QUEUE_LENGTH_THEN_RESOURCES')),
	ADD COLUMN queue_limit_stdev real CHECK (queue_limit_stdev >= 0 AND queue_limit_stdev < 'Infinity'),
	ADD COLUMN min_queue_length integer CHECK (min_queue_length >= 0),
	ADD COLUMN max_queue_length integer CHECK (max_queue_length >= 0),
	ADD COLUMN min_queue_wait_time interval CHECK (min_queue_wait_time BETWEEN '0' AND '2147483647 ms' AND date_trunc('milliseconds', min_queue_wait_time) = min_queue_wait_time),
	ADD COLUMN max_queue_wait_time interval CHECK (max_queue_wait_time BETWEEN '0' AND '2147483647 ms' AND date_trunc('milliseconds', max_queue_wait_time) = max_queue_wait_time),
	ADD COLUMN allocation_expiry interval CHECK (allocation_expiry BETWEEN '0' AND '2147483647 ms' AND date_trunc('milliseconds', allocation_expiry) = allocation_expiry),
	ADD COLUMN scheduler_address text,
	ADD COLUMN opportunistic_queue_capacity integer,
	ADD COLUMN opportunistic_queue_policy text CHECK (opportunistic_queue_policy IN ('BY_QUEUE_LEN', 'BY_RESOURCES')),
	ADD COLUMN uses_pause_for_preemption boolean,
	ADD COLUMN distributed_scheduling_enabled boolean,
	ADD COLUMN amrmproxy_enabled boolean,
	ADD COLUMN amrmproxy_address text,
	ADD COLUMN amrmproxy_client_thread_count integer,
	ADD COLUMN vmem_pmem_ratio real CHECK (vmem_pmem_ratio > 0.99::real AND vmem_pmem_ratio < 'Infinity'),
	ADD COLUMN vmem_check_enabled boolean,
	ADD COLUMN opportunistic_minimum_allocation_mb integer CHECK (opportunistic_minimum_allocation_mb >= 0),
	ADD COLUMN opportunistic_minimum_allocation_vcores integer CHECK (opportunistic_minimum_allocation_vcores >= 0),
	ADD COLUMN opportunistic_maximum_allocation_mb integer CHECK (opportunistic_maximum_allocation_mb >= 0),
	ADD COLUMN opportunistic_maximum_allocation_vcores integer CHECK (opportunistic_maximum_allocation_vcores >= 0),
	ADD COLUMN opportunistic_increment_allocation_mb integer CHECK (opportunistic_increment_allocation_mb > 0),
	ADD COLUMN opportunistic_increment_allocation_vcores integer CHECK (opportunistic_increment_allocation_vcores > 0),
	ADD COLUMN opportunistic_token_expiry interval CHECK (opportunistic_token_expiry BETWEEN '0' AND '2147483647 ms' AND date_trunc('milliseconds', opportunistic_token_expiry) = opportunistic_token_expiry),
	ADD COLUMN opportunistic_maps_percent integer,
	ADD COLUMN former_names jsonb CHECK (jsonb_typeof(former_names) = 'object'),
	ADD COLUMN opportunistic_anywhere_order text CHECK (opportunistic_anywhere_order IN ('random', 'round_robin')),
	ADD COLUMN opportunistic_ignores_places boolean,
	ADD COLUMN opportunistic_maps_by_share boolean,
	ADD COLUMN node_queue_order text,
	ADD COLUMN opportunistic_kill_order text,
	ADD COLUMN reservation_system_max_periodicity bigint,
	ADD COLUMN reservation_system_smoothness_factor integer CHECK (reservation_system_smoothness_factor > 0),
	ADD COLUMN reservation_system_favor_early_allocation boolean,
	ADD COLUMN reservation_acl_enable boolean,
	ADD COLUMN reservation_wraps_periods boolean,
	ADD COLUMN reservation_most_windows integer CHECK (reservation_most_windows > 0),
	ADD COLUMN reservation_most_copies integer CHECK (reservation_most_copies > 0),
	ADD COLUMN reservation_most_requests integer CHECK (reservation_most_requests > 0),
	ADD COLUMN reservation_repeats_allocation boolean,
	ADD COLUMN reservation_plans_around_overcommitment boolean,
	ADD COLUMN reservation_reads_fractions boolean,
	ADD COLUMN reservation_ends_averages boolean,
	ADD COLUMN report_max_age interval CHECK (report_max_age BETWEEN '1 ms' AND '2147483647 ms' AND date_trunc('milliseconds', report_max_age) = report_max_age),
	ADD COLUMN opportunistic_user_maximum_containers integer CHECK (opportunistic_user_maximum_containers >= 0),
	ADD COLUMN opportunistic_user_maximum_resource yquota.resource CHECK (opportunistic_user_maximum_resource OPERATOR(yquota.@>) '[]' AND opportunistic_user_maximum_resource OPERATOR(yquota.<>) '[]'),
	ADD COLUMN opportunistic_application_maximum_containers integer CHECK (opportunistic_application_maximum_containers >= 0),
	ADD COLUMN opportunistic_application_maximum_resource yquota.resource CHECK (opportunistic_application_maximum_resource OPERATOR(yquota.@>) '[]' AND opportunistic_application_maximum_resource OPERATOR(yquota.<>) '[]');

-- Operators and aggregates call these; people do not.
ALTER FUNCTION yquota.resource_in(cstring) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_out(yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_recv(internal) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_send(yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_add(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_subtract(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_negate(yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_multiply(yquota.resource, bigint) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_multiply(bigint, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_lt(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_le(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_eq(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_ne(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_ge(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_gt(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_cmp(yquota.resource, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sortsupport(internal) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_hash(yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_hash_extended(yquota.resource, bigint) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_accum(internal, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_remove(internal, yquota.resource) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_combine(internal, internal) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_serialize(internal) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_deserialize(bytea, internal) SET SCHEMA yquota_internal;
ALTER FUNCTION yquota.resource_sum_final(internal) SET SCHEMA yquota_internal;

-- A property that no column stands for is not mapped.
ALTER TABLE yquota.kept_property RENAME TO unmapped_property;
ALTER TABLE yquota.unmapped_property RENAME CONSTRAINT kept_property_property_check TO unmapped_property_property_check;
ALTER INDEX yquota.kept_property_pkey RENAME TO unmapped_property_pkey;

-- History has segments, time has intervals.
ALTER TABLE yquota.history_stretch RENAME TO history_segment;
ALTER INDEX yquota.history_stretch_pkey RENAME TO history_segment_pkey;
ALTER TABLE yquota.archived_history RENAME COLUMN stretch TO segment;
ALTER TABLE yquota_internal.released_log RENAME COLUMN stretch TO segment;
ALTER VIEW yquota_internal.voidable_stretch RENAME TO voidable_segment;
ALTER VIEW yquota_internal.priced_stretch RENAME TO priced_segment;
ALTER FUNCTION yquota_internal.price_stretches(yquota.resource, text[], timestamptz, timestamptz) RENAME TO price_intervals;
DROP FUNCTION yquota.archive(regclass, timestamptz);
DROP FUNCTION yquota_internal.archive_as_owner(regclass, timestamptz);
DROP FUNCTION yquota_internal.copy_out(text, regclass, text);
DROP FUNCTION yquota_internal.archive_ledger(regclass, timestamptz);
DROP FUNCTION yquota_internal.archive_log(regclass, timestamptz);
DROP FUNCTION yquota_internal.note_archived(integer[], text, regclass);
DROP FUNCTION yquota_internal.take_from_rollup(integer, text[], timestamptz);
DROP FUNCTION yquota_internal.roll_up_rows(xid, timestamptz, xid, timestamptz);
DROP FUNCTION yquota_internal.next_to_archive(timestamptz);
DROP FUNCTION yquota_internal.make_archive_table(regclass, name, integer);

-- Days are considered before they are rolled up.
ALTER TABLE yquota_internal.rollup_state ADD COLUMN charges_per_sum integer NOT NULL DEFAULT 5 CHECK (charges_per_sum >= 0);
DELETE FROM yquota_internal.charge_rollup;
UPDATE yquota_internal.rollup_state SET horizon = NULL;

-- One filter is of all of history.
DO $$
DECLARE
	ledger text;
BEGIN
	FOR ledger IN SELECT s.ledger_table FROM yquota.history_segment AS s WHERE s.ledger_table IS NOT NULL LOOP
		PERFORM yquota_internal.drop_key_filter(ledger);
	END LOOP;
END
$$;
DROP FUNCTION yquota_internal.make_key_filter(text, name);
DROP FUNCTION yquota_internal.drop_key_filter(text);

-- Reports have tables, charts and sections with other arguments.
DROP FUNCTION yquota_internal.report_balance_chart(yquota_internal.report_part[], timestamptz[], timestamptz, text, text);
DROP FUNCTION yquota_internal.balance_chart(timestamptz[], numeric[], bigint, numeric, numeric, text);
DROP FUNCTION yquota_internal.past_balances(yquota_internal.report_part[], timestamptz[], timestamptz, text);
DROP FUNCTION yquota_internal.report_balances(yquota_internal.report_part[], timestamptz[], text, text);
DROP FUNCTION yquota_internal.report_spending(text, yquota_internal.report_part[], timestamptz[], text);
DROP FUNCTION yquota_internal.report_prices(text, boolean, timestamptz, timestamptz, text);
DROP FUNCTION yquota_internal.report_applications(timestamptz, timestamptz, text);
DROP FUNCTION yquota_internal.report_trouble(timestamptz, timestamptz, text, text);
DROP FUNCTION yquota_internal.report_parts(timestamptz[], text, text);
DROP TYPE yquota_internal.report_part;
DROP FUNCTION yquota_internal.chart(text, timestamptz, timestamptz, numeric, numeric, text, text[], text);
DROP FUNCTION yquota_internal.chart_x(timestamptz, timestamptz, timestamptz);
DROP FUNCTION yquota_internal.chart_y(numeric, numeric, numeric);
DROP FUNCTION yquota_internal.html_table(text[], text);
DROP FUNCTION yquota_internal.html_axis(numeric);
DROP FUNCTION yquota_internal.spending_per_day(timestamptz[], text, boolean);

-- Counters are compacted.
ALTER FUNCTION yquota_internal.fold_counters() RENAME TO compact_counters;
ALTER TABLE yquota_internal.usage_version RENAME COLUMN is_folding TO is_compacting;
ALTER TABLE yquota_internal.usage_version RENAME COLUMN folded_before TO compacted_before;
ALTER TABLE yquota_internal.usage_version RENAME COLUMN folded_but TO compacted_but;
ALTER TABLE yquota_internal.worker_state RENAME COLUMN last_fold_at TO last_compact_at;
ALTER VIEW yquota.worker_status RENAME COLUMN last_fold_at TO last_compact_at;
DROP FUNCTION yquota_internal.worker_record(integer, timestamptz, timestamptz, timestamptz, timestamptz, text, timestamptz, text[]);

-- Functions have names with their objects.
ALTER FUNCTION yquota.release(bigint) RENAME TO release_hold;
ALTER FUNCTION yquota.roll_up() RENAME TO roll_up_charges;
ALTER FUNCTION yquota_internal.release_as_owner(bigint) RENAME TO release_hold_as_owner;

-- A count is no total of amounts.
ALTER TABLE yquota_internal.application_total RENAME TO live_application_count;
ALTER INDEX yquota_internal.application_total_pkey RENAME TO live_application_count_pkey;

-- Jobs have one name, in SQL too.
ALTER VIEW yquota_internal.duty RENAME TO job;
ALTER VIEW yquota_internal.job RENAME COLUMN job TO cron_name;
ALTER TABLE yquota_internal.duty_run RENAME TO job_run;
ALTER TABLE yquota_internal.job_run RENAME COLUMN duty TO job;
ALTER INDEX yquota_internal.duty_run_pkey RENAME TO job_run_pkey;
DROP FUNCTION yquota_internal.duty_is_due(text, timestamptz);
DROP FUNCTION yquota_internal.worker_duty(text, timestamptz);
DROP FUNCTION yquota_internal.cron_has(text);

-- The events have numbers, and columns of what the scheduler knows of containers.
CREATE TABLE yquota_internal.arrived_since_last_void AS
	SELECT DISTINCT container_id,
		   ROW(event, container_id, occurred_at, project, application_id, username, queue, node, allocation,
		   execution_type, exit_status, source, recorded_at)::text AS content
	FROM yquota_internal.arrived_since_void;
DROP FUNCTION yquota_internal.verify_deferred();
DROP FUNCTION yquota_internal.verify_lives(timestamptz);
DROP FUNCTION yquota_internal.expected_charge(timestamptz);
DROP FUNCTION yquota_internal.expected_segment(timestamptz);
DROP FUNCTION yquota_internal.accepted_event(timestamptz);
DROP VIEW yquota_internal.arrived_since_void;
DROP VIEW yquota_internal.arrival_of_voided;
DROP VIEW yquota_internal.accepted_after_all;
DROP FUNCTION yquota_internal.unproven_container(timestamptz);
DROP VIEW yquota_internal.set_aside_event;
DROP VIEW yquota_internal.event_since_void;
DROP VIEW yquota_internal.stretch_since_void;
DROP VIEW yquota_internal.last_void;
DROP FUNCTION yquota_internal.void_batch(text[], text, jsonb, timestamptz);

ALTER TABLE yquota.container
	ADD COLUMN priority integer NOT NULL DEFAULT 0,
	ADD COLUMN allocation_request_id bigint NOT NULL DEFAULT -1,
	ADD COLUMN asked_label text COLLATE "C" NOT NULL DEFAULT '',
	ADD COLUMN is_am boolean NOT NULL DEFAULT false,
	ADD COLUMN is_running boolean NOT NULL DEFAULT true,
	ADD COLUMN waiting_factor numeric;
UPDATE yquota.container SET is_am = true WHERE container_id LIKE E'%\\_000001';
ALTER TABLE yquota.container
	ALTER COLUMN priority DROP DEFAULT,
	ALTER COLUMN allocation_request_id DROP DEFAULT,
	ALTER COLUMN asked_label DROP DEFAULT,
	ALTER COLUMN is_am DROP DEFAULT,
	ALTER COLUMN is_running DROP DEFAULT;
ALTER TABLE yquota.container_change
	ADD COLUMN priority integer,
	ADD COLUMN allocation_request_id bigint,
	ADD COLUMN asked_label text COLLATE "C",
	ADD COLUMN is_am boolean,
	ADD COLUMN is_running boolean,
	ADD COLUMN event_id bigint;
ALTER TABLE yquota.event_reject
	ADD COLUMN priority integer,
	ADD COLUMN allocation_request_id bigint,
	ADD COLUMN asked_label text COLLATE "C",
	ADD COLUMN is_am boolean,
	ADD COLUMN is_running boolean,
	ADD COLUMN event_id bigint,
	ADD COLUMN sent_by text COLLATE "C";
ALTER TABLE yquota_internal.discarded_event
	ADD COLUMN priority integer,
	ADD COLUMN allocation_request_id bigint,
	ADD COLUMN asked_label text COLLATE "C",
	ADD COLUMN is_am boolean,
	ADD COLUMN is_running boolean,
	ADD COLUMN event_id bigint;
ALTER TABLE yquota_internal.deferred_event
	ADD COLUMN priority integer,
	ADD COLUMN allocation_request_id bigint,
	ADD COLUMN asked_label text COLLATE "C",
	ADD COLUMN is_am boolean,
	ADD COLUMN is_running boolean,
	ADD COLUMN event_id bigint,
	ADD COLUMN sent_by text COLLATE "C";
ALTER TABLE yquota.container_event
	ADD COLUMN priority integer,
	ADD COLUMN allocation_request_id bigint,
	ADD COLUMN asked_label text COLLATE "C",
	ADD COLUMN is_am boolean,
	ADD COLUMN is_running boolean;

-- A table with children gets no identity: the sealed ones are taken off meanwhile.
-- Log tables that wait for archive() have left it already.
DO $$
DECLARE
	sealed regclass[] := ARRAY(SELECT inhrelid::regclass FROM pg_inherits
							   WHERE inhparent = 'yquota.container_event'::regclass ORDER BY inhrelid);
	released regclass[] := ARRAY(SELECT format('yquota_internal.%I', log_table)::regclass
								 FROM yquota_internal.released_log ORDER BY log_table);
	log regclass;
BEGIN
	FOREACH log IN ARRAY sealed LOOP
		EXECUTE format('ALTER TABLE %s NO INHERIT yquota.container_event', log);
	END LOOP;
	ALTER TABLE yquota.container_event ADD COLUMN event_id bigint GENERATED ALWAYS AS IDENTITY (CACHE 64);
	FOREACH log IN ARRAY released LOOP
		EXECUTE format('ALTER TABLE %s ADD COLUMN priority integer, ADD COLUMN allocation_request_id bigint,
						ADD COLUMN asked_label text COLLATE "C", ADD COLUMN is_am boolean, ADD COLUMN is_running boolean', log);
	END LOOP;
	FOREACH log IN ARRAY sealed || released LOOP
		EXECUTE format('ALTER TABLE %s ADD COLUMN event_id bigint NOT NULL
						DEFAULT nextval(''yquota.container_event_event_id_seq'')', log);
		EXECUTE format('ALTER TABLE %s ALTER COLUMN event_id DROP DEFAULT', log);
	END LOOP;
	FOREACH log IN ARRAY sealed LOOP
		EXECUTE format('ALTER TABLE %s INHERIT yquota.container_event', log);
	END LOOP;
END
$$;

-- Rows of the log that were set aside are found by their content, for the last time.
WITH aside AS (
	SELECT tableoid AS book, ctid AS place, container_id,
		   ROW(event, container_id, occurred_at, project, application_id, username, queue, node, allocation,
			   execution_type, exit_status, source, recorded_at)::text AS content
	FROM yquota.event_reject
	UNION ALL
	SELECT tableoid, ctid, container_id,
		   ROW(event, container_id, occurred_at, project, application_id, username, queue, node, allocation,
			   execution_type, exit_status, source, recorded_at)::text
	FROM yquota_internal.discarded_event
	UNION ALL
	SELECT tableoid, ctid, container_id,
		   ROW(event, container_id, occurred_at, project, application_id, username, queue, node, allocation,
			   execution_type, exit_status, source, recorded_at)::text
	FROM yquota_internal.deferred_event
), log AS (
	SELECT event_id,
		   ROW(event, container_id, occurred_at, project, application_id, username, queue, node, allocation,
			   execution_type, exit_status, source, recorded_at)::text AS content
	FROM yquota.container_event
	WHERE coalesce(container_id, '') IN (SELECT coalesce(aside.container_id, '') FROM aside)
), found AS MATERIALIZED (
	SELECT a.book, a.place, l.event_id
	FROM (SELECT *, row_number() OVER (PARTITION BY content ORDER BY book, place) AS copy FROM aside) AS a
	JOIN (SELECT *, row_number() OVER (PARTITION BY content ORDER BY event_id) AS copy FROM log) AS l USING (content, copy)
), rejected AS (
	UPDATE yquota.event_reject AS r SET event_id = found.event_id
	FROM found WHERE r.tableoid = found.book AND r.ctid = found.place
), discarded AS (
	UPDATE yquota_internal.discarded_event AS d SET event_id = found.event_id
	FROM found WHERE d.tableoid = found.book AND d.ctid = found.place
)
UPDATE yquota_internal.deferred_event AS d SET event_id = found.event_id
FROM found WHERE d.tableoid = found.book AND d.ctid = found.place;
