/*-------------------------------------------------------------------------
 *
 * project_credit.h
 *	  Has a project credit for what an application is to get?
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PROJECT_CREDIT_H
#define YQ_PROJECT_CREDIT_H

#include "base/compat.h"

/* What a project without credit may have all the same, by project.on_exhausted. */
typedef enum YqCreditUse
{
	YQ_CREDIT_FOR_SUBMISSION,	/* under allow */
	YQ_CREDIT_FOR_CONTAINERS	/* also under refuse_submission */
} YqCreditUse;

typedef struct YqProjectCredit
{
	bool		is_known;		/* there is such a project */
	bool		suffices;
	const char *limited_by;		/* the project that has none, if it does not suffice; palloc'd */
	const char *remaining;		/* credits; likewise */
} YqProjectCredit;

/*
 * A prepaid project without credit has not enough, unless it and all exhausted projects
 * above it may overdraw.  A hold for the application counts as credit, and one for the
 * reservation whose queue it is in; "queue" is its path, or NULL.
 */
extern YqProjectCredit yq_project_credit(const char *project, const char *application_id, const char *queue, YqCreditUse use);

/*
 * Has a project credit for what a reservation would cost, a decimal number, unless it may
 * overdraw?  What is held for the reservation counts as credit.  "locks": it is to be
 * held; other transactions wait with holds until this one ends.
 */
extern YqProjectCredit yq_project_credit_to_reserve(const char *project, const char *reservation_id, const char *cost, bool locks);

#endif							/* YQ_PROJECT_CREDIT_H */
