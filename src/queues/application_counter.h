/*-------------------------------------------------------------------------
 *
 * application_counter.h
 *	  How many applications there are, of a queue and altogether.
 *
 * yquota_internal.application_counter has what applications of a user in a leaf
 * come to; yquota_internal.application_total how many live ones there are in the
 * cluster, in parts of which every transaction adds to one that nobody else is
 * adding to.  A trigger keeps both, whoever changes yquota.application.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_COUNTER_H
#define YQ_APPLICATION_COUNTER_H

#include "queues/hierarchy.h"

typedef struct YqSystemDecision
{
	bool		is_allowed;
	int64		applications;	/* live ones */
} YqSystemDecision;

/* Fill in how many applications queues have, as committed now. */
extern void yq_hierarchy_read_applications(YqHierarchy *hierarchy);

/* Live applications of a queue and of all queues below it. */
extern int64 yq_applications_below(const char *path);

/*
 * May one more application live in the cluster (maximum-applications)?  When it
 * is to be let in, locks so that the answer stays true until the transaction ends,
 * and so that those who are far from the limit do not wait for each other.
 */
extern YqSystemDecision yq_system_decide(int maximum_applications, bool is_to_be_let_in);

#endif							/* YQ_APPLICATION_COUNTER_H */
