-- sacct_events.sql: convert a listing of Slurm's jobs to lifecycle events.
--
--   psql -X -q -A -t -f sacct_events.sql < LISTING | yquota_feed SPOOL spool
--
-- Standard input is the output of sacct (see README.md for its options). The script prints JSON lines, as yquota_feed
-- reads them. A listing may overlap earlier ones, because the same job gives the same events each time.
--
-- A container is one run of a job, with all that was allocated to the run. Steps run within it and are left out, as is
-- a job that has not started.
--
\set ON_ERROR_STOP on
SET client_encoding = 'UTF8';
SET timezone = 'UTC';
SET datestyle = 'ISO';

CREATE TEMPORARY TABLE sacct (
	"Cluster" text, "JobID" text, "JobIDRaw" text, "User" text, "Account" text, "Partition" text, "State" text,
	"ExitCode" text, "Start" text, "End" text, "ElapsedRaw" integer, "NodeList" text, "AllocTRES" text);
\copy sacct FROM pstdin (FORMAT csv, DELIMITER '|', QUOTE E'\b', HEADER match)

-- Slurm's trackable resources that are charged; others are left out of allocations.
CREATE TEMPORARY TABLE resource_of_tres (tres text, resource text);
INSERT INTO resource_of_tres VALUES ('cpu', 'vcores'), ('mem', 'memory-mb'), ('gres/gpu', 'yarn.io/gpu');

-- Memory has a unit, mostly "M". A part of a MiB counts as a whole one.
CREATE FUNCTION pg_temp.amount(tres text, amount text) RETURNS bigint LANGUAGE sql IMMUTABLE
	RETURN CASE tres WHEN 'mem'
		THEN ceil(rtrim(amount, 'KMGTP')::numeric * 1024.0 ^ (strpos('KMGTP', substring(amount || 'M' FROM '[KMGTP]')) - 2))
		ELSE amount::numeric END;

-- Return the exit status that YARN gives to a container that ended for the same reason as the job.
CREATE FUNCTION pg_temp.exit_status(state text, exit_code text) RETURNS integer LANGUAGE sql IMMUTABLE
	RETURN CASE
		WHEN state = 'PREEMPTED' THEN -102
		WHEN state = 'OUT_OF_MEMORY' THEN -104
		WHEN state IN ('NODE_FAIL', 'BOOT_FAIL') THEN -100
		WHEN state IN ('CANCELLED', 'DEADLINE', 'REQUEUED', 'REVOKED', 'TIMEOUT') THEN -106
		WHEN split_part(exit_code, ':', 2) <> '0' THEN 128 + split_part(exit_code, ':', 2)::integer
		ELSE split_part(exit_code, ':', 1)::integer END;

-- A requeued job has a row for each run, with the same number and another start.
-- ElapsedRaw does not count the time for which the run was suspended.
CREATE TEMPORARY VIEW run AS
	SELECT format('%s_%s_%s', "Cluster", "JobIDRaw", extract(epoch FROM started_at)::bigint) AS container_id,
		   format('%s_%s', "Cluster", substring("JobID" FROM '^[0-9]+')) AS application_id,
		   coalesce("Account", "User") AS project, "User" AS username, 'root.' || "Partition" AS queue,
		   CASE WHEN "NodeList" !~ '[[,]' THEN "NodeList" END AS node,
		   (SELECT jsonb_object_agg(known.resource, pg_temp.amount(known.tres, split_part(item, '=', 2)))
			FROM unnest(string_to_array("AllocTRES", ',')) AS item
			JOIN resource_of_tres AS known ON known.tres = split_part(item, '=', 1)) AS allocation,
		   started_at, ended_at, started_at + "ElapsedRaw" * interval '1 second' AS held_until,
		   pg_temp.exit_status(split_part("State", ' ', 1), "ExitCode") AS exit_status,
		   "Cluster" AS source
	FROM (
		SELECT sacct.*,
			   CASE WHEN "Start" ~ '^[0-9]' THEN "Start"::timestamptz END AS started_at,
			   CASE WHEN "End" ~ '^[0-9]' THEN "End"::timestamptz END AS ended_at
		FROM sacct
		WHERE "JobIDRaw" !~ '[.]'
	) AS job
	WHERE started_at IS NOT NULL AND "AllocTRES" IS NOT NULL;

CREATE TEMPORARY VIEW event AS
	SELECT 'CONTAINER_START' AS event, container_id, started_at AS occurred_at, project, application_id,
		   username, queue, node, allocation, NULL::integer AS exit_status, source
	FROM run
	UNION ALL
	-- sacct tells how long a run was suspended, but not when; here the suspension is at the end of the run
	SELECT 'CONTAINER_UPDATE', container_id, held_until, NULL, NULL, NULL, NULL, NULL, '{}', NULL, source
	FROM run
	WHERE held_until < ended_at
	UNION ALL
	SELECT 'CONTAINER_FINISH', container_id, ended_at, NULL, NULL, NULL, NULL, NULL, NULL, exit_status, source
	FROM run
	WHERE ended_at IS NOT NULL;

SELECT jsonb_strip_nulls(to_jsonb(e)) FROM event AS e ORDER BY occurred_at, container_id, event <> 'CONTAINER_START';
