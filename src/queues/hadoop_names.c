/*-------------------------------------------------------------------------
 *
 * hadoop_names.c
 *	  Names of Hadoop's properties: the pattern that a name follows, and the known name
 *	  closest to a misspelt name.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/nearest_name.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "postgres.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

/* -- nearest name -------------------------------------------------------------- */

PG_FUNCTION_INFO_V1(yq_sql_nearest_name);

/*
 * nearest_name(name text, names text[]): return the candidate with the lowest cost of
 * edits, or the first of several such candidates.  The result is NULL if the edits of
 * every candidate cost too much.
 */
Datum
yq_sql_nearest_name(PG_FUNCTION_ARGS)
{
	text	   *name = PG_GETARG_TEXT_PP(0);
	YqNearestName search;
	Datum	   *names;
	bool	   *nulls;
	int			count;

	yq_nearest_name_begin(&search, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		text	   *other = nulls[i] ? NULL : DatumGetTextPP(names[i]);

		CHECK_FOR_INTERRUPTS();
		if (other != NULL)
			yq_nearest_name_compare(&search, VARDATA_ANY(other), VARSIZE_ANY_EXHDR(other));
	}
	if (search.nearest == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(search.nearest, search.nearest_length));
}

/* -- hadoop names -------------------------------------------------------------- */

/*
 * Find the pattern, the queue and the variable part of full names in Hadoop's configuration files.
 *
 * A full name is the path of a queue followed by the name of a property.  Both contain
 * dots, so the end of the path can only be found with the list of queues.  A name may
 * begin with the paths of several queues.  Then the longest path counts after which the
 * rest of the name is a known property.  yquota_internal.hadoop_pattern has all other
 * facts about patterns.  The search is written in C because a configuration file can
 * contain tens of thousands of names.
 */

/* Flags of a pattern, as passed in the argument "bits". */
#define PATTERN_HAS_QUEUE	0x01
#define PATTERN_HAS_NAME	0x02
#define PATTERN_IS_WILDCARD	0x04
#define PATTERN_PLAIN_NAME	0x08	/* the variable name contains no dots */
#define PATTERN_IS_OPTION	0x10	/* the variable name may be any text */

#define MAX_NAME	255

typedef struct Span
{
	const char *start;
	int			length;
} Span;

/* A pattern has one of two forms: head <queue> middle <name> tail, or head <name> tail. */
typedef struct Pattern
{
	Span		head;
	Span		middle;
	Span		tail;
	int			bits;
} Pattern;

typedef struct Matcher
{
	Pattern    *patterns;
	int			npatterns;
	Span	   *paths;			/* sorted */
	int			npaths;
} Matcher;

/* Return the elements of a text array.  The span of a NULL element is empty. */
static Span *
spans_of(ArrayType *array, int *length)
{
	Datum	   *elements;
	bool	   *nulls;
	Span	   *spans;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, length);
	spans = palloc0(sizeof(Span) * Max(*length, 1));
	for (int i = 0; i < *length; i++)
	{
		spans[i].start = nulls[i] ? "" : VARDATA_ANY(DatumGetPointer(elements[i]));
		spans[i].length = nulls[i] ? 0 : VARSIZE_ANY_EXHDR(DatumGetPointer(elements[i]));
	}
	return spans;
}

static int
compare_spans(const void *a, const void *b)
{
	const Span *left = a;
	const Span *right = b;
	int			order = memcmp(left->start, right->start, Min(left->length, right->length));

	return order != 0 ? order : left->length - right->length;
}

static bool
is_path(Matcher *matcher, Span path)
{
	return bsearch(&path, matcher->paths, matcher->npaths, sizeof(Span), compare_spans) != NULL;
}

static bool
begins_with(Span text, Span beginning)
{
	return beginning.length == 0 ||
		(text.length >= beginning.length &&
		 memcmp(text.start, beginning.start, beginning.length) == 0);
}

/*
 * Set *name to the text between "beginning" and "end".  Returns false if the pattern
 * does not allow this text as a name.
 */
static bool
name_between(Span text, Span beginning, Span end, int bits, Span *name)
{
	if (text.length <= beginning.length + end.length || !begins_with(text, beginning) ||
		memcmp(text.start + text.length - end.length, end.start, end.length) != 0)
		return false;
	name->start = text.start + beginning.length;
	name->length = text.length - beginning.length - end.length;
	if (bits & PATTERN_IS_OPTION)
		return true;
	if (name->length > MAX_NAME)
		return false;
	for (int i = 0; i < name->length; i++)
	{
		unsigned char c = name->start[i];

		if (c <= ' ' || (c == '.' && (bits & PATTERN_PLAIN_NAME)))
			return false;
	}
	return true;
}

/* Return the number of the pattern that matches the text after a queue's path, or -1. */
static int
pattern_of_queue(Matcher *matcher, Span suffix, int wildcard, Span *name)
{
	for (int i = 0; i < matcher->npatterns; i++)
	{
		Pattern    *pattern = &matcher->patterns[i];

		if ((pattern->bits & PATTERN_HAS_QUEUE) == 0 || (pattern->bits & PATTERN_IS_WILDCARD) != wildcard)
			continue;
		if ((pattern->bits & PATTERN_HAS_NAME) == 0)
		{
			if (suffix.length == pattern->middle.length && begins_with(suffix, pattern->middle))
				return i;
		}
		else if (name_between(suffix, pattern->middle, pattern->tail, pattern->bits, name))
			return i;
	}
	return -1;
}

