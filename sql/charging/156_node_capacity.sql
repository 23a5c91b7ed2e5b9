-- Capacity of the cluster: the resources that RUNNING nodes offer.
--
-- The triggers that find changed nodes write the timeline of each node: record_labels() for new nodes, and
-- change_nodes() for all other changes (scheduler/380_scheduler.sql).  A heartbeat that changes neither total nor state
-- costs nothing more.  Labels are in node_label_history.  So a later correction of a label also moves the node's
-- capacity to this label.

CREATE TABLE yquota_internal.node_capacity (
	node text COLLATE "C" NOT NULL,
	effective_at timestamptz NOT NULL,
	total yquota.resource NOT NULL,
	PRIMARY KEY (node, effective_at)
);
COMMENT ON TABLE yquota_internal.node_capacity IS
	'Timeline of the resources that each node offers; a node offers nothing before its first row';
COMMENT ON COLUMN yquota_internal.node_capacity.node IS 'key; the rows of a deleted node remain';
COMMENT ON COLUMN yquota_internal.node_capacity.effective_at IS 'key; each row applies until the next one';
COMMENT ON COLUMN yquota_internal.node_capacity.total IS 'as node.total, in native units; empty while the node is not RUNNING';

-- A second change at the same instant replaces the first one.  A change after the clock went back replaces the last
-- row, too.
CREATE FUNCTION yquota_internal.record_capacity(nodes text[]) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		INSERT INTO yquota_internal.node_capacity AS known (node, effective_at, total)
		SELECT changed.node, greatest(yquota.statement_clock(), last.effective_at), offered.total
		FROM (SELECT DISTINCT named.node FROM unnest(nodes) AS named (node)) AS changed
		LEFT JOIN yquota.node AS n ON n.name = changed.node
		LEFT JOIN LATERAL (
			SELECT c.effective_at, c.total FROM yquota_internal.node_capacity AS c
			WHERE c.node = changed.node ORDER BY c.effective_at DESC LIMIT 1
		) AS last ON true
		CROSS JOIN LATERAL (SELECT CASE WHEN n.state = 'RUNNING' THEN n.total ELSE '[]' END AS total) AS offered
		WHERE coalesce(last.total, '[]') OPERATOR(yquota.<>) offered.total
		ORDER BY changed.node
		ON CONFLICT (node, effective_at) DO UPDATE SET total = EXCLUDED.total;
$$;
COMMENT ON FUNCTION yquota_internal.record_capacity(text[]) IS
	'Add a point to the timelines of the nodes whose offered resources have changed';

CREATE FUNCTION yquota_internal.record_no_capacity() RETURNS trigger
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.record_capacity(ARRAY(SELECT DISTINCT c.node FROM yquota_internal.node_capacity AS c));
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.record_no_capacity() IS
	'End the capacity of all nodes when the table node is truncated';
CREATE TRIGGER record_no_capacity AFTER TRUNCATE ON yquota.node
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.record_no_capacity();

-- No report begins before the archive horizon.
CREATE FUNCTION yquota_internal.forget_capacity(before timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH forgotten AS (
			DELETE FROM yquota_internal.node_capacity AS c
			WHERE EXISTS (SELECT FROM yquota_internal.node_capacity AS later
						  WHERE later.node = c.node AND later.effective_at > c.effective_at AND later.effective_at <= before)
			RETURNING 1)
		SELECT count(*) FROM forgotten;
$$;
COMMENT ON FUNCTION yquota_internal.forget_capacity(timestamptz) IS
	'Delete the points of node_capacity that no longer apply at an instant.  Returns the number of rows';

-- The timeline of a node's label begins at -infinity.
CREATE VIEW yquota_internal.label_span AS
	SELECT h.node, h.label, h.effective_at AS "from",
		   lead(h.effective_at, 1, 'infinity') OVER (PARTITION BY h.node ORDER BY h.effective_at) AS "to"
	FROM yquota.node_label_history AS h;
COMMENT ON VIEW yquota_internal.label_span IS 'Labels of nodes, each from one instant to another';

CREATE VIEW yquota_internal.capacity_segment AS
	SELECT offered.node, labelled.label, offered.total,
		   greatest(offered."from", labelled."from") AS "from", least(offered."to", labelled."to") AS "to"
	FROM (SELECT c.node, c.total, c.effective_at AS "from",
				 lead(c.effective_at, 1, 'infinity') OVER (PARTITION BY c.node ORDER BY c.effective_at) AS "to"
		  FROM yquota_internal.node_capacity AS c) AS offered
	JOIN yquota_internal.label_span AS labelled
		ON labelled.node = offered.node AND labelled."from" < offered."to" AND labelled."to" > offered."from"
	WHERE offered.total OPERATOR(yquota.<>) '[]';
COMMENT ON VIEW yquota_internal.capacity_segment IS
	'Resources that each node offers under a label, from one instant to another';

CREATE VIEW yquota.capacity_history WITH (security_barrier) AS
	SELECT step.label, step.resource_type, step.effective_at,
		   (sum(sum(step.amount)) OVER (PARTITION BY step.label, step.resource_type ORDER BY step.effective_at))::bigint AS capacity
	FROM (
		SELECT s.label, entry.name AS resource_type, s."from" AS effective_at, entry.amount::numeric AS amount
		FROM yquota_internal.capacity_segment AS s
		CROSS JOIN LATERAL yquota.resource_entries(s.total) AS entry
		UNION ALL
		SELECT s.label, entry.name, s."to", - entry.amount::numeric
		FROM yquota_internal.capacity_segment AS s
		CROSS JOIN LATERAL yquota.resource_entries(s.total) AS entry
		WHERE s."to" < 'infinity'
	) AS step
	GROUP BY step.label, step.resource_type, step.effective_at
	HAVING sum(step.amount) <> 0;
COMMENT ON VIEW yquota.capacity_history IS
	'Timeline of the resources that RUNNING nodes offer, by label and resource type.  Each row applies until the next one, and nothing is offered before the first row';
COMMENT ON COLUMN yquota.capacity_history.label IS 'partition of the nodes; empty for the default partition';
COMMENT ON COLUMN yquota.capacity_history.resource_type IS 'name of the resource type';
COMMENT ON COLUMN yquota.capacity_history.effective_at IS 'time at which nodes changed: the clock for their size or state, and node_label_history.effective_at for their label';
COMMENT ON COLUMN yquota.capacity_history.capacity IS 'sum over the nodes with the label, in native units';

CREATE FUNCTION yquota_internal.verify_capacity()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'capacity of a node differs from its row', coalesce(n.name, last.node), offered.total::text, last.total::text
	FROM yquota.node AS n
	FULL JOIN (SELECT DISTINCT ON (c.node) c.node, c.total FROM yquota_internal.node_capacity AS c
			   ORDER BY c.node, c.effective_at DESC) AS last ON last.node = n.name
	CROSS JOIN LATERAL (SELECT CASE WHEN n.state = 'RUNNING' THEN n.total ELSE '[]' END AS total) AS offered
	WHERE coalesce(last.total, '[]') OPERATOR(yquota.<>) offered.total;
	END;
COMMENT ON FUNCTION yquota_internal.verify_capacity() IS
	'Return the nodes whose last point of node_capacity differs from the resources that they offer';

SELECT pg_extension_config_dump('yquota_internal.node_capacity', '');
