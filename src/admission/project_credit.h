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
 * above it may overdraw.  A hold for the application counts as credit.
 */
extern YqProjectCredit yq_project_credit(const char *project, const char *application_id, YqCreditUse use);

#endif							/* YQ_PROJECT_CREDIT_H */
