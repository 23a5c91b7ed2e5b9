/*-------------------------------------------------------------------------
 *
 * rate_class.c
 *	  The table of rate classes, and their costs as amounts.
 *
 * Each backend keeps a table of the allocations that it has met.  Each entry points to the class of the
 * allocation, and the class computes costs from its shape (shape_cost.c).
 *
 * Balances need the cost of one unit of many classes, all from the same instant until now.  Each
 * class therefore remembers one such cost: the sum from that instant to the start of the price
 * interval that was used last.  The next call extends this sum (UnitCost).
 *
 * Sums are exact.  They become amounts in credits only when a result is returned.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/bytes_table.h"
#include "base/nearest_name.h"
#include "miscadmin.h"
#include "pricing/rate_class.h"
#include "pricing/shape_cost.h"
#include "pricing/timeline.h"
#include "utils/memutils.h"

/* A remembered sum is extended over at most this many intervals. */
#define MAX_INTERVALS_TO_CARRY 64

/* The largest number of allocations in the cache.  The next refresh drops all allocations of a larger cache. */
#define MAX_ALLOCATIONS 100000

/* Decimals of price * time: 18 of the price, 6 of the second. */
#define PLAIN_DECIMALS (YQ_PRICE_DECIMALS + 6)

/* The cost of one unit of the shape since an instant, remembered between calls. */
typedef struct UnitCost
{
	TimestampTz from;
	int			interval;		/* the cost is known up to the start of this interval; -1 if nothing is remembered */
	YqWide		sum;			/* cost from "from" to the start of the interval */
	bool		has_amounts;	/* "before", "microsecond" and "rate" are set for the interval */
	YqWide		before;			/* the sum, converted to an amount */
	YqWide		microsecond;	/* the amount that accrues in each microsecond of the interval */
	YqWide		rate;
	TimestampTz at;				/* instant of "accrued"; DT_NOBEGIN if "accrued" is not set */
	YqWide		accrued;
} UnitCost;

struct YqRateClass
{
	const YqResource *shape;
	ArrayType  *factor_names;	/* NULL for none */
	const char **names;			/* names of the resource types */
	MemoryContext factor_context;

	/* state of the timeline from which the following fields were computed */
	uint64		generation;
	uint64		fills;
	YqShapeCost cost;
	UnitCost	unit;
};

typedef struct AllocationEntry
{
	YqBytes		key;			/* allocation and factors */
	uint64		weight;
	YqRateClass *rate_class;
} AllocationEntry;

typedef struct ClassEntry
{
	YqBytes		key;			/* shape and factors */
	YqRateClass *rate_class;
} ClassEntry;

static const YqTimeline *timeline = NULL;
static MemoryContext class_context = NULL;
static HTAB *allocations = NULL;
static AllocationEntry *last_found = NULL;	/* allocation that was found last; callers often ask for it again */
static HTAB *classes = NULL;
static uint64 class_generation = 0; /* incremented when all classes are dropped */
static StringInfoData key_buffer;	/* bytes of the key that was made last */

/* -- the table of classes ------------------------------------------------ */

static void
forget_classes(void)
{
	MemoryContext old_context;

	if (class_context == NULL)
		class_context = AllocSetContextCreate(CacheMemoryContext,
											  "yquota rate classes",
											  ALLOCSET_DEFAULT_SIZES);
	allocations = NULL;
	last_found = NULL;
	classes = NULL;
	class_generation++;
	MemoryContextReset(class_context);
	old_context = MemoryContextSwitchTo(class_context);
	initStringInfo(&key_buffer);
	MemoryContextSwitchTo(old_context);

	/* set these last: if an error occurs above, they remain NULL */
	allocations = yq_bytes_table_create("yquota allocations", sizeof(AllocationEntry),
										class_context);
	classes = yq_bytes_table_create("yquota rate classes", sizeof(ClassEntry),
									class_context);
}

int64
yq_rate_class_refresh(void)
{
	timeline = yq_timeline_refresh();

	if (allocations == NULL || classes == NULL ||
		hash_get_num_entries(allocations) > MAX_ALLOCATIONS)
		forget_classes();
	return timeline->version;
}

