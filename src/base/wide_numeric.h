/*-------------------------------------------------------------------------
 *
 * wide_numeric.h
 *	  Amounts and prices from and to numerics.
 *
 * A value that does not fit is ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_WIDE_NUMERIC_H
#define YQ_WIDE_NUMERIC_H

#include "base/wide.h"

/* Exact conversions; a numeric may have at most 56 decimals. */
extern Numeric yq_wide_to_numeric(const YqWide *a);
extern void yq_wide_from_numeric(YqWide *result, Numeric value);

/* A finite, non-negative numeric with at most 24 decimals; digits below 2^127. */
extern YqDecimal yq_decimal_from_numeric(Numeric value);

/*
 * Compare values that the server has made with the same values made here.
 * ERRCODE_FEATURE_NOT_SUPPORTED when the server has another format.
 */
extern void yq_wide_numeric_check(void);

#endif							/* YQ_WIDE_NUMERIC_H */
