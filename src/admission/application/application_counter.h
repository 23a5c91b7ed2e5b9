/*-------------------------------------------------------------------------
 *
 * application_counter.h
 *	  Numbers of applications of queues and of the cluster.
 *
 * yquota_internal.application_counter contains the number of applications of each user
 * in each leaf.  A trigger on yquota.application maintains it.
 *
 * yquota_internal.live_application_count contains the number of live applications as the sum of
 * several rows.  When a transaction is about to commit, it adds its changes to a row to which no
 * other transaction is adding.  The transaction adds all its changes in one update.  With an update
 * per application, it would create many versions of the row, and each update would read all of
 * them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_COUNTER_H
#define YQ_APPLICATION_COUNTER_H

#include "queues/hierarchy.h"

/* Set the numbers of applications of each queue to the committed numbers. */
extern void yq_hierarchy_read_applications(YqHierarchy *hierarchy);

/* Return the number of live applications of a queue and of all queues below it. */
extern int64 yq_applications_below(const char *path);

typedef struct YqSystemDecision
{
	bool		is_allowed;
	int64		applications;	/* number of live applications */
} YqSystemDecision;

/*
 * May another live application be added to the cluster without exceeding
 * maximum-applications?  With is_to_be_let_in, the function takes locks so that the
 * answer stays true until the transaction ends.  Transactions do not wait for each
 * other as long as the number is far from the limit.
 */
extern YqSystemDecision yq_system_decide(int maximum_applications, bool is_to_be_let_in);

#endif							/* YQ_APPLICATION_COUNTER_H */
