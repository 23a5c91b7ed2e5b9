/*-------------------------------------------------------------------------
 *
 * request_interceptor.h
 *	  Interceptors: functions that check requests of application masters before the
 *	  decision, and responses before they are returned.
 *
 * Administrators register the functions in yquota.request_interceptor, which works as
 * the chain of YARN's AMRMProxyService.  An interceptor of requests gets the result of
 * the previous interceptor.  It may change the request, or refuse the whole request
 * with a reason.  Interceptors of responses run in the opposite order.  Each of them
 * gets the rows that the previous interceptor has left, and may remove rows.
 *
 * Interceptors run with the rights of the caller.  If the calling function runs as
 * yquota's owner, the caller is the role that the session has set; otherwise it is the
 * current role.  Each call therefore checks that the function belongs to the owner of
 * yquota or to a superuser.
 *
 * A session keeps the list until the table changes.  While the list is empty, a call
 * does not read the table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REQUEST_INTERCEPTOR_H
#define YQ_REQUEST_INTERCEPTOR_H

#include "nodes/execnodes.h"
#include "nodes/pg_list.h"

/* Error code of a refusal if the function's result has no column for refusals. */
#define YQ_ERRCODE_REQUESTS_REFUSED MAKE_SQLSTATE('Y', 'Q', '0', '0', '2')

/* Parts of a call, in the order of the attributes of yquota.allocate_request. */
typedef enum YqRequestPart
{
	YQ_PART_REQUESTS,			/* yquota.container_request[] */
	YQ_PART_UPDATES,			/* yquota.container_update_request[] */
	YQ_PART_BLACKLIST_ADDITIONS,	/* text[] */
	YQ_PART_BLACKLIST_REMOVALS, /* text[] */
	YQ_PART_RELEASES,			/* text[] */
	YQ_REQUEST_PARTS
} YqRequestPart;

/* A call of a function by or for an application master. */
typedef struct YqAllocateRequest
{
	const char *function;		/* name of the function */
	const char *application_id; /* NULL: the caller does not know the application */
	Datum		parts[YQ_REQUEST_PARTS];	/* arrays; (Datum) 0: the function has no such argument */
	const char *reason;			/* reason of the refusal of the whole call; NULL: not refused */
	const char *refused_by;		/* name of the function that gave the reason */
} YqAllocateRequest;

/* Is any interceptor registered? */
extern bool yq_request_interceptors_exist(void);

/*
 * Let the interceptors check a call.  They replace its parts, in the current memory
 * context.  A missing function, or a function with another result type, is
 * ERRCODE_UNDEFINED_FUNCTION.  A function that omits a part of the call is
 * ERRCODE_NULL_VALUE_NOT_ALLOWED.  A function that returns a part that the call lacks
 * is ERRCODE_INVALID_PARAMETER_VALUE.  An untrusted owner or a security-restricted
 * operation is ERRCODE_INSUFFICIENT_PRIVILEGE.  The context of these errors, and of
 * errors inside the function, names the function.
 */
extern void yq_request_intercept(YqAllocateRequest *request);

/*
 * Let the interceptors check a call whose result cannot report a refusal.  A refusal
 * raises YQ_ERRCODE_REQUESTS_REFUSED.
 */
extern void yq_request_intercept_or_refuse(YqAllocateRequest *request);

/*
 * Let the interceptors check the rows that a call is about to return, and remove the
 * rows that they reject.  The rows are in the tuplestore of the result.  Returns the
 * ids of the containers of the removed rows, as C strings.  The errors are the same as
 * in yq_request_intercept(); in addition, the number of a missing row is
 * ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern List *yq_response_intercept(const YqAllocateRequest *request, ReturnSetInfo *result);

#endif							/* YQ_REQUEST_INTERCEPTOR_H */
