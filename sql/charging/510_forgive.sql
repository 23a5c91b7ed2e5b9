-- Forgiving inserts an outage and returns the refunded amounts.  Because of the outage, the same time is forgiven
-- only once, and charges are corrected (pricing/120_price_timeline.sql).

CREATE FUNCTION yquota_internal.forgive_as_owner("from" timestamptz, "to" timestamptz, reason text, of_project text)
	RETURNS TABLE (outage_id bigint, project text, amount numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	forgiven_id bigint;
	was jsonb;
BEGIN
	IF forgive_as_owner.reason !~ '[^[:space:]]' THEN
		RAISE EXCEPTION 'forgiving needs a reason'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM yquota_internal.refuse_archived_window(forgive_as_owner."from");
	-- make other transactions that change charges wait, so that the difference contains only the effect of this one
	PERFORM yquota_internal.lock_pricing();
	IF forgive_as_owner."from" < forgive_as_owner."to" THEN
		was := (SELECT jsonb_object_agg(cost.project, cost.amount)
				FROM yquota_internal.cost_in_parts(ARRAY[forgive_as_owner."from", forgive_as_owner."to"], '{project}', of_project) AS cost);
	END IF;
	forgiven_id := yquota.report_outage(forgive_as_owner."from", forgive_as_owner."to", forgive_as_owner.reason, of_project);
	RETURN QUERY
	SELECT forgiven_id, was_charged.key, trim_scale(was_charged.value::numeric - coalesce(cost.amount, 0))
	FROM jsonb_each_text(was) AS was_charged
	LEFT JOIN yquota_internal.cost_in_parts(ARRAY[forgive_as_owner."from", forgive_as_owner."to"], '{project}', of_project) AS cost
		ON cost.project = was_charged.key
	WHERE was_charged.value::numeric <> coalesce(cost.amount, 0)
	ORDER BY was_charged.key;
END
$$;
COMMENT ON FUNCTION yquota_internal.forgive_as_owner(timestamptz, timestamptz, text, text) IS
	'Run forgive() for the calling role';

CREATE FUNCTION yquota.forgive("from" timestamptz, "to" timestamptz, reason text, project text DEFAULT NULL)
	RETURNS TABLE (outage_id bigint, project text, amount numeric)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.forgive(timestamptz, timestamptz, text, text) IS
	'Forgive an interval of time, for all projects or for one.  Running containers are included.  Returns the amount for each project that the caller may see.  Returns no rows when nothing was forgiven, as in a repeated call';
