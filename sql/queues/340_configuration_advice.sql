--
-- Advice about configurations that Hadoop accepts but that are unwise: warnings
-- at commit, and a function that returns all of it.
--

CREATE FUNCTION yquota.configuration_advice()
	RETURNS TABLE (queue text, property text, value text, advice text)
	-- reads the newest settings, which the snapshot of a parallel plan may not show
	LANGUAGE c STABLE PARALLEL UNSAFE ROWS 100
	AS 'MODULE_PATHNAME', 'yq_sql_configuration_advice';
COMMENT ON FUNCTION yquota.configuration_advice() IS
	'Advice about the configuration of queues that Hadoop accepts: queue (NULL for settings of the whole scheduler), Hadoop''s property, its value and the reason';
REVOKE ALL ON FUNCTION yquota.configuration_advice() FROM PUBLIC;

CREATE FUNCTION yquota_internal.note_advice() RETURNS trigger
	LANGUAGE c
	AS 'MODULE_PATHNAME', 'yq_sql_note_advice';
COMMENT ON FUNCTION yquota_internal.note_advice() IS
	'Has the check at commit warn of unwise settings in rows that the transaction has changed; argument: the column with the path of the queue, none for settings of the whole scheduler';
REVOKE ALL ON FUNCTION yquota_internal.note_advice() FROM PUBLIC;

CREATE TRIGGER note_advice AFTER INSERT OR UPDATE ON yquota.queue
	FOR EACH ROW WHEN (NOT NEW.auto_created) EXECUTE FUNCTION yquota_internal.note_advice('path');
CREATE TRIGGER note_advice AFTER INSERT OR UPDATE ON yquota.queue_label
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_advice('queue');
CREATE TRIGGER note_advice AFTER INSERT OR UPDATE ON yquota.queue_user
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_advice('queue');
CREATE TRIGGER note_advice AFTER INSERT OR UPDATE OR DELETE ON yquota.mapping_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_advice();
CREATE TRIGGER note_advice AFTER INSERT OR UPDATE OR DELETE ON yquota.scheduler_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_advice();
