/*-------------------------------------------------------------------------
 *
 * varlena.c
 *	  Values of variable length, compared and copied byte for byte.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/varlena.h"

void *
yq_varlena_copy(const void *value)
{
	void	   *copy;

	if (value == NULL)
		return NULL;
	copy = palloc(VARSIZE_ANY(value));
	memcpy(copy, value, VARSIZE_ANY(value));
	return copy;
}

void
yq_varlena_put(Datum *values, bool *nulls, int column, const void *value)
{
	values[column] = PointerGetDatum(value);
	nulls[column] = (value == NULL);
}

int
yq_varlena_compare(const text *a, const text *b)
{
	int			a_length = VARSIZE_ANY_EXHDR(a);
	int			b_length = VARSIZE_ANY_EXHDR(b);
	int			order = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), Min(a_length, b_length));

	return order != 0 ? order : a_length - b_length;
}
