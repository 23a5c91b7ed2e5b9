/*-------------------------------------------------------------------------
 *
 * factors.c
 *	  Names and values of the factors and outages of a rate class, and the multiplier of one resource
 *	  type.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/wide.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "pricing/factors.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

/* -- multiplier ---------------------------------------------------------------- */

/*
 * The price multiplier of one resource type (semantics/charging 1).
 *
 * The formula multiplies by the total first, so that only the division at the end rounds:
 *
 * (total + max(used - tipping point * total, 0) * increment factor) / total
 */

PG_FUNCTION_INFO_V1(yq_sql_multiplier);

static void
check_finite(Numeric value, const char *name)
{
	if (numeric_is_nan(value) || numeric_is_inf(value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a price multiplier must be finite", name)));
}

static bool
is_greater(Numeric a, Numeric b)
{
	return DatumGetBool(DirectFunctionCall2(numeric_gt, NumericGetDatum(a),
											NumericGetDatum(b)));
}

static Numeric
product(Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(numeric_mul, NumericGetDatum(a),
											   NumericGetDatum(b)));
}

/*
 * Compute the multiplier.  "used" and "total" are in the same unit, and "tipping_point" is a
 * fraction.  "max_multiplier" is the cap, or NULL for no cap.  The result is palloc'd.
 *
 * Raises ERRCODE_INVALID_PARAMETER_VALUE when a value is NaN or infinite, or when "total" is not
 * positive.
 */
static Numeric
multiplier_compute(Numeric used, Numeric total, Numeric tipping_point,
				   Numeric increment_factor, Numeric max_multiplier)
{
	Numeric		tipping_usage;
	Numeric		numerator = total;
	Numeric		one = int64_to_numeric(1);
	Numeric		multiplier;

	check_finite(used, "usage");
	check_finite(total, "total");
	check_finite(tipping_point, "tipping point");
	check_finite(increment_factor, "increment factor");
	if (!is_greater(total, int64_to_numeric(0)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("total of a price multiplier must be positive")));

	tipping_usage = product(tipping_point, total);
	if (is_greater(used, tipping_usage))
	{
		Numeric		excess;

		excess = DatumGetNumeric(DirectFunctionCall2(numeric_sub,
													 NumericGetDatum(used),
													 NumericGetDatum(tipping_usage)));
		numerator = DatumGetNumeric(DirectFunctionCall2(numeric_add,
														NumericGetDatum(total),
														NumericGetDatum(product(excess, increment_factor))));
	}
	multiplier = yq_divide_half_even(numerator, total, YQ_PRICE_DECIMALS);

	/* Round the cap, because it may have more decimals than a price. */
	if (max_multiplier != NULL && is_greater(multiplier, max_multiplier))
		multiplier = yq_divide_half_even(max_multiplier, one, YQ_PRICE_DECIMALS);
	return DatumGetNumeric(DirectFunctionCall1(numeric_trim_scale,
											   NumericGetDatum(multiplier)));
}

/*
 * multiplier(used, total, tipping_point, increment_factor, max_multiplier) is NULL when an
 * argument other than the last one is NULL.
 */
Datum
yq_sql_multiplier(PG_FUNCTION_ARGS)
{
	for (int i = 0; i < 4; i++)
	{
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	}
	PG_RETURN_NUMERIC(multiplier_compute(PG_GETARG_NUMERIC(0),
										 PG_GETARG_NUMERIC(1),
										 PG_GETARG_NUMERIC(2),
										 PG_GETARG_NUMERIC(3),
										 PG_ARGISNULL(4) ? NULL : PG_GETARG_NUMERIC(4)));
}

/* -- factors ------------------------------------------------------------------- */

/* The factor 1, which leaves a price unchanged, in units of 10^-6. */
#define FACTOR_ONE UINT64CONST(1000000)

/* Tell whether a queue is "ancestor" or a descendant of "ancestor". */
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

	/* the points of projects come after those of YQ_ALL_PROJECTS */
	return timeline->factor_count > 0 || timeline->outage_count > 0 ||
		(timeline->mode_count > 0 &&
		 strcmp(timeline->mode_points[timeline->mode_count - 1].project, YQ_ALL_PROJECTS) != 0);
}

/* -- waits ------------------------------------------------------------------- */

YqWait
yq_wait_from_numeric(Datum factor, bool isnull)
{
	YqWait		wait = {.waits = !isnull};
	YqDecimal	value;

	if (isnull)
		return wait;
	value = yq_decimal_from_numeric(DatumGetNumeric(factor));
	if (value.decimals > 6 || value.digits > yq_power_of_ten(value.decimals))
		yq_amount_out_of_range();
	wait.factor = (uint32) (value.digits * yq_power_of_ten(6 - value.decimals));
	return wait;
}

