/*-------------------------------------------------------------------------
 *
 * project_credit.h
 *	  Credit of a project for an application, its containers or a reservation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PROJECT_CREDIT_H
#define YQ_PROJECT_CREDIT_H

#include "base/compat.h"

/*
 * Purpose for which credit is needed.  project.on_exhausted says which purposes are
 * still allowed without credit.
 */
typedef enum YqCreditUse
{
	YQ_CREDIT_FOR_SUBMISSION,	/* permitted by allow */
	YQ_CREDIT_FOR_CONTAINERS	/* allowed if on_exhausted is allow or refuse_submission */
} YqCreditUse;

typedef struct YqProjectCredit
{
	bool		is_known;		/* the project exists */
	bool		suffices;
	const char *limited_by;		/* project whose credit does not suffice, palloc'd; NULL: the credit suffices */
	const char *remaining;		/* credits that this project has left, palloc'd */
} YqProjectCredit;

/*
 * Check whether the credit of a project suffices.  The credit of a prepaid project that is
 * exhausted suffices only if the project and all its exhausted ancestors may overdraw.  A hold for
 * the application counts as credit.  If the application is in the queue of a reservation, a hold
 * for that reservation counts, too.  "queue" is the path of the queue, or NULL.
 */
extern YqProjectCredit yq_project_credit(const char *project, const char *application_id, const char *queue, YqCreditUse use);

/*
 * Check whether a project has credit for the cost of a reservation, or may overdraw.
 * The cost is a decimal number.  Credit that is already held for the reservation
 * counts.  "locks" is set if the caller is about to hold the cost.  Other transactions
 * that hold credit of the project then wait until this transaction ends.
 */
extern YqProjectCredit yq_project_credit_to_reserve(const char *project, const char *reservation_id, const char *cost, bool locks);

#endif							/* YQ_PROJECT_CREDIT_H */
