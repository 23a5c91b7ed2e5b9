/*-------------------------------------------------------------------------
 *
 * packed_weights.h
 *	  The weights of many rate classes in a few bytes each.
 *
 * A list has pairs (class number, weight), ascending by number.  Numbers begin with 1, and no weight is
 * zero.  Numbers are stored as differences, and weights with the sign in the lowest bit.  Both have seven
 * bits to a byte; the highest bit says that another byte follows.  The format is compact because a
 * balance may read a million pairs.
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
	uint32		class_id;		/* class number that was read last */
} YqWeightReader;

extern void yq_weights_begin(YqWeightReader *reader, const bytea *packed);

/*
 * Read the next class number and its weight.  Returns false at the end.  Malformed bytes raise
 * ERRCODE_DATA_CORRUPTED.
 */
extern bool yq_weights_next(YqWeightReader *reader, uint32 *class_id, int128 *weight);

#endif							/* YQ_PACKED_WEIGHTS_H */
