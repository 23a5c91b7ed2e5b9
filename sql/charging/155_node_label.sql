-- Labels of nodes, as a timeline.  The label at the time of a container's segment decides which factor the container
-- pays (semantics/charging 2.4).
--
-- A change of yquota.node writes the timeline.  Every change of the timeline settles the containers of its nodes
-- again.  This moves the containers' usage to the present label.  If labels have factors, it also splits the
-- containers' segments.  Labels do not affect amounts before the first factor of any label.

CREATE FUNCTION yquota_internal.labels_priced_from() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT min(f.effective_at) FROM yquota.price_factor AS f
			WHERE f.dimension = 'label' AND f.factor IS NOT NULL);
COMMENT ON FUNCTION yquota_internal.labels_priced_from() IS
	'Return the instant of the first factor of any node label; NULL when there is none';

CREATE VIEW yquota_internal.label_change AS
	SELECT point.node, point.effective_at
	FROM (SELECT h.node, h.effective_at, h.label,
				 lag(h.label, 1, '') OVER (PARTITION BY h.node ORDER BY h.effective_at) AS label_before
		  FROM yquota.node_label_history AS h) AS point
	WHERE point.label <> point.label_before
	  -- use a separate subquery, so that nothing is read while no label has a factor
	  AND (SELECT yquota_internal.labels_priced_from()) IS NOT NULL
	  AND point.effective_at > (SELECT yquota_internal.labels_priced_from());
COMMENT ON VIEW yquota_internal.label_change IS
	'Instants at which prices by label may change for a node; no rows while no label has a factor';

CREATE FUNCTION yquota_internal.settle_nodes_again(nodes text[]) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- take the lock of an INSERT of events, so that no period is closed in the meantime
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	RETURN coalesce(
		(SELECT yquota_internal.settle_again(array_agg(c.container_id ORDER BY c.container_id))
		 FROM yquota.container AS c
		 WHERE c.node = ANY (nodes)), 0);
END
$$;
COMMENT ON FUNCTION yquota_internal.settle_nodes_again(text[]) IS
	'Make the books of running containers agree with the labels of their nodes.  Returns how many containers changed';

--
-- The timeline
--

-- The trigger takes its lock before any node is locked.
CREATE FUNCTION yquota_internal.lock_labels() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() AND yquota_internal.labels_priced_from() IS NOT NULL THEN
		PERFORM yquota_internal.lock_pricing();
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_labels() IS
	'Make changes of labels wait for changes of prices before they read anything, if labels have factors';

