--
-- The configuration of the scheduler (docs/design.md 5).  The tables hold queues, settings for a
-- label or a user of a queue, rules that choose a queue, and settings of the whole scheduler.
--
-- A column has the name of Hadoop's property, with underscores for dashes and dots. The column
-- holds the configured value; NULL means "not set", never a default. C code computes the effective
-- values in the hierarchy.  yquota_internal.hadoop_property has the column, notation and default of
-- each property (queues/230_hadoop_property.sql).
--
-- The checks of these tables concern one row and refuse values that no version of Hadoop reads.
-- Rules about several rows (parents, sums, states, labels) are checked when a transaction commits.
--
-- Fractions are real, because Hadoop computes with 32-bit floats and results must equal Hadoop's to
-- the last digit. (Two factors of preemption are double precision here, as they are in Hadoop.) No
-- amount of money is computed from fractions. NaN, infinity and NULL elements of lists are refused,
-- because Hadoop's files cannot contain them.
--

-- A path names the queues from the root down. A dot separates names in a path and a comma separates
-- names in a list, so names have neither. Hadoop trims names, so a name has no blanks at its ends.
CREATE FUNCTION yquota_internal.is_queue_path(path text) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN path ~ E'^root(\\.[^.,\\s]+( +[^.,\\s]+)*)*$' AND octet_length(path) <= 2000;
COMMENT ON FUNCTION yquota_internal.is_queue_path(text) IS
	'Tell whether a text is the full path of a queue';

-- The server's error about a domain does not say which values the domain allows.
CREATE FUNCTION yquota_internal.refuse_queue_path(path text, is_path_below_root boolean) RETURNS boolean
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'invalid path of a queue: "%"', left(path, 200)
		USING ERRCODE = 'check_violation', SCHEMA = 'yquota', DATATYPE = 'queue_path', CONSTRAINT = 'queue_path_form',
			DETAIL = 'It must be root, or root and names of queues separated by dots, and at most 2000 bytes long.',
			HINT = CASE WHEN is_path_below_root THEN format('Perhaps you meant "root.%s".', left(path, 200))
						ELSE 'The name of a queue has no comma, and no blank at its ends.' END;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_queue_path(text, boolean) IS
	'Raise the error that a text is not the full path of a queue.  The second argument tells whether "root." before the text makes it a full path';

CREATE DOMAIN yquota.queue_path AS text COLLATE "C"
	CONSTRAINT queue_path_form CHECK (yquota_internal.is_queue_path(VALUE)
		OR yquota_internal.refuse_queue_path(VALUE, yquota_internal.is_queue_path('root.' || VALUE)));
COMMENT ON DOMAIN yquota.queue_path IS
	'Full path of a queue: root, or names below it separated by dots, such as root.sales.etl';

CREATE FUNCTION yquota_internal.is_hadoop_capacity(capacity text) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN capacity ~ E'^([+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?[fFdD]?w?|\\[[\\w.,\\-=%/ ]+\\])$';
COMMENT ON FUNCTION yquota_internal.is_hadoop_capacity(text) IS
	'Tell whether a text is a capacity: 12.5 (percent), 2w (weight), or [memory=10240,vcores=12] with numbers, percents or weights';

CREATE TABLE yquota.queue (
	path yquota.queue_path PRIMARY KEY,
	parent text COLLATE "C" GENERATED ALWAYS AS
		(CASE WHEN path::text <> 'root' THEN regexp_replace(path::text, E'\\.[^.]*$', '') END) STORED,
	name text COLLATE "C" NOT NULL GENERATED ALWAYS AS (regexp_replace(path::text, E'^.*\\.', '')) STORED,
	position integer,
	auto_created boolean NOT NULL DEFAULT false,
	capacity text CHECK (yquota_internal.is_hadoop_capacity(capacity)),
	maximum_capacity text CHECK (yquota_internal.is_hadoop_capacity(maximum_capacity)),
	minimum_user_limit_percent real CHECK (abs(minimum_user_limit_percent) < 'Infinity'),
	user_limit_factor real CHECK (abs(user_limit_factor) < 'Infinity'),
	maximum_allocation yquota.resource,
	maximum_allocation_mb integer,
	maximum_allocation_vcores integer,
	maximum_applications integer,
	maximum_am_resource_percent real CHECK (abs(maximum_am_resource_percent) < 'Infinity'),
	max_parallel_apps integer,
	state yquota.queue_state,
	acl_submit_applications text,
	acl_administer_queue text,
	acl_application_max_priority text,
	acl_administer_reservations text,
	acl_list_reservations text,
	acl_submit_reservations text,
	default_application_priority integer,
	priority integer,
	ordering_policy text,
	ordering_policy_options jsonb CHECK (jsonb_typeof(ordering_policy_options) = 'object'),
	accessible_node_labels text[] CHECK (array_position(accessible_node_labels, NULL) IS NULL),
	default_node_label_expression text,
	disable_preemption boolean,
	intra_queue_preemption_disable_preemption boolean,
	maximum_application_lifetime bigint,
	default_application_lifetime bigint,
	reservable boolean,
	reservation_window bigint,
	instantaneous_max_capacity real CHECK (abs(instantaneous_max_capacity) < 'Infinity'),
	average_capacity real CHECK (abs(average_capacity) < 'Infinity'),
	reservation_policy text,
	reservation_agent text,
	reservation_planner text,
	reservation_enforcement_window bigint,
	reservation_move_on_expiry boolean,
	show_reservations_as_queues boolean,
	allow_zero_capacity_sum boolean,
	multi_node_sorting_policy text,
	auto_create_child_queue_enabled boolean,
	auto_create_child_queue_max_queues integer,
	auto_create_child_queue_fail_on_exceeding_parent_capacity boolean,
	auto_create_child_queue_management_policy text,
	leaf_queue_template jsonb CHECK (jsonb_typeof(leaf_queue_template) = 'object'),
	auto_queue_creation_v2_enabled boolean,
	auto_queue_creation_v2_max_queues integer,
	auto_queue_creation_v2_maximum_queue_depth integer,
	auto_queue_creation_v2_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_template) = 'object'),
	auto_queue_creation_v2_leaf_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_leaf_template) = 'object'),
	auto_queue_creation_v2_parent_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_parent_template) = 'object'),
	auto_queue_creation_v2_queue_auto_removal_enable boolean,
	auto_promote_after interval CHECK (auto_promote_after > '0' AND auto_promote_after <= '36500 days'),
	opportunistic_maximum_containers integer CHECK (opportunistic_maximum_containers >= 0),
	opportunistic_maximum_resource yquota.resource CHECK (opportunistic_maximum_resource OPERATOR(yquota.@>) '[]' AND opportunistic_maximum_resource OPERATOR(yquota.<>) '[]'),
	hold_policy text CHECK (hold_policy IN ('none', 'quote')),
	CONSTRAINT queue_state_configured CHECK (state <> 'DRAINING')
);
CREATE INDEX queue_parent_idx ON yquota.queue (parent);
CREATE INDEX queue_name_idx ON yquota.queue (name);
COMMENT ON TABLE yquota.queue IS
	'Queues and their configuration: Hadoop''s yarn.scheduler.capacity.<path>.<property>.  NULL: not set';
