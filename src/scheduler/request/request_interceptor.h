/*-------------------------------------------------------------------------
 *
 * request_interceptor.h
 *	  Functions that see a set of requests before it is decided (seed 001).
 *
 * Administrators register them in yquota.request_interceptor.  As in the chain of
 * YARN's AMRMProxyService, each gets what the one before returned, and may change it
 * or refuse all of it with a reason.  They run with the rights of the caller: the
 * current role of the session where the calling function runs as yquota's owner, else
 * the current role.  So each call checks that the function belongs to the owner of yquota
 * or to a superuser.
 *
 * A session keeps the list until the table changes: while it is empty, no call reads
 * a table for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REQUEST_INTERCEPTOR_H
#define YQ_REQUEST_INTERCEPTOR_H

/* Of a refusal, where the function has no row to tell of it. */
#define YQ_ERRCODE_REQUESTS_REFUSED MAKE_SQLSTATE('Y', 'Q', '0', '0', '2')

/* What became of a set of requests. */
typedef struct YqIntercepted
{
	Datum		requests;		/* yquota.container_request[] */
	const char *reason;			/* that all of it is refused for; NULL: it is not */
	const char *refused_by;		/* name of the function that gave the reason */
} YqIntercepted;

/* Whether there are any. */
extern bool yq_request_interceptors_exist(void);

/*
 * Have them look at an array of requests, of an application or of NULL where the caller knows
 * none.  The result is in the current context.  A function that is not there any more, or has
 * another result, is ERRCODE_UNDEFINED_FUNCTION, one that returns neither requests nor a reason
 * ERRCODE_NULL_VALUE_NOT_ALLOWED, and one whose owner is not trusted, or a security-restricted
 * operation, ERRCODE_INSUFFICIENT_PRIVILEGE; the context of these errors, and of those of the function,
 * names it.
 */
extern YqIntercepted yq_requests_intercept(const char *application_id, Datum requests);

#endif							/* YQ_REQUEST_INTERCEPTOR_H */