-- The points are checked together, so that the ledger is read once.  No index of the ledger has the node.
CREATE FUNCTION yquota_internal.check_past_labels(nodes text[], instants timestamptz[], untils timestamptz[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- a plan made for one node is bad for many
	SET plan_cache_mode = force_custom_plan
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	clock CONSTANT timestamptz := yquota.statement_clock();
	labels_from CONSTANT timestamptz := yquota_internal.labels_priced_from();
	mark CONSTANT timestamptz := (SELECT max(at) FROM yquota_internal.charged_through);
	since CONSTANT timestamptz := greatest((SELECT min(i.at) FROM unnest(instants) AS i (at)), labels_from);
	affected record;
BEGIN
	SELECT past.node, past.at, format('Container "%s" has been charged from %s to %s.', c.container_id, c."from", c."to") AS detail INTO affected
	FROM unnest(nodes, instants, untils) AS past (node, at, until)
	JOIN yquota_internal.charge_in_effect AS c ON c.node = past.node
	WHERE past.at < clock AND c."to" >= since AND c."to" >= greatest(past.at, labels_from) AND (past.until IS NULL OR c."from" < past.until)
	  -- padding is charged at the price at the end of the run
	  AND (c.padding IS NOT NULL OR (c."to" > greatest(past.at, labels_from) AND c."to" > c."from"))
	LIMIT 1;
	IF affected IS NULL THEN
		SELECT past.node, past.at,
			   format('Container "%s" has been running since %s, and its cost until %s has been shown.', c.container_id, c.settled_at, mark) AS detail INTO affected
		FROM unnest(nodes, instants, untils) AS past (node, at, until)
		JOIN yquota.container AS c ON c.node = past.node
		WHERE past.at < clock AND mark > greatest(past.at, labels_from) AND c.settled_at < mark AND (past.until IS NULL OR c.settled_at < past.until)
		LIMIT 1;
	END IF;
	PERFORM yquota_internal.refuse_past_change(format('label of node "%s"', affected.node), affected.at, affected.detail);
END
$$;
COMMENT ON FUNCTION yquota_internal.check_past_labels(text[], timestamptz[], timestamptz[]) IS
	'Refuse labels before the clock if they would change an amount that has been settled or shown.  Every given label changes a price.  It is described by its node, its instant, and the instant of the node''s next point (NULL if there is none)';

CREATE FUNCTION yquota_internal.check_present_labels(nodes text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	other record;
BEGIN
	SELECT n.name, n.label, h.label AS in_force INTO other
	FROM yquota.node AS n
	CROSS JOIN LATERAL (SELECT h.label FROM yquota.node_label_history AS h
						WHERE h.node = n.name ORDER BY h.effective_at DESC LIMIT 1) AS h
	WHERE n.name = ANY (nodes) AND n.label <> h.label
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'node "%" would have label "%" in its history, and has label "%"', other.name, other.in_force, other.label
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Update yquota.node first, then insert what lies in the past.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_present_labels(text[]) IS
	'Refuse a history whose last label is not the present label of the node';

CREATE FUNCTION yquota_internal.keep_label_history() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NEW;
	ELSIF NEW.effective_at > yquota.statement_clock() THEN
		RAISE EXCEPTION 'label of node "%" cannot be set at %, ahead of the clock', NEW.node, NEW.effective_at
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The clock shows %s.', yquota.statement_clock()),
				HINT = 'A label is a fact: update yquota.node when the node has it.';
	ELSIF NEW.node IS NOT NULL AND NOT EXISTS (SELECT FROM yquota.node AS n WHERE n.name = NEW.node)
		AND NOT EXISTS (SELECT FROM yquota.node_label_history AS h WHERE h.node = NEW.node)
	THEN
		RAISE EXCEPTION 'node "%" does not exist', NEW.node
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Insert it into yquota.node.';
	END IF;
	NEW.set_by := session_user;
	NEW.set_at := clock_timestamp();
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_label_history() IS
	'Refuse labels in the future and labels of unknown nodes.  Record the role that set a label, and the time';

-- A transaction with an older snapshot would not split the segments of containers that it does not see.
CREATE FUNCTION yquota_internal.require_present_prices() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.sees_commits()
		AND yquota_internal.prices_changed_from((SELECT coalesce(max(p.version), 0) FROM yquota.pricing_change AS p)) <> 'infinity'
	THEN
		RAISE EXCEPTION 'could not serialize access due to a concurrent change of prices'
			USING ERRCODE = 'serialization_failure',
				HINT = 'The transaction might succeed if retried.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.require_present_prices() IS
	'Refuse a label in a transaction that does not see the newest change of prices, which may be the first factor of a label';

CREATE FUNCTION yquota_internal.note_label_history() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	nodes text[];
	changed_from timestamptz;
	labels_from CONSTANT timestamptz := yquota_internal.labels_priced_from();
	priced_from timestamptz;
	priced record;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF labels_from IS NULL THEN
		PERFORM yquota_internal.require_present_prices();
	END IF;
	-- the first point of a node begins a time for which no label was known
	SELECT array_agg(DISTINCT f.node), min(f.effective_at) INTO nodes, changed_from
	FROM new_rows AS f WHERE f.effective_at <> '-infinity';
	IF nodes IS NULL THEN
		RETURN NULL;
	END IF;
	PERFORM yquota_internal.check_present_labels(nodes);
	IF labels_from IS NULL THEN
		PERFORM yquota_internal.settle_nodes_again(nodes);
	ELSE
		IF TG_OP = 'INSERT' THEN
			-- a label changes prices if this label, or the label that it replaces, has a factor
			SELECT array_agg(c.node) AS nodes, array_agg(c.effective_at) AS instants, array_agg(c.until) AS untils, min(c.effective_at) AS first_at INTO priced
			FROM (SELECT h.node, h.effective_at, h.label, f.node IS NOT NULL AS is_new,
						 lead(h.effective_at) OVER in_order AS until,
						 coalesce(yquota_internal.last_known(CASE WHEN f.node IS NULL THEN h.label END) OVER in_order, '') AS replaced
				  FROM yquota.node_label_history AS h
				  LEFT JOIN new_rows AS f ON f.node = h.node AND f.effective_at = h.effective_at
				  WHERE h.node = ANY (nodes)
				  WINDOW in_order AS (PARTITION BY h.node ORDER BY h.effective_at)) AS c
			WHERE c.is_new AND c.effective_at <> '-infinity' AND c.label <> c.replaced
			  AND EXISTS (SELECT FROM yquota.price_factor AS p
						  WHERE p.dimension = 'label' AND p.name IN (c.label, c.replaced) AND p.factor IS NOT NULL)
			  AND (c.until IS NULL OR c.until > labels_from);
			PERFORM yquota_internal.check_past_labels(priced.nodes, priced.instants, priced.untils);
			priced_from := priced.first_at;
		ELSE
			priced_from := changed_from;
		END IF;
		PERFORM yquota_internal.note_pricing_change(
			coalesce(priced_from, 'infinity'), format('label of node set: %s', array_to_string(nodes, ', ')),
			nodes => nodes, labelled_from => changed_from);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_label_history() IS
	'Settle the containers of nodes with new labels again.  If labels have factors, this is done as for a change of prices';

CREATE TRIGGER lock_labels BEFORE INSERT ON yquota.node_label_history
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_labels();
CREATE TRIGGER keep BEFORE INSERT ON yquota.node_label_history
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_label_history();
CREATE TRIGGER signal_change AFTER INSERT OR UPDATE OR DELETE ON yquota.node_label_history
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER note_insert AFTER INSERT ON yquota.node_label_history
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_label_history();
CREATE TRIGGER note_update AFTER UPDATE ON yquota.node_label_history
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_label_history();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.node_label_history
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

--
-- Nodes
--

-- A node that is added while labels have factors has no label before it is added.  Containers may have been charged on
-- an earlier node of the same name.  If a second change is at the same instant, or the clock went back, the second
-- change replaces the first one.
CREATE FUNCTION yquota_internal.record_labels() RETURNS trigger
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	clock CONSTANT timestamptz := yquota.statement_clock();
	names text[];
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	ELSIF TG_OP = 'INSERT' THEN
		names := ARRAY(SELECT fresh.name FROM new_nodes AS fresh);
	ELSE
		-- group instead of joining: PL/pgSQL keeps the plan for any number of nodes, and a join could use nested loops
		names := ARRAY(SELECT listed.name
					   FROM (SELECT stale.name, stale.label, false AS is_new FROM old_nodes AS stale
							 UNION ALL
							 SELECT fresh.name, fresh.label, true FROM new_nodes AS fresh) AS listed
					   GROUP BY listed.name
					   HAVING bool_or(listed.is_new) AND (count(*) = 1 OR min(listed.label) <> max(listed.label)));
	END IF;
	IF names = '{}' THEN
		RETURN NULL;
	ELSIF TG_OP = 'INSERT' THEN
		PERFORM yquota_internal.record_capacity(names);
	END IF;

	INSERT INTO yquota.node_label_history (node, effective_at, label)
	SELECT n.name, '-infinity', CASE WHEN yquota_internal.labels_priced_from() IS NULL THEN n.label ELSE '' END
	FROM yquota.node AS n
	WHERE n.name = ANY (names) AND NOT EXISTS (SELECT FROM yquota.node_label_history AS h WHERE h.node = n.name)
	ORDER BY n.name;

	WITH last AS (
		SELECT n.name, n.label, h.effective_at
		FROM yquota.node AS n
		CROSS JOIN LATERAL (SELECT h.effective_at, h.label FROM yquota.node_label_history AS h
							WHERE h.node = n.name ORDER BY h.effective_at DESC LIMIT 1) AS h
		WHERE n.name = ANY (names) AND h.label <> n.label
	), replaced AS (
		UPDATE yquota.node_label_history AS h
		SET label = last.label, set_by = session_user, set_at = clock_timestamp()
		FROM last
		WHERE h.node = last.name AND h.effective_at = last.effective_at AND last.effective_at >= clock
	)
	INSERT INTO yquota.node_label_history (node, effective_at, label)
	SELECT last.name, clock, last.label FROM last WHERE last.effective_at < clock
	ORDER BY last.name;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.record_labels() IS
	'Write the new labels of nodes into node_label_history, so that the nodes'' containers are settled again.  Also record the first capacity of new nodes';

CREATE TRIGGER lock_labels BEFORE INSERT OR UPDATE OF name, label ON yquota.node
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_labels();
CREATE TRIGGER record_new_labels AFTER INSERT ON yquota.node
	REFERENCING NEW TABLE AS new_nodes
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.record_labels();
CREATE TRIGGER record_labels AFTER UPDATE ON yquota.node
	REFERENCING OLD TABLE AS old_nodes NEW TABLE AS new_nodes
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.record_labels();

SELECT pg_extension_config_dump('yquota.node_label_history', '');
