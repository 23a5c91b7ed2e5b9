--
-- transfer_credit() and reverse_transfer().  A vcore costs one credit per second here, so every figure can be
-- checked by hand.
--
CREATE DATABASE yquota_credit_transfer;
\c yquota_credit_transfer
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00+00');
CREATE VIEW balance AS
	SELECT project, granted, charged + accrued AS spent, held, remaining FROM yquota.project_balance ORDER BY project;
CREATE VIEW grants AS
	SELECT project, grant_id, kind, amount, state, spent, moved, remaining, lost, expires_at FROM yquota.grant_status
	ORDER BY project, grant_id;
CREATE VIEW transfers AS
	SELECT transfer_id, from_project, to_project, amount, reason, external_id, reverses, returned, transferred_at
	FROM yquota.transfer_status ORDER BY transfer_id;
CREATE VIEW parts AS
	SELECT transfer_id, project, amount, reason, kind, expires_at, takes_from FROM yquota.quota_grant
	WHERE transfer_id IS NOT NULL ORDER BY grant_id;

--
-- Credit moves in spending order. The spent part of the grant that expires first stays, and the rest of
-- that grant moves first.
--
INSERT INTO yquota.project (name) VALUES ('lab'), ('web');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES
	('lab', 1000, 'for good', 'infinity'), ('lab', 100, 'until noon', '2026-03-02 12:00+00'), ('lab', 50, 'until one', '2026-03-02 13:00+00'),
	('web', 10, 'until two', '2026-03-02 14:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'l1', '2026-03-02 10:00:00+00', 'lab', 'app_l', '[vcores=3]');
SELECT yquota.set_clock('2026-03-02 10:00:10+00');
SELECT yquota.transfer_credit('lab', 'web', 130.5, 'lent', 'erp-1');
TABLE balance;
TABLE grants;
TABLE transfers;
TABLE parts;
-- an external_id transfers once, whatever has been spent in the meantime
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'l1', '2026-03-02 10:00:10+00');
SELECT yquota.transfer_credit('lab', 'web', 130.50, 'lent', 'erp-1');
SELECT yquota.transfer_credit('lab', 'web', 130, 'lent', 'erp-1');
SELECT yquota.transfer_credit('web', 'lab', 130.5, 'lent', 'erp-1');
TABLE balance;
SELECT table_name, operation, new ->> 'transfer_id' AS transfer, new ->> 'amount' AS amount, acting_role = current_user AS own
FROM yquota.audit WHERE table_name IN ('yquota.credit_transfer', 'yquota.quota_grant') AND new ->> 'transfer_id' IS NOT NULL ORDER BY audit_id;

--
-- A project can transfer no more than what remains and is not held
--
SELECT yquota.hold('lab', 'app_2', 900, '1 hour') > 0 AS held;
SELECT yquota.transfer_credit('lab', 'web', 89.500001, 'too much');
SELECT yquota.transfer_credit('lab', 'web', 89.5, 'all');
SELECT yquota.transfer_credit('lab', 'web', 1e-60, 'nothing is left');
SELECT yquota.hold('lab', 'app_3', 1, '1 hour');
TABLE balance;
SELECT * FROM yquota.verify();

--
-- In the receiving project each part expires when its grant would have expired, and the part that
-- expires first is spent first
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'w1', '2026-03-02 10:00:10+00', 'web', 'app_w', '[vcores=1]'), ('CONTAINER_FINISH', 'w1', '2026-03-02 10:00:30+00', 'web', 'app_w', NULL);
SELECT yquota.set_clock('2026-03-02 12:00+00');
TABLE grants;
TABLE balance;
-- expired, spent and held credit stays, and the rest goes back with its old expiry
SELECT yquota.hold('web', 'app_3', 100, '1 hour') AS hold_id \gset
SELECT * FROM yquota.reverse_transfer(1, 'not needed');
SELECT * FROM yquota.reverse_transfer(1, 'not needed');
TABLE transfers;
SELECT * FROM parts WHERE transfer_id > 2;
-- when the hold is released, more can go back
SELECT yquota.release_hold(:hold_id);
SELECT * FROM yquota.reverse_transfer(1);
SELECT * FROM yquota.reverse_transfer(1);
SELECT * FROM yquota.reverse_transfer(2);
TABLE balance;
TABLE grants;
SELECT * FROM yquota.reverse_transfer(3);
SELECT * FROM yquota.reverse_transfer(4711);
SELECT * FROM yquota.reverse_transfer(NULL);
SELECT * FROM yquota.verify();

--
-- Credit that the receiver has transferred on does not come back, and other grants of the receiver do
-- not replace it
--
INSERT INTO yquota.project (name) VALUES ('a'), ('b'), ('c');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES
	('a', 100, 'for good', 'infinity'), ('b', 80, 'until one', '2026-03-02 13:00+00');
SELECT yquota.transfer_credit('a', 'b', 60, 'to b') AS to_b \gset
SELECT yquota.transfer_credit('b', 'c', 90, 'on to c');
SELECT * FROM yquota.reverse_transfer(:to_b);
SELECT project, amount, kind, remaining, expires_at FROM yquota.grant_status WHERE project IN ('a', 'b', 'c') ORDER BY project, grant_id;

--
-- A late event spends credit that has moved. The transfer then takes from other credit, and both
-- balances stay exact.
--
INSERT INTO yquota.project (name) VALUES ('late'), ('other');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES
	('late', 100, 'for good', 'infinity'), ('late', 40, 'until one', '2026-03-02 13:00+00');