COMMENT ON COLUMN yquota.queue.parent IS 'path of the queue above; NULL for root';
COMMENT ON COLUMN yquota.queue.name IS 'last part of the path; several queues may have the same name';
COMMENT ON COLUMN yquota.queue.position IS 'place among the children of its parent, in the order of Hadoop''s property queues; created queues follow in order of creation. Queues without a position come last, by path';
COMMENT ON COLUMN yquota.queue.auto_created IS
	'true if a submission created the queue. Exports leave such queues out; imports keep them while their parent remains';
COMMENT ON COLUMN yquota.queue.capacity IS 'in Hadoop''s notation: 12.5 (percent of the parent), 2w (weight), [memory=10240,vcores=12] (MiB, cores), or mixed';
COMMENT ON COLUMN yquota.queue.maximum_capacity IS 'in the notation of capacity, but without weights; -1 means 100';
COMMENT ON COLUMN yquota.queue.minimum_user_limit_percent IS 'percent of the queue';
COMMENT ON COLUMN yquota.queue.user_limit_factor IS 'factor on the queue''s capacity; -1: no limit';
COMMENT ON COLUMN yquota.queue.maximum_allocation IS 'largest container, in native units; takes precedence over the next two columns';
COMMENT ON COLUMN yquota.queue.maximum_allocation_mb IS 'MiB; -1: not set';
COMMENT ON COLUMN yquota.queue.maximum_allocation_vcores IS 'cores; -1: not set';
COMMENT ON COLUMN yquota.queue.maximum_am_resource_percent IS 'fraction (0.1 is ten percent) of the queue for application masters';
COMMENT ON COLUMN yquota.queue.state IS 'configured state, RUNNING or STOPPED; a queue drains by itself';
COMMENT ON COLUMN yquota.queue.acl_submit_applications IS 'users, a blank, groups; * admits every user and one blank none';
COMMENT ON COLUMN yquota.queue.acl_administer_queue IS 'written as acl_submit_applications';
COMMENT ON COLUMN yquota.queue.acl_application_max_priority IS 'groups such as [user=u1 group=g1 max_priority=7 default_priority=4]';
COMMENT ON COLUMN yquota.queue.acl_administer_reservations IS 'written as acl_submit_applications';
COMMENT ON COLUMN yquota.queue.acl_list_reservations IS 'written as acl_submit_applications';
COMMENT ON COLUMN yquota.queue.acl_submit_reservations IS 'written as acl_submit_applications';
COMMENT ON COLUMN yquota.queue.priority IS 'priority of the queue among its siblings; larger comes first';
COMMENT ON COLUMN yquota.queue.ordering_policy IS 'ordering policy of applications in a leaf, of children in a parent';
COMMENT ON COLUMN yquota.queue.ordering_policy_options IS
	'JSON object of options. A key is the part of Hadoop''s name after the prefix ordering-policy, such as in {"fair.enable-size-based-weight": "true"}';
COMMENT ON COLUMN yquota.queue.accessible_node_labels IS '{*} means every label, {} only the default partition';
COMMENT ON COLUMN yquota.queue.maximum_application_lifetime IS 'seconds; 0: no limit; negative: the limit of the parent';
COMMENT ON COLUMN yquota.queue.default_application_lifetime IS 'seconds';
COMMENT ON COLUMN yquota.queue.reservable IS 'true if the queue is a plan of reservations, whose applications run in queues below it. A leaf must be stopped to become one; a plan stays one while applications or containers are in its queues';
COMMENT ON COLUMN yquota.queue.reservation_window IS 'milliseconds over which average_capacity holds, at most 36500 days; 0 or less, or NULL: a day';
COMMENT ON COLUMN yquota.queue.instantaneous_max_capacity IS 'percent of the plan''s queue that a user may reserve at an instant; NULL: 100. A value up to 1 is a fraction where scheduler_setting.reservation_reads_fractions is true';
COMMENT ON COLUMN yquota.queue.average_capacity IS
	'percent of the plan''s queue that a user may reserve on average over the window. A value up to 1 is read as in instantaneous_max_capacity';
COMMENT ON COLUMN yquota.queue.reservation_policy IS 'class: CapacityOverTimePolicy (also if NULL) or NoOverCommitPolicy, in any package; any other value is refused at commit';
COMMENT ON COLUMN yquota.queue.reservation_agent IS 'class: AlignedPlannerWithGreedy (also if NULL) or GreedyReservationAgent, in any package; any other value is refused at commit';
COMMENT ON COLUMN yquota.queue.reservation_planner IS 'class: SimpleCapacityReplanner, in any package; any other value is refused at commit';
COMMENT ON COLUMN yquota.queue.reservation_enforcement_window IS 'milliseconds from now. If the plan is too small for its reservations within this time, some of them are ended. NULL: an hour';
COMMENT ON COLUMN yquota.queue.reservation_move_on_expiry IS 'true (also if NULL) if applications go on in the default queue when their reservation is over; false if they are killed';
COMMENT ON COLUMN yquota.queue.show_reservations_as_queues IS 'true if effective_queue and scheduler_queue show the queues of a plan; otherwise they count only in the plan''s figures';
COMMENT ON COLUMN yquota.queue.leaf_queue_template IS
	'JSON object of properties for leaves that the first generation of auto-creation creates. A key is the part of Hadoop''s name after the prefix leaf-queue-template, such as in {"capacity": "5"}';
COMMENT ON COLUMN yquota.queue.auto_queue_creation_v2_template IS
	'object of Hadoop''s properties for all queues that the second generation of auto-creation creates below this queue';
