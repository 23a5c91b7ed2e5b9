--
-- Baseline B: the cost of only storing the events. A plain table has the same columns and an index
-- that keeps an event from being stored twice.
--
CREATE SCHEMA b;
CREATE TABLE b.container_event (LIKE yquota.container_event);
ALTER TABLE b.container_event ALTER COLUMN recorded_at SET DEFAULT statement_timestamp(), DROP COLUMN event_id;
CREATE UNIQUE INDEX container_event_key ON b.container_event (container_id, event);