/*
 * Make the key of a vector and a list of factors: the bytes of the vector, followed by the bytes
 * of the list.  Both are canonical, so equal keys mean equal values.  The key is valid until the
 * next key is made.
 */
static YqBytes
make_key(const YqResource *resource, ArrayType *factors)
{
	YqBytes		key;

	resetStringInfo(&key_buffer);
	yq_bytes_append_part(&key_buffer, VARDATA_ANY(resource), VARSIZE_ANY_EXHDR(resource));
	yq_bytes_append_part(&key_buffer, factors == NULL ? NULL : VARDATA_ANY(factors),
						 factors == NULL ? 0 : VARSIZE_ANY_EXHDR(factors));
	key.data = key_buffer.data;
	key.length = key_buffer.len;
	return key;
}

static YqRateClass *
make_class(const YqResource *shape, ArrayType *factors)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(shape, entries);
	MemoryContext old_context = MemoryContextSwitchTo(class_context);
	YqRateClass *rate_class = palloc0(sizeof(YqRateClass));
	YqResource *kept_shape = palloc(VARSIZE_ANY(shape));

	memcpy(kept_shape, shape, VARSIZE_ANY(shape));
	rate_class->shape = kept_shape;
	if (factors != NULL)
	{
		rate_class->factor_names = palloc(VARSIZE_ANY(factors));
		memcpy(rate_class->factor_names, factors, VARSIZE_ANY(factors));
		rate_class->factor_context = AllocSetContextCreate(class_context,
														   "yquota factors of a class",
														   ALLOCSET_SMALL_SIZES);
	}
	yq_shape_cost_init(&rate_class->cost, timeline, entries, count, class_context);
	rate_class->names = palloc(sizeof(char *) * Max(count, 1));
	for (int i = 0; i < count; i++)
		rate_class->names[i] = pnstrdup(entries[i].name, entries[i].name_length);
	rate_class->unit.interval = -1;
	rate_class->unit.at = DT_NOBEGIN;
	MemoryContextSwitchTo(old_context);
	return rate_class;
}

static YqRateClass *
find_class_of_shape(const YqResource *shape, ArrayType *factors)
{
	ClassEntry *entry = yq_bytes_table_find(classes, make_key(shape, factors));
	YqRateClass *rate_class;
	bool		found;

	if (entry != NULL)
		return entry->rate_class;
	rate_class = make_class(shape, factors);
	entry = yq_bytes_table_enter(classes, make_key(shape, factors), class_context, &found);
	entry->rate_class = rate_class;
	return rate_class;
}

/* Add an allocation to the cache.  Returns NULL when the allocation contains an unknown resource type. */
static AllocationEntry *
enter_allocation(const YqResource *allocation, ArrayType *factors, char **unknown)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(allocation, entries);
	AllocationEntry *entry;
	YqResource *shape;
	YqRateClass *rate_class;
	uint64		weight;
	bool		found;

	for (int i = 0; i < count; i++)
	{
		if (yq_timeline_resource(entries[i].name, entries[i].name_length) < 0)
		{
			*unknown = pnstrdup(entries[i].name, entries[i].name_length);
			return NULL;
		}
	}
	weight = (uint64) yq_resource_reduce(allocation, &shape);
	rate_class = find_class_of_shape(shape, factors);
	entry = yq_bytes_table_enter(allocations, make_key(allocation, factors),
								 class_context, &found);
	entry->weight = weight;
	entry->rate_class = rate_class;
	return entry;
}

/* Tell whether all resource types of a cached class still exist. */
static bool
types_exist(const YqRateClass *rate_class, char **unknown)
{
	if (rate_class->generation == timeline->generation)
		return true;
	for (int i = 0; i < rate_class->cost.part_count; i++)
	{
		if (yq_timeline_resource(rate_class->names[i], strlen(rate_class->names[i])) < 0)
		{
			*unknown = pstrdup(rate_class->names[i]);
			return false;
		}
	}
	return true;
}

