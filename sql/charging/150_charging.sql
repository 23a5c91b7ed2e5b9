--
-- Charging: the trigger of container_event, the counters, and the new settlement after a
-- change of prices (docs/design.md 3).
--

CREATE FUNCTION yquota_internal.charge_events() RETURNS trigger
	LANGUAGE c
	AS 'MODULE_PATHNAME', 'yq_sql_charge_inserted_events';
COMMENT ON FUNCTION yquota_internal.charge_events() IS
	'Settle the events that a statement inserts into yquota.container_event.  The trigger refuses to serve another table';

CREATE TRIGGER charge_events AFTER INSERT ON yquota.container_event
	REFERENCING NEW TABLE AS new_events
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.charge_events();

--
-- Settling again
--

CREATE FUNCTION yquota_internal.settle_again(container_ids text[]) RETURNS bigint
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_settle_again';
COMMENT ON FUNCTION yquota_internal.settle_again(text[]) IS
	'Make the books of containers agree with the present timelines, in ascending order of id.  Returns how many containers were corrected';

CREATE FUNCTION yquota_internal.correct_prices_since(changed_from timestamptz, nodes text[] DEFAULT NULL) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	batch text[];
	done_through text COLLATE "C" := '';
	corrected bigint := 0;
BEGIN
	-- take the lock of an INSERT of events, so that no period is closed in the meantime
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	IF nodes IS NULL THEN
		PERFORM yquota_internal.correct_reservations(changed_from);
	END IF;
	-- settle a limited number of containers at a time, so that memory does not grow with history
	LOOP
		SELECT array_agg(c.container_id ORDER BY c.container_id), max(c.container_id)
		INTO batch, done_through
		FROM (
			SELECT container_id FROM yquota.charge
			WHERE "to" >= changed_from AND container_id > done_through
			  AND (nodes IS NULL OR node = ANY (nodes))
			UNION
			SELECT container_id FROM yquota.container
			WHERE settled_at >= changed_from AND container_id > done_through
			  AND (nodes IS NULL OR node = ANY (nodes))
			ORDER BY 1 LIMIT 100000
		) AS c;
		EXIT WHEN batch IS NULL;
		corrected := corrected + yquota_internal.settle_again(batch);
	END LOOP;
	RETURN corrected;
END
$$;
COMMENT ON FUNCTION yquota_internal.correct_prices_since(timestamptz, text[]) IS
	'Settle again the charges at or after an instant, and post correcting rows where amounts have changed.  If nodes are given, only charges for these nodes are settled.  Returns how many containers were corrected';

CREATE FUNCTION yquota_internal.rebase_running() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE(
		(SELECT yquota_internal.settle_again(array_agg(c.container_id ORDER BY c.container_id))
		 FROM yquota.container AS c
		 WHERE c.factors IS DISTINCT FROM yquota_internal.factor_names(
			c.project, c.application_id, c.username, c.queue, c.node, c.settled_at,
			c.execution_type, c.waiting_factor)
			OR yquota_internal.next_label_change(c.node, c.settled_at) IS NOT NULL), 0);
END
$$;
COMMENT ON FUNCTION yquota_internal.rebase_running() IS
	'Move running containers to the rate classes that match the present factors and outages.  Returns how many moved';

--
-- Counters
--

CREATE FUNCTION yquota_internal.prices_changed_from(version bigint) RETURNS timestamptz
	LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_prices_changed_from';
COMMENT ON FUNCTION yquota_internal.prices_changed_from(bigint) IS
	'Return the earliest instant that is affected by a change of prices after a version; infinity when there is no such change';

CREATE FUNCTION yquota_internal.add_rate_class(
	state internal, shape yquota.resource, factors text[], weight numeric, weights bytea,
	reference_at timestamptz, at timestamptz) RETURNS internal
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_add_rate_class';
COMMENT ON FUNCTION yquota_internal.add_rate_class(internal, yquota.resource, text[], numeric, bytea, timestamptz, timestamptz) IS
	'Transition function of accrued_sum() and rate_sum()';

