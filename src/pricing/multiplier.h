/*-------------------------------------------------------------------------
 *
 * multiplier.h
 *	  The price multiplier of one resource type (semantics/charging 1).
 *
 *	  1 + max(used / total - tipping point, 0) * increment factor
 *
 * Pure: reads no table.  Exact up to the one rounding, half to even, to 18
 * decimals; the utilization used / total is never rounded on the way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_MULTIPLIER_H
#define YQ_MULTIPLIER_H

#include "utils/numeric.h"

/*
 * "used" and "total" are in the same unit, "tipping_point" is a fraction, and
 * "max_multiplier" is the cap, or NULL for none.  The result is palloc'd.
 *
 * ERRCODE_INVALID_PARAMETER_VALUE when a value is NaN or infinite or "total"
 * is not positive.
 */
extern Numeric yq_multiplier_compute(Numeric used, Numeric total,
									 Numeric tipping_point,
									 Numeric increment_factor,
									 Numeric max_multiplier);

#endif							/* YQ_MULTIPLIER_H */