YqRateClass *
yq_rate_class_find(const YqResource *allocation, ArrayType *factors,
				   uint64 *weight, char **unknown)
{
	YqBytes		key = make_key(allocation, factors);
	AllocationEntry *entry = last_found;

	if (entry == NULL || entry->key.length != key.length ||
		memcmp(entry->key.data, key.data, key.length) != 0)
		entry = yq_bytes_table_find(allocations, key);
	if (entry == NULL)
		entry = enter_allocation(allocation, factors, unknown);
	if (entry == NULL || !types_exist(entry->rate_class, unknown))
		return NULL;
	last_found = entry;
	*weight = entry->weight;
	return entry->rate_class;
}

/* Return the resource type that other systems call by a name, or else a type with a similar name, or NULL. */
static char *
similar_type(const char *unknown)
{
	static const char *const meanings[][2] = {
		{"cpu", "vcores"}, {"gpu", "yarn.io/gpu"}, {"nvidia.com/gpu", "yarn.io/gpu"}
	};
	YqNearestName search;

	for (int i = 0; i < (int) lengthof(meanings); i++)
	{
		const char *meaning = meanings[i][1];

		if (strcmp(unknown, meanings[i][0]) == 0 && yq_timeline_resource(meaning, strlen(meaning)) >= 0)
			return pstrdup(meaning);
	}
	yq_nearest_name_begin(&search, unknown, strlen(unknown));
	for (int i = 0; i < timeline->resource_count; i++)
		yq_nearest_name_compare(&search, timeline->resource_names[i], strlen(timeline->resource_names[i]));
	return search.nearest == NULL ? NULL : pnstrdup(search.nearest, search.nearest_length);
}

char *
yq_rate_class_hint(const char *unknown)
{
	char	   *similar = similar_type(unknown);

	return similar == NULL ? pstrdup(_("Insert it into yquota.resource_type.")) : psprintf(_("Perhaps you meant \"%s\"."), similar);
}

YqRateClass *
yq_rate_class_require(const YqResource *allocation, ArrayType *factors, uint64 *weight)
{
	char	   *unknown;
	YqRateClass *rate_class = yq_rate_class_find(allocation, factors, weight, &unknown);

	if (rate_class == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
				 errmsg("resource type \"%s\" does not exist", unknown),
				 errhint("%s", yq_rate_class_hint(unknown))));
	return rate_class;
}

YqRateClass *
yq_rate_class_argument(FunctionCallInfo fcinfo, int argument, uint64 *weight)
{
	YqResource *allocation = PG_GETARG_YQ_RESOURCE_P(argument);
	ArrayType  *factors = PG_ARGISNULL(argument + 1) ? NULL : PG_GETARG_ARRAYTYPE_P(argument + 1);

	(void) yq_rate_class_refresh();
	return yq_rate_class_require(allocation, factors, weight);
}

uint64
yq_rate_class_generation(void)
{
	return class_generation;
}

const YqResource *
yq_rate_class_shape(const YqRateClass *rate_class)
{
	return rate_class->shape;
}

/* -- following the timeline ----------------------------------------------- */

/* Set the numbers that the resource types of the shape have in the timeline now. */
static void
map_resources(YqRateClass *rate_class)
{
	for (int i = 0; i < rate_class->cost.part_count; i++)
	{
		const char *name = rate_class->names[i];

		rate_class->cost.resources[i] = yq_timeline_resource(name, strlen(name));
		if (rate_class->cost.resources[i] < 0)
			ereport(ERROR,
					(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
					 errmsg("resource type \"%s\" does not exist", name)));
	}
}

/* Forget the remembered sum if one of its intervals has changed since the last call. */
static void
drop_what_changed(YqRateClass *rate_class)
{
	int			kept = rate_class->generation == timeline->generation ?
		yq_timeline_unchanged_intervals(rate_class->fills) : 0;

	if (rate_class->generation != timeline->generation)
		map_resources(rate_class);
	if (rate_class->unit.interval > kept ||
		rate_class->generation != timeline->generation)
		rate_class->unit.interval = -1;
	rate_class->unit.has_amounts = false;
	rate_class->unit.at = DT_NOBEGIN;
	if (rate_class->factor_names != NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(rate_class->factor_context);

		MemoryContextReset(rate_class->factor_context);
		rate_class->cost.factors = yq_factor_set_resolve(timeline, rate_class->factor_names);
		MemoryContextSwitchTo(old_context);
	}
	rate_class->generation = timeline->generation;
	rate_class->fills = timeline->fills;
}