Datum
yq_wait_to_numeric(YqWait wait, bool *isnull)
{
	*isnull = !wait.waits;
	return wait.waits ? DirectFunctionCall1(numeric_trim_scale, NumericGetDatum(int64_div_fast_to_numeric(wait.factor, 6))) :
		(Datum) 0;
}

static const char *
name_of_wait(YqWait wait)
{
	bool		isnull;

	return DatumGetCString(DirectFunctionCall1(numeric_out, yq_wait_to_numeric(wait, &isnull)));
}

static uint64
value_of_wait(const char *name)
{
	return yq_wait_from_numeric(DirectFunctionCall3(numeric_in, CStringGetDatum(name),
													ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)),
								false).factor;
}

/* -- names of factors ------------------------------------------------------- */

static void
add_name(Datum *elements, int *count, const char *dimension, const char *name)
{
	elements[(*count)++] = CStringGetTextDatum(dimension);
	elements[(*count)++] = CStringGetTextDatum(name);
}

ArrayType *
yq_factor_names(const YqPayer *payer)
{
	const YqTimeline *timeline = yq_timeline_cached();
	const char *wanted[YQ_FACTOR_DIMENSIONS];
	Datum		elements[2 * YQ_FACTOR_KINDS];
	int			count = 0;
	int			dims[1];
	int			lower_bounds[1] = {1};

	if (payer->wait.waits)
		add_name(elements, &count, yq_timeline_dimension_name(YQ_FACTOR_WAITING), name_of_wait(payer->wait));
	else if (!yq_factors_exist())
		return NULL;

	wanted[YQ_FACTOR_QUEUE] = payer->queue;
	wanted[YQ_FACTOR_APPLICATION] = payer->application_id;
	wanted[YQ_FACTOR_USERNAME] = payer->username;
	wanted[YQ_FACTOR_PROJECT] = payer->project;
	wanted[YQ_FACTOR_LABEL] = payer->label;
	wanted[YQ_FACTOR_EXECUTION_TYPE] = payer->execution_type;
	for (int dimension = 0; dimension < YQ_FACTOR_DIMENSIONS; dimension++)
	{
		const char *name = most_specific_name(timeline, dimension, wanted[dimension]);

		/* the name of a project also selects its outages and its charging mode */
		if (name == NULL && dimension == YQ_FACTOR_PROJECT &&
			(project_has_outages(timeline, payer->project) || yq_timeline_has_mode(payer->project)))
			name = payer->project;
		if (name != NULL)
			add_name(elements, &count, yq_timeline_dimension_name(dimension), name);
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

/* Add a chain with room for the given number of factors. */
static YqFactorChain *
add_chain(YqFactorSet *set, int room)
{
	YqFactorChain *chain;

	if (set->chain_count >= YQ_FACTOR_KINDS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("too many price factors")));

	chain = &set->chains[set->chain_count++];
	chain->count = 0;
	chain->factors = palloc(sizeof(YqFactor *) * Max(room, 1));
	return chain;
}

/*
 * Make the chain of a wait.  Its only factor has a single value, the waiting factor of the rule
 * that was in force when the wait began.
 */
static void
resolve_wait(YqFactorSet *set, const char *name)
{
	YqFactorChain *chain = add_chain(set, 1);
	YqFactor   *factor = palloc(sizeof(YqFactor));

	factor->dimension = YQ_FACTOR_WAITING;
	factor->name = pstrdup("charging_rule");
	factor->point_count = 1;
	factor->points = palloc(sizeof(YqFactorPoint));
	factor->points[0].effective_at = DT_NOBEGIN;
	factor->points[0].value = value_of_wait(name);
	chain->factors[chain->count++] = factor;
}

static void
resolve_chain(YqFactorSet *set, const YqTimeline *timeline, int dimension,
			  const char *name)
{
	YqFactorChain *chain = add_chain(set, timeline->factor_count);

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
	for (int dimension = 0; dimension < YQ_FACTOR_KINDS; dimension++)
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
		int			number = dimension_of_name(TextDatumGetCString(elements[i]));
		char	   *name = TextDatumGetCString(elements[i + 1]);

		if (number == YQ_FACTOR_WAITING)
			resolve_wait(set, name);
		else
			resolve_chain(set, timeline, number, name);
		if (number == YQ_FACTOR_PROJECT)
		{
			resolve_outages(set, timeline, name);
			set->project_of_mode = yq_timeline_has_mode(name) ? name : NULL;
		}
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
		int			point = yq_factor_points_until(factor, at) - 1;

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
			int			point = yq_factor_points_until(factor, from);

			if (point < factor->point_count && factor->points[point].effective_at < to)
				return true;
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
