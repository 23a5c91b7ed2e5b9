--
-- Submitting, changing and ending applications (docs/design.md 5). The C code decides everything
-- (src/admission/submission/submission.h, application_change.h). These functions run as the owner;
-- a role that may call them acts for the resource manager. The only exception is a dry run.
--

-- A dry run reveals limits and credit.  So a role that does not act for the resource manager may ask only as itself,
-- for projects that it sees.  An id of another user's application, or with a factor, could reveal that application.
CREATE FUNCTION yquota_internal.check_dry_run(
	application_id text, username text, groups text[], real_username text, project text, dry_run boolean) RETURNS text[]
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	role CONSTANT text := yquota_internal.acting_role();
	role_groups CONSTANT text[] := yquota_internal.acting_groups();
	payer CONSTANT text := yquota_internal.payer_project(project, username);
BEGIN
	IF NOT dry_run THEN
		RAISE EXCEPTION 'permission denied to submit applications'
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Operators and administrators submit applications for the resource manager.',
				HINT = 'Ask whether an application would start with dry_run => true.';
	ELSIF username <> role OR real_username <> role THEN
		RAISE EXCEPTION 'permission denied to submit applications as user "%"', CASE WHEN username <> role THEN username ELSE real_username END
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Operators and administrators may ask about any user, other roles only about the user of the same name.',
				HINT = format('Ask with username => %L.', role);
	ELSIF NOT coalesce(groups, '{}') <@ role_groups THEN
		RAISE EXCEPTION 'permission denied to submit applications as a member of group "%"',
				(SELECT g FROM unnest(groups) AS g WHERE g <> ALL (role_groups) LIMIT 1)
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'The groups of a role are the roles whose privileges it inherits.',
				HINT = 'NULL stands for all groups of the role.';
	ELSIF NOT yquota_internal.reads_all() AND payer <> ALL (yquota_internal.readable_projects())
		AND (project IS NOT NULL OR EXISTS (SELECT FROM yquota.project AS p WHERE p.name = payer))
	THEN
		RAISE EXCEPTION 'permission denied for project "%"', payer
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Members may ask about their projects and the sub-projects of these.';
	ELSIF EXISTS (SELECT FROM yquota.application AS a WHERE a.application_id = check_dry_run.application_id AND a.username <> role)
		OR EXISTS (SELECT FROM yquota.price_factor AS f WHERE f.dimension = 'application' AND f.name = check_dry_run.application_id)
	THEN
		RAISE EXCEPTION 'permission denied for application "%"', application_id
			USING ERRCODE = 'insufficient_privilege',
				HINT = 'Ask with an id that no other application has.';
	END IF;
	RETURN coalesce(groups, role_groups);
END
$$;
COMMENT ON FUNCTION yquota_internal.check_dry_run(text, text, text[], text, text, boolean) IS
	'Refuse a submission by a role that does not act for the resource manager.  Also refuse a dry run of such a role about another user, another group or a hidden project.  Return the groups; NULL stands for those of the calling role';

CREATE FUNCTION yquota_internal.submit_application_as_owner(
	application_id text, username text, groups text[], queue text,
	application_name text, am_resource yquota.resource,
	priority integer, lifetime bigint, tags text[],
	label text, unmanaged boolean, project text,
	real_username text, view_acl text, modify_acl text,
	node_label_expression text, dry_run boolean, reservation text,
	keep_containers boolean, expected yquota.container_request[],
	hold text, hold_amount numeric,
	OUT application_id text, OUT queue text, OUT priority integer, OUT lifetime bigint,
	OUT state yquota.application_state, OUT activated boolean, OUT decided_by text, OUT decided_at text,
	OUT used bigint, OUT maximum bigint, OUT used_resource yquota.resource,
	OUT maximum_resource yquota.resource, OUT reason text,
	OUT quoted_cost numeric, OUT held numeric, OUT hold_id bigint, OUT available numeric, OUT fitting_lifetime bigint)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_application_submit';
COMMENT ON FUNCTION yquota_internal.submit_application_as_owner(text, text, text[], text, text, yquota.resource, integer, bigint, text[], text, boolean, text, text, text, text, text, boolean, text, boolean, yquota.container_request[], text, numeric) IS
	'Return the result of submit_application() for the calling role';

