--
-- Tables for a history. trace.sql or generate.sql fills these tables, and prepare.sql converts them to lifecycle
-- events.
--

CREATE SCHEMA demo;
COMMENT ON SCHEMA demo IS 'The history that the demonstration replays';

CREATE TABLE demo.history (
	title text NOT NULL,
	nodes text NOT NULL,
	origin timestamptz NOT NULL,
	seconds bigint NOT NULL,
	allowance numeric NOT NULL
);
COMMENT ON TABLE demo.history IS 'The history to replay, in one row';
COMMENT ON COLUMN demo.history.nodes IS 'how the nodes of the cluster were chosen';
COMMENT ON COLUMN demo.history.origin IS 'instant of second 0';
COMMENT ON COLUMN demo.history.seconds IS 'length; pods without a deletion are still running at its end';
COMMENT ON COLUMN demo.history.allowance IS 'credits that a project is granted at the start, and again when little is left';

CREATE TABLE demo.node (
	sn text PRIMARY KEY,
	cpu_milli bigint NOT NULL,
	memory_mib bigint NOT NULL,
	gpu bigint NOT NULL
);
COMMENT ON TABLE demo.node IS 'Nodes of the cluster';

CREATE TABLE demo.pod (
	number integer PRIMARY KEY,
	name text NOT NULL,
	cpu_milli bigint NOT NULL,
	memory_mib bigint NOT NULL,
	gpu_milli bigint NOT NULL,
	qos text NOT NULL,
	exit_status integer,
	started bigint NOT NULL,
	deleted bigint,
	resized bigint,
	resized_cpu_milli bigint,
	resized_memory_mib bigint
);
COMMENT ON TABLE demo.pod IS 'The pods that ran; each is one container';
COMMENT ON COLUMN demo.pod.gpu_milli IS 'thousandths of a GPU, over all GPUs of the pod';
COMMENT ON COLUMN demo.pod.started IS 'seconds from the origin';
COMMENT ON COLUMN demo.pod.deleted IS 'seconds from the origin; NULL when it still runs at the end';
COMMENT ON COLUMN demo.pod.resized IS 'seconds from the origin; NULL when its allocation never changed';