CREATE FUNCTION yquota_internal.finish_accrued_sum(state internal) RETURNS numeric
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_accrued_sum';
COMMENT ON FUNCTION yquota_internal.finish_accrued_sum(internal) IS 'Final function of accrued_sum()';

CREATE FUNCTION yquota_internal.finish_rate_sum(state internal) RETURNS numeric
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_rate_sum';
COMMENT ON FUNCTION yquota_internal.finish_rate_sum(internal) IS 'Final function of rate_sum()';

CREATE AGGREGATE yquota_internal.accrued_sum(
	shape yquota.resource, factors text[], weight numeric, weights bytea,
	reference_at timestamptz, at timestamptz) (
	sfunc = yquota_internal.add_rate_class,
	stype = internal,
	finalfunc = yquota_internal.finish_accrued_sum,
	parallel = restricted
);
COMMENT ON AGGREGATE yquota_internal.accrued_sum(yquota.resource, text[], numeric, bytea, timestamptz, timestamptz) IS
	'Sum of weight x credits of the class from reference_at to an instant.  A row is a class (shape, factors), a packed list of classes, or nothing.  If the row has no reference_at, the list is read as by unpack_delta()';

CREATE AGGREGATE yquota_internal.rate_sum(
	shape yquota.resource, factors text[], weight numeric, weights bytea,
	reference_at timestamptz, at timestamptz) (
	sfunc = yquota_internal.add_rate_class,
	stype = internal,
	finalfunc = yquota_internal.finish_rate_sum,
	parallel = restricted
);
COMMENT ON AGGREGATE yquota_internal.rate_sum(yquota.resource, text[], numeric, bytea, timestamptz, timestamptz) IS
	'Sum of weight x credits per second of the class at an instant.  A row is a class (shape, factors), a packed list of classes, or nothing.  If the row has no reference_at, the list is read as by unpack_delta()';

CREATE FUNCTION yquota_internal.settled_ahead(now_at timestamptz, mark timestamptz)
	RETURNS TABLE (project text, allocation yquota.resource, factors text[], settled_at timestamptz)
	LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 1
	AS 'MODULE_PATHNAME', 'yq_sql_settled_ahead';
COMMENT ON FUNCTION yquota_internal.settled_ahead(timestamptz, timestamptz) IS
	'Return running containers whose last settlement is later than an instant.  They owe nothing yet, but the counters do not show this';

-- LIMIT 1 tells the planner that the table has one row.
CREATE VIEW yquota_internal.valid_reference AS
	SELECT reference.reference_at
	FROM yquota_internal.running_reference AS reference
	WHERE yquota_internal.prices_changed_from(reference.pricing_version) >= reference.priced_through
	LIMIT 1;
COMMENT ON VIEW yquota_internal.valid_reference IS
	'Instant from which running_total and the accrual bases of project_counter count; no row if they must not be used';

CREATE FUNCTION yquota_internal.add_weight(state internal, class_id integer, weight numeric)
	RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_add_weight';
COMMENT ON FUNCTION yquota_internal.add_weight(internal, integer, numeric) IS
	'Transition function of pack_weights()';

CREATE FUNCTION yquota_internal.finish_pack_weights(state internal) RETURNS bytea
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_pack_weights';
COMMENT ON FUNCTION yquota_internal.finish_pack_weights(internal) IS 'Final function of pack_weights()';

CREATE AGGREGATE yquota_internal.pack_weights(class_id integer, weight numeric) (
	sfunc = yquota_internal.add_weight,
	stype = internal,
	finalfunc = yquota_internal.finish_pack_weights,
	finalfunc_modify = read_write,
	parallel = safe
);
COMMENT ON AGGREGATE yquota_internal.pack_weights(integer, numeric) IS
	'Packed list of the weights of rate classes, added up per class. Classes with weight zero are omitted';

CREATE FUNCTION yquota_internal.merge_weights(a bytea, b bytea) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_merge_weights';
COMMENT ON FUNCTION yquota_internal.merge_weights(bytea, bytea) IS
	'Return the sum of two packed lists of weights';

