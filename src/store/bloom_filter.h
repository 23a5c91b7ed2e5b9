/*-------------------------------------------------------------------------
 *
 * bloom_filter.h
 *	  Telling quickly that no sealed table has a row of a key.
 *
 * A look-up of a container must ask every sealed table of the ledger, and nearly
 * always the answer is no.  One Bloom filter of the keys of all of them answers
 * with one look at one page, where an index takes a descent for each table.  The
 * filter is the table yquota_internal.charge_filter; it is emptied when tables
 * come and go, until it is made anew.  Without it everything works, only slower.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_BLOOM_FILTER_H
#define YQ_BLOOM_FILTER_H

#include "postgres.h"

typedef struct YqBloomFilter YqBloomFilter;

/*
 * The filter, opened in the current memory context; NULL when it does not answer
 * for all sealed tables: after a restore, a rewrite or an upgrade.  The caller has a
 * lock of the ledger that keeps tables from coming and going.
 */
extern YqBloomFilter *yq_bloom_filter_open(void);
extern void yq_bloom_filter_close(YqBloomFilter *filter);

/* False when surely no sealed table has a row of that key. */
extern bool yq_bloom_filter_may_have(YqBloomFilter *filter, const text *key);

#endif							/* YQ_BLOOM_FILTER_H */
