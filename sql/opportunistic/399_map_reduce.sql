--
-- Chooses the map tasks for which a MapReduce job requests OPPORTUNISTIC containers
-- (RMContainerAllocator).
--

CREATE FUNCTION yquota.map_reduce_request(
	task text, number bigint DEFAULT NULL, percent integer DEFAULT NULL, is_repeated boolean DEFAULT false,
	OUT execution_type yquota.execution_type, OUT priority integer)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	setting yquota.scheduler_setting;
	share integer;
	chosen boolean;
BEGIN
	execution_type := 'GUARANTEED';
	IF task IS DISTINCT FROM 'map' AND task IS DISTINCT FROM 'reduce' THEN
		RAISE EXCEPTION 'task must be "map" or "reduce", not %', coalesce('"' || task || '"', 'null')
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF number < 0 THEN
		RAISE EXCEPTION 'number of a task must not be negative' USING ERRCODE = 'invalid_parameter_value';
	ELSIF task = 'reduce' THEN
		priority := 10;
	ELSIF is_repeated THEN
		priority := 5;
	ELSIF number IS NULL THEN
		RAISE EXCEPTION 'number of a map task must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'The first map task of a job is number 0.  Tasks that are repeated are not counted.';
	ELSE
		SELECT * INTO setting FROM yquota.scheduler_setting;
		share := least(greatest(coalesce(map_reduce_request.percent, setting.opportunistic_maps_percent, 0), 0), 100);
		-- if tasks are chosen by share, share * n / 100 of the first n tasks, rounded down, are OPPORTUNISTIC
		chosen := CASE WHEN setting.opportunistic_maps_by_share
					   THEN number % 100 * share / 100 < (number % 100 + 1) * share / 100
					   ELSE number % 100 < share END;
		IF chosen THEN
			execution_type := 'OPPORTUNISTIC';
			priority := 19;
		ELSE
			priority := 20;
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota.map_reduce_request(text, bigint, integer, boolean) IS
	'Return the execution type and priority that a MapReduce job requests for a task. number counts map tasks from 0, without repeated tasks. percent is the part of the map tasks that is OPPORTUNISTIC (NULL: scheduler_setting.opportunistic_maps_percent).  Repeated map tasks and reduce tasks are GUARANTEED. As in Hadoop, the first tasks of each hundred are OPPORTUNISTIC. With opportunistic_maps_by_share, the OPPORTUNISTIC tasks are spread evenly';
