/*-------------------------------------------------------------------------
 *
 * request_interceptor.h
 *	  Functions that see what application masters ask for before it is decided, and
 *	  what they are told before it is returned.
 *
 * Administrators register them in yquota.request_interceptor.  As in the chain of
 * YARN's AMRMProxyService, each that intercepts requests gets what the one before
 * returned, and may change it or refuse all of it with a reason; each that intercepts
 * responses gets the rows that the one before left, in the opposite order, and may
 * leave rows out.  They run with the rights of the caller: the current role of the
 * session where the calling function runs as yquota's owner, else the current role.
 * So each call checks that the function belongs to the owner of yquota or to a
 * superuser.
 *
 * A session keeps the list until the table changes: while it is empty, no call reads
 * a table for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REQUEST_INTERCEPTOR_H
#define YQ_REQUEST_INTERCEPTOR_H

#include "nodes/execnodes.h"
#include "nodes/pg_list.h"

/* Of a refusal, where the function has no row to tell of it. */
#define YQ_ERRCODE_REQUESTS_REFUSED MAKE_SQLSTATE('Y', 'Q', '0', '0', '2')

/* What a call may carry, in the order of the attributes of yquota.allocate_request. */
typedef enum YqRequestPart
{
	YQ_PART_REQUESTS,			/* yquota.container_request[] */
	YQ_PART_UPDATES,			/* yquota.container_update_request[] */
	YQ_PART_BLACKLIST_ADDITIONS,	/* text[], as the two that follow */
	YQ_PART_BLACKLIST_REMOVALS,
	YQ_PART_RELEASES,
	YQ_REQUEST_PARTS
} YqRequestPart;

/* A call of a function by or for an application master. */
typedef struct YqAllocateRequest
{
	const char *function;		/* name of the function */
	const char *application_id; /* NULL: the caller knows none */
	Datum		parts[YQ_REQUEST_PARTS];	/* arrays; (Datum) 0: the function has no such argument */
	const char *reason;			/* that all of it is refused for; NULL: it is not */
	const char *refused_by;		/* name of the function that gave the reason */
} YqAllocateRequest;

/* Whether any is registered. */
extern bool yq_request_interceptors_exist(void);

/*
 * Have them look at a call, whose parts they replace, in the current context.  A function
 * that is not there any more, or has another result, is ERRCODE_UNDEFINED_FUNCTION, one
 * that returns no part that the call has ERRCODE_NULL_VALUE_NOT_ALLOWED, one that
 * returns a part that the call does not have ERRCODE_INVALID_PARAMETER_VALUE, and
 * one whose owner is not trusted, or a security-restricted operation,
 * ERRCODE_INSUFFICIENT_PRIVILEGE; the context of these errors, and of those of the
 * function, names it.
 */
extern void yq_request_intercept(YqAllocateRequest *request);

/* The same for a function whose result cannot tell of a refusal: that is YQ_ERRCODE_REQUESTS_REFUSED. */
extern void yq_request_intercept_or_refuse(YqAllocateRequest *request);

/*
 * Have them look at the rows that a call is about to return, which are in the tuplestore
 * of the result, and take out those that they leave out.  Returns the ids, as C
 * strings, of the containers of these rows.  Errors are those of yq_request_intercept();
 * the number of a row that there is not is ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern List *yq_response_intercept(const YqAllocateRequest *request, ReturnSetInfo *result);

#endif							/* YQ_REQUEST_INTERCEPTOR_H */