COMMENT ON COLUMN yquota.queue.auto_queue_creation_v2_leaf_template IS 'object of Hadoop''s properties for created leaves only; takes precedence over the template for all created queues';
COMMENT ON COLUMN yquota.queue.auto_queue_creation_v2_parent_template IS 'object of Hadoop''s properties for created parents only; takes precedence over the template for all created queues';
COMMENT ON COLUMN yquota.queue.auto_promote_after IS 'run time after which an OPPORTUNISTIC container is promoted when there is room: above 0 and up to 36,500 days; a month has 30 days. It holds for the queues below that have no value of their own. NULL up to root: no container is promoted. Hadoop has no such property, so imports leave the column as it is';
COMMENT ON COLUMN yquota.queue.opportunistic_maximum_containers IS 'number of OPPORTUNISTIC containers that the queue and those below it may have at once (limits of sharing), 0 or more; NULL: no limit. Hadoop has no such property, nor one for the next column';
COMMENT ON COLUMN yquota.queue.opportunistic_maximum_resource IS 'sum of the allocations of OPPORTUNISTIC containers that the queue and those below it may have, native units. A resource type that is missing has no limit';
COMMENT ON COLUMN yquota.queue.hold_policy IS 'submissions that hold the cost of their expected containers: all of them (quote), or those that ask for it (none). It applies to the queues below that have no value of their own. NULL up to root: none. Hadoop has no such property, so imports leave the column as it is';
COMMENT ON CONSTRAINT queue_capacity_check ON yquota.queue IS
	'It must be a percentage such as 12.5, a weight such as 2w, or a list such as [memory=10240,vcores=12].';
COMMENT ON CONSTRAINT queue_maximum_capacity_check ON yquota.queue IS
	'It must be a percentage such as 12.5, a weight such as 2w, or a list such as [memory=10240,vcores=12].';
COMMENT ON CONSTRAINT queue_opportunistic_maximum_resource_check ON yquota.queue IS
	'It must have at least one resource type, and no negative amount.';

CREATE TABLE yquota.queue_label (
	queue yquota.queue_path NOT NULL REFERENCES yquota.queue ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	label text COLLATE "C" NOT NULL CHECK (label <> '' AND octet_length(label) <= 255),
	capacity text CHECK (yquota_internal.is_hadoop_capacity(capacity)),
	maximum_capacity text CHECK (yquota_internal.is_hadoop_capacity(maximum_capacity)),
	maximum_am_resource_percent real CHECK (abs(maximum_am_resource_percent) < 'Infinity'),
	PRIMARY KEY (queue, label)
);
COMMENT ON TABLE yquota.queue_label IS
	'Configuration of a queue on the nodes of a label: Hadoop''s yarn.scheduler.capacity.<path>.accessible-node-labels.<label>.<property>';
COMMENT ON COLUMN yquota.queue_label.capacity IS 'as queue.capacity, for the nodes of the label';
COMMENT ON COLUMN yquota.queue_label.maximum_capacity IS 'as queue.maximum_capacity, for the nodes of the label';
COMMENT ON COLUMN yquota.queue_label.maximum_am_resource_percent IS 'fraction';
COMMENT ON CONSTRAINT queue_label_capacity_check ON yquota.queue_label IS
	'It must be a percentage such as 12.5, a weight such as 2w, or a list such as [memory=10240,vcores=12].';
COMMENT ON CONSTRAINT queue_label_maximum_capacity_check ON yquota.queue_label IS
	'It must be a percentage such as 12.5, a weight such as 2w, or a list such as [memory=10240,vcores=12].';

CREATE TABLE yquota.queue_user (
	queue yquota.queue_path NOT NULL REFERENCES yquota.queue ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	username text COLLATE "C" NOT NULL CHECK (username <> '' AND octet_length(username) <= 255),
	weight real CHECK (abs(weight) < 'Infinity'),
	PRIMARY KEY (queue, username)
);
COMMENT ON TABLE yquota.queue_user IS
	'Weights of users in a queue and in the queues below it: Hadoop''s yarn.scheduler.capacity.<path>.user-settings.<user>.weight';
COMMENT ON COLUMN yquota.queue_user.weight IS 'factor on the limit of the user';

CREATE TABLE yquota.wildcard_template (
	path text COLLATE "C" PRIMARY KEY CHECK (path ~ E'^root(\\.[^.,\\s]+( +[^.,\\s]+)*)*\\.\\*$' AND octet_length(path) <= 2000),
	auto_queue_creation_v2_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_template) = 'object'),
	auto_queue_creation_v2_leaf_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_leaf_template) = 'object'),
	auto_queue_creation_v2_parent_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_parent_template) = 'object')
);
COMMENT ON TABLE yquota.wildcard_template IS
	'Templates for all parent queues with the same parent: Hadoop''s yarn.scheduler.capacity.<path of the parent>.*.auto-queue-creation-v2.<template>.<property>';
COMMENT ON COLUMN yquota.wildcard_template.path IS 'path with * for its last part';
COMMENT ON COLUMN yquota.wildcard_template.auto_queue_creation_v2_template IS 'as in the table queue, whose value takes precedence';
COMMENT ON COLUMN yquota.wildcard_template.auto_queue_creation_v2_leaf_template IS 'as in the table queue, whose value takes precedence';
COMMENT ON COLUMN yquota.wildcard_template.auto_queue_creation_v2_parent_template IS 'as in the table queue, whose value takes precedence';
COMMENT ON CONSTRAINT wildcard_template_path_check ON yquota.wildcard_template IS
	'It must be the path of a queue followed by ".*", such as "root.users.*", and at most 2000 bytes long.';

CREATE TYPE yquota.mapping_rule_kind AS ENUM ('legacy', 'application', 'json');
COMMENT ON TYPE yquota.mapping_rule_kind IS
	'Hadoop''s property that has a mapping rule: queue-mappings, queue-placement-rules.app-name (read after queue-mappings), or mapping-rule-json';