-- Running totals count from the last full hour in which any container was settled.  A change of prices rarely reaches
-- further back, and reading a balance needs no older prices.
CREATE FUNCTION yquota_internal.move_running_totals(new_reference timestamptz, settled_in timestamptz)
	RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	old_reference timestamptz := (SELECT reference_at FROM yquota_internal.running_reference);
BEGIN
	IF new_reference <> old_reference THEN
		UPDATE yquota_internal.project_counter AS counter
		SET accrual_base = trim_scale(counter.accrual_base - running.cost)
		FROM (SELECT total.project,
					 yquota_internal.accrued_sum(NULL, NULL, NULL, total.weights,
												 old_reference, new_reference) AS cost
			  FROM yquota_internal.running_total AS total
			  GROUP BY total.project) AS running
		WHERE counter.project = running.project AND running.cost <> 0;
	END IF;
	UPDATE yquota_internal.running_reference
	SET reference_at = new_reference,
		priced_through = greatest(priced_through, new_reference, settled_in),
		pricing_version = (SELECT COALESCE(max(version), 0) FROM yquota.pricing_change);
END
$$;
COMMENT ON FUNCTION yquota_internal.move_running_totals(timestamptz, timestamptz) IS
	'Make valid running totals count from another instant, and prepare them for deltas of hours up to a last one (NULL: there are no deltas)';

