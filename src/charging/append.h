/*-------------------------------------------------------------------------
 *
 * append.h
 *	  Events behind all that is known of a running container.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPEND_H
#define YQ_APPEND_H

#include "charging/settle.h"

/* Whether an event waits for this container's START. */
extern bool yq_append_is_awaited(YqSettler *settler, const text *container_id);

/*
 * Settle events of one container, in the order of settling: those behind all that is known
 * of it while it runs here, the others by the rule.  "known" is the row that this statement
 * has inserted of it; NULL to look for one.
 */
extern void yq_append_or_settle(YqSettler *settler, const YqContainer *known,
								const YqEvent *const *events, int count);

#endif							/* YQ_APPEND_H */
