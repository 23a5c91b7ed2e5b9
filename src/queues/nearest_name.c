/*-------------------------------------------------------------------------
 *
 * nearest_name.c
 *	  The known name that a misspelt one was probably meant to be.
 *
 * Names are compared as the server compares misspelt columns, by the edits that
 * lead from one to the other.  An abbreviation is the usual mistake in the name
 * of a property: to leave a character out counts once, any other edit twice.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(yq_sql_nearest_name);

/* More edits, or more than half of the characters, make another name. */
#define MOST_EDITS 8

/* The server compares names no longer than this many bytes. */
#define MOST_BYTES 255

#define COST_OF_INSERTION 1
#define COST_OF_DELETION 2
#define COST_OF_SUBSTITUTION 2

/*
 * nearest_name(name text, names text[]): the one that the fewest edits make of
 * the name, the first of several; NULL when all are too far away.
 */
Datum
yq_sql_nearest_name(PG_FUNCTION_ARGS)
{
	text	   *name = PG_GETARG_TEXT_PP(0);
	int			length = VARSIZE_ANY_EXHDR(name);
	int			most = Min(MOST_EDITS, length / 2);
	text	   *nearest = NULL;
	Datum	   *names;
	bool	   *nulls;
	int			count;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	for (int i = 0; i < count && length <= MOST_BYTES; i++)
	{
		text	   *other = nulls[i] ? NULL : DatumGetTextPP(names[i]);
		int			edits;

		CHECK_FOR_INTERRUPTS();
		if (other == NULL || VARSIZE_ANY_EXHDR(other) > MOST_BYTES)
			continue;
		edits = varstr_levenshtein_less_equal(VARDATA_ANY(name), length, VARDATA_ANY(other), VARSIZE_ANY_EXHDR(other),
											  COST_OF_INSERTION, COST_OF_DELETION, COST_OF_SUBSTITUTION, most, false);
		if (edits > most || (edits == most && nearest != NULL))
			continue;
		most = edits;
		nearest = other;
	}
	if (nearest == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(nearest);
}