CREATE FUNCTION yquota.submit_application(
	application_id text, username text, groups text[], queue text DEFAULT 'default',
	application_name text DEFAULT NULL, am_resource yquota.resource DEFAULT NULL,
	priority integer DEFAULT NULL, lifetime bigint DEFAULT NULL, tags text[] DEFAULT NULL,
	label text DEFAULT NULL, unmanaged boolean DEFAULT false, project text DEFAULT NULL,
	real_username text DEFAULT NULL, view_acl text DEFAULT NULL, modify_acl text DEFAULT NULL,
	node_label_expression text DEFAULT NULL, dry_run boolean DEFAULT false, reservation text DEFAULT NULL,
	keep_containers boolean DEFAULT false, expected yquota.container_request[] DEFAULT NULL,
	hold text DEFAULT NULL, hold_amount numeric DEFAULT NULL,
	OUT application_id text, OUT queue text, OUT priority integer, OUT lifetime bigint,
	OUT state yquota.application_state, OUT activated boolean, OUT decided_by text, OUT decided_at text,
	OUT used bigint, OUT maximum bigint, OUT used_resource yquota.resource,
	OUT maximum_resource yquota.resource, OUT reason text,
	OUT quoted_cost numeric, OUT held numeric, OUT hold_id bigint, OUT available numeric, OUT fitting_lifetime bigint)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.submit_application(text, text, text[], text, text, yquota.resource, integer, bigint, text[], text, boolean, text, text, text, text, text, boolean, text, boolean, yquota.container_request[], text, numeric) IS
	'Submit an application.  Returns its queue, priority and lifetime (seconds), and whether it is refused, has to wait, or may start (activated).  If it may not start, the row names the limit or rule that decided so, with figures.  A refused submission is recorded in application, too; its id may be submitted again.  In a plan, an application with the id of an active reservation runs in the reservation''s queue, any other runs in the plan''s default queue.  Other queues ignore reservation.  With keep_containers, containers outlive the loss of the application master. hold => ''quote'', or the hold_policy of the queue, sets the cost of the expected containers aside until the application ends. hold_amount sets at least that many credits aside.  The submission is refused if the project does not have that credit.  With dry_run, nothing is recorded or locked.  Roles that are neither operators nor administrators may only call it with dry_run, about the user of the role''s name';

CREATE FUNCTION yquota.finish_application(
	application_id text, state yquota.application_state DEFAULT 'FINISHED', diagnostics text DEFAULT NULL,
	caller text DEFAULT NULL, caller_groups text[] DEFAULT NULL)
	RETURNS yquota.application_state
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_finish_application';
COMMENT ON FUNCTION yquota.finish_application(text, yquota.application_state, text, text, text[]) IS
	'End an application as FINISHED, FAILED or KILLED; an application that has ended stays as it is.  Containers that the scheduler allocated to the application end with it (exit status -100).  Applications that waited for room may start. caller, if given, needs permission.  Returns the state of the application';

CREATE FUNCTION yquota.move_application(
	application_id text, queue text, caller text DEFAULT NULL, caller_groups text[] DEFAULT NULL)
	RETURNS yquota.application_state
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_move_application';
COMMENT ON FUNCTION yquota.move_application(text, text, text, text[]) IS
	'Move an application to another leaf queue.  The limits and access lists of the target queue must allow the application, and its application master must fit into that queue.  Running containers move with it, each by a CONTAINER_UPDATE at the clock.  Returns the new state';

CREATE FUNCTION yquota.update_application_priority(
	application_id text, priority integer, caller text DEFAULT NULL, caller_groups text[] DEFAULT NULL)
	RETURNS integer
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_update_application_priority';
COMMENT ON FUNCTION yquota.update_application_priority(text, integer, text, text[]) IS
	'Change the priority of an application, if the queue''s priority list allows the caller (or else the owner) that priority.  Returns the new priority, at most the cluster''s maximum';

CREATE FUNCTION yquota.update_application_lifetime(
	application_id text, lifetime bigint, caller text DEFAULT NULL, caller_groups text[] DEFAULT NULL)
	RETURNS timestamptz
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_update_application_lifetime';
COMMENT ON FUNCTION yquota.update_application_lifetime(text, bigint, text, text[]) IS
	'Set the seconds that an application may still live from now.  The queue''s maximum, counted from the submission, is the limit.  Returns the time at which the application expires';

