--
-- Who sees which applications (seed 004): roles that read everything and
-- operators all of them; anybody else his own, those whose view_acl has him,
-- those in queues that he administers, and those of projects he is a member of.
--
-- To a list a role is the user of its name, and the roles it is in are his
-- groups.
--

CREATE FUNCTION yquota_internal.shows_application(
	username text, queue text, view_acl text, role text, groups text[])
	RETURNS boolean
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_shows_application';
COMMENT ON FUNCTION yquota_internal.shows_application(text, text, text, text, text[]) IS
	'Whether a role sees an application: its owner, whom view_acl has, and whoever administers the queue by a list that is set.  Decides once per queue and query';

ALTER TABLE yquota.application ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.application FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR (SELECT yquota_internal.acts_as('operator'))
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[])
		   OR yquota_internal.shows_application(username, queue, view_acl,
				(SELECT yquota_internal.acting_role())::text, (SELECT yquota_internal.acting_groups())::text[]));