CREATE FUNCTION yquota_internal.make_running_totals(full_hour timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- a plan made for few classes is bad for many
	SET plan_cache_mode = force_custom_plan
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	reference timestamptz := COALESCE(
		(SELECT max(class.reference_at) FROM yquota_internal.rate_class_counter AS class
		 WHERE class.reference_at <= full_hour), full_hour);
BEGIN
	INSERT INTO yquota_internal.running_reference AS r
		(reference_at, priced_through, pricing_version, classes)
	SELECT reference,
		   greatest(reference, (SELECT max(class.reference_at)
								FROM yquota_internal.rate_class_counter AS class)),
		   (SELECT COALESCE(max(version), 0) FROM yquota.pricing_change), 0
	ON CONFLICT (only_row) DO UPDATE
		SET reference_at = EXCLUDED.reference_at, priced_through = EXCLUDED.priced_through,
			pricing_version = EXCLUDED.pricing_version;
	DELETE FROM yquota_internal.running_total;
	DELETE FROM yquota_internal.running_class;
	INSERT INTO yquota_internal.running_class (class_id, shape, factors)
	SELECT r.classes + row_number() OVER (), kind.shape, kind.factors
	FROM (SELECT DISTINCT class.shape, class.factors
		  FROM yquota_internal.rate_class_counter AS class) AS kind
	CROSS JOIN yquota_internal.running_reference AS r;
	UPDATE yquota_internal.running_reference
	SET classes = greatest(classes, (SELECT max(class_id) FROM yquota_internal.running_class));
	INSERT INTO yquota_internal.running_total (project, weights)
	SELECT class.project, yquota_internal.pack_weights(number.class_id, class.weight)
	FROM yquota_internal.rate_class_counter AS class
	JOIN yquota_internal.running_class AS number ON number.shape OPERATOR(yquota.=) class.shape
		AND number.factors IS NOT DISTINCT FROM class.factors
	GROUP BY class.project;
	UPDATE yquota_internal.project_counter SET accrual_base = 0 WHERE accrual_base <> 0;
	INSERT INTO yquota_internal.project_counter AS counter (project, charged, accrual_base)
	SELECT class.project, 0,
		   trim_scale(sum(class.accrual_base)
					  - yquota_internal.accrued_sum(class.shape, class.factors, class.weight, NULL,
													class.reference_at, reference))
	FROM yquota_internal.rate_class_counter AS class
	GROUP BY class.project
	ON CONFLICT (project) DO UPDATE SET accrual_base = EXCLUDED.accrual_base;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_running_totals(timestamptz) IS
	'Rebuild the running totals from rate_class_counter';

CREATE FUNCTION yquota_internal.compact_counters() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- a plan made for few deltas or classes is bad for many
	SET plan_cache_mode = force_custom_plan
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	compacted bigint;
	reference timestamptz;
	settled_in timestamptz;
	full_hour timestamptz := date_trunc('hour', yquota.statement_clock(), 'UTC');
	-- is_alone is true if this transaction has written nothing; otherwise the function could compact rows that are
	-- rolled back later
	is_alone boolean := pg_current_xact_id_if_assigned() IS NULL;
	seen pg_snapshot;
	before xid8;
	repriced_from timestamptz;
BEGIN
	-- Wait with compaction while a change of prices is not visible here.  The statements below would miss this
	-- change, and the change itself would miss the settlements that are compacted now.
	IF NOT yquota_internal.sees_commits() THEN
		RETURN 0;
	END IF;
	BEGIN
		LOCK TABLE yquota.pricing_change IN SHARE MODE NOWAIT;
	EXCEPTION WHEN lock_not_available THEN
		RETURN 0;
	END;
	-- run one compaction at a time; events and readers do not take this lock
	LOCK TABLE yquota_internal.project_counter IN SHARE ROW EXCLUSIVE MODE;

	-- If compaction takes rows that a session with a cached cluster has not read, that session has to read all usage
	-- again.  While allocation cycles run, new rows therefore wait for the next compaction.  They do not wait if some
	-- transaction has been running since the last compaction.
	SELECT pg_snapshot_xmin(version.noted) INTO before
	FROM yquota_internal.usage_version AS version
	WHERE is_alone AND pg_snapshot_xmin(pg_current_snapshot()) > pg_snapshot_xmin(version.noted)
	  AND EXISTS (SELECT FROM yquota_internal.scheduler_change AS change WHERE change.changed_by >= pg_snapshot_xmax(version.noted));
	UPDATE yquota_internal.usage_version SET is_compacting = is_alone, noted = pg_current_snapshot();

	SELECT min(change.effective_from) INTO repriced_from
	FROM yquota_internal.running_reference AS known
	JOIN yquota.pricing_change AS change ON change.version > known.pricing_version;
	DELETE FROM yquota_internal.spending_mark
	WHERE at > repriced_from;

	reference := (SELECT reference_at FROM yquota_internal.valid_reference);
	IF reference IS NOT NULL THEN
		SELECT greatest(reference, max(change.reference_at) FILTER (WHERE change.reference_at <= full_hour)),
			   max(change.reference_at)
		INTO reference, settled_in
		FROM yquota_internal.counter_change AS change
		WHERE change.scope IN ('a', 'p');
		PERFORM yquota_internal.move_running_totals(reference, settled_in);
	END IF;

	WITH delta AS (
		DELETE FROM yquota_internal.counter_delta AS new
		WHERE (new.changed_by >= before) IS NOT TRUE
		RETURNING *
	), change AS MATERIALIZED (
		-- read the rows that are being deleted; the snapshot is the same, and no other command deletes them
		SELECT new.* FROM yquota_internal.counter_change AS new
		WHERE (new.changed_by >= before) IS NOT TRUE
	), late AS (
		-- find rows whose statement did not see a change of prices that affects them
		INSERT INTO yquota_internal.correction_due (changed_from)
		SELECT min(change.effective_from)
		FROM (SELECT pricing_version, max(priced_through) AS priced_through
			  FROM delta WHERE priced_through IS NOT NULL
			  GROUP BY pricing_version) AS priced
		JOIN yquota.pricing_change AS change
			ON change.version > priced.pricing_version
			AND change.effective_from <= priced.priced_through
			AND NOT change.corrected
		HAVING count(*) > 0
	), stale AS (
		-- delete stored spending that was computed before a change of the books
		DELETE FROM yquota_internal.spending_mark AS mark
		USING (SELECT part.project, min(part.changed_from) AS changed_from
			   FROM (SELECT delta.project, delta.changed_from FROM delta
					 UNION ALL
					 SELECT family.ancestor, delta.changed_from
					 FROM delta JOIN yquota_internal.project_family AS family ON family.member = delta.project) AS part
			   WHERE part.changed_from IS NOT NULL
			   GROUP BY part.project) AS late
		WHERE mark.project = late.project AND mark.at > late.changed_from
	), class AS (
		SELECT change.project, change.shape, change.factors, change.reference_at,
			   sum(change.weight) AS weight, sum(change.accrual_base) AS accrual_base
		FROM change
		WHERE change.scope IN ('a', 'p') AND change.weight IS NOT NULL
		GROUP BY change.project, change.shape, change.factors, change.reference_at
		HAVING sum(change.weight) <> 0 OR sum(change.accrual_base) <> 0
	), rate_class AS (
		INSERT INTO yquota_internal.rate_class_counter AS counter
			(project, shape, factors, reference_at, weight, accrual_base)
		SELECT class.project, class.shape, class.factors, class.reference_at,
			   class.weight, class.accrual_base
		FROM class
		ON CONFLICT (project, shape, factors, reference_at) DO UPDATE
			SET weight = counter.weight + EXCLUDED.weight,
				accrual_base = trim_scale(counter.accrual_base + EXCLUDED.accrual_base)
	), number AS MATERIALIZED (
		SELECT kind.shape, kind.factors, known.class_id IS NULL AS is_new,
			   COALESCE(known.class_id,
						r.classes + row_number() OVER (PARTITION BY known.class_id IS NULL)) AS class_id
		FROM (SELECT DISTINCT class.shape, class.factors FROM class) AS kind
		CROSS JOIN yquota_internal.running_reference AS r
		LEFT JOIN yquota_internal.running_class AS known
			ON known.shape OPERATOR(yquota.=) kind.shape
			AND known.factors IS NOT DISTINCT FROM kind.factors
		WHERE reference IS NOT NULL
	), new_class AS (
		INSERT INTO yquota_internal.running_class (class_id, shape, factors)
		SELECT number.class_id, number.shape, number.factors FROM number WHERE number.is_new
	), numbered AS (
		UPDATE yquota_internal.running_reference AS r
		SET classes = newest.class_id
		FROM (SELECT max(number.class_id) AS class_id FROM number WHERE number.is_new) AS newest
		WHERE newest.class_id IS NOT NULL
	), running AS (
		INSERT INTO yquota_internal.running_total AS total (project, weights)
		SELECT class.project, yquota_internal.pack_weights(number.class_id::integer, class.weight)
		FROM class
		JOIN number ON number.shape OPERATOR(yquota.=) class.shape
			AND number.factors IS NOT DISTINCT FROM class.factors
		GROUP BY class.project
		ON CONFLICT (project) DO UPDATE
			SET weights = yquota_internal.merge_weights(total.weights, EXCLUDED.weights)
	), project AS (
		INSERT INTO yquota_internal.project_counter AS counter (project, charged, accrual_base)
		SELECT part.project, sum(part.charged), trim_scale(sum(part.accrual_base))
		FROM (SELECT delta.project, delta.charged, 0 AS accrual_base
			  FROM delta
			  WHERE delta.scope IN ('a', 'p') AND delta.charged IS NOT NULL
			  UNION ALL
			  SELECT class.project, 0,
					 sum(class.accrual_base)
					 - yquota_internal.accrued_sum(class.shape, class.factors, class.weight, NULL,
												   class.reference_at, reference)
			  FROM class
			  WHERE reference IS NOT NULL
			  GROUP BY class.project) AS part
		GROUP BY part.project
		ON CONFLICT (project) DO UPDATE
			SET charged = trim_scale(counter.charged + EXCLUDED.charged),
				accrual_base = trim_scale(counter.accrual_base + EXCLUDED.accrual_base)
	), usage AS (
		INSERT INTO yquota_internal.usage_counter AS counter
			(queue, label, username, execution_type, allocation, containers)
		SELECT change.queue, change.label, change.username, change.execution_type,
			   yquota.sum(change.allocation), sum(change.containers)
		FROM change
		WHERE change.scope IN ('a', 'u')
		GROUP BY change.queue, change.label, change.username, change.execution_type
		ON CONFLICT (queue, label, username, execution_type) DO UPDATE
			SET allocation = counter.allocation OPERATOR(yquota.+) EXCLUDED.allocation,
				containers = counter.containers + EXCLUDED.containers
	), node AS (
		INSERT INTO yquota_internal.node_counter AS counter
			(node, execution_type, allocation, containers)
		SELECT change.node, change.execution_type,
			   yquota.sum(change.allocation), sum(change.containers)
		FROM change
		WHERE change.scope IN ('a', 'n') AND change.node IS NOT NULL
		GROUP BY change.node, change.execution_type
		ON CONFLICT (node, execution_type) DO UPDATE
			SET allocation = counter.allocation OPERATOR(yquota.+) EXCLUDED.allocation,
				containers = counter.containers + EXCLUDED.containers
	), feed AS (
		INSERT INTO yquota_internal.feed_counter AS counter
			(source, events, last_event_at, last_recorded_at)
		SELECT delta.source, sum(delta.events), max(delta.last_event_at), max(delta.recorded_at)
		FROM delta
		WHERE delta.scope IN ('a', 'f') AND delta.events IS NOT NULL
		GROUP BY delta.source
		ON CONFLICT (source) DO UPDATE
			SET events = counter.events + EXCLUDED.events,
				last_event_at = greatest(counter.last_event_at, EXCLUDED.last_event_at),
				last_recorded_at = greatest(counter.last_recorded_at, EXCLUDED.last_recorded_at)
	)
	SELECT count(*), max(delta.reference_at), pg_current_snapshot() INTO compacted, settled_in, seen FROM delta;

	-- rows committed since the totals were moved have been compacted, too
	UPDATE yquota_internal.running_reference
	SET priced_through = settled_in
	WHERE priced_through < settled_in;
	DELETE FROM yquota_internal.rate_class_counter WHERE weight = 0 AND accrual_base = 0;
	DELETE FROM yquota_internal.running_total WHERE weights = '';
	DELETE FROM yquota_internal.usage_counter WHERE containers = 0 AND allocation OPERATOR(yquota.=) '[]';
	DELETE FROM yquota_internal.node_counter WHERE containers = 0 AND allocation OPERATOR(yquota.=) '[]';
	UPDATE yquota_internal.usage_version
	SET is_compacting = false,
		compacted_before = CASE WHEN before IS NULL THEN pg_snapshot_xmax(seen) ELSE greatest(compacted_before, before) END,
		compacted_but = CASE WHEN before IS NULL THEN ARRAY(SELECT pg_snapshot_xip(seen))
			ELSE ARRAY(SELECT number FROM unnest(compacted_but) AS number WHERE number >= before) END
	WHERE is_alone;
	DELETE FROM yquota_internal.charged_through
	WHERE at < (SELECT max(at) FROM yquota_internal.charged_through);
	IF reference IS NULL THEN
		PERFORM yquota_internal.make_running_totals(full_hour);
	END IF;
	RETURN compacted;
END
$$;
COMMENT ON FUNCTION yquota_internal.compact_counters() IS
	'Add the inserted deltas to the counters.  Returns the number of deltas.  While containers are being allocated, the newest deltas wait for the next call.  Does nothing while a change of prices has not been committed, or in a transaction whose snapshot could miss such a change.  The worker calls the function';

CREATE FUNCTION yquota_internal.correct_late_prices() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	since timestamptz;
BEGIN
	IF NOT EXISTS (SELECT FROM yquota_internal.correction_due) THEN
		RETURN 0;
	END IF;
	-- take these locks before the rows, because quota_compute() reads the rows while it holds these locks
	LOCK TABLE ONLY yquota.container_event, yquota.reservation_charge IN ROW EXCLUSIVE MODE;
	WITH due AS (
		DELETE FROM yquota_internal.correction_due RETURNING changed_from
	)
	SELECT min(changed_from) INTO since FROM due;
	IF since IS NULL THEN
		RETURN 0;
	END IF;
	RETURN yquota_internal.correct_prices_since(since);
END
$$;
COMMENT ON FUNCTION yquota_internal.correct_late_prices() IS
	'Correct settlements that were made before a change of prices became visible.  Returns how many containers were corrected.  The worker calls it';

CREATE FUNCTION yquota_internal.uncorrected_since() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT min(late.changed_from)
			FROM (SELECT due.changed_from FROM yquota_internal.correction_due AS due
				  UNION ALL
				  SELECT change.effective_from
				  FROM (SELECT delta.pricing_version, max(delta.priced_through) AS priced_through
						FROM yquota_internal.counter_delta AS delta
						WHERE delta.priced_through IS NOT NULL
						GROUP BY delta.pricing_version) AS priced
				  JOIN yquota.pricing_change AS change
					ON change.version > priced.pricing_version AND change.effective_from <= priced.priced_through
					   AND NOT change.corrected) AS late);
