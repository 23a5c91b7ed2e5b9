/*-------------------------------------------------------------------------
 *
 * attempt.h
 *	  Work that may fail while the transaction goes on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ATTEMPT_H
#define YQ_ATTEMPT_H

#include "base/compat.h"

/*
 * Run a function in a subtransaction.  NULL: what it has done stays.  Else it is undone, and the
 * result is its error, in the caller's context: one that rows or their checks are the cause of.
 * Errors of the server, the session or other transactions are thrown.
 */
extern ErrorData *yq_attempt(void (*function) (void *), void *argument);

/* The same, and what it has done is undone in any case: NULL means that it would succeed. */
extern ErrorData *yq_attempt_dry(void (*function) (void *), void *argument);

#endif							/* YQ_ATTEMPT_H */
