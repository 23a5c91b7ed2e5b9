/*-------------------------------------------------------------------------
 *
 * role_scope.h
 *	  The acting role, and the projects that it may see.
 *
 * Reports show a role those projects that yquota.role_grant gives it.  The acting role
 * is the current user.  Inside a function that yq_sql_run_as_owner() runs with the
 * privileges of yquota's owner, it is the user that was current at the time of that
 * call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ROLE_SCOPE_H
#define YQ_ROLE_SCOPE_H

/* Return the role whose privileges determine the visible rows, and which the audit records. */
extern Oid	yq_role_scope_role(void);

/*
 * Return the role that has sent the rows which the running statement inserts.  This is the acting
 * role.  If the acting role is yquota's owner, as in a SECURITY DEFINER function of yquota, the
 * current role of the session is returned.
 */
extern Oid	yq_role_scope_sender(void);

/*
 * Make yq_role_scope_role() return the current user again, while code of the acting role runs and
 * may call functions of other roles.  The caller restores the returned role afterwards, even after
 * an error.
 */
extern Oid	yq_role_scope_forget(void);
extern void yq_role_scope_restore(Oid forgotten);

/* Tell whether a role may see every project. */
extern bool yq_role_scope_reads_all(Oid role);

/*
 * Tell whether a role has a kind of access (role_grant).  The role has it if it is a member of a
 * role with this access, or if it has the privileges of the owner.
 */
extern bool yq_role_scope_acts_as(Oid role, const char *kind);

/*
 * Tell whether objects of a role may run with the privileges of other roles.  Objects of yquota's
 * owner and of superusers may.  Objects of other roles may not, even if the role is a member of one
 * of these roles.
 */
extern bool yq_role_scope_is_trusted(Oid role);

/*
 * Refuse to change a table in a security-restricted operation.  The code of the
 * operation belongs to the owner of an index or a materialized view.  The session
 * belongs to the role that runs the maintenance command, or to autovacuum. The role
 * that makes the change would therefore be unknown.
 */
extern void yq_role_scope_check_attributable(const char *table_name);

/*
 * Tell whether this session restores a dump.  The function recognizes the parameters that pg_dump
 * and pg_restore set first: check_function_bodies is off, client_min_messages is warning, and
 * row_security has been set.  Both the session user and yq_role_scope_role() must have the
 * privileges of yquota's owner.  Triggers leave restored rows unchanged, and compute nothing from
 * them.
 */
extern bool yq_role_scope_is_restoring(void);

#endif							/* YQ_ROLE_SCOPE_H */