CREATE TABLE yquota.mapping_rule (
	kind yquota.mapping_rule_kind NOT NULL,
	position integer NOT NULL,
	type text COLLATE "C" NOT NULL CHECK (type IN ('user', 'group', 'application')),
	matches text COLLATE "C" NOT NULL CHECK (matches <> ''),
	queue text COLLATE "C" CHECK (queue <> ''),
	policy text COLLATE "C" CHECK (policy IN ('specified', 'reject', 'defaultQueue', 'user', 'primaryGroup', 'secondaryGroup',
		'primaryGroupUser', 'secondaryGroupUser', 'applicationName', 'custom', 'setDefaultQueue')),
	parent_queue text,
	custom_placement text,
	value text,
	create_queue boolean,
	fallback_result text COLLATE "C" CHECK (fallback_result IN ('skip', 'placeDefault', 'reject')),
	PRIMARY KEY (kind, position),
	CONSTRAINT mapping_rule_has_target CHECK (CASE WHEN kind = 'json'
		THEN policy IS NOT NULL AND queue IS NULL
		ELSE queue IS NOT NULL AND coalesce(policy, parent_queue, custom_placement, value, fallback_result, create_queue::text) IS NULL END),
	CONSTRAINT mapping_rule_type_of_kind CHECK (CASE kind WHEN 'application' THEN type = 'application' WHEN 'legacy' THEN type <> 'application' ELSE true END)
);
COMMENT ON TABLE yquota.mapping_rule IS
	'Rules that choose the queue of an application, in their order.  scheduler_setting.mapping_rule_format tells which rules are in force: those of kind legacy (also if NULL) followed by application, or those of kind json';
COMMENT ON COLUMN yquota.mapping_rule.position IS 'rules of a kind are looked at in this order';
COMMENT ON COLUMN yquota.mapping_rule.type IS 'the compared property: user, group or application';
COMMENT ON COLUMN yquota.mapping_rule.matches IS 'the name or variable to compare with, such as %user; in a json rule, * means every user';
COMMENT ON COLUMN yquota.mapping_rule.queue IS 'target of a legacy rule: a path or short name, which may contain variables; NULL in json';
COMMENT ON COLUMN yquota.mapping_rule.policy IS 'action of a json rule';
COMMENT ON COLUMN yquota.mapping_rule.parent_queue IS 'json: parentQueue, put before the generated path';
COMMENT ON COLUMN yquota.mapping_rule.custom_placement IS 'json: customPlacement, the path that policy custom generates';
COMMENT ON COLUMN yquota.mapping_rule.value IS 'json: the queue of policy setDefaultQueue';
COMMENT ON COLUMN yquota.mapping_rule.create_queue IS 'json: create, whether the queue may be created';
COMMENT ON COLUMN yquota.mapping_rule.fallback_result IS 'json: fallbackResult, the action when the queue cannot be used';
COMMENT ON CONSTRAINT mapping_rule_has_target ON yquota.mapping_rule IS
	'A rule of kind "json" sets the column "policy" and not "queue". A rule of another kind sets "queue", and no column of JSON rules.';
COMMENT ON CONSTRAINT mapping_rule_type_of_kind ON yquota.mapping_rule IS
	'A rule of kind "application" has type "application", and a rule of kind "legacy" has another type.';

CREATE TABLE yquota.workflow_priority_mapping (
	position integer PRIMARY KEY,
	workflow_id text COLLATE "C" NOT NULL CHECK (workflow_id <> ''),
	queue text COLLATE "C" NOT NULL CHECK (queue <> ''),
	priority integer NOT NULL
);
COMMENT ON TABLE yquota.workflow_priority_mapping IS
	'Priorities of workflows: Hadoop''s workflow-priority-mappings.  If two rows have the same workflow and queue, the later row counts';
COMMENT ON COLUMN yquota.workflow_priority_mapping.workflow_id IS 'compared in lower case';
COMMENT ON COLUMN yquota.workflow_priority_mapping.queue IS 'full path; any other text never matches';

CREATE TABLE yquota.user_setting (
	username text COLLATE "C" PRIMARY KEY CHECK (username <> '' AND octet_length(username) <= 255),
	max_parallel_apps integer
);
COMMENT ON TABLE yquota.user_setting IS
	'Configuration of a user in all queues: Hadoop''s yarn.scheduler.capacity.user.<user>.max-parallel-apps';
COMMENT ON COLUMN yquota.user_setting.max_parallel_apps IS 'applications of the user that may run at once';

CREATE TABLE yquota.multi_node_sorting_policy (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> '' AND octet_length(name) <= 255),
	class text,
	sorting_interval_ms bigint
);
COMMENT ON TABLE yquota.multi_node_sorting_policy IS
	'Ways to sort nodes: Hadoop''s yarn.scheduler.capacity.multi-node-sorting.policy.<name>';
COMMENT ON COLUMN yquota.multi_node_sorting_policy.sorting_interval_ms IS 'milliseconds';

CREATE TABLE yquota.node_label (
	name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[0-9a-zA-Z][0-9a-zA-Z_-]*$' AND octet_length(name) <= 255),
	exclusive boolean NOT NULL DEFAULT true
);
COMMENT ON TABLE yquota.node_label IS
	'Labels (partitions) of the cluster.  Hadoop keeps them outside of its configuration; import does not touch them';
COMMENT ON COLUMN yquota.node_label.exclusive IS
	'false: containers of the default partition may use idle nodes of this one';
COMMENT ON CONSTRAINT node_label_name_check ON yquota.node_label IS
	'It must consist of ASCII letters, digits, "_" and "-", begin with a letter or digit, and be at most 255 bytes long.';

CREATE TABLE yquota.unmapped_property (
	property text COLLATE "C" PRIMARY KEY CHECK (property LIKE 'yarn.scheduler.capacity.%' AND octet_length(property) <= 2000),
	value text NOT NULL
);
COMMENT ON TABLE yquota.unmapped_property IS
	'Properties of an imported capacity-scheduler.xml that have no column, or whose queue is not listed.  Kept for export, and for queues created later';
COMMENT ON COLUMN yquota.unmapped_property.property IS 'full name of the property in Hadoop';
COMMENT ON CONSTRAINT unmapped_property_property_check ON yquota.unmapped_property IS
	'It must begin with "yarn.scheduler.capacity.", and be at most 2000 bytes long.';

