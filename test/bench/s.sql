--
-- Baseline S: the set-based statement trigger that a good SQL author would write. A unique index
-- refuses repeated events. It charges the whole life of a container at the prices of its finish,
-- while yquota integrates over every change. It records no usage by queue or node.
--
CREATE SCHEMA s;
CREATE TABLE s.container_event (LIKE yquota.container_event);
ALTER TABLE s.container_event ALTER COLUMN recorded_at SET DEFAULT statement_timestamp(), DROP COLUMN event_id;
CREATE UNIQUE INDEX container_event_key ON s.container_event (container_id, event);

CREATE TABLE s.running (
	container_id text COLLATE "C" PRIMARY KEY,
	project text COLLATE "C" NOT NULL,
	allocation yquota.resource NOT NULL,
	started_at timestamptz NOT NULL
);
CREATE TABLE s.charge (
	container_id text COLLATE "C" NOT NULL,
	project text COLLATE "C" NOT NULL,
	started_at timestamptz NOT NULL,
	finished_at timestamptz NOT NULL,
	amount numeric NOT NULL
);
CREATE TABLE s.balance (
	project text COLLATE "C" PRIMARY KEY,
	amount numeric NOT NULL
);
CREATE TABLE s.price (
	effective_at timestamptz PRIMARY KEY,
	memory_mb numeric NOT NULL,
	vcores numeric NOT NULL,
	gpu numeric NOT NULL
);

INSERT INTO s.balance SELECT project, sum(amount) FROM yquota.quota_grant GROUP BY project;

CREATE TEMP TABLE history AS SELECT resource_type, effective_at, price FROM yquota.price_history;
CREATE INDEX ON history (resource_type, effective_at);
INSERT INTO s.price
SELECT instant.at, memory_mb.price, vcores.price, gpu.price
FROM (SELECT DISTINCT effective_at FROM history) AS instant(at),
	LATERAL (SELECT price FROM history WHERE resource_type = 'memory-mb' AND effective_at <= instant.at
			 ORDER BY effective_at DESC LIMIT 1) AS memory_mb,
	LATERAL (SELECT price FROM history WHERE resource_type = 'vcores' AND effective_at <= instant.at
			 ORDER BY effective_at DESC LIMIT 1) AS vcores,
	LATERAL (SELECT price FROM history WHERE resource_type = 'yarn.io/gpu' AND effective_at <= instant.at
			 ORDER BY effective_at DESC LIMIT 1) AS gpu;

CREATE FUNCTION s.charge_events() RETURNS trigger
	LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO s.running (container_id, project, allocation, started_at)
	SELECT container_id, project, allocation, occurred_at
	FROM new_events
	WHERE event = 'CONTAINER_START';

	WITH finished AS (
		DELETE FROM s.running AS running USING new_events AS event
		WHERE event.event = 'CONTAINER_FINISH' AND running.container_id = event.container_id
		RETURNING running.*, event.occurred_at AS finished_at
	), charged AS (
		INSERT INTO s.charge (container_id, project, started_at, finished_at, amount)
		SELECT finished.container_id, finished.project, finished.started_at, finished.finished_at,
			greatest(yquota.amount(finished.allocation, 'memory-mb') * price.memory_mb,
					 yquota.amount(finished.allocation, 'vcores') * price.vcores,
					 yquota.amount(finished.allocation, 'yarn.io/gpu') * price.gpu)
			* extract(epoch FROM finished.finished_at - finished.started_at)
		FROM finished, LATERAL (
			SELECT * FROM s.price WHERE effective_at <= finished.finished_at
			ORDER BY effective_at DESC LIMIT 1) AS price
		RETURNING project, amount
	)
	UPDATE s.balance AS balance SET amount = balance.amount - part.amount
	FROM (SELECT project, sum(amount) AS amount FROM charged GROUP BY project) AS part
	WHERE balance.project = part.project;
	RETURN NULL;
END
$$;

CREATE TRIGGER charge_events AFTER INSERT ON s.container_event
	REFERENCING NEW TABLE AS new_events
	FOR EACH STATEMENT EXECUTE FUNCTION s.charge_events();
