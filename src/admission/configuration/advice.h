/*-------------------------------------------------------------------------
 *
 * advice.h
 *	  Advice about configurations that Hadoop accepts but that are unwise.
 *
 * Findings are YqViolations (validate.h) whose messages are advice.  No change is
 * refused. configuration_advice() returns all findings.  A transaction that changes
 * queues gets a warning for each finding about a row that it has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ADVICE_H
#define YQ_ADVICE_H

#include "queues/validate.h"

/*
 * Return all findings.  Findings about queues come first, in the order of the tree.
 * Findings about settings of the cluster follow, and then properties that yquota does
 * not represent.
 */
extern List *yq_configuration_advice(const YqHierarchy *hierarchy);

/* Give warnings for the findings about rows that this transaction has changed.  The changes must be valid. */
extern void yq_advise_transaction(const YqHierarchy *hierarchy);

#endif							/* YQ_ADVICE_H */
