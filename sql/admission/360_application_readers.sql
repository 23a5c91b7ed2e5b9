--
-- Applications that roles see (semantics/placement).  Operators and roles that read everything
-- see all applications.  Any other role sees its own applications and those that name the role
-- in view_acl.  It also sees applications in queues that it administers and in projects of
-- which it is a member.
--
-- In an access control list, a role counts as the user of the same name.  The roles of which it
-- is a member count as the groups of that user.
--

CREATE FUNCTION yquota_internal.shows_application(
	username text, queue text, view_acl text, role text, groups text[])
	RETURNS boolean
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_shows_application';
COMMENT ON FUNCTION yquota_internal.shows_application(text, text, text, text, text[]) IS
	'Tell whether a role sees an application.  The owner, users on view_acl, and administrators of the queue see the application.  The list that root has by default, which admits every user, does not count.  Administrators are looked up once per queue and query';

ALTER TABLE yquota.application ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.application FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR (SELECT yquota_internal.acts_as('operator'))
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[])
		   OR yquota_internal.shows_application(username, queue, view_acl,
				(SELECT yquota_internal.acting_role())::text, (SELECT yquota_internal.acting_groups())::text[]));
