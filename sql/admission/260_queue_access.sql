--
-- Access to queues, priorities, and placement of applications (semantics/placement).  The C code decides.  It reads the
-- configuration of queues/220_queue_tables.sql, and every session keeps this configuration in memory.  Triggers here
-- and in queues/270_queue_hierarchy.sql tell sessions to read the configuration again.
--

CREATE TRIGGER signal_access
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.workflow_priority_mapping
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();

CREATE FUNCTION yquota.check_queue_access(
	username text, groups text[], queue text, operation text, real_username text DEFAULT NULL,
	OUT allowed boolean, OUT decided_by text, OUT reason text)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_check_queue_access';
COMMENT ON FUNCTION yquota.check_queue_access(text, text[], text, text, text) IS
	'Tell whether a user may do an operation in a queue (path or short name).  Operations are SUBMIT (checked as for a submission), ADMIN (yarn.admin.acl), and Hadoop''s SUBMIT_APPLICATIONS, ADMINISTER_QUEUE, ADMINISTER_RESERVATIONS, LIST_RESERVATIONS and SUBMIT_RESERVATIONS.  real_username is the real user that acts for the user.  Returns the path of the queue whose list decides, and the reason';

CREATE FUNCTION yquota.application_priority(
	username text, groups text[], queue text, requested integer DEFAULT NULL,
	tags text[] DEFAULT NULL, real_username text DEFAULT NULL,
	OUT allowed boolean, OUT priority integer, OUT reason text)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_application_priority';
COMMENT ON FUNCTION yquota.application_priority(text, text[], text, integer, text[], text) IS
	'Return the priority that an application of a user would get in a queue (path or short name).  The priority is that of the application''s workflow (named in its tags), if one is configured.  Otherwise it is the requested priority, or the default priority of the user or queue, but at most the cluster''s maximum. allowed tells whether the queue''s priority list allows the priority';

--
-- Placement
--

CREATE FUNCTION yquota.place_application(
	username text, groups text[], queue text DEFAULT 'default', application_name text DEFAULT NULL,
	explain boolean DEFAULT false)
	RETURNS TABLE (queue_path text, outcome text, must_create boolean, rule_kind yquota.mapping_rule_kind,
				   rule_position integer, reason text, earlier_rules text[], matches boolean, target text,
				   decides boolean)
	LANGUAGE c STABLE PARALLEL UNSAFE ROWS 1
	AS 'MODULE_PATHNAME', 'yq_sql_application_place';
COMMENT ON FUNCTION yquota.place_application(text, text[], text, text, boolean) IS
	'Return the queue that an application would go to, without submitting it.  groups are in order, the primary one first.  outcome is PLACED (by a rule), PLACED_BY_DEFAULT (by a rule''s fallback), PLACED_AS_NAMED (no rule decided), REJECTED (by a rule) or UNKNOWN. UNKNOWN means that no rule decided and the named queue cannot take the application. earlier_rules tells why the earlier rules did not decide.  With explain, a row for each rule up to the deciding rule comes first, without an outcome.  The row tells whether the rule matches, the path that the rule makes (target), and whether the rule decides';

--
-- The check of the hierarchy refuses rules and priority lists with which Hadoop would not start.  A submission that
-- creates a queue does not start this check, because a new queue cannot make a rule wrong.
--

CREATE FUNCTION yquota_internal.note_rule_change() RETURNS trigger
	LANGUAGE c
	AS 'MODULE_PATHNAME', 'yq_sql_note_rule_change';
COMMENT ON FUNCTION yquota_internal.note_rule_change() IS
	'Make the check of the configuration at commit include mapping rules and priority lists';

CREATE TRIGGER note_rule_change AFTER INSERT OR UPDATE ON yquota.mapping_rule
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_rule_change();
CREATE TRIGGER note_rule_change AFTER INSERT OR DELETE OR UPDATE OF mapping_rule_format, queue_placement_rules
		ON yquota.scheduler_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_rule_change();
CREATE TRIGGER note_rule_change AFTER INSERT OR UPDATE OF path, auto_created, acl_application_max_priority,
		reservable, auto_create_child_queue_enabled, auto_queue_creation_v2_enabled ON yquota.queue
	FOR EACH ROW WHEN (NOT NEW.auto_created) EXECUTE FUNCTION yquota_internal.note_rule_change();
CREATE TRIGGER note_rule_change_gone AFTER DELETE ON yquota.queue
	FOR EACH ROW WHEN (NOT OLD.auto_created) EXECUTE FUNCTION yquota_internal.note_rule_change();
