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
 * Settle one event of a running container, whose row is looked for when "known" is NULL;
 * false when the rule has to decide.
 */
extern bool yq_append_event(YqSettler *settler, const YqContainer *known, const YqEvent *event);

/*
 * Settle the events of a container from the second of this statement on.  All
 * but the FINISH of a running container read rows that may not be written yet.
 */
extern void yq_append_followers(YqSettler *settler, const YqContainer *known, const YqEvent *const *events, int count);

#endif							/* YQ_APPEND_H */