COMMENT ON FUNCTION yquota_internal.uncorrected_since() IS
	'Return the first instant after which a charge is not corrected yet for a change of prices that became visible late; NULL when all charges are corrected. correct_late_prices() corrects charges';

CREATE FUNCTION yquota.quota_compute() RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- take the lock of prices before that of events
	PERFORM yquota_internal.extend_calendars();
	INSERT INTO yquota.container_event (event, source) VALUES ('QUOTA_COMPUTE', 'quota_compute');
	PERFORM yquota_internal.book_reservations();
	-- Take the locks of apply_waiting() before that of compact_counters().
	PERFORM yquota_internal.lock_for_resending();
	PERFORM yquota_internal.compact_counters();
	PERFORM yquota_internal.correct_late_prices();
	PERFORM yquota_internal.apply_waiting();
	PERFORM yquota_internal.trim_scheduler_changes();
	PERFORM yquota_internal.worker_credit(yquota.clock());
	PERFORM yquota_internal.note_forecasts(yquota.clock());
	PERFORM yquota_internal.note_crossings(yquota.clock());
	PERFORM yquota_internal.watch_decisions(yquota.clock());
	PERFORM yquota_internal.watch_node_reports(yquota.clock());
	PERFORM yquota_internal.watch_plans(yquota.clock());
	RETURN (SELECT max(at) FROM yquota_internal.charged_through);