SELECT yquota.set_clock('2026-03-02 12:10+00');
SELECT yquota.transfer_credit('late', 'other', 30, 'early') > 0 AS moved;
SELECT project, amount, spent, moved, remaining FROM yquota.grant_status WHERE project IN ('late', 'other') ORDER BY project, grant_id;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'late', '2026-03-02 12:01:00+00', 'late', '[vcores=1]'), ('CONTAINER_FINISH', 'late', '2026-03-02 12:01:25+00', 'late', NULL);
SELECT project, amount, spent, moved, remaining FROM yquota.grant_status WHERE project IN ('late', 'other') ORDER BY project, grant_id;
SELECT * FROM balance WHERE project IN ('late', 'other');
-- a credit limit is not credit that can be transferred
UPDATE yquota.project SET credit_limit = 1000 WHERE name = 'late';
SELECT yquota.transfer_credit('late', 'other', 100, 'more than there is');

--
-- Families: credit moves between root projects, and between sub-projects of the same parent
--
INSERT INTO yquota.project (name, parent) VALUES ('uni', NULL), ('laser', 'uni'), ('optics', 'uni'), ('beam', 'laser');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('uni', 1000, 'year'), ('laser', 300, 'share'), ('beam', 5, 'share');
SELECT yquota.transfer_credit('uni', 'laser', 1, 'down');
SELECT yquota.transfer_credit('beam', 'laser', 1, 'up');
SELECT yquota.transfer_credit('beam', 'optics', 1, 'aside');
SELECT yquota.transfer_credit('laser', 'lab', 1, 'away');
SELECT yquota.transfer_credit('laser', 'optics', 100, 'a smaller share') > 0 AS moved;
SELECT yquota.transfer_credit('optics', 'laser', 200, 'more than it has') > 0 AS moved;
SELECT project, granted, remaining, available, limited_by FROM yquota.project_balance WHERE project IN ('uni', 'laser', 'optics', 'beam') ORDER BY project;

--
-- Bad input changes nothing
--
SELECT yquota.transfer_credit(NULL, 'web', 1, 'r');
SELECT yquota.transfer_credit('lab', NULL, 1, 'r');
SELECT yquota.transfer_credit('lab', 'web', NULL, 'r');
SELECT yquota.transfer_credit('lab', 'web', 1, NULL);
SELECT yquota.transfer_credit('lab', 'web', 0, 'r');
SELECT yquota.transfer_credit('lab', 'web', 'NaN', 'r');
SELECT yquota.transfer_credit('lab', 'web', 1e-67, 'r');
SELECT yquota.transfer_credit('lab', 'lab', 1, 'r');
SELECT yquota.transfer_credit('lab', 'nobody', 1, 'r');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT yquota.transfer_credit('lab', 'web', 1, 'r');
ROLLBACK;

--
-- Only roles that may grant credit may transfer it. No role may write the rows directly.
--
CREATE ROLE yquota_test_accountant;
CREATE ROLE yquota_test_mover;
CREATE ROLE yquota_test_reader;
SELECT yquota.allow_role('yquota_test_accountant', 'viewer'), yquota.allow_role('yquota_test_mover', 'admin'), yquota.allow_role('yquota_test_reader', 'member', 'web');
SET SESSION AUTHORIZATION yquota_test_accountant;
SELECT yquota.transfer_credit('a', 'c', 1, 'r');
SELECT * FROM yquota.reverse_transfer(1);
RESET SESSION AUTHORIZATION;
GRANT INSERT ON yquota.quota_grant TO yquota_test_accountant;
SET SESSION AUTHORIZATION yquota_test_accountant;
SELECT yquota.transfer_credit('a', 'c', 1, 'r') > 0 AS moved;
SELECT transferred_by FROM yquota.credit_transfer ORDER BY transfer_id DESC LIMIT 1;
INSERT INTO yquota.quota_grant (project, amount, reason, kind, transfer_id) VALUES ('a', 1, 'r', 'transfer', 1);
INSERT INTO yquota.credit_transfer (from_project, to_project, amount, reason, transferred_by, transferred_at) VALUES ('a', 'b', 1, 'r', 'me', now());
SET SESSION AUTHORIZATION yquota_test_mover;
INSERT INTO yquota.quota_grant (project, amount, reason, kind, transfer_id) VALUES ('a', 1, 'r', 'transfer', 1);
SET SESSION AUTHORIZATION yquota_test_reader;
SELECT yquota.transfer_credit('a', 'c', 1, 'r');
SELECT from_project, to_project, amount FROM yquota.transfer_status ORDER BY transfer_id;
SELECT project, amount, transfer_id FROM yquota.readable_grant WHERE transfer_id IS NOT NULL ORDER BY grant_id;
RESET SESSION AUTHORIZATION;

--
-- Bills of both projects show the transfer
--
SELECT yquota.set_clock('2026-04-01 00:05+00');
SELECT yquota.close_period('2026-04-01 00:00+00') IS NOT NULL AS closed;
SELECT line, item, reason, amount FROM yquota.bill('lab', '2026-04-01 00:00+00');
SELECT line, item, reason, amount FROM yquota.bill('web', '2026-04-01 00:00+00');

--
-- verify() finds rows that were written by hand
--
SELECT * FROM yquota.verify();
UPDATE yquota.quota_grant SET amount = 71 WHERE grant_id = 6;
UPDATE yquota.credit_transfer SET amount = 89 WHERE transfer_id = 2;
INSERT INTO yquota.quota_grant (project, amount, reason, kind, transfer_id) VALUES ('c', 5, 'by hand', 'transfer', 1);
SELECT problem, subject, expected, found FROM yquota.verify() WHERE problem ~ 'transfer' ORDER BY 1, 2;
\c postgres
DROP DATABASE yquota_credit_transfer;
DROP ROLE yquota_test_accountant, yquota_test_mover, yquota_test_reader;