CREATE TABLE yquota.scheduler_setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	maximum_applications integer,
	global_queue_max_application integer,
	maximum_am_resource_percent real CHECK (abs(maximum_am_resource_percent) < 'Infinity'),
	minimum_user_limit_percent real CHECK (abs(minimum_user_limit_percent) < 'Infinity'),
	user_limit_factor real CHECK (abs(user_limit_factor) < 'Infinity'),
	max_parallel_apps integer,
	user_max_parallel_apps integer,
	resource_calculator text CONSTRAINT resource_calculator_known
		CHECK (resource_calculator ~ E'^\\s*(([\\w$]+\\.)*(Default|Dominant)ResourceCalculator)?\\s*$'),
	node_locality_delay integer,
	rack_locality_additional_delay integer,
	rack_locality_full_reset boolean,
	reservations_continue_look_all_nodes boolean,
	per_node_heartbeat_multiple_assignments_enabled boolean,
	per_node_heartbeat_maximum_container_assignments integer,
	per_node_heartbeat_maximum_offswitch_assignments integer,
	queue_mappings_override_enable boolean,
	mapping_rule_format text CHECK (mapping_rule_format IN ('legacy', 'json')),
	mapping_rule_json_file text,
	workflow_priority_mappings_override_enable boolean,
	legacy_queue_mode_enabled boolean,
	schedule_asynchronously_enable boolean,
	schedule_asynchronously_maximum_threads integer,
	schedule_asynchronously_maximum_pending_backlogs integer,
	schedule_asynchronously_scheduling_interval_ms bigint,
	multi_node_placement_enabled boolean,
	multi_node_sorting_policy_names text[] CHECK (array_position(multi_node_sorting_policy_names, NULL) IS NULL),
	multi_node_sorting_policy text,
	lazy_preemption_enabled boolean,
	application_fail_fast boolean,
	user_metrics_enable boolean,
	auto_queue_creation_v2_maximum_queue_depth integer,
	auto_queue_creation_v2_queue_expiration_time bigint,
	underutilized_preemption_enabled boolean,
	underutilized_preemption_reserved_container_delay_ms bigint,
	underutilized_preemption_allow_move_reservation boolean,
	scheduler_class text,
	queue_placement_rules text[] CHECK (array_position(queue_placement_rules, NULL) IS NULL),
	queue_auto_refresh_monitoring_interval bigint,
	resourcemanager_queue_auto_refresh_monitoring_interval bigint,
	minimum_allocation_mb integer,
	minimum_allocation_vcores integer,
	maximum_allocation_mb integer,
	maximum_allocation_vcores integer,
	cluster_max_application_priority integer,
	acl_enable boolean,
	admin_acl text,
	node_labels_enabled boolean,
	node_labels_am_allow_non_exclusive_allocation boolean,
	workflow_id_tag_prefix text,
	auto_update_containers boolean,
	queue_management_monitoring_interval bigint,
	configuration_store_class text,
	configuration_mutation_acl_policy_class text,
	configuration_store_max_logs bigint,
	configuration_leveldb_store_path text,
	configuration_leveldb_store_compaction_interval_secs bigint,
	configuration_zk_store_parent_path text,
	activities_manager_cleanup_interval_ms bigint,
	scheduler_activities_ttl_ms bigint,
	app_activities_ttl_ms bigint,
	app_activities_max_queue_length integer,
	scheduler_monitor_enable boolean,
	scheduler_monitor_policies text[] CHECK (array_position(scheduler_monitor_policies, NULL) IS NULL),
	preemption_observe_only boolean,
	preemption_monitoring_interval bigint,
	preemption_max_wait_before_kill bigint,
	preemption_total_preemption_per_round real CHECK (abs(preemption_total_preemption_per_round) < 'Infinity'),
	preemption_max_ignored_over_capacity double precision CHECK (abs(preemption_max_ignored_over_capacity) < 'Infinity'),
	preemption_natural_termination_factor double precision CHECK (abs(preemption_natural_termination_factor) < 'Infinity'),
	preemption_select_based_on_reserved_containers boolean,
	preemption_additional_res_balance_based_on_reserved_containers boolean,
	preemption_conservative_drf boolean,
	preemption_balance_after_satisfied_enabled boolean,
	preemption_balance_after_satisfied_max_wait_before_kill bigint,
	intra_queue_preemption_conservative_drf boolean,
	intra_queue_preemption_enabled boolean,
	intra_queue_preemption_minimum_threshold real CHECK (abs(intra_queue_preemption_minimum_threshold) < 'Infinity'),
	intra_queue_preemption_max_allowable_limit real CHECK (abs(intra_queue_preemption_max_allowable_limit) < 'Infinity'),
	intra_queue_preemption_preemption_order_policy text,
	reservation_system_enable boolean,
	reservation_system_class text,
	reservation_system_plan_follower text,
	reservation_system_planfollower_time_step bigint,
	preemption_candidate_order text CHECK (preemption_candidate_order IN ('newest', 'least_paid')),
	preemption_mode text CHECK (preemption_mode IN ('kill', 'advise')),
	preemption_balance_keeps_marks boolean,
	end_expired_applications boolean,
	opportunistic_allocation_enabled boolean,
	opportunistic_nodes_used integer CHECK (opportunistic_nodes_used >= 0),
	opportunistic_max_per_heartbeat integer,
	node_sorting_interval interval CHECK (node_sorting_interval BETWEEN '1 ms' AND '3155760000000 ms'
		AND date_trunc('milliseconds', node_sorting_interval) = node_sorting_interval),
	node_load_comparator text CHECK (node_load_comparator IN ('QUEUE_LENGTH', 'QUEUE_WAIT_TIME', 'QUEUE_LENGTH_THEN_RESOURCES')),
	queue_limit_stdev real CHECK (queue_limit_stdev >= 0 AND queue_limit_stdev < 'Infinity'),
	min_queue_length integer CHECK (min_queue_length >= 0),
	max_queue_length integer CHECK (max_queue_length >= 0),
	min_queue_wait_time interval CHECK (min_queue_wait_time BETWEEN '0' AND '2147483647 ms' AND date_trunc('milliseconds', min_queue_wait_time) = min_queue_wait_time),
	max_queue_wait_time interval CHECK (max_queue_wait_time BETWEEN '0' AND '2147483647 ms' AND date_trunc('milliseconds', max_queue_wait_time) = max_queue_wait_time),
	allocation_expiry interval CHECK (allocation_expiry BETWEEN '0' AND '2147483647 ms' AND date_trunc('milliseconds', allocation_expiry) = allocation_expiry),
	scheduler_address text,
	opportunistic_queue_capacity integer,
	opportunistic_queue_policy text CHECK (opportunistic_queue_policy IN ('BY_QUEUE_LEN', 'BY_RESOURCES')),
	uses_pause_for_preemption boolean,
	distributed_scheduling_enabled boolean,
	amrmproxy_enabled boolean,
	amrmproxy_address text,
	amrmproxy_client_thread_count integer,
	vmem_pmem_ratio real CHECK (vmem_pmem_ratio > 0.99::real AND vmem_pmem_ratio < 'Infinity'),
	vmem_check_enabled boolean,
	opportunistic_minimum_allocation_mb integer CHECK (opportunistic_minimum_allocation_mb >= 0),
	opportunistic_minimum_allocation_vcores integer CHECK (opportunistic_minimum_allocation_vcores >= 0),
	opportunistic_maximum_allocation_mb integer CHECK (opportunistic_maximum_allocation_mb >= 0),
	opportunistic_maximum_allocation_vcores integer CHECK (opportunistic_maximum_allocation_vcores >= 0),
	opportunistic_increment_allocation_mb integer CHECK (opportunistic_increment_allocation_mb > 0),
	opportunistic_increment_allocation_vcores integer CHECK (opportunistic_increment_allocation_vcores > 0),
	opportunistic_token_expiry interval CHECK (opportunistic_token_expiry BETWEEN '0' AND '2147483647 ms' AND date_trunc('milliseconds', opportunistic_token_expiry) = opportunistic_token_expiry),
	opportunistic_maps_percent integer,
	former_names jsonb CHECK (jsonb_typeof(former_names) = 'object'),
	opportunistic_anywhere_order text CHECK (opportunistic_anywhere_order IN ('random', 'round_robin')),
	opportunistic_ignores_places boolean,
	opportunistic_maps_by_share boolean,
	node_queue_order text CHECK (node_queue_order IN ('arrival', 'shortest_first', 'application_priority', 'fair_by_user', 'closest_to_end')),
	opportunistic_kill_order text CHECK (opportunistic_kill_order IN ('last_started', 'least_paid', 'lowest_priority', 'furthest_from_end', 'fewest')),
	reservation_system_max_periodicity bigint,
	reservation_system_smoothness_factor integer CHECK (reservation_system_smoothness_factor > 0),
	reservation_system_favor_early_allocation boolean,
	reservation_acl_enable boolean,
	reservation_wraps_periods boolean,
	reservation_most_windows integer CHECK (reservation_most_windows > 0),
	reservation_most_copies integer CHECK (reservation_most_copies > 0),
	reservation_most_requests integer CHECK (reservation_most_requests > 0),
	reservation_repeats_allocation boolean,
	reservation_plans_around_overcommitment boolean,
	reservation_reads_fractions boolean,
	reservation_ends_averages boolean,
	report_max_age interval CHECK (report_max_age BETWEEN '1 ms' AND '2147483647 ms' AND date_trunc('milliseconds', report_max_age) = report_max_age),
	opportunistic_user_maximum_containers integer CHECK (opportunistic_user_maximum_containers >= 0),
	opportunistic_user_maximum_resource yquota.resource CHECK (opportunistic_user_maximum_resource OPERATOR(yquota.@>) '[]' AND opportunistic_user_maximum_resource OPERATOR(yquota.<>) '[]'),
	opportunistic_application_maximum_containers integer CHECK (opportunistic_application_maximum_containers >= 0),
	opportunistic_application_maximum_resource yquota.resource CHECK (opportunistic_application_maximum_resource OPERATOR(yquota.@>) '[]' AND opportunistic_application_maximum_resource OPERATOR(yquota.<>) '[]')
);
COMMENT ON TABLE yquota.scheduler_setting IS
	'Settings of the whole scheduler, from capacity-scheduler.xml, yarn-site.xml and mapred-site.xml: one row, or none while nothing is set.  NULL: not set';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_user_maximum_containers IS 'OPPORTUNISTIC containers that each user may have at once, in all queues together (limits of sharing), 0 or more; NULL: no limit';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_user_maximum_resource IS 'sum of the allocations of OPPORTUNISTIC containers that each user may have at once, native units. A resource type that is missing has no limit';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_application_maximum_containers IS
	'OPPORTUNISTIC containers that each application may have at once, running and waiting ones; NULL: no limit';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_application_maximum_resource IS
	'sum of the allocations of OPPORTUNISTIC containers that each application may have at once, native units. A resource type that is missing has no limit';