END
$$;
COMMENT ON FUNCTION yquota.quota_compute() IS
	'Run the worker''s tasks of a compute interval, and return the charged-through mark.  Advances the mark to the clock, posts the cost of reservations, compacts counters and corrects late prices.  Applies waiting events whose START has arrived, checks credit, and reports thresholds that spending has crossed.  Raises alerts about decisions that no application master acknowledges, and about nodes whose reports are late or differ from the books.  Also raises alerts about plans that are too small or not followed';

CREATE VIEW yquota.charged_through AS
	SELECT max(at) AS at FROM yquota_internal.charged_through;
COMMENT ON VIEW yquota.charged_through IS
	'Charged-through mark: the latest QUOTA_COMPUTE.  Up to this instant, balances have shown the cost of running containers';
COMMENT ON COLUMN yquota.charged_through.at IS 'occurred_at of the latest QUOTA_COMPUTE; NULL before the first one';

-- A project cannot be deleted while the books name it or are going to name it.  The check reads counters instead of
-- the ledger, because the counters have a row for every project that was ever charged.

CREATE FUNCTION yquota_internal.is_in_books(project_name text) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN EXISTS (SELECT FROM yquota.container WHERE container.project = project_name)
		OR EXISTS (SELECT FROM yquota_internal.project_counter AS counter WHERE counter.project = project_name)
		OR EXISTS (SELECT FROM yquota_internal.counter_delta AS delta WHERE delta.project = project_name)
		OR EXISTS (SELECT FROM yquota_internal.accruing_reservation AS reserved WHERE reserved.project = project_name)
		OR EXISTS (SELECT FROM yquota_internal.deferred_event AS deferred
				   WHERE yquota_internal.payer_project(deferred.project, deferred.username) = project_name);