static inline void
synchronize_class(YqRateClass *rate_class)
{
	if (rate_class->generation != timeline->generation ||
		rate_class->fills != timeline->fills)
		drop_what_changed(rate_class);
}

/* Return how many more decimals an amount has than the sums of the class. */
static int
missing_decimals(const YqRateClass *rate_class)
{
	int			decimals = PLAIN_DECIMALS;

	if (rate_class->cost.factors != NULL)
		decimals += 6 * rate_class->cost.factors->chain_count;
	return YQ_AMOUNT_DECIMALS - decimals;
}

/* Convert a sum for one unit of the shape to an amount.  Returns false when the amount is out of range. */
static bool
make_amount(const YqRateClass *rate_class, uint64 weight, YqWide *sum)
{
	return !rate_class->cost.out_of_range &&
		yq_wide_try_multiply(sum, weight) &&
		yq_wide_try_scale(sum, missing_decimals(rate_class)) &&
		yq_wide_is_in_range(sum);
}

/*
 * Add up the sums of all resources.  *dominant is set to the name of the resource with the largest
 * sum; "dominant" may be NULL.
 */
static void
add_parts(const YqRateClass *rate_class, const YqWide *sums, YqWide *amount, const char **dominant)
{
	YqWide		largest = {{0}};

	for (int i = 0; i < rate_class->cost.part_count; i++)
	{
		yq_wide_add(amount, &sums[i]);
		if (dominant != NULL && yq_wide_compare(&sums[i], &largest) > 0)
		{
			largest = sums[i];
			*dominant = rate_class->names[i];
		}
	}
}

bool
yq_rate_class_try_cost(YqRateClass *rate_class, uint64 weight,
				   TimestampTz from, TimestampTz to,
				   YqWide *amount, const char **dominant)
{
	YqWide		sums[YQ_RESOURCE_MAX_ENTRIES];
	bool		backwards = to < from;

	memset(amount, 0, sizeof(*amount));
	if (dominant != NULL)
		*dominant = NULL;
	if (rate_class->cost.part_count == 0 || from == to)
		return true;
	if (backwards)
	{
		TimestampTz swapped = from;

		from = to;
		to = swapped;
	}

	yq_timeline_reach(from);
	synchronize_class(rate_class);
	memset(sums, 0, sizeof(YqWide) * rate_class->cost.part_count);
	rate_class->cost.out_of_range = false;
	yq_shape_cost_add(&rate_class->cost, from, to, sums, true);
	add_parts(rate_class, sums, amount, dominant);
	if (!make_amount(rate_class, weight, amount))
		return false;
	if (backwards)
		yq_wide_negate(amount);
	return true;
}

void
yq_rate_class_cost(YqRateClass *rate_class, uint64 weight,
				   TimestampTz from, TimestampTz to,
				   YqWide *amount, const char **dominant)
{
	if (!yq_rate_class_try_cost(rate_class, weight, from, to, amount, dominant))
		yq_amount_out_of_range();
}

/* Convert the sums of all resources to amounts. */
static void
make_part_amounts(const YqRateClass *rate_class, uint64 weight, YqWide *sums)
{
	for (int i = 0; i < rate_class->cost.part_count; i++)
	{
		if (!make_amount(rate_class, weight, &sums[i]))
			yq_amount_out_of_range();
	}
}

void
yq_rate_class_part_costs(YqRateClass *rate_class, uint64 weight, TimestampTz from, TimestampTz to,
						 YqWide *costs, YqWide *alone)
{
	Size		size = sizeof(YqWide) * rate_class->cost.part_count;

	yq_timeline_reach(from);
	synchronize_class(rate_class);
	rate_class->cost.out_of_range = false;
	memset(costs, 0, size);
	yq_shape_cost_add(&rate_class->cost, from, to, costs, true);
	memset(alone, 0, size);
	for (int i = 0; i < rate_class->cost.part_count; i++)
	{
		YqShapeCost part = rate_class->cost;

		part.part_count = 1;
		part.resources = &rate_class->cost.resources[i];
		part.amounts = &rate_class->cost.amounts[i];
		yq_shape_cost_add(&part, from, to, &alone[i], false);
		rate_class->cost.out_of_range |= part.out_of_range;
	}
	make_part_amounts(rate_class, weight, costs);
	make_part_amounts(rate_class, weight, alone);
}

