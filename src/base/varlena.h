/*-------------------------------------------------------------------------
 *
 * varlena.h
 *	  Values of variable length, compared and copied byte for byte.
 *
 * Equal values have equal bytes: texts compare as in collation "C".  Values are
 * not compressed and not stored out of line.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_VARLENA_H
#define YQ_VARLENA_H

/* A copy in the current memory context; NULL for NULL. */
extern void *yq_varlena_copy(const void *value);

/* Whether two values are the same, or both NULL. */
static inline bool
yq_varlena_equal(const void *a, const void *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

/* Whether a text has the characters of a string, or both are NULL. */
static inline bool
yq_varlena_is(const text *value, const char *string)
{
	if (value == NULL || string == NULL)
		return value == NULL && string == NULL;
	return VARSIZE_ANY_EXHDR(value) == strlen(string) && memcmp(VARDATA_ANY(value), string, strlen(string)) == 0;
}

/* Put a value, or NULL, into a column of a row to be written. */
extern void yq_varlena_put(Datum *values, bool *nulls, int column, const void *value);

/* The order of two texts: negative, zero or positive. */
extern int	yq_varlena_compare(const text *a, const text *b);

#endif							/* YQ_VARLENA_H */
