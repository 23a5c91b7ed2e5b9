/*-------------------------------------------------------------------------
 *
 * bloom_filter.h
 *	  A quick test that no sealed table has a row with a key.
 *
 * A look-up of a container must search every sealed table of the ledger, and nearly always finds
 * nothing.  A Bloom filter of the keys of all these tables answers from a single page, whereas
 * indexes need a descent for each table.  The filter is the table yquota_internal.charge_filter.
 * It is emptied when sealed tables are added or removed, and stays empty until it is rebuilt.
 * Without a filter, look-ups are slower, but give the same results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_BLOOM_FILTER_H
#define YQ_BLOOM_FILTER_H

#include "postgres.h"

typedef struct YqBloomFilter YqBloomFilter;

/*
 * Open the filter in the current memory context.  Returns NULL when the filter does not contain
 * the keys of all sealed tables, for example after a restore, a rewrite or an upgrade.  The caller
 * has a lock on the ledger that prevents sealed tables from being added or removed.
 */
extern YqBloomFilter *yq_bloom_filter_open(void);
extern void yq_bloom_filter_close(YqBloomFilter *filter);

/* Return false only if no sealed table has a row with this key. */
extern bool yq_bloom_filter_may_have(YqBloomFilter *filter, const text *key);

#endif							/* YQ_BLOOM_FILTER_H */