int
yq_rate_class_part_count(const YqRateClass *rate_class)
{
	return rate_class->cost.part_count;
}

const char *
yq_rate_class_part_name(const YqRateClass *rate_class, int part)
{
	return rate_class->names[part];
}

/* Compute the sum of each resource for a number of microseconds at the prices in force at an instant. */
static void
sums_at(YqRateClass *rate_class, TimestampTz at, uint64 microseconds, YqWide *sums)
{
	memset(sums, 0, sizeof(YqWide) * rate_class->cost.part_count);
	yq_timeline_reach(at);
	synchronize_class(rate_class);
	rate_class->cost.out_of_range = false;
	yq_shape_cost_add_time(&rate_class->cost, yq_timeline_interval(at), microseconds, sums, true);
}

bool
yq_rate_class_try_cost_at(YqRateClass *rate_class, uint64 weight, TimestampTz at,
						  uint64 microseconds, YqWide *amount, const char **dominant)
{
	YqWide		sums[YQ_RESOURCE_MAX_ENTRIES];

	memset(amount, 0, sizeof(*amount));
	*dominant = NULL;
	if (rate_class->cost.part_count == 0)
		return true;

	sums_at(rate_class, at, microseconds, sums);
	add_parts(rate_class, sums, amount, dominant);
	return make_amount(rate_class, weight, amount);
}

void
yq_rate_class_cost_at(YqRateClass *rate_class, uint64 weight, TimestampTz at,
					  uint64 microseconds, YqWide *amount, const char **dominant)
{
	if (!yq_rate_class_try_cost_at(rate_class, weight, at, microseconds, amount, dominant))
		yq_amount_out_of_range();
}

void
yq_rate_class_part_rates(YqRateClass *rate_class, uint64 weight, TimestampTz at, YqWide *rates)
{
	sums_at(rate_class, at, USECS_PER_SEC, rates);
	make_part_amounts(rate_class, weight, rates);
}

/* Fill in the parts of charged resources.  Returns their number. */
static int
put_parts(const YqRateClass *rate_class, uint64 weight, const YqWide *sums, const uint64 *times, YqPaidPart *parts)
{
	int			count = 0;

	for (int i = 0; i < rate_class->cost.part_count; i++)
	{
		YqPaidPart *part = &parts[count];

		if (times[i] == 0)
			continue;
		part->name = rate_class->names[i];
		part->amount = sums[i];
		memset(&part->held, 0, sizeof(YqWide));
		yq_wide_add_product(&part->held, (YqPrice) rate_class->cost.amounts[i] * weight, times[i]);
		if (!make_amount(rate_class, weight, &part->amount) ||
			!yq_wide_try_scale(&part->held, YQ_AMOUNT_DECIMALS - 6) || !yq_wide_is_in_range(&part->held))
			yq_amount_out_of_range();
		count++;
	}
	return count;
}

/*
 * Add the cost of each resource for a number of microseconds of an interval, and the time in which
 * the resource is charged.
 */
static void
add_paid_time(YqRateClass *rate_class, int interval, uint64 microseconds, YqWide *sums, uint64 *times)
{
	YqWide		parts[YQ_RESOURCE_MAX_ENTRIES];

	memset(parts, 0, sizeof(YqWide) * rate_class->cost.part_count);
	yq_shape_cost_add_time(&rate_class->cost, interval, microseconds, parts, true);
	for (int i = 0; i < rate_class->cost.part_count; i++)
	{
		if (yq_wide_is_zero(&parts[i]))
			continue;
		yq_wide_add(&sums[i], &parts[i]);
		times[i] += microseconds;
	}
}

