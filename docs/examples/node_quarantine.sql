-- A response interceptor that keeps nodes in quarantine: no application gets an OPPORTUNISTIC container on such a node,
-- although the node works and reports. allocate_opportunistic() and allocate_distributed() leave containers on these
-- nodes out of their results, and end them.
--
-- Run the script once, as a superuser, in a database with yquota. The script makes the schema node_quarantine and
-- registers its function. The function runs with the rights of the role that asks for containers. So every such role
-- needs the privileges that the last statements give to members of node_quarantine_user:
--
--     GRANT node_quarantine_user TO resource_manager;
--     INSERT INTO node_quarantine.node (name, reason) VALUES ('node17', 'loses packets');
--
CREATE SCHEMA node_quarantine;

CREATE TABLE node_quarantine.node (
	name text COLLATE "C" PRIMARY KEY,
	reason text NOT NULL,
	since timestamptz NOT NULL DEFAULT yquota.clock()
);

-- Return the numbers of the rows to leave out.
CREATE FUNCTION node_quarantine.leave_out(request yquota.allocate_request, rows yquota.allocate_response[])
	RETURNS integer[]
	LANGUAGE sql STABLE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT array_agg(r.number::integer)
		FROM unnest(rows) WITH ORDINALITY AS r (outcome, container_id, node, allocation, priority, allocation_request_id, execution_type, number)
		JOIN node_quarantine.node AS n ON n.name = r.node
		WHERE r.outcome = 'allocated';
	END;

DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'node_quarantine_user') THEN
		CREATE ROLE node_quarantine_user;
	END IF;
END
$$;
GRANT USAGE ON SCHEMA node_quarantine TO node_quarantine_user;
GRANT SELECT ON node_quarantine.node TO node_quarantine_user;
REVOKE EXECUTE ON FUNCTION node_quarantine.leave_out(yquota.allocate_request, yquota.allocate_response[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION node_quarantine.leave_out(yquota.allocate_request, yquota.allocate_response[]) TO node_quarantine_user;

INSERT INTO yquota.request_interceptor (position, function, intercepts) VALUES (200, 'node_quarantine.leave_out', 'response');
