--
-- Baseline N: the naive row trigger, with one row per project for its balance and for its running
-- containers. Like S it charges at the prices of the finish. The sessions that use it force index
-- plans (enable_seqscan = off). Otherwise a table of few pages would be scanned, and every scan of
-- a long statement would read all dead versions of its rows.
--
CREATE SCHEMA n;
CREATE TABLE n.container_event (LIKE yquota.container_event);
ALTER TABLE n.container_event ALTER COLUMN recorded_at SET DEFAULT statement_timestamp(), DROP COLUMN event_id;
CREATE UNIQUE INDEX container_event_key ON n.container_event (container_id, event);

CREATE TABLE n.running (LIKE s.running INCLUDING INDEXES);
CREATE TABLE n.charge (LIKE s.charge);
CREATE TABLE n.price (LIKE s.price INCLUDING INDEXES);
INSERT INTO n.price SELECT * FROM s.price;
CREATE TABLE n.project (
	name text COLLATE "C" PRIMARY KEY,
	balance numeric NOT NULL,
	containers bigint NOT NULL DEFAULT 0
);
INSERT INTO n.project (name, balance) SELECT project, amount FROM s.balance;

CREATE FUNCTION n.charge_event() RETURNS trigger
	LANGUAGE plpgsql AS $$
DECLARE
	container n.running;
	price n.price;
	due numeric;
BEGIN
	IF NEW.event = 'CONTAINER_START' THEN
		INSERT INTO n.running (container_id, project, allocation, started_at)
		VALUES (NEW.container_id, NEW.project, NEW.allocation, NEW.occurred_at);
		UPDATE n.project SET containers = containers + 1 WHERE name = NEW.project;
	ELSIF NEW.event = 'CONTAINER_FINISH' THEN
		DELETE FROM n.running WHERE container_id = NEW.container_id RETURNING * INTO STRICT container;
		SELECT * INTO price FROM n.price WHERE effective_at <= NEW.occurred_at
		ORDER BY effective_at DESC LIMIT 1;
		due := greatest(yquota.amount(container.allocation, 'memory-mb') * price.memory_mb,
						yquota.amount(container.allocation, 'vcores') * price.vcores,
						yquota.amount(container.allocation, 'yarn.io/gpu') * price.gpu)
			* extract(epoch FROM NEW.occurred_at - container.started_at);
		INSERT INTO n.charge (container_id, project, started_at, finished_at, amount)
		VALUES (container.container_id, container.project, container.started_at, NEW.occurred_at, due);
		UPDATE n.project SET balance = balance - due, containers = containers - 1
		WHERE name = container.project;
	END IF;
	RETURN NULL;
END
$$;

CREATE TRIGGER charge_event AFTER INSERT ON n.container_event
	FOR EACH ROW EXECUTE FUNCTION n.charge_event();
