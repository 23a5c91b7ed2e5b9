/*-------------------------------------------------------------------------
 *
 * name_cache.h
 *	  Names of projects, nodes and waiting events that a session has cached, so that statements need not
 *	  read the tables again.
 *
 * Triggers on the tables send an invalidation with every change that matters.  The invalidation
 * empties the cache.  Other sessions receive it when the change is committed; the session that
 * makes the change receives it immediately.  A rollback or PREPARE of a transaction or
 * subtransaction empties the cache as well.  The cache therefore agrees with the tables as they are
 * at the start of the statement.
 *
 * A caller that does not find a name reads the table and adds the result.  The cache ignores the result
 * when the table has changed in the meantime.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NAME_CACHE_H
#define YQ_NAME_CACHE_H

#include "postgres.h"

/* Tell whether the cache knows that a project exists. */
extern bool yq_name_cache_has_project(const text *project);
extern void yq_name_cache_note_project(const text *project);

/*
 * Tell whether the cache knows the label of a node.  If it does, *label is a copy in the current
 * memory context, or NULL when the node does not exist.
 */
extern bool yq_name_cache_has_node(const text *node, text **label);
extern void yq_name_cache_note_node(const text *node, const text *label);

/* Tell whether the cache knows that no event waits for its START. */
extern bool yq_name_cache_nothing_waits(void);
extern void yq_name_cache_note_nothing_waits(void);

#endif							/* YQ_NAME_CACHE_H */
