/*-------------------------------------------------------------------------
 *
 * subject.h
 *	  Who asks, among the arguments of SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SUBJECT_H
#define YQ_SUBJECT_H

#include "base/arguments.h"
#include "queues/acl.h"

/* Who asks; -1 for a function without the argument real_username. */
extern YqSubject yq_subject_arguments(FunctionCallInfo fcinfo, int username, int groups,
									  int real_username);

#endif							/* YQ_SUBJECT_H */
