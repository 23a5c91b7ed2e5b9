--
-- Baseline B: what storing the events costs.  A plain table of the same columns
-- whose index keeps an event from being stored twice.
--
CREATE SCHEMA b;
CREATE TABLE b.container_event (LIKE yquota.container_event);
ALTER TABLE b.container_event ALTER COLUMN recorded_at SET DEFAULT statement_timestamp(), DROP COLUMN event_id;
CREATE UNIQUE INDEX container_event_key ON b.container_event (container_id, event);
