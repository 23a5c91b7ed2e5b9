/*-------------------------------------------------------------------------
 *
 * factors.c
 *	  Naming and resolving the factors and outages of a rate class.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "pricing/factors.h"
#include "utils/builtins.h"

/* A factor that changes nothing, in units of 10^-6. */
#define FACTOR_ONE UINT64CONST(1000000)

#define PROJECT_KEY "project"

/* Whether a queue is "ancestor" or lies below it. */
static bool
queue_is_within(const char *queue, const char *ancestor)
{
	size_t		length = strlen(ancestor);

	return strncmp(queue, ancestor, length) == 0 &&
		(queue[length] == '\0' || queue[length] == '.');
}

static bool
factor_applies(const YqFactor *factor, int dimension, const char *name)
{
	if (factor->dimension != dimension)
		return false;
	if (dimension == YQ_FACTOR_QUEUE)
		return queue_is_within(name, factor->name);
	return strcmp(factor->name, name) == 0;
}

static const char *
most_specific_name(const YqTimeline *timeline, int dimension, const char *name)
{
	const char *best = NULL;

	for (int i = 0; name != NULL && i < timeline->factor_count; i++)
	{
		if (factor_applies(&timeline->factors[i], dimension, name) &&
			(best == NULL || strlen(timeline->factors[i].name) > strlen(best)))
			best = timeline->factors[i].name;
	}
	return best;
}

static bool
project_has_outages(const YqTimeline *timeline, const char *project)
{
	for (int i = 0; i < timeline->outage_count; i++)
	{
		if (timeline->outages[i].project != NULL &&
			strcmp(timeline->outages[i].project, project) == 0)
			return true;
	}
	return false;
}

bool
yq_factors_exist(void)
{
	const YqTimeline *timeline = yq_timeline_cached();

	return timeline->factor_count > 0 || timeline->outage_count > 0;
}

ArrayType *
yq_factor_names(const YqPayer *payer)
{
	const YqTimeline *timeline = yq_timeline_cached();
	const char *wanted[YQ_FACTOR_DIMENSIONS];
	Datum		elements[2 * (YQ_FACTOR_DIMENSIONS + 1)];
	int			count = 0;
	int			dims[1];
	int			lower_bounds[1] = {1};

	if (!yq_factors_exist())
		return NULL;

	wanted[YQ_FACTOR_QUEUE] = payer->queue;
	wanted[YQ_FACTOR_APPLICATION] = payer->application_id;
	wanted[YQ_FACTOR_USERNAME] = payer->username;
	wanted[YQ_FACTOR_EXECUTION_TYPE] = payer->execution_type;
	for (int dimension = 0; dimension < YQ_FACTOR_DIMENSIONS; dimension++)
	{
		const char *name = most_specific_name(timeline, dimension, wanted[dimension]);

		if (name != NULL)
		{
			elements[count++] = CStringGetTextDatum(yq_timeline_dimension_name(dimension));
			elements[count++] = CStringGetTextDatum(name);
		}
	}
	if (project_has_outages(timeline, payer->project))
	{
		elements[count++] = CStringGetTextDatum(PROJECT_KEY);
		elements[count++] = CStringGetTextDatum(payer->project);
	}
	if (count == 0)
		return NULL;
	dims[0] = count;
	return construct_md_array(elements, NULL, 1, dims, lower_bounds,
							  TEXTOID, -1, false, TYPALIGN_INT);
}

static int
compare_most_specific_first(const void *a, const void *b)
{
	return (int) strlen((*(const YqFactor *const *) b)->name) -
		(int) strlen((*(const YqFactor *const *) a)->name);
}

static void
resolve_chain(YqFactorSet *set, const YqTimeline *timeline, int dimension,
			  const char *name)
{
	YqFactorChain *chain;

	if (set->chain_count >= YQ_FACTOR_DIMENSIONS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("too many price factors")));

	chain = &set->chains[set->chain_count++];
	chain->count = 0;
	chain->factors = palloc(sizeof(YqFactor *) * Max(timeline->factor_count, 1));
	for (int i = 0; i < timeline->factor_count; i++)
	{
		if (factor_applies(&timeline->factors[i], dimension, name))
			chain->factors[chain->count++] = &timeline->factors[i];
	}
	qsort(chain->factors, chain->count, sizeof(YqFactor *), compare_most_specific_first);
}

static void
resolve_outages(YqFactorSet *set, const YqTimeline *timeline, const char *project)
{
	set->outages = palloc(sizeof(YqOutage *) * Max(timeline->outage_count, 1));
	for (int i = 0; i < timeline->outage_count; i++)
	{
		if (timeline->outages[i].project != NULL &&
			strcmp(timeline->outages[i].project, project) == 0)
			set->outages[set->outage_count++] = &timeline->outages[i];
	}
}

static int
dimension_of_name(const char *name)
{
	for (int dimension = 0; dimension < YQ_FACTOR_DIMENSIONS; dimension++)
	{
		if (strcmp(yq_timeline_dimension_name(dimension), name) == 0)
			return dimension;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown dimension \"%s\" of a price factor", name)));
}

YqFactorSet *
yq_factor_set_resolve(const YqTimeline *timeline, ArrayType *names)
{
	YqFactorSet *set = palloc0(sizeof(YqFactorSet));
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	if (names == NULL)
		return set;
	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	if (count % 2 != 0 || array_contains_nulls(names))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("factors must be pairs of dimension and name")));

	for (int i = 0; i < count; i += 2)
	{
		char	   *dimension = TextDatumGetCString(elements[i]);
		char	   *name = TextDatumGetCString(elements[i + 1]);

		if (strcmp(dimension, PROJECT_KEY) == 0)
			resolve_outages(set, timeline, name);
		else
			resolve_chain(set, timeline, dimension_of_name(dimension), name);
	}
	return set;
}

uint64
yq_factor_chain_value(const YqFactorChain *chain, TimestampTz at, const YqFactor **in_force)
{
	if (in_force != NULL)
		*in_force = NULL;
	for (int i = 0; i < chain->count; i++)
	{
		const YqFactor *factor = chain->factors[i];
		int			point = factor->point_count - 1;

		while (point >= 0 && factor->points[point].effective_at > at)
			point--;
		if (point < 0 || factor->points[point].value == YQ_FACTOR_ENDED)
			continue;
		if (in_force != NULL)
			*in_force = factor;
		return factor->points[point].value;
	}
	return FACTOR_ONE;
}

static inline bool
is_between(TimestampTz at, TimestampTz from, TimestampTz to)
{
	return at > from && at < to;
}

bool
yq_factor_set_changes(const YqFactorSet *set, TimestampTz from, TimestampTz to)
{
	for (int i = 0; i < set->chain_count; i++)
	{
		for (int j = 0; j < set->chains[i].count; j++)
		{
			const YqFactor *factor = set->chains[i].factors[j];

			for (int point = 0; point < factor->point_count; point++)
			{
				if (is_between(factor->points[point].effective_at, from, to))
					return true;
			}
		}
	}
	for (int i = 0; i < set->outage_count; i++)
	{
		if (is_between(set->outages[i]->started_at, from, to) ||
			is_between(set->outages[i]->ended_at, from, to))
			return true;
	}
	return false;
}

bool
yq_factor_set_in_outage(const YqFactorSet *set, TimestampTz at)
{
	for (int i = 0; i < set->outage_count; i++)
	{
		if (set->outages[i]->started_at <= at && at < set->outages[i]->ended_at)
			return true;
	}
	return false;
}
