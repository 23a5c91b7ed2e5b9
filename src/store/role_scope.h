/*-------------------------------------------------------------------------
 *
 * role_scope.h
 *	  The acting role, and the projects that it may see.
 *
 * Reports show a role the projects that yquota.role_grant gives it.  The acting role is the current user.
 * Inside a function that yq_sql_run_as_owner() runs with the rights of yquota's owner, it is the current
 * user at the time of that call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ROLE_SCOPE_H
#define YQ_ROLE_SCOPE_H

/* Return the role whose privileges decide which rows are shown, and that the audit names. */
extern Oid	yq_role_scope_role(void);

/*
 * Return the role that has sent the rows that the running statement inserts.  This is the acting role.
 * When the acting role is yquota's owner, as in a SECURITY DEFINER function of yquota, it is the current
 * role of the session.
 */
extern Oid	yq_role_scope_sender(void);

/*
 * Make yq_role_scope_role() return the current user again while code of the reader runs, because that code
 * may call functions of other roles.  The caller puts the returned role back afterwards, also after an
 * error.
 */
extern Oid	yq_role_scope_forget(void);
extern void yq_role_scope_restore(Oid forgotten);

/* Tell whether a role may see every project. */
extern bool yq_role_scope_reads_all(Oid role);

/*
 * Tell whether a role is of a kind (role_grant), is a member of a role that is, or has the rights of the
 * owner.
 */
extern bool yq_role_scope_acts_as(Oid role, const char *kind);

/*
 * Tell whether objects of a role may run with the rights of other roles.  Objects of yquota's owner and of
 * superusers may.  A role that is only a member of one of these may not.
 */
extern bool yq_role_scope_is_trusted(Oid role);

/*
 * Refuse to change a table in a security-restricted operation.  The code of the operation belongs to the
 * owner of an index or a materialized view.  The session belongs to the maintaining role, autovacuum
 * included.  The role that made the change would therefore be unknown.
 */
extern void yq_role_scope_check_attributable(const char *table_name);

/*
 * Tell whether this session restores a dump.  Such a session has set the parameters that pg_dump and
 * pg_restore set first.  Here check_function_bodies is off, client_min_messages is warning, and
 * row_security has either value.  Both the login role and yq_role_scope_role() must have the rights of
 * yquota's owner.  Restored rows come back as they were, and triggers derive nothing from them.
 */
extern bool yq_role_scope_is_restoring(void);

#endif							/* YQ_ROLE_SCOPE_H */
