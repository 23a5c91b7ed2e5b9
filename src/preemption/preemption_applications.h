/*-------------------------------------------------------------------------
 *
 * preemption_applications.h
 *	  Users and applications of the leaves that a round of preemption looks at.
 *
 * Events name applications, and need no row of yquota.application.  An application that
 * is not known has priority 0 and no demand.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_APPLICATIONS_H
#define YQ_PREEMPTION_APPLICATIONS_H

#include "preemption/loaded_preemption.h"

/* An application of a wanted leaf, before and after it is added. */
typedef struct YqPreemptionApplicationEntry
{
	YqBytes		key;			/* number of the leaf, and id */
	YqPreemptionQueue *leaf;
	const char *application_id;
	const char *username;
	const YqClusterApplication *from;	/* NULL: not ACTIVE, or not known */
	int			rank;			/* of those, in the cluster's order */
	int32		priority;
	bool		is_active;
	int			master_label;	/* of its application master, or -1 */
	const int64 *master;		/* resources asked for the application master; NULL: not read */
	YqPreemptionApplication *application;
} YqPreemptionApplicationEntry;

/* Make the tables of the loader. */
extern void yq_preemption_applications_begin(YqPreemptionLoader *loader);

/*
 * Add the users of leaves, and find the applications that the cluster and
 * yquota.application have in them: loader->found.
 */
extern void yq_preemption_applications_find(YqPreemptionLoader *loader, YqPreemptionQueue **leaves, int count);

/* The application of a leaf that an event names, found or made. */
extern YqPreemptionApplicationEntry *yq_preemption_applications_enter(YqPreemptionLoader *loader, YqPreemptionQueue *leaf,
																	  YqBytes application_id, YqBytes username);

/* Add those that were found to the state, in order. */
extern void yq_preemption_applications_add(YqPreemptionLoader *loader);

/* Limits when all users of a leaf share it, whether they ask for something or not. */
extern void yq_preemption_applications_set_user_limits(YqPreemptionLoader *loader, YqPreemptionQueue *leaf);

#endif							/* YQ_PREEMPTION_APPLICATIONS_H */
