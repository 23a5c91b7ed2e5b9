/*-------------------------------------------------------------------------
 *
 * advice.h
 *	  What Hadoop accepts of a configuration and is unwise all the same.
 *
 * Findings are YqViolations (validate.h) whose messages are advice; nothing is
 * refused.  configuration_advice() tells all of them, and a transaction that
 * changes queues gets a warning for each that is about a row it has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ADVICE_H
#define YQ_ADVICE_H

#include "queues/validate.h"

/* All findings: of queues in the order of the tree, then of what is set once. */
extern List *yq_configuration_advice(const YqHierarchy *hierarchy);

/* Warn of what this transaction has changed, which is checked and will commit. */
extern void yq_advise_transaction(const YqHierarchy *hierarchy);

#endif							/* YQ_ADVICE_H */