int
yq_rate_class_parts(YqRateClass *rate_class, uint64 weight, TimestampTz from, TimestampTz to, YqPaidPart *parts)
{
	YqWide		sums[YQ_RESOURCE_MAX_ENTRIES];
	uint64		times[YQ_RESOURCE_MAX_ENTRIES] = {0};
	int			count = rate_class->cost.part_count;
	int			last;

	if (count == 0)
		return 0;
	yq_timeline_reach(from);
	synchronize_class(rate_class);
	memset(sums, 0, sizeof(YqWide) * count);
	rate_class->cost.out_of_range = false;
	last = yq_timeline_interval(to);
	for (int interval = yq_timeline_interval(from); interval <= last; interval++)
	{
		TimestampTz since = Max(from, timeline->interval_from[interval]);
		TimestampTz until = interval < last ? timeline->interval_from[interval + 1] : to;

		CHECK_FOR_INTERRUPTS();
		add_paid_time(rate_class, interval, (uint64) (until - since), sums, times);
	}
	return put_parts(rate_class, weight, sums, times, parts);
}

int
yq_rate_class_parts_at(YqRateClass *rate_class, uint64 weight, TimestampTz at, uint64 microseconds, YqPaidPart *parts)
{
	YqWide		sums[YQ_RESOURCE_MAX_ENTRIES];
	uint64		times[YQ_RESOURCE_MAX_ENTRIES];

	if (rate_class->cost.part_count == 0)
		return 0;
	sums_at(rate_class, at, microseconds, sums);
	for (int i = 0; i < rate_class->cost.part_count; i++)
		times[i] = yq_wide_is_zero(&sums[i]) ? 0 : microseconds;
	return put_parts(rate_class, weight, sums, times, parts);
}

static void
set_factors_in_force(const YqRateClass *rate_class, TimestampTz at, YqPricesInForce *in_force)
{
	const YqFactorSet *set = rate_class->cost.factors;

	in_force->factor.limb[0] = 1;
	for (int i = 0; set != NULL && i < set->chain_count; i++)
	{
		const YqFactor *factor;
		uint64		value = yq_factor_chain_value(&set->chains[i], at, &factor);

		yq_wide_multiply(&in_force->factor, value);
		if (factor != NULL)
		{
			in_force->factor_values[in_force->factor_count] = value;
			in_force->factors[in_force->factor_count++] = factor;
		}
	}
	/* the product of the factors lacks the decimals that price and time have */
	if (!yq_wide_try_scale(&in_force->factor, missing_decimals(rate_class) + PLAIN_DECIMALS))
		yq_amount_out_of_range();
	in_force->is_forgiven |= set != NULL && yq_factor_set_in_outage(set, at);
}

void
yq_rate_class_prices_at(YqRateClass *rate_class, TimestampTz at, YqPricesInForce *in_force)
{
	const YqPrice *prices;
	int			interval;

	yq_timeline_reach(at);
	synchronize_class(rate_class);
	interval = yq_timeline_interval(at);
	prices = &timeline->prices[(Size) interval * timeline->resource_count];
	memset(in_force, 0, sizeof(*in_force));
	in_force->until = interval + 1 < timeline->interval_count ?
		timeline->interval_from[interval + 1] : DT_NOEND;
	in_force->is_forgiven = timeline->in_outage[interval];
	in_force->mode = yq_shape_cost_mode(&rate_class->cost, interval);
	in_force->part_count = rate_class->cost.part_count;
	for (int i = 0; i < rate_class->cost.part_count; i++)
	{
		in_force->names[i] = rate_class->names[i];
		in_force->prices[i] = prices[rate_class->cost.resources[i]];
	}

	set_factors_in_force(rate_class, timeline->interval_from[interval], in_force);
}

/* Compute the cost of one unit from an instant to the start of a later interval. */
static void
sum_from(YqRateClass *rate_class, TimestampTz from, int end, YqWide *sum)
{
	memset(sum, 0, sizeof(*sum));
	yq_shape_cost_add(&rate_class->cost, from, timeline->interval_from[end], sum, false);
}

