/*-------------------------------------------------------------------------
 *
 * bloom_filter.h
 *	  Telling quickly that no sealed table has a row of a key.
 *
 * A look-up of a container must ask every sealed table of the ledger, and the answer is nearly always no.
 * A Bloom filter of the keys of all these tables answers from a single page.  An index takes a descent for
 * each table.  The filter is the table yquota_internal.charge_filter; it is emptied when tables come and
 * go, and stays empty until it is made anew.  Without a filter look-ups are slower, and nothing else
 * changes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_BLOOM_FILTER_H
#define YQ_BLOOM_FILTER_H

#include "postgres.h"

typedef struct YqBloomFilter YqBloomFilter;

/*
 * Open the filter in the current memory context.  Returns NULL when the filter does not answer for all
 * sealed tables: after a restore, a rewrite or an upgrade.  The caller has a lock of the ledger that keeps
 * tables from coming and going.
 */
extern YqBloomFilter *yq_bloom_filter_open(void);
extern void yq_bloom_filter_close(YqBloomFilter *filter);

/* Returns false only when no sealed table has a row of that key. */
extern bool yq_bloom_filter_may_have(YqBloomFilter *filter, const text *key);

#endif							/* YQ_BLOOM_FILTER_H */
