/*-------------------------------------------------------------------------
 *
 * application_total.h
 *	  How many live applications the cluster has, and may have.
 *
 * yquota_internal.application_total has the number in parts, of which every
 * transaction adds to one that nobody else is adding to.  It does so once, when
 * it is about to commit: a transaction about many applications would leave as
 * many versions of one row, and read them each time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_TOTAL_H
#define YQ_APPLICATION_TOTAL_H

#include "base/compat.h"

typedef struct YqSystemDecision
{
	bool		is_allowed;
	int64		applications;	/* live ones */
} YqSystemDecision;

/* So many more live applications, by this (sub)transaction. */
extern void yq_total_add(int change);

/* There are none any more. */
extern void yq_total_forget(void);

/*
 * May one more application live in the cluster (maximum-applications)?  When it
 * is to be let in, locks so that the answer stays true until the transaction ends,
 * and so that those who are far from the limit do not wait for each other.
 */
extern YqSystemDecision yq_system_decide(int maximum_applications, bool is_to_be_let_in);

#endif							/* YQ_APPLICATION_TOTAL_H */
