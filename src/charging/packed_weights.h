/*-------------------------------------------------------------------------
 *
 * packed_weights.h
 *	  The weights of many rate classes in a few bytes each.
 *
 * A list of (class number, weight), ascending by number, numbers from 1 on,
 * without zero weights.
 * Numbers are stored as differences, weights as they are but with the sign in
 * the lowest bit; both with seven bits to a byte, the highest one saying that
 * another byte follows.  A balance reads a million of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PACKED_WEIGHTS_H
#define YQ_PACKED_WEIGHTS_H

#include "utils/numeric.h"

typedef struct YqWeightReader
{
	const uint8 *next;
	const uint8 *end;
	uint32		class_id;		/* of the last one read */
} YqWeightReader;

extern void yq_weights_begin(YqWeightReader *reader, const bytea *packed);

/*
 * Read the next class number and weight; false at the end.  Bytes that are no
 * such list are ERRCODE_DATA_CORRUPTED.
 */
extern bool yq_weights_next(YqWeightReader *reader, uint32 *class_id, int128 *weight);

#endif							/* YQ_PACKED_WEIGHTS_H */
