/*-------------------------------------------------------------------------
 *
 * role_scope.h
 *	  The acting role, and the projects that it may see.
 *
 * Reports show a role the projects that yquota.role_grant gives it.  The role
 * is the current user; inside a function that yq_sql_run_as_owner() runs with
 * the rights of yquota's owner, it is the current user of that call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ROLE_SCOPE_H
#define YQ_ROLE_SCOPE_H

/* The role whose privileges decide which rows are shown, and that the audit names. */
extern Oid	yq_role_scope_role(void);

/*
 * The role that has sent the rows that the running statement inserts: the acting
 * role, and where that is yquota's owner, as in a SECURITY DEFINER function of
 * yquota, the current role of the session.
 */
extern Oid	yq_role_scope_sender(void);

/*
 * Have yq_role_scope_role() be the current user again while code of the reader
 * runs, which may call functions of others.  The caller puts the returned role
 * back afterwards, also after an error.
 */
extern Oid	yq_role_scope_forget(void);
extern void yq_role_scope_restore(Oid forgotten);

/* Whether a role may see every project. */
extern bool yq_role_scope_reads_all(Oid role);

/* Whether a role is of a kind (role_grant), is in one that is, or has the rights of the owner. */
extern bool yq_role_scope_acts_as(Oid role, const char *kind);

/*
 * Whether objects of a role may run with the rights of other roles: that of the owner of
 * yquota may, and those of superusers.  A role that is merely in one of these may not.
 */
extern bool yq_role_scope_is_trusted(Oid role);

/*
 * Refuse to change a table in a security-restricted operation.  Its code
 * belongs to the owner of an index or a materialized view, and the session to
 * the maintaining role, autovacuum included: the role that made the change
 * would be unknown.
 */
extern void yq_role_scope_check_attributable(const char *table_name);

/*
 * Whether this session restores a dump: it has set what pg_dump and pg_restore
 * begin with, check_function_bodies to off, client_min_messages to warning and
 * row_security to either value, and both the role that logged in and
 * yq_role_scope_role() have the rights of yquota's owner.  Rows then come back
 * as they were, and triggers derive nothing from them.
 */
extern bool yq_role_scope_is_restoring(void);

#endif							/* YQ_ROLE_SCOPE_H */
