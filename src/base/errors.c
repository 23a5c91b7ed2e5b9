/*-------------------------------------------------------------------------
 *
 * errors.c
 *	  Errors that are values before they are raised.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/errors.h"

YqProblem *
yq_problem(int sqlstate, char *message, const char *hint)
{
	YqProblem  *problem = palloc0(sizeof(YqProblem));

	problem->sqlstate = sqlstate;
	problem->message = message;
	problem->hint = hint == NULL ? NULL : pstrdup(hint);
	return problem;
}

void
yq_problem_raise(const YqProblem *problem, const char *detail)
{
	ereport(ERROR,
			(errcode(problem->sqlstate),
			 errmsg("%s", problem->message),
			 detail == NULL ? 0 : errdetail("%s", detail),
			 problem->hint == NULL ? 0 : errhint("%s", problem->hint)));
}
