--
-- Notifications of alerts that are raised and cleared. Roles that may see them read on from a
-- position, until old notifications are removed.
--
CREATE DATABASE yquota_notification;
\c yquota_notification
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name, parent, on_exhausted) VALUES ('lab', NULL, 'stop'), ('lab_sub', 'lab', 'allow'), ('web', NULL, 'allow');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 100, 'March'), ('lab_sub', 100, 'March'), ('web', 100, 'March');
INSERT INTO yquota.spending_threshold (fraction) VALUES (1);
TRUNCATE yquota.alert;

-- Transactions of other databases may delay rows for readers, so the reader waits for a given number of rows.
CREATE TABLE reader (after text);
INSERT INTO reader VALUES (NULL);
CREATE FUNCTION read_on(expected integer, most integer DEFAULT 1000) RETURNS TABLE (event text, at timestamptz, project text, kind text, subject text, severity text)
	LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	got record;
BEGIN
	FOR tries IN 1 .. 1200 LOOP
		EXIT WHEN (SELECT count(*) >= expected FROM yquota.read_notifications((SELECT after FROM reader)));
		PERFORM pg_sleep(0.05);
	END LOOP;
	FOR got IN SELECT * FROM yquota.read_notifications((SELECT after FROM reader), most) LOOP
		UPDATE reader SET after = got.position;
		RETURN QUERY SELECT got.event, got.at, got.project, got.kind, got.subject, got.severity;
	END LOOP;
END $$;

SELECT * FROM read_on(0);
INSERT INTO yquota.container_event (event, container_id, project, allocation)
SELECT 'CONTAINER_START', project || '1', project, '[vcores=1]' FROM unnest('{lab_sub,web}'::text[]) AS project;
SELECT yquota.set_clock('2026-03-02 10:01:40+00'), yquota.quota_compute();
SELECT * FROM read_on(3);
SELECT * FROM read_on(0);
-- a notification also reports that an alert is cleared, reopened, or deleted while it is open
SELECT yquota.set_clock('2026-03-02 10:02+00');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('web', 1000, 'more');
SELECT yquota.quota_compute();
INSERT INTO yquota.alert (kind, subject, detail, raised_at) VALUES ('outage_undecided', '1', 'By hand.', '2026-03-02 10:00+00');
UPDATE yquota.alert SET detail = 'By hand, again.' WHERE kind = 'outage_undecided';
UPDATE yquota.alert SET cleared_at = '2026-03-02 10:03+00' WHERE kind = 'outage_undecided';
UPDATE yquota.alert SET cleared_at = '2026-03-02 10:04+00' WHERE kind = 'outage_undecided';
UPDATE yquota.alert SET cleared_at = NULL WHERE kind = 'outage_undecided';
DELETE FROM yquota.alert WHERE kind = 'outage_undecided';
SELECT * FROM read_on(5, 3);
SELECT * FROM read_on(2, 3);
SELECT * FROM read_on(0);
-- notifications of a transaction that is open or rolled back are never read
BEGIN;
DELETE FROM yquota.alert;
SELECT * FROM read_on(0);
ROLLBACK;
SELECT * FROM read_on(0);

-- reading from the beginning, from a position of another server, and from an invalid position
SELECT count(*) AS all FROM yquota.read_notifications();
SELECT count(*) AS all FROM yquota.read_notifications('12345678-9abc-def0-1234-56789abcdef0/999999999999/9');
SELECT count(*) AS rest FROM yquota.read_notifications((SELECT n.position FROM yquota.read_notifications() AS n OFFSET 1 LIMIT 1));
SELECT yquota.read_notifications('');
SELECT yquota.read_notifications('12345678-9abc-def0-1234-56789abcdef0/1');
SELECT yquota.read_notifications(NULL, 0);
SELECT yquota.read_notifications(at_most => NULL);
SELECT yquota.read_notifications(at_most => 10001);
SELECT n.event, n.kind, n.detail, n.figures FROM yquota.read_notifications(NULL, 1) AS n;

-- members read about their projects and the projects below, and operators read nothing
CREATE ROLE yquota_notification_member;
CREATE ROLE yquota_notification_viewer;
CREATE ROLE yquota_notification_operator;
SELECT yquota.allow_role('yquota_notification_member', 'member', 'lab_sub'), yquota.allow_role('yquota_notification_viewer', 'viewer'),
	   yquota.allow_role('yquota_notification_operator', 'operator');
SET ROLE yquota_notification_member;
SELECT event, project, kind, subject FROM yquota.read_notifications();
SELECT count(*) FROM yquota_internal.notification;
SET ROLE yquota_notification_viewer;
SELECT count(*) FROM yquota.read_notifications();
SET ROLE yquota_notification_operator;
SELECT count(*) FROM yquota.read_notifications();
RESET ROLE;
-- after a switch to a new timeline of the server a new epoch begins, which sorts after the others
UPDATE yquota_internal.notification_epoch SET history = '1/1/1';
INSERT INTO yquota.alert (kind, subject, detail, raised_at) VALUES ('outage_undecided', '2', 'By hand.', '2026-03-02 10:05+00');
UPDATE yquota_internal.notification SET written_by = '3' WHERE subject = '2';
SELECT * FROM read_on(1);
SELECT * FROM read_on(0);
SELECT count(*) AS epochs FROM yquota_internal.notification_epoch;

-- notifications are removed after 30 days
SELECT yquota_internal.run_job('retention', 'worker', '2026-04-01 10:01:40+00');
SELECT count(*) FROM yquota_internal.notification;
SELECT yquota_internal.run_job('retention', 'worker', '2026-04-01 10:02:00.000001+00');
SELECT event, kind, subject FROM yquota_internal.notification ORDER BY epoch, written_by, notification_id;
\c postgres
DROP DATABASE yquota_notification;
DROP ROLE yquota_notification_member, yquota_notification_viewer, yquota_notification_operator;
