--
-- Notifications: a row for each alert that is raised or cleared, for programs that forward alerts
-- to other systems. A reader passes the position of the last row that it has read.
--
-- Numbers of a sequence cannot serve as positions: a row with a low number may be committed after a
-- reader has read a higher number. A position therefore begins with the id of the transaction that
-- wrote the row. Readers get only rows of transactions that are older than all running
-- transactions. No transaction can later add a row before these rows.
--
-- Ids of transactions are unique only within one history of one server. A server that was promoted,
-- or recovered to an earlier time, may assign an id again. An upgraded server, or a restored
-- database, has other ids. Each such history is an epoch. Dumps leave out both tables, because the
-- rows have ids of another server.
--

-- Several concurrent transactions may each write the first row of an epoch, with the same number.
-- So no transaction waits for another.
CREATE TABLE yquota_internal.notification_epoch (
	epoch integer NOT NULL,
	begun_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
	history text COLLATE "C" NOT NULL,
	identity uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
	PRIMARY KEY (epoch, begun_by)
);
COMMENT ON TABLE yquota_internal.notification_epoch IS
	'Histories of servers in which notifications were written, numbered in their order';
COMMENT ON COLUMN yquota_internal.notification_epoch.history IS 'lease_history() of the server';
COMMENT ON COLUMN yquota_internal.notification_epoch.identity IS 'identity by which positions name the epoch';

CREATE TABLE yquota_internal.notification (
	epoch integer NOT NULL,
	written_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
	notification_id bigint GENERATED ALWAYS AS IDENTITY,
	epoch_identity uuid NOT NULL,
	event text COLLATE "C" NOT NULL CHECK (event IN ('raised', 'cleared')),
	at timestamptz NOT NULL,
	alert_id bigint NOT NULL,
	project text COLLATE "C",
	kind text NOT NULL,
	subject text NOT NULL,
	detail text NOT NULL,
	severity text NOT NULL,
	figures jsonb,
	PRIMARY KEY (epoch, written_by, notification_id)
);
COMMENT ON TABLE yquota_internal.notification IS
	'Alerts that were raised or cleared, kept for 30 days, as read_notifications() returns them';

CREATE FUNCTION yquota_internal.present_epoch(OUT epoch integer, OUT identity uuid)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	present CONSTANT text := yquota_internal.lease_history();
BEGIN
	SELECT known.epoch, known.identity INTO epoch, identity
	FROM yquota_internal.notification_epoch AS known
	WHERE known.history = present
	ORDER BY known.begun_by LIMIT 1;
	IF NOT FOUND THEN
		INSERT INTO yquota_internal.notification_epoch AS new (epoch, history)
		SELECT coalesce(max(earlier.epoch), 0) + 1, present FROM yquota_internal.notification_epoch AS earlier
		RETURNING new.epoch, new.identity INTO epoch, identity;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.present_epoch() IS
	'Return the epoch of this server''s history, and begin it if there is none yet';

CREATE FUNCTION yquota_internal.write_notification() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	told yquota.alert;
	is_raised boolean;
BEGIN
	-- skip alerts from a dump, because the dumped database has notified them
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'DELETE' THEN
		told := OLD;
		told.cleared_at := yquota.clock();
		is_raised := false;
	ELSE
		told := NEW;
		is_raised := NEW.cleared_at IS NULL;
	END IF;
	INSERT INTO yquota_internal.notification
		(epoch, epoch_identity, event, at, alert_id, project, kind, subject, detail, severity, figures)
	SELECT present.epoch, present.identity, CASE WHEN is_raised THEN 'raised' ELSE 'cleared' END,
		   CASE WHEN is_raised THEN told.raised_at ELSE told.cleared_at END,
		   told.alert_id, told.figures ->> 'project', told.kind, told.subject, told.detail, told.severity, told.figures
	FROM yquota_internal.present_epoch() AS present;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.write_notification() IS
	'Write a notification of an alert that is raised or cleared; an open alert that is deleted counts as cleared';

CREATE TRIGGER notify_raised AFTER INSERT ON yquota.alert
	FOR EACH ROW WHEN (NEW.cleared_at IS NULL) EXECUTE FUNCTION yquota_internal.write_notification();
CREATE TRIGGER notify_changed AFTER UPDATE OF cleared_at ON yquota.alert
	FOR EACH ROW WHEN ((OLD.cleared_at IS NULL) <> (NEW.cleared_at IS NULL)) EXECUTE FUNCTION yquota_internal.write_notification();
CREATE TRIGGER notify_deleted AFTER DELETE ON yquota.alert
	FOR EACH ROW WHEN (OLD.cleared_at IS NULL) EXECUTE FUNCTION yquota_internal.write_notification();

CREATE FUNCTION yquota_internal.read_notifications_as_owner(after text, at_most integer)
	RETURNS TABLE ("position" text, event text, at timestamptz, alert_id bigint, project text, kind text, subject text,
				   detail text, severity text, figures jsonb)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	parts CONSTANT text[] := regexp_match(after, '^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/([0-9]{1,19})/([0-9]{1,18})$');
	-- refuse a position whose epoch is unknown here: it comes from another server
	known_epoch CONSTANT integer := coalesce((SELECT e.epoch FROM yquota_internal.notification_epoch AS e
											  WHERE e.identity = parts[1]::uuid), 0);
BEGIN
	IF after IS NOT NULL AND parts IS NULL THEN
		RAISE EXCEPTION 'malformed position of a notification: "%"', after
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Give the position of the last row that was read, or NULL to begin with the oldest one.';
	ELSIF at_most IS NULL OR at_most NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION 'number of notifications must be between 1 and 10000'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN QUERY
	SELECT format('%s/%s/%s', n.epoch_identity, n.written_by, n.notification_id), n.event::text, n.at, n.alert_id, n.project::text,
		   n.kind, n.subject, n.detail, n.severity, n.figures
	FROM yquota_internal.notification AS n
	WHERE (n.epoch, n.written_by, n.notification_id)
		  > (known_epoch, CASE WHEN known_epoch > 0 THEN parts[2] ELSE '0' END::xid8, CASE WHEN known_epoch > 0 THEN parts[3]::bigint ELSE 0 END)
	  AND n.written_by < pg_snapshot_xmin(pg_current_snapshot())
	  AND ((SELECT yquota_internal.reads_all())
		   OR n.project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	ORDER BY n.epoch, n.written_by, n.notification_id
	LIMIT at_most;
END
$$;
COMMENT ON FUNCTION yquota_internal.read_notifications_as_owner(text, integer) IS
	'Do the work of read_notifications() for the calling role';

CREATE FUNCTION yquota.read_notifications(after text DEFAULT NULL, at_most integer DEFAULT 1000)
	RETURNS TABLE ("position" text, event text, at timestamptz, alert_id bigint, project text, kind text, subject text,
				   detail text, severity text, figures jsonb)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.read_notifications(text, integer) IS
	'Return the alerts that were raised or cleared after a position, in the order of their transactions.  Pass the position of the last row to the next call';

CREATE FUNCTION yquota_internal.forget_notifications(before timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH removed AS (
			DELETE FROM yquota_internal.notification AS n WHERE n.at < forget_notifications.before RETURNING 1)
		SELECT count(*) FROM removed;
$$;
COMMENT ON FUNCTION yquota_internal.forget_notifications(timestamptz) IS
	'Delete notifications older than an instant.  Returns how many were deleted';

SELECT pg_extension_config_dump('yquota_internal.notification_notification_id_seq', '');