/*
 * Return the number of the pattern that matches a property, or -1.  Sets *owner to the
 * path of the queue and *name to the variable name.
 */
static int
pattern_of(Matcher *matcher, Span property, Span head, Span *owner, Span *name)
{
	for (int i = 0; i < matcher->npatterns; i++)
	{
		Pattern    *pattern = &matcher->patterns[i];

		if ((pattern->bits & (PATTERN_HAS_QUEUE | PATTERN_HAS_NAME)) == 0 &&
			property.length == pattern->head.length && begins_with(property, pattern->head))
			return i;
	}
	if (begins_with(property, head))
	{
		owner->start = property.start + head.length;
		for (const char *dot = property.start + property.length - 1; dot > owner->start; dot--)
		{
			Span		suffix = {dot, property.start + property.length - dot};
			int			wildcard;
			int			found;

			if (*dot != '.')
				continue;
			owner->length = dot - owner->start;
			if (is_path(matcher, *owner))
				wildcard = 0;
			else if (owner->length > 2 && dot[-1] == '*' && dot[-2] == '.')
				wildcard = PATTERN_IS_WILDCARD;
			else
				continue;
			found = pattern_of_queue(matcher, suffix, wildcard, name);
			if (found >= 0)
				return found;
		}
		owner->start = NULL;
	}
	for (int i = 0; i < matcher->npatterns; i++)
	{
		Pattern    *pattern = &matcher->patterns[i];

		if ((pattern->bits & (PATTERN_HAS_QUEUE | PATTERN_HAS_NAME)) == PATTERN_HAS_NAME &&
			name_between(property, pattern->head, pattern->tail, pattern->bits, name))
			return i;
	}
	return -1;
}

PG_FUNCTION_INFO_V1(yq_sql_match_hadoop_properties);

/*
 * match_hadoop_properties(properties, paths, heads, middles, tails text[], bits
 * integer[]): return a row (ordinal, pattern, owner, name) for each property that
 * matches a pattern.  The numbers "ordinal" and "pattern" begin with 1.  All patterns
 * for queues have the same head.
 */
Datum
yq_sql_match_hadoop_properties(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows = (ReturnSetInfo *) fcinfo->resultinfo;
	Matcher		matcher;
	Span		head = {0};
	Span	   *properties;
	Span	   *heads;
	Span	   *middles;
	Span	   *tails;
	Datum	   *bits;
	int			nproperties;
	int			nheads;
	int			nmiddles;
	int			ntails;
	int			nbits;

	InitMaterializedSRF(fcinfo, 0);
	properties = spans_of(PG_GETARG_ARRAYTYPE_P(0), &nproperties);
	matcher.paths = spans_of(PG_GETARG_ARRAYTYPE_P(1), &matcher.npaths);
	qsort(matcher.paths, matcher.npaths, sizeof(Span), compare_spans);
	heads = spans_of(PG_GETARG_ARRAYTYPE_P(2), &nheads);
	middles = spans_of(PG_GETARG_ARRAYTYPE_P(3), &nmiddles);
	tails = spans_of(PG_GETARG_ARRAYTYPE_P(4), &ntails);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(5), INT4OID, sizeof(int32), true, TYPALIGN_INT, &bits, NULL, &nbits);
	if (nmiddles != nheads || ntails != nheads || nbits != nheads)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("arrays of patterns must have the same length")));
	matcher.npatterns = nheads;
	matcher.patterns = palloc(sizeof(Pattern) * Max(nheads, 1));
	for (int i = 0; i < nheads; i++)
	{
		matcher.patterns[i] = (Pattern) {heads[i], middles[i], tails[i], DatumGetInt32(bits[i])};
		if (matcher.patterns[i].bits & PATTERN_HAS_QUEUE)
			head = heads[i];
	}

	for (int i = 0; i < nproperties; i++)
	{
		Span		owner = {0};
		Span		name = {0};
		int			pattern = pattern_of(&matcher, properties[i], head, &owner, &name);
		Datum		values[4];
		bool		nulls[4] = {false, false, owner.start == NULL, name.start == NULL};

		CHECK_FOR_INTERRUPTS();
		if (pattern < 0)
			continue;
		/* drop a name that a pattern may have set before it failed to match */
		if ((matcher.patterns[pattern].bits & PATTERN_HAS_NAME) == 0)
			nulls[3] = true;
		values[0] = Int64GetDatum(i + 1);
		values[1] = Int32GetDatum(pattern + 1);
		values[2] = nulls[2] ? (Datum) 0 : PointerGetDatum(cstring_to_text_with_len(owner.start, owner.length));
		values[3] = nulls[3] ? (Datum) 0 : PointerGetDatum(cstring_to_text_with_len(name.start, name.length));
		tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
	}
	return (Datum) 0;
}
