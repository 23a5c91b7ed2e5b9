/*-------------------------------------------------------------------------
 *
 * subject.h
 *	  Arguments and results of SQL functions that ask on somebody's behalf.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SUBJECT_H
#define YQ_SUBJECT_H

#include "access/tupdesc.h"
#include "fmgr.h"
#include "queues/acl.h"

/* An argument that must be neither null nor empty; name is for the error. */
extern text *yq_required_text(FunctionCallInfo fcinfo, int argument, const char *name);

/* An array of text without nulls in it; null is empty. */
extern int	yq_text_array(FunctionCallInfo fcinfo, int argument, const char *name,
						  const char ***strings);

/* Who asks; -1 for a function without the argument real_username. */
extern YqSubject yq_subject_arguments(FunctionCallInfo fcinfo, int username, int groups,
									  int real_username);

/* The row type that the function returns, looked up once per query. */
extern TupleDesc yq_result_descriptor(FunctionCallInfo fcinfo);

#endif							/* YQ_SUBJECT_H */