COMMENT ON COLUMN yquota.scheduler_setting.only_row IS 'always true, so that there is no second row';
COMMENT ON COLUMN yquota.scheduler_setting.global_queue_max_application IS 'maximum number of applications of a queue that sets none; -1: derived from the capacity of the queue';
COMMENT ON COLUMN yquota.scheduler_setting.maximum_am_resource_percent IS 'fraction';
COMMENT ON COLUMN yquota.scheduler_setting.minimum_user_limit_percent IS 'percent';
COMMENT ON COLUMN yquota.scheduler_setting.user_limit_factor IS 'factor; -1: no limit';
COMMENT ON COLUMN yquota.scheduler_setting.resource_calculator IS 'class: a DefaultResourceCalculator or a DominantResourceCalculator';
COMMENT ON COLUMN yquota.scheduler_setting.node_locality_delay IS 'missed opportunities';
COMMENT ON COLUMN yquota.scheduler_setting.rack_locality_additional_delay IS 'missed opportunities; -1: computed';
COMMENT ON COLUMN yquota.scheduler_setting.mapping_rule_format IS 'legacy or json: which rows of mapping_rule are in force';
COMMENT ON COLUMN yquota.scheduler_setting.mapping_rule_json_file IS 'file on the resource manager''s machine; its content is imported as mapping-rule-json';
COMMENT ON COLUMN yquota.scheduler_setting.schedule_asynchronously_scheduling_interval_ms IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.multi_node_placement_enabled IS 'has no effect in yquota, like the two columns of sorting policies; configuration_advice() says so';
COMMENT ON COLUMN yquota.scheduler_setting.multi_node_sorting_policy_names IS 'names of multi_node_sorting_policy';
COMMENT ON COLUMN yquota.scheduler_setting.multi_node_sorting_policy IS 'name of multi_node_sorting_policy for queues that have none';
COMMENT ON COLUMN yquota.scheduler_setting.auto_queue_creation_v2_queue_expiration_time IS 'seconds';
COMMENT ON COLUMN yquota.scheduler_setting.underutilized_preemption_reserved_container_delay_ms IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.scheduler_class IS 'class';
COMMENT ON COLUMN yquota.scheduler_setting.queue_auto_refresh_monitoring_interval IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.resourcemanager_queue_auto_refresh_monitoring_interval IS
	'milliseconds; the property has this name in Hadoop''s documentation, but Hadoop does not read it';
