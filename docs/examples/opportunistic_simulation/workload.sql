--
-- Requests for containers, and the nodes on which they may run.
--
-- The trace is that of docs/demo/trace.sql, with every 200th node and all pods. Without a trace, the generated history
-- of docs/demo/generate.sql is used. The scenarios play :hours hours of it, beginning at hour :first_hour.
--
-- A pod whose qos is BE (best effort) is OPPORTUNISTIC, all others are GUARANTEED. A GUARANTEED pod asks for a
-- container when it was created, or at the start of the window if it ran then. There are few BE pods, but idle room for
-- many. So the BE pods of the whole history are moved into the window, at their time modulo the length of the window. A
-- pod that never ran in the history asks for a container for as long as the pod existed.
--
-- Users and projects are derived from the pod's number. Eight successive pods belong to one user. There are 24 users,
-- three in each of eight projects. A user has one application for OPPORTUNISTIC pods and one for others, in a queue for
-- each kind.
--
CREATE SCHEMA simulation;
COMMENT ON SCHEMA simulation IS 'Requests of the simulation of OPPORTUNISTIC containers, and their outcome';

-- Random number from 0 to below 1, the same everywhere.
CREATE FUNCTION simulation.dice(number bigint, purpose text) RETURNS numeric
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN ('x' || left(md5(number || purpose), 7))::bit(28)::integer / 268435456.0;

CREATE TABLE simulation.plan (
	from_at timestamptz NOT NULL,
	to_at timestamptz NOT NULL,
	heartbeat interval NOT NULL,
	is_measured boolean NOT NULL DEFAULT false,
	tells_progress boolean NOT NULL DEFAULT false,
	computes_prices boolean NOT NULL DEFAULT false,
	cycles_every interval
);
COMMENT ON TABLE simulation.plan IS 'The window to play, and its settings, in one row';
COMMENT ON COLUMN simulation.plan.heartbeat IS 'time from one heartbeat to the next';
COMMENT ON COLUMN simulation.plan.is_measured IS 'nodes report the resources that are measured in use';
COMMENT ON COLUMN simulation.plan.tells_progress IS 'OPPORTUNISTIC containers report their progress';
COMMENT ON COLUMN simulation.plan.computes_prices IS 'prices are computed at each heartbeat';
COMMENT ON COLUMN simulation.plan.cycles_every IS 'heartbeats and allocation cycles take place at least so often; NULL: when there is something to decide';

CREATE TABLE simulation.pod (
	number integer PRIMARY KEY,
	is_opportunistic boolean NOT NULL,
	application_id text NOT NULL,
	vcores bigint NOT NULL,
	memory_mb bigint NOT NULL,
	asks_at timestamptz NOT NULL,
	duration interval NOT NULL,
	expected_duration interval GENERATED ALWAYS AS (CASE WHEN simulation.dice(number, 'known') < 0.8
		THEN duration * (0.5 + 1.5 * simulation.dice(number, 'expected'))::double precision END) STORED,
	is_asked boolean NOT NULL DEFAULT false,
	waiting_since timestamptz,
	waited interval NOT NULL DEFAULT '0',
	completed_at timestamptz
);
COMMENT ON TABLE simulation.pod IS 'Pods to play: each asks for one container at a time, until one has run for the whole duration';
COMMENT ON COLUMN simulation.pod.expected_duration IS 'duration that the user expects: half of the real one to twice as much; NULL for a fifth of the pods';
COMMENT ON COLUMN simulation.pod.is_asked IS 'the pod has a container, or its application has asked for one';
COMMENT ON COLUMN simulation.pod.waiting_since IS 'time since which it waits, without a container or with one that does not run; NULL: it has not asked yet, runs, or has completed';
COMMENT ON COLUMN simulation.pod.waited IS 'time that it waited before waiting_since';

CREATE INDEX pod_asks_at_idx ON simulation.pod (asks_at) WHERE waiting_since IS NULL AND NOT is_asked AND completed_at IS NULL;
CREATE INDEX pod_waiting_idx ON simulation.pod (application_id) WHERE waiting_since IS NOT NULL AND NOT is_asked;