/* Extend the remembered sum to the interval that contains an instant.  The instant is not before "from". */
static void
carry_unit_cost(YqRateClass *rate_class, TimestampTz from, int interval)
{
	UnitCost   *unit = &rate_class->unit;
	YqWide		sum = unit->sum;

	if (unit->interval == interval && unit->from == from)
		return;
	if (unit->interval >= 0 && unit->from == from && unit->interval < interval &&
		timeline->interval_from[unit->interval] >= from &&
		interval - unit->interval <= MAX_INTERVALS_TO_CARRY)
		yq_shape_cost_add_intervals(&rate_class->cost, unit->interval, interval, &sum, false);
	else if (timeline->interval_from[interval] > from)
		sum_from(rate_class, from, interval, &sum);
	else
		memset(&sum, 0, sizeof(sum));
	unit->from = from;
	unit->interval = interval;
	unit->sum = sum;
}

/* Compute the amount that accrues in each microsecond of an interval, factors included. */
static void
price_interval(YqRateClass *rate_class, int interval)
{
	UnitCost   *unit = &rate_class->unit;

	memset(&unit->microsecond, 0, sizeof(YqWide));
	yq_shape_cost_add_time(&rate_class->cost, interval, 1, &unit->microsecond, false);
	if (!make_amount(rate_class, 1, &unit->microsecond))
		yq_amount_out_of_range();
	unit->rate = unit->microsecond;
	if (!yq_wide_try_multiply(&unit->rate, USECS_PER_SEC) || !yq_wide_is_in_range(&unit->rate))
		yq_amount_out_of_range();
}

/*
 * Remember the cost from "from" to the start of an interval.  If the interval contains "from", the
 * cost is zero.
 */
static void
reach_interval(YqRateClass *rate_class, TimestampTz from, int interval)
{
	UnitCost   *unit = &rate_class->unit;

	if (unit->has_amounts && unit->from == from && unit->interval == interval)
		return;
	unit->has_amounts = false;
	price_interval(rate_class, interval);
	carry_unit_cost(rate_class, from, interval);
	unit->before = unit->sum;
	if (!make_amount(rate_class, 1, &unit->before))
	{
		unit->interval = -1;
		yq_amount_out_of_range();
	}
	unit->has_amounts = true;
}

void
yq_rate_class_unit_cost(YqRateClass *rate_class, TimestampTz from, TimestampTz at,
						const YqWide **accrued, const YqWide **rate)
{
	UnitCost   *unit = &rate_class->unit;
	int			interval;

	yq_timeline_reach(Min(from, at));
	synchronize_class(rate_class);
	*accrued = &unit->accrued;
	*rate = &unit->rate;
	if (unit->from == from && unit->at == at)
		return;

	unit->at = DT_NOBEGIN;
	rate_class->cost.out_of_range = false;
	interval = yq_timeline_interval(at);
	if (at < from)
	{
		unit->has_amounts = false;
		price_interval(rate_class, interval);
		yq_rate_class_cost(rate_class, 1, from, at, &unit->accrued, NULL);
		unit->interval = -1;
		unit->from = from;
	}
	else
	{
		reach_interval(rate_class, from, interval);
		unit->accrued = unit->before;
		/*
		 * the sum stays far below 2^383: the amount of a second is in range, and a time has less than 2^44
		 * seconds
		 */
		yq_wide_add_multiple(&unit->accrued, &unit->microsecond,
							 (uint64) (at - Max(from, timeline->interval_from[interval])));
		if (!yq_wide_is_in_range(&unit->accrued))
			yq_amount_out_of_range();
	}
	unit->at = at;
}

bool
yq_rate_class_is_payable(YqRateClass *rate_class, TimestampTz at)
{
	const YqPrice *prices;

	yq_timeline_reach(at);
	synchronize_class(rate_class);
	prices = &timeline->prices[(Size) yq_timeline_interval(at) * timeline->resource_count];
	for (int i = 0; i < rate_class->cost.part_count; i++)
	{
		YqPrice		product;

		if (!yq_price_try_multiply(prices[rate_class->cost.resources[i]], rate_class->cost.amounts[i], &product))
			return false;
	}
	return true;
}