COMMENT ON COLUMN yquota.scheduler_setting.minimum_allocation_mb IS 'MiB';
COMMENT ON COLUMN yquota.scheduler_setting.minimum_allocation_vcores IS 'cores';
COMMENT ON COLUMN yquota.scheduler_setting.maximum_allocation_mb IS 'MiB';
COMMENT ON COLUMN yquota.scheduler_setting.maximum_allocation_vcores IS 'cores';
COMMENT ON COLUMN yquota.scheduler_setting.admin_acl IS 'users, a blank, groups; * is every user';
COMMENT ON COLUMN yquota.scheduler_setting.queue_management_monitoring_interval IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.configuration_mutation_acl_policy_class IS 'class';
COMMENT ON COLUMN yquota.scheduler_setting.configuration_leveldb_store_compaction_interval_secs IS 'seconds';
COMMENT ON COLUMN yquota.scheduler_setting.activities_manager_cleanup_interval_ms IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.scheduler_activities_ttl_ms IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.app_activities_ttl_ms IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.scheduler_monitor_policies IS 'classes';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_monitoring_interval IS 'milliseconds; 0 or less: the worker runs no rounds';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_max_wait_before_kill IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_total_preemption_per_round IS 'fraction of the cluster';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_max_ignored_over_capacity IS 'fraction of a queue''s guarantee';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_natural_termination_factor IS 'fraction';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_balance_after_satisfied_max_wait_before_kill IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.intra_queue_preemption_minimum_threshold IS 'fraction of a queue''s capacity';
COMMENT ON COLUMN yquota.scheduler_setting.intra_queue_preemption_max_allowable_limit IS 'fraction of a queue''s capacity';
COMMENT ON COLUMN yquota.scheduler_setting.intra_queue_preemption_preemption_order_policy IS 'userlimit_first or priority_first, in letters of any case; any other value is refused at commit where there are rounds';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_system_enable IS 'true if reservations may be submitted, updated and deleted; NULL: false';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_system_class IS 'class: CapacityReservationSystem, in any package; any other value is refused at commit';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_system_plan_follower IS 'class: CapacitySchedulerPlanFollower, in any package; any other value is refused at commit';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_system_planfollower_time_step IS 'milliseconds, the step of plans: containers are reserved for whole steps. At most 36500 days; 0 or less, or NULL: 1000';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_system_max_periodicity IS 'milliseconds, at most 36500 days; 0 or less, or NULL: a day. The value must be a multiple of the recurrence of each reservation. A new value that is no multiple for an accepted reservation is refused';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_system_smoothness_factor IS 'number of steps in which AlignedPlannerWithGreedy places the even share of a window: the number of gangs divided by the number of windows; NULL: 10';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_system_favor_early_allocation IS
	'true (also if NULL) if reservations are placed as early as possible; false if as late as possible';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_acl_enable IS 'true if the access control lists of plans decide who may use their reservations; acl_enable must be true, too; NULL: false';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_wraps_periods IS 'true if a repeating reservation keeps all of its allocation when its window includes a multiple of its recurrence since 1970. If not (also if NULL), it loses the part beyond that instant, as in Hadoop';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_most_windows IS 'largest number of windows that a search for a place examines, for all requests of a reservation together; NULL: 1,000,000';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_most_copies IS 'largest number of periods of a reservation in the longest recurrence (reservation_system_max_periodicity). It is also the largest number of longest recurrences from the arrival of a reservation to its deadline. NULL: 86,400';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_most_requests IS 'largest number of requests of a reservation; NULL: 1,000';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_repeats_allocation IS 'true if a repeating reservation has its allocation in each of its periods, and stays in the plan until it is deleted. If not (also if NULL), the plan counts it in each period. The queue of the reservation gets the allocation only in the first period. The reservation leaves the plan a window after its first deadline, as in Hadoop';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_plans_around_overcommitment IS
	'true if a plan accepts reservations while it is overcommitted at some times. Nothing is left at these times: reservations are placed at other times, and an update keeps its allocation. If false or NULL, the plan refuses every reservation that touches these times, as in Hadoop';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_reads_fractions IS
	'true if an instantaneous_max_capacity or average_capacity up to 1 is a fraction of the plan, as in Hadoop''s manual. If not (also if NULL), it is a percentage, as in Hadoop';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_ends_averages IS 'true if the check of average_capacity ends a window after the deadline of the reservation. If not (also if NULL), the check takes the user''s promises at that time for endless. The sum of the promises overflows, so that the result is arbitrary, as in Hadoop';
COMMENT ON COLUMN yquota.scheduler_setting.report_max_age IS 'age above which a node''s report is ignored for over_allocation; for the price of OPPORTUNISTIC containers, a report is ignored from this age on. Whole milliseconds; NULL: 10 s';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_candidate_order IS 'container that is preempted first among those of an application with equal request priorities. It is the newest container (newest, as in Hadoop; also if NULL), or the container with the fewest credits since its start (least_paid)';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_mode IS
	'kill (also if NULL): preempt_containers() ends containers; advise: the function tells the resource manager to end them';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_balance_keeps_marks IS
	'true if marks of the balancing pass are kept for twice the wait of that pass. If not (also if NULL), they are forgotten after twice preemption_max_wait_before_kill, usually before that pass kills, as in Hadoop';
COMMENT ON COLUMN yquota.scheduler_setting.end_expired_applications IS
	'true (also if NULL) if the worker ends applications past their lifetime; false: the resource manager does';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_allocation_enabled IS
	'true if applications may ask for OPPORTUNISTIC containers; NULL: false';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_nodes_used IS
	'number of nodes at the head of the load list that take containers without a requested location, and that a lease lists; NULL: 10';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_max_per_heartbeat IS
	'OPPORTUNISTIC containers that one call allocates at most; 0 or less, or NULL: no limit';
COMMENT ON COLUMN yquota.scheduler_setting.node_sorting_interval IS
	'time for which a load list stays in force; whole milliseconds; NULL: 1 s';
COMMENT ON COLUMN yquota.scheduler_setting.node_load_comparator IS
	'order of the load list: QUEUE_LENGTH (also if NULL), QUEUE_WAIT_TIME or QUEUE_LENGTH_THEN_RESOURCES';
COMMENT ON COLUMN yquota.scheduler_setting.queue_limit_stdev IS
	'number of standard deviations by which the length of a queue may exceed the mean; NULL: 1';