END
$$;
COMMENT ON FUNCTION yquota_internal.is_in_books(text) IS
	'Tell whether containers of a project are in the books, or are going to be in the books';

CREATE FUNCTION yquota_internal.keep_project() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF TG_OP = 'UPDATE' AND NEW.name = OLD.name THEN
		RETURN NEW;
	END IF;
	-- uncommitted charges to the project are not visible here
	PERFORM yquota_internal.require_read_committed(CASE TG_OP WHEN 'UPDATE' THEN 'rename' ELSE 'delete' END || ' a project');
	IF yquota_internal.is_in_books(OLD.name) THEN
		RAISE EXCEPTION 'cannot % project "%" because its containers are in the books',
				CASE TG_OP WHEN 'UPDATE' THEN 'rename' ELSE 'delete' END, OLD.name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Set on_exhausted to stop new work of the project.';
	END IF;
	-- after the project is renamed, its price factors and charging rules would not apply to it any more
	IF TG_OP = 'UPDATE' AND (EXISTS (SELECT FROM yquota.price_factor AS f WHERE f.dimension = 'project' AND f.name = OLD.name)
							 OR EXISTS (SELECT FROM yquota.charging_rule AS r WHERE r.project = OLD.name))
	THEN
		RAISE EXCEPTION 'cannot rename project "%" because it has price factors or charging rules of its own', OLD.name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Insert a new project with its own price factors and charging rules.';
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_project() IS
	'Refuse to delete or rename a project to which containers were charged, and to rename a project that has its own prices';

