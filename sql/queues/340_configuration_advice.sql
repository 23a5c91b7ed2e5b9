--
-- Advice about configurations that Hadoop accepts but that are unwise: warnings
-- at commit, and a function that returns all of it.
--

CREATE FUNCTION yquota_internal.advice_about_unmapped_properties()
	RETURNS TABLE (queue text, property text, value text, advice text)
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT e.owner, substr(e.property, length('yarn.scheduler.capacity.') + coalesce(length(e.owner) + 1, 0) + 1), u.value, e.reason
		FROM yquota_internal.explain_unmapped_properties(ARRAY(SELECT k.property FROM yquota.unmapped_property AS k)) AS e
		JOIN yquota.unmapped_property AS u ON u.property = e.property
		ORDER BY e.property COLLATE "C";
$$;
COMMENT ON FUNCTION yquota_internal.advice_about_unmapped_properties() IS
	'The properties that no column stands for, as configuration_advice() has them';

CREATE FUNCTION yquota_internal.configuration_advice_as_owner()
	RETURNS TABLE (queue text, property text, value text, advice text)
	-- reads the newest settings, which the snapshot of a parallel plan may not show
	LANGUAGE c STABLE PARALLEL UNSAFE ROWS 100
	AS 'MODULE_PATHNAME', 'yq_sql_configuration_advice';
COMMENT ON FUNCTION yquota_internal.configuration_advice_as_owner() IS
	'configuration_advice(), which reads what only the owner may';

CREATE FUNCTION yquota.configuration_advice()
	RETURNS TABLE (queue text, property text, value text, advice text)
	LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 100 SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota_internal.configuration_advice_as_owner();
$$;
COMMENT ON FUNCTION yquota.configuration_advice() IS
	'Advice about the configuration of queues that Hadoop accepts, and properties that it does not know: queue (NULL for settings of the whole scheduler), Hadoop''s property, its value and the reason';

CREATE FUNCTION yquota_internal.note_advice() RETURNS trigger
	LANGUAGE c
	AS 'MODULE_PATHNAME', 'yq_sql_note_advice';
COMMENT ON FUNCTION yquota_internal.note_advice() IS
	'Has the check at commit warn of unwise settings in rows that the transaction has changed; argument: the column with the path of the queue, none for settings of the whole scheduler';

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