COMMENT ON COLUMN yquota.scheduler_setting.min_queue_length IS
	'containers; the least limit sent to nodes; NULL: 5';
COMMENT ON COLUMN yquota.scheduler_setting.max_queue_length IS
	'containers; the largest limit sent to nodes; NULL: 15';
COMMENT ON COLUMN yquota.scheduler_setting.min_queue_wait_time IS
	'the least limit of waiting times sent to nodes under QUEUE_WAIT_TIME; whole milliseconds; NULL: 10 ms';
COMMENT ON COLUMN yquota.scheduler_setting.max_queue_wait_time IS
	'the largest limit of waiting times sent to nodes under QUEUE_WAIT_TIME; whole milliseconds; NULL: 100 ms';
COMMENT ON COLUMN yquota.scheduler_setting.allocation_expiry IS
	'time after which a container ends if its decision was not acknowledged; whole milliseconds; NULL: 10 minutes';
COMMENT ON COLUMN yquota.scheduler_setting.scheduler_address IS
	'host and port for application masters; kept only for export';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_queue_capacity IS
	'OPPORTUNISTIC containers that may wait on a node whose report has no capacity; 0 or less, or NULL: none';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_queue_policy IS
	'limit of a node''s queue: its capacity (BY_QUEUE_LEN, also if NULL), or the containers that its room can hold (BY_RESOURCES)';
COMMENT ON COLUMN yquota.scheduler_setting.uses_pause_for_preemption IS
	'true if OPPORTUNISTIC containers are paused for GUARANTEED ones, not killed; NULL: false';
COMMENT ON COLUMN yquota.scheduler_setting.distributed_scheduling_enabled IS
	'true if node managers allocate OPPORTUNISTIC containers themselves, which also needs amrmproxy_enabled; NULL: false';
COMMENT ON COLUMN yquota.scheduler_setting.amrmproxy_enabled IS
	'true if application masters use the proxy of their node; NULL: false';
COMMENT ON COLUMN yquota.scheduler_setting.amrmproxy_address IS
	'host and port of the proxy; kept only for export';
COMMENT ON COLUMN yquota.scheduler_setting.amrmproxy_client_thread_count IS
	'number of threads of the proxy; kept only for export';
COMMENT ON COLUMN yquota.scheduler_setting.vmem_pmem_ratio IS
	'virtual memory for each byte of memory; NULL: 2.1';
COMMENT ON COLUMN yquota.scheduler_setting.vmem_check_enabled IS
	'true if virtual memory limits the containers that run on a node; NULL: true';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_minimum_allocation_mb IS
	'MiB; the least size of an OPPORTUNISTIC container (512 before Hadoop 3.0); NULL: minimum_allocation_mb';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_minimum_allocation_vcores IS
	'cores; the least size of an OPPORTUNISTIC container (1 before Hadoop 3.0); NULL: minimum_allocation_vcores';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_maximum_allocation_mb IS
	'MiB; the largest size of an OPPORTUNISTIC container (2048 before Hadoop 3.0); NULL: maximum_allocation_mb';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_maximum_allocation_vcores IS
	'cores; the largest size of an OPPORTUNISTIC container (4 before Hadoop 3.0); NULL: maximum_allocation_vcores';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_increment_allocation_mb IS
	'MiB; sizes of OPPORTUNISTIC containers are multiples of this number (512 before Hadoop 3.0); NULL: minimum_allocation_mb';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_increment_allocation_vcores IS
	'cores; sizes of OPPORTUNISTIC containers are multiples of this number (1 before Hadoop 3.0); NULL: minimum_allocation_vcores';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_token_expiry IS
	'time after the decision at which an OPPORTUNISTIC container, acknowledged or not, ends if it has not come to its node; whole milliseconds; NULL: allocation_expiry';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_maps_percent IS
	'percent of the map tasks of a job that are OPPORTUNISTIC, if the job does not ask for a share of its own; NULL: 0';
COMMENT ON COLUMN yquota.scheduler_setting.former_names IS
	'columns that were imported under former names of their properties; an export uses these names again';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_anywhere_order IS 'choice among the nodes used for a container without a requested location. random (as in Hadoop; also if NULL): a random node. round_robin: the next node in turn';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_ignores_places IS
	'true if hosts and racks of OPPORTUNISTIC requests are ignored; NULL: false, as in Hadoop';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_maps_by_share IS
	'true if opportunistic_maps_percent is the share of all map tasks. If not (also if NULL), the first tasks of each hundred are OPPORTUNISTIC, as in Hadoop';
COMMENT ON COLUMN yquota.scheduler_setting.node_queue_order IS 'order in which a node starts its waiting OPPORTUNISTIC containers: arrival (as in Hadoop; also if NULL), shortest_first, application_priority, fair_by_user or closest_to_end';
COMMENT ON COLUMN yquota.scheduler_setting.opportunistic_kill_order IS 'order in which running OPPORTUNISTIC containers are killed when room is taken back: last_started (as in Hadoop; also if NULL), least_paid, lowest_priority, furthest_from_end or fewest';
COMMENT ON CONSTRAINT scheduler_setting_opportunistic_application_maximum_resou_check ON yquota.scheduler_setting IS
	'It must have at least one resource type, and no negative amount.';
COMMENT ON CONSTRAINT scheduler_setting_opportunistic_user_maximum_resource_check ON yquota.scheduler_setting IS
	'It must have at least one resource type, and no negative amount.';
COMMENT ON CONSTRAINT resource_calculator_known ON yquota.scheduler_setting IS
	'It must be empty, or name DefaultResourceCalculator or DominantResourceCalculator, with or without a package.';

SELECT pg_extension_config_dump('yquota.queue', '');
SELECT pg_extension_config_dump('yquota.queue_label', '');
SELECT pg_extension_config_dump('yquota.queue_user', '');
SELECT pg_extension_config_dump('yquota.wildcard_template', '');
SELECT pg_extension_config_dump('yquota.mapping_rule', '');
SELECT pg_extension_config_dump('yquota.workflow_priority_mapping', '');
SELECT pg_extension_config_dump('yquota.user_setting', '');
SELECT pg_extension_config_dump('yquota.multi_node_sorting_policy', '');
SELECT pg_extension_config_dump('yquota.node_label', '');
SELECT pg_extension_config_dump('yquota.unmapped_property', '');
SELECT pg_extension_config_dump('yquota.scheduler_setting', '');