-- The trigger takes its lock before any project is locked, because other transactions lock a project while they hold
-- one of these locks.
CREATE FUNCTION yquota_internal.lock_projects() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'DELETE' THEN
		LOCK TABLE yquota.role_grant IN ROW EXCLUSIVE MODE;
	END IF;
	PERFORM yquota_internal.lock_briefly('LOCK TABLE ONLY yquota.container_event IN SHARE ROW EXCLUSIVE MODE', 120);
	-- readers do not wait
	LOCK TABLE yquota_internal.project_family IN SHARE ROW EXCLUSIVE MODE;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_projects() IS
	'Make a statement that deletes, renames or moves projects wait for events and for decisions about credit';

CREATE TRIGGER lock_projects BEFORE UPDATE OF name, parent OR DELETE ON yquota.project
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_projects();
CREATE TRIGGER keep BEFORE UPDATE OF name OR DELETE ON yquota.project
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_project();

-- These triggers tell sessions about changes of cached facts.  The cache contains existing projects, labels of
-- nodes, and the fact that no event waits for its START (src/charging/name_cache.h).
CREATE FUNCTION yquota_internal.signal_change() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_signal_change';
COMMENT ON FUNCTION yquota_internal.signal_change() IS
	'Make all sessions drop their cached rows of the table';

CREATE TRIGGER signal_change AFTER INSERT OR UPDATE OF name OR DELETE ON yquota.project
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_truncate AFTER TRUNCATE ON yquota.project
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_change AFTER INSERT OR DELETE ON yquota.node
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_update AFTER UPDATE ON yquota.node
	FOR EACH ROW WHEN (OLD.name <> NEW.name OR OLD.label <> NEW.label)
	EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_truncate AFTER TRUNCATE ON yquota.node
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();

-- The removal of a waiting event sends a signal, too.  A session may look at the table after the removal, and must
-- forget what it saw if the removal is rolled back.
CREATE TRIGGER signal_removal AFTER UPDATE OR DELETE ON yquota.event_reject
	FOR EACH ROW WHEN (OLD.waiting) EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_change AFTER INSERT OR UPDATE ON yquota.event_reject
	FOR EACH ROW WHEN (NEW.waiting) EXECUTE FUNCTION yquota_internal.signal_change();
