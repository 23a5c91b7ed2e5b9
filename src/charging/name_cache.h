/*-------------------------------------------------------------------------
 *
 * name_cache.h
 *	  Names of projects, nodes and waiting events that a session has cached, so
 *	  that a statement need not read the tables again.
 *
 * Triggers on the tables send a message with every change that matters; it
 * arrives when the change is committed (at once in the session that makes it)
 * and empties the cache, as a rollback or PREPARE of a transaction or
 * subtransaction does.  The cache is therefore the state of the tables at the
 * start of the statement.
 *
 * A caller that does not find a name reads the table and adds the result; the
 * cache ignores it when the table has changed meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NAME_CACHE_H
#define YQ_NAME_CACHE_H

#include "postgres.h"

/* Whether a project is known to exist. */
extern bool yq_name_cache_has_project(const text *project);
extern void yq_name_cache_note_project(const text *project);

/*
 * Whether the label of a node is known; then *label is a copy in the current
 * memory context, or NULL when there is no such node.
 */
extern bool yq_name_cache_has_node(const text *node, text **label);
extern void yq_name_cache_note_node(const text *node, const text *label);

/* Whether no event is known to wait for its START. */
extern bool yq_name_cache_nothing_waits(void);
extern void yq_name_cache_note_nothing_waits(void);

#endif							/* YQ_NAME_CACHE_H */
