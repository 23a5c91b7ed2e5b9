/*-------------------------------------------------------------------------
 *
 * usage_numbering.h
 *	  Whether transactions number their rows about usage.
 *
 * A session that keeps a cluster finds later changes of usage by the numbers of their
 * transactions.  Numbers have an index, which a database without allocation cycles need not pay
 * for.  So rows have none until a cycle asks for them.  Nothing waits for it:
 *
 * 1. A cycle appends a row without complete_from to yquota_internal.usage_numbering.
 * 2. When its transaction has ended, and with it the signal to all sessions is sent, a later cycle appends the
 *	  number of the next transaction, complete_from.  A transaction that is given a number from there on, and looks for the first row
 *	  afterwards, finds it.
 * 3. When all earlier transactions have ended, clusters are kept: a snapshot sees their rows.
 *
 * The rows stay.  Of another database, as a publication of all tables brings them, they are left out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_USAGE_NUMBERING_H
#define YQ_USAGE_NUMBERING_H

#include "utils/snapshot.h"

/* Take the next one of the first two steps, unless another transaction is taking it. */
extern void yq_usage_numbering_ask(void);

/* Do all transactions that the snapshot does not see number their rows about usage? */
extern bool yq_usage_numbering_is_complete(Snapshot snapshot);

#endif							/* YQ_USAGE_NUMBERING_H */
