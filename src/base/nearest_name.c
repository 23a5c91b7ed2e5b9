/*-------------------------------------------------------------------------
 *
 * nearest_name.c
 *	  The known name that was probably meant by a misspelt name, for hints.
 *
 * The server compares misspelt column names in the same way: it counts the edits that
 * turn one name into the other.  Most wrong property names are abbreviations.
 * Therefore, an omitted character costs 1, and any other edit costs 2.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/nearest_name.h"
#include "utils/varlena.h"

/*
 * Limit on the cost of the edits.  Half of the length of the misspelt name, rounded up, is also a
 * limit.  For a name of five characters, this is the cost of swapping two characters.
 */
#define MOST_EDITS 8

/* Length limit in bytes.  The server cannot compare longer names. */
#define MOST_BYTES 255

#define COST_OF_INSERTION 1
#define COST_OF_DELETION 2
#define COST_OF_SUBSTITUTION 2

void
yq_nearest_name_begin(YqNearestName *search, const char *name, int length)
{
	*search = (YqNearestName)
	{
		.name = name,.length = length,.most = Min(MOST_EDITS, (length + 1) / 2)
	};
}

void
yq_nearest_name_compare(YqNearestName *search, const char *candidate, int length)
{
	int			edits;

	if (search->length > MOST_BYTES || length > MOST_BYTES)
		return;
	edits = varstr_levenshtein_less_equal(search->name, search->length, candidate, length,
										  COST_OF_INSERTION, COST_OF_DELETION, COST_OF_SUBSTITUTION, search->most, false);
	if (edits > search->most || (edits == search->most && search->nearest != NULL))
		return;
	search->most = edits;
	search->nearest = candidate;
	search->nearest_length = length;
}
