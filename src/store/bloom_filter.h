/*-------------------------------------------------------------------------
 *
 * bloom_filter.h
 *	  Telling quickly that a sealed table has no row of a key.
 *
 * A look-up of a container must ask every sealed table of history, and nearly
 * always the answer is no.  A Bloom filter of the keys answers with one look at
 * one page, where an index takes a descent.  Filters are made of tables that
 * are never written to again; without one everything works, only slower.
 *
 * A filter is a table beside the other one, named for it.  It names the file,
 * its length and the major version of the server for which it was made.  It is
 * ignored when these differ: after a restore, a rewrite or an upgrade, until it
 * is made anew.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_BLOOM_FILTER_H
#define YQ_BLOOM_FILTER_H

#include "utils/rel.h"

typedef struct YqBloomFilter YqBloomFilter;

/* The hash of a key, the same for all filters. */
typedef struct YqKeyHash
{
	uint64		place;
	uint64		probes;
} YqKeyHash;

extern YqKeyHash yq_bloom_filter_hash(const text *key);

/* The filter of a table, opened in the current memory context, or NULL. */
extern YqBloomFilter *yq_bloom_filter_open(Relation table);
extern void yq_bloom_filter_close(YqBloomFilter *filter);

/* False when the table surely has no row of that key. */
extern bool yq_bloom_filter_may_have(YqBloomFilter *filter, const YqKeyHash *hash);

#endif							/* YQ_BLOOM_FILTER_H */
