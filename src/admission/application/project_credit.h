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

/* Use of credit; project.on_exhausted determines what a project without credit may still do. */
typedef enum YqCreditUse
{
	YQ_CREDIT_FOR_SUBMISSION,	/* permitted by allow */
	YQ_CREDIT_FOR_CONTAINERS	/* permitted by allow and refuse_submission */
} YqCreditUse;

typedef struct YqProjectCredit
{
	bool		is_known;		/* the project exists */
	bool		suffices;
	const char *limited_by;		/* project whose credit does not suffice; palloc'd, or NULL */
	const char *remaining;		/* remaining credits of that project; palloc'd */
} YqProjectCredit;

/*
 * Check the credit of a project.  If the credit of a prepaid project is exhausted, it
 * does not suffice, unless the project and all its exhausted ancestors may overdraw.  A
 * hold for the application counts as credit.  So does a hold for the reservation in
 * whose queue the application is; "queue" is the path, or NULL.
 */
extern YqProjectCredit yq_project_credit(const char *project, const char *application_id, const char *queue, YqCreditUse use);

/*
 * Check whether a project has credit for the cost of a reservation, a decimal number,
 * or may overdraw.  Credit that is held for the reservation counts.  With "locks", the
 * caller is about to hold the cost, and other transactions that hold credit wait until
 * this transaction ends.
 */
extern YqProjectCredit yq_project_credit_to_reserve(const char *project, const char *reservation_id, const char *cost, bool locks);

#endif							/* YQ_PROJECT_CREDIT_H */