CREATE FUNCTION yquota.set_outstanding_requests(application_id text, has_outstanding_requests boolean)
	RETURNS boolean
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_set_outstanding_requests';
COMMENT ON FUNCTION yquota.set_outstanding_requests(text, boolean) IS
	'Record whether an application waits for containers.  If it does, its user is an active user of the queue.  Returns true if this changed anything';

CREATE FUNCTION yquota.activate_applications(queue text DEFAULT NULL)
	RETURNS TABLE (application_id text, queue text, state yquota.application_state)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_activate_applications';
COMMENT ON FUNCTION yquota.activate_applications(text) IS
	'Decide again whether waiting applications of a leaf queue may start, for example after a change of the cluster.  Without an argument, decide for all queues, and also for applications that max-parallel-apps holds.  Returns the applications that may start';

CREATE FUNCTION yquota.expired_applications()
	RETURNS TABLE (application_id text, username text, queue text, expires_at timestamptz)
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT a.application_id, a.username, a.queue, a.expires_at
		FROM yquota.application AS a
		WHERE a.finished_at IS NULL AND a.expires_at <= yquota.statement_clock()
		ORDER BY a.expires_at, a.application_id;
$$;
COMMENT ON FUNCTION yquota.expired_applications() IS
	'Return the applications whose lifetime is over, for the resource manager to kill';

CREATE FUNCTION yquota.remove_finished_applications(before timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH removed AS (
			DELETE FROM yquota.application AS a WHERE a.finished_at < before
			RETURNING a.application_id, a.state, a.finished_at
		), outlived AS MATERIALIZED (
			SELECT r.application_id, r.finished_at FROM removed AS r
			WHERE r.state <> 'REJECTED' AND r.application_id IN (SELECT c.application_id FROM yquota.container AS c)
		), noted AS (
			INSERT INTO yquota_internal.ended_application (application_id, ended_at)
			SELECT o.application_id, o.finished_at FROM outlived AS o ORDER BY o.application_id
			ON CONFLICT (application_id) DO NOTHING
		), forgotten AS (
			DELETE FROM yquota_internal.ended_application AS e USING removed AS r
			WHERE e.application_id = r.application_id AND e.application_id NOT IN (SELECT o.application_id FROM outlived AS o)
		)
		SELECT count(*) FROM removed;
$$;
COMMENT ON FUNCTION yquota.remove_finished_applications(timestamptz) IS
	'Remove applications that ended or were refused before an instant.  Returns their number.  Containers that outlived their application stay in suspect_container';

CREATE FUNCTION yquota.check_application_access(
	application_id text, caller text, caller_groups text[], operation text,
	OUT allowed boolean, OUT decided_by text, OUT reason text)
	LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_check_application_access';
COMMENT ON FUNCTION yquota.check_application_access(text, text, text[], text) IS
	'Tell whether a user may see (VIEW_APP) or change and end (MODIFY_APP) an application.  The owner, users on the application''s list or on yarn.admin.acl, and administrators of its queue are allowed to do so.  Returns the path of the queue if its list decided';

CREATE FUNCTION yquota_internal.removal_candidates(paths text[])
	RETURNS TABLE (queue text, is_empty boolean, is_marked boolean, last_used_at timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
	AS $$
	SELECT q.path,
		   q.path = ANY (removal_candidates.paths)
		   AND NOT EXISTS (SELECT FROM yquota.application AS a WHERE a.queue = q.path AND a.finished_at IS NULL),
		   coalesce(c.is_marked, false), c.last_used_at
	FROM (
		SELECT unnest(removal_candidates.paths) AS path
		UNION
		SELECT m.queue FROM yquota_internal.created_queue AS m WHERE m.is_marked
	) AS q
	LEFT JOIN yquota_internal.created_queue AS c ON c.queue = q.path;
$$;
COMMENT ON FUNCTION yquota_internal.removal_candidates(text[]) IS
	'Return the queues that remove_unused_queues() may remove, and all queues that its last run marked. is_empty is true if the queue may be removed and has no application';
