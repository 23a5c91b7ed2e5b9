/*-------------------------------------------------------------------------
 *
 * errors.h
 *	  Errors that are values before they are raised.
 *
 * A bad event either fails its statement or is set aside with its reason, while
 * the rest of the statement is charged (docs/design.md 1.7).  A YqProblem therefore
 * describes the error, palloc'd in the current context, which the caller raises
 * or records.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ERRORS_H
#define YQ_ERRORS_H

typedef struct YqProblem
{
	int			sqlstate;
	char	   *message;		/* primary text, in the server's style */
	char	   *hint;			/* NULL for none */
	bool		may_wait;		/* goes away when the container's START comes */
} YqProblem;

extern YqProblem *yq_problem(int sqlstate, char *message, const char *hint);

/* Raise a problem with the detail given. */
pg_noreturn extern void yq_problem_raise(const YqProblem *problem, const char *detail);

#endif							/* YQ_ERRORS_H */
