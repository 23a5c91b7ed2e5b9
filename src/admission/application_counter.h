/*-------------------------------------------------------------------------
 *
 * application_counter.h
 *	  How many applications queues have.
 *
 * yquota_internal.application_counter has what applications of a user in a leaf
 * come to.  A trigger keeps it, whoever changes yquota.application.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_COUNTER_H
#define YQ_APPLICATION_COUNTER_H

#include "queues/hierarchy.h"

/* Fill in how many applications queues have, as committed now. */
extern void yq_hierarchy_read_applications(YqHierarchy *hierarchy);

/* Live applications of a queue and of all queues below it. */
extern int64 yq_applications_below(const char *path);

#endif							/* YQ_APPLICATION_COUNTER_H */
