/*-------------------------------------------------------------------------
 *
 * timeline.c
 *	  Loading and refreshing the cache of prices in force.
 *
 * One memory context holds the stretches, a child of it what the small tables
 * hold (resource types, base prices, factors, outages, rules).  The latter are
 * read again on every change; the long table, the multipliers, only from the
 * instant on from which the changes since the last refresh bear on prices.
 *
 * The relation cache callback only clears "is_current"; see base/catalog.h.
 * A cache that was filled with the transaction's own uncommitted changes is
 * thrown away at the next change, since its version number may be used again
 * after a rollback.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/catalog.h"
#include "base/clock.h"
#include "catalog/pg_collation_d.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pricing/timeline.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* A window longer than this is given up at the next refresh. */
#define MAX_KEPT_STRETCHES 262144

typedef struct BasePricePoint
{
	int			resource;
	TimestampTz effective_at;
	YqDecimal	base_price;
	int64		unit;
} BasePricePoint;

typedef struct MultiplierPoint
{
	int			group;
	TimestampTz effective_at;
	YqDecimal	multiplier;
} MultiplierPoint;

/* What is read from tables before stretches are made of it. */
typedef struct Loader
{
	Snapshot	snapshot;
	int			group_count;
	char	  **group_names;
	int		   *resource_group;
	int			base_count;
	BasePricePoint *base_points;	/* by resource, time */
	int			multiplier_count;
	int			multiplier_room;
	MultiplierPoint *multipliers;	/* by group, time */
} Loader;

static YqTimeline timeline;
static MemoryContext timeline_context = NULL;	/* stretches */
static MemoryContext tables_context = NULL; /* what small tables hold */
static bool is_current = false;
static bool is_loading = false; /* still set when loading failed */
static bool has_own_changes = false;
static bool is_watched = false;
static Oid	loaded_from = InvalidOid;	/* pricing_change when it was loaded */
static TimestampTz window_from;
static int	stretch_room = 0;

static const char *const dimension_names[YQ_FACTOR_DIMENSIONS] = {
	[YQ_FACTOR_QUEUE] = "queue",
	[YQ_FACTOR_APPLICATION] = "application",
	[YQ_FACTOR_USERNAME] = "username",
	[YQ_FACTOR_EXECUTION_TYPE] = "execution_type",
};

const char *
yq_factor_dimension_name(int dimension)
{
	return dimension_names[dimension];
}

TimestampTz
yq_full_hour(TimestampTz instant)
{
	TimestampTz rest = instant % USECS_PER_HOUR;

	return instant - (rest < 0 ? rest + USECS_PER_HOUR : rest);
}

/* -- reading small tables ------------------------------------------------ */

typedef void (*RowReader) (Loader *loader, TupleTableSlot *slot, Relation relation);

static void
read_table(Loader *loader, YqTable table, RowReader reader)
{
	Relation	relation = yq_table_open(table, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	TableScanDesc scan = table_beginscan(relation, loader->snapshot, 0, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		reader(loader, slot, relation);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	table_close(relation, AccessShareLock);
}

static Datum
column_value(TupleTableSlot *slot, Relation relation, const char *name)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, yq_column(relation, name), &isnull);

	return isnull ? (Datum) 0 : value;
}

/* Make room for one more element in a palloc'd array of power-of-two size. */
static void *
enlarge(void *array, int count, Size element_size)
{
	if (array == NULL)
		return palloc(element_size * 4);
	if (count >= 4 && (count & (count - 1)) == 0)
		return repalloc_huge(array, element_size * count * 2);
	return array;
}

static int
find_or_add_group(Loader *loader, const char *name)
{
	for (int i = 0; i < loader->group_count; i++)
	{
		if (strcmp(loader->group_names[i], name) == 0)
			return i;
	}
	loader->group_names = enlarge(loader->group_names, loader->group_count, sizeof(char *));
	loader->group_names[loader->group_count] = pstrdup(name);
	return loader->group_count++;
}

static void
read_resource_type(Loader *loader, TupleTableSlot *slot, Relation relation)
{
	char	   *name = TextDatumGetCString(column_value(slot, relation, "name"));
	char	   *group = TextDatumGetCString(column_value(slot, relation, "price_group"));
	int			group_index = find_or_add_group(loader, group);
	int			i = timeline.resource_count;

	timeline.resource_names = enlarge(timeline.resource_names, i, sizeof(char *));
	loader->resource_group = enlarge(loader->resource_group, i, sizeof(int));
	for (; i > 0 && strcmp(timeline.resource_names[i - 1], name) > 0; i--)
	{
		timeline.resource_names[i] = timeline.resource_names[i - 1];
		loader->resource_group[i] = loader->resource_group[i - 1];
	}
	timeline.resource_names[i] = name;
	loader->resource_group[i] = group_index;
	timeline.resource_count++;
}

static void
read_base_price(Loader *loader, TupleTableSlot *slot, Relation relation)
{
	char	   *name = TextDatumGetCString(column_value(slot, relation, "resource_type"));
	BasePricePoint point;

	point.resource = yq_timeline_resource(name, strlen(name));
	if (point.resource < 0)
		return;
	point.effective_at = DatumGetTimestampTz(column_value(slot, relation, "effective_at"));
	point.base_price = yq_decimal_from_numeric(DatumGetNumeric(column_value(slot, relation, "base_price")));
	point.unit = DatumGetInt64(column_value(slot, relation, "unit"));

	loader->base_points = enlarge(loader->base_points, loader->base_count,
								  sizeof(BasePricePoint));
	loader->base_points[loader->base_count++] = point;
}

static int
compare_base_points(const void *a, const void *b)
{
	const BasePricePoint *left = a;
	const BasePricePoint *right = b;

	if (left->resource != right->resource)
		return left->resource - right->resource;
	return timestamptz_cmp_internal(left->effective_at, right->effective_at);
}

static int
compare_factors(const void *a, const void *b)
{
	const YqFactor *left = a;
	const YqFactor *right = b;

	if (left->dimension != right->dimension)
		return left->dimension - right->dimension;
	return strcmp(left->name, right->name);
}

static int
compare_factor_points(const void *a, const void *b)
{
	return timestamptz_cmp_internal(((const YqFactorPoint *) a)->effective_at,
									((const YqFactorPoint *) b)->effective_at);
}

static YqFactor *
find_or_add_factor(int dimension, const char *name)
{
	YqFactor   *factor;

	for (int i = 0; i < timeline.factor_count; i++)
	{
		if (timeline.factors[i].dimension == dimension &&
			strcmp(timeline.factors[i].name, name) == 0)
			return &timeline.factors[i];
	}
	timeline.factors = enlarge(timeline.factors, timeline.factor_count, sizeof(YqFactor));
	factor = &timeline.factors[timeline.factor_count++];
	factor->dimension = dimension;
	factor->name = pstrdup(name);
	factor->point_count = 0;
	factor->points = NULL;
	return factor;
}

static int
dimension_of_enum(Oid enum_value)
{
	for (int i = 0; i < YQ_FACTOR_DIMENSIONS; i++)
	{
		if (yq_enum_oid("factor_dimension", dimension_names[i]) == enum_value)
			return i;
	}
	elog(ERROR, "unknown factor dimension %u", enum_value);
}

static void
read_factor(Loader *loader, TupleTableSlot *slot, Relation relation)
{
	int			dimension = dimension_of_enum(DatumGetObjectId(column_value(slot, relation, "dimension")));
	char	   *name = TextDatumGetCString(column_value(slot, relation, "name"));
	YqDecimal	value = yq_decimal_from_numeric(DatumGetNumeric(column_value(slot, relation, "factor")));
	YqFactor   *factor = find_or_add_factor(dimension, name);
	YqFactorPoint *point;

	if (value.decimals > 6)
		yq_amount_out_of_range();
	factor->points = enlarge(factor->points, factor->point_count, sizeof(YqFactorPoint));
	point = &factor->points[factor->point_count++];
	point->effective_at = DatumGetTimestampTz(column_value(slot, relation, "effective_at"));
	point->value = (uint64) (value.digits * yq_power_of_ten(6 - value.decimals));
}

static void
read_outage(Loader *loader, TupleTableSlot *slot, Relation relation)
{
	Datum		project = column_value(slot, relation, "project");
	YqOutage   *outage;

	if (!DatumGetBool(column_value(slot, relation, "forgiven")))
		return;
	timeline.outages = enlarge(timeline.outages, timeline.outage_count, sizeof(YqOutage));
	outage = &timeline.outages[timeline.outage_count++];
	outage->project = project == (Datum) 0 ? NULL : TextDatumGetCString(project);
	outage->started_at = DatumGetTimestampTz(column_value(slot, relation, "started_at"));
	outage->ended_at = DatumGetTimestampTz(column_value(slot, relation, "ended_at"));
}

static void
read_charging_rule(Loader *loader, TupleTableSlot *slot, Relation relation)
{
	Interval   *minimum = DatumGetIntervalP(column_value(slot, relation, "minimum_run_time"));
	YqChargingRule *rule;

	timeline.rules = enlarge(timeline.rules, timeline.rule_count, sizeof(YqChargingRule));
	rule = &timeline.rules[timeline.rule_count++];
	rule->effective_at = DatumGetTimestampTz(column_value(slot, relation, "effective_at"));
	/* a month counts as 30 days, as when intervals are compared */
	rule->minimum_run_time = minimum->time +
		((int64) minimum->month * DAYS_PER_MONTH + minimum->day) * USECS_PER_DAY;
}

static int
compare_rules(const void *a, const void *b)
{
	return timestamptz_cmp_internal(((const YqChargingRule *) a)->effective_at,
									((const YqChargingRule *) b)->effective_at);
}

/* -- reading the multipliers --------------------------------------------- */

static void
add_multiplier(Loader *loader, int group, TupleTableSlot *slot, Relation relation)
{
	MultiplierPoint *point;

	loader->multipliers = enlarge(loader->multipliers, loader->multiplier_count,
								  sizeof(MultiplierPoint));
	point = &loader->multipliers[loader->multiplier_count++];
	point->group = group;
	point->effective_at = DatumGetTimestampTz(column_value(slot, relation, "effective_at"));
	point->multiplier = yq_decimal_from_numeric(DatumGetNumeric(column_value(slot, relation, "multiplier")));
}

/*
 * Read the points of one group: the one in force at "from" and all later ones.
 * The primary key (price_group, effective_at) serves both scans.
 */
static void
read_multipliers_of_group(Loader *loader, Relation relation, Relation index,
						  int group, TimestampTz from)
{
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	ScanKeyData keys[2];
	IndexScanDesc scan;

	scan = index_beginscan(relation, index, loader->snapshot, NULL, 2, 0);
	ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(loader->group_names[group]));
	keys[0].sk_collation = C_COLLATION_OID;

	ScanKeyInit(&keys[1], 2, BTLessEqualStrategyNumber, F_TIMESTAMPTZ_LE,
				TimestampTzGetDatum(from));
	index_rescan(scan, keys, 2, NULL, 0);
	if (index_getnext_slot(scan, BackwardScanDirection, slot))
		add_multiplier(loader, group, slot, relation);

	ScanKeyInit(&keys[1], 2, BTGreaterStrategyNumber, F_TIMESTAMPTZ_GT,
				TimestampTzGetDatum(from));
	index_rescan(scan, keys, 2, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		add_multiplier(loader, group, slot, relation);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

static void
read_multipliers(Loader *loader, TimestampTz from)
{
	Relation	relation = yq_table_open(YQ_PRICE, AccessShareLock);
	Relation	index = index_open(yq_index_oid(YQ_PRICE, "price_pkey"), AccessShareLock);

	for (int group = 0; group < loader->group_count; group++)
		read_multipliers_of_group(loader, relation, index, group, from);
	index_close(index, AccessShareLock);
	table_close(relation, AccessShareLock);
}

/*
 * Read the changes after "known_version": sets the newest version and whether
 * any is the transaction's own, and returns the earliest instant that they
 * bear on.
 */
static TimestampTz
read_changes(Loader *loader, int64 known_version, int64 *newest, bool *own)
{
	Relation	relation = yq_table_open(YQ_PRICING_CHANGE, AccessShareLock);
	Relation	index = index_open(yq_index_oid(YQ_PRICING_CHANGE, "pricing_change_pkey"),
								   AccessShareLock);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	IndexScanDesc scan = index_beginscan(relation, index, loader->snapshot, NULL, 0, 0);
	TimestampTz earliest = DT_NOEND;

	*newest = 0;
	*own = false;
	index_rescan(scan, NULL, 0, NULL, 0);
	while (index_getnext_slot(scan, BackwardScanDirection, slot))
	{
		int64		version = DatumGetInt64(column_value(slot, relation, "version"));
		bool		isnull;
		TransactionId xmin = DatumGetTransactionId(slot_getsysattr(slot, MinTransactionIdAttributeNumber, &isnull));

		*newest = Max(*newest, version);
		if (version <= known_version)
			break;
		*own |= TransactionIdIsCurrentTransactionId(xmin);
		earliest = Min(earliest,
					   DatumGetTimestampTz(column_value(slot, relation, "effective_from")));
		/* a cache that does not exist yet need not know what changed */
		if (known_version == 0 && !*own)
			break;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	table_close(relation, AccessShareLock);
	return earliest;
}

/* -- making stretches ---------------------------------------------------- */

static int
compare_instants(const void *a, const void *b)
{
	return timestamptz_cmp_internal(*(const TimestampTz *) a, *(const TimestampTz *) b);
}

/* Every instant after "from" at which something changes, sorted, each once. */
static TimestampTz *
collect_breakpoints(Loader *loader, TimestampTz from, int *count)
{
	Size		room = 1 + loader->multiplier_count + loader->base_count +
		2 * timeline.outage_count;
	TimestampTz *instants;
	int			n = 0;
	int			kept = 1;

	for (int i = 0; i < timeline.factor_count; i++)
		room += timeline.factors[i].point_count;
	instants = palloc_extended(room * sizeof(TimestampTz), MCXT_ALLOC_HUGE);

#define ADD_BREAKPOINT(instant) \
	do { if ((instant) > from) instants[n++] = (instant); } while (0)

	instants[n++] = from;
	for (int i = 0; i < loader->multiplier_count; i++)
		ADD_BREAKPOINT(loader->multipliers[i].effective_at);
	for (int i = 0; i < loader->base_count; i++)
		ADD_BREAKPOINT(loader->base_points[i].effective_at);
	for (int i = 0; i < timeline.outage_count; i++)
	{
		ADD_BREAKPOINT(timeline.outages[i].started_at);
		ADD_BREAKPOINT(timeline.outages[i].ended_at);
	}
	for (int i = 0; i < timeline.factor_count; i++)
	{
		for (int j = 0; j < timeline.factors[i].point_count; j++)
			ADD_BREAKPOINT(timeline.factors[i].points[j].effective_at);
	}
#undef ADD_BREAKPOINT

	qsort(instants, n, sizeof(TimestampTz), compare_instants);
	for (int i = 1; i < n; i++)
	{
		if (instants[i] != instants[i - 1])
			instants[kept++] = instants[i];
	}
	*count = kept;
	return instants;
}

static void
make_room_for_stretches(int count)
{
	if (count <= stretch_room)
		return;

	stretch_room = Max(count + count / 4, 64);
	if (timeline.stretch_from == NULL)
	{
		timeline.stretch_from = MemoryContextAllocHuge(timeline_context,
													   stretch_room * sizeof(TimestampTz));
		timeline.prices = MemoryContextAllocHuge(timeline_context,
												 (Size) stretch_room * Max(timeline.resource_count, 1) * sizeof(YqPrice));
		timeline.in_outage = MemoryContextAllocHuge(timeline_context,
													stretch_room * sizeof(bool));
		return;
	}
	timeline.stretch_from = repalloc_huge(timeline.stretch_from,
										  stretch_room * sizeof(TimestampTz));
	timeline.prices = repalloc_huge(timeline.prices,
									(Size) stretch_room * Max(timeline.resource_count, 1) * sizeof(YqPrice));
	timeline.in_outage = repalloc_huge(timeline.in_outage, stretch_room * sizeof(bool));
}

/*
 * Price one resource over the stretches from "first" on: walk its base prices
 * and its group's multipliers side by side.
 */
static void
form_prices(Loader *loader, int resource, int first)
{
	int			group = loader->resource_group[resource];
	int			base = 0;
	int			multiplier = 0;
	const BasePricePoint *base_now = NULL;
	const MultiplierPoint *multiplier_now = NULL;
	YqPrice		price = 0;

	while (base < loader->base_count && loader->base_points[base].resource < resource)
		base++;
	while (multiplier < loader->multiplier_count && loader->multipliers[multiplier].group < group)
		multiplier++;

	for (int i = first; i < timeline.stretch_count; i++)
	{
		TimestampTz from = timeline.stretch_from[i];
		bool		changed = (i == first);

		for (; base < loader->base_count &&
			 loader->base_points[base].resource == resource &&
			 loader->base_points[base].effective_at <= from; base++)
		{
			base_now = &loader->base_points[base];
			changed = true;
		}
		for (; multiplier < loader->multiplier_count &&
			 loader->multipliers[multiplier].group == group &&
			 loader->multipliers[multiplier].effective_at <= from; multiplier++)
		{
			multiplier_now = &loader->multipliers[multiplier];
			changed = true;
		}
		if (changed)
		{
			YqDecimal	one = {1, 0};

			price = base_now == NULL ? 0 :
				yq_price_form(multiplier_now == NULL ? one : multiplier_now->multiplier,
							  base_now->base_price, base_now->unit);
		}
		timeline.prices[(Size) i * timeline.resource_count + resource] = price;
	}
}

static bool
is_everybodys_outage(TimestampTz instant)
{
	for (int i = 0; i < timeline.outage_count; i++)
	{
		if (timeline.outages[i].project == NULL &&
			timeline.outages[i].started_at <= instant &&
			instant < timeline.outages[i].ended_at)
			return true;
	}
	return false;
}

/* Replace the stretches from number "first" on, which begins at "from". */
static void
make_stretches(Loader *loader, int first, TimestampTz from)
{
	int			count;
	TimestampTz *instants = collect_breakpoints(loader, from, &count);

	make_room_for_stretches(first + count);
	memcpy(&timeline.stretch_from[first], instants, count * sizeof(TimestampTz));
	timeline.stretch_count = first + count;
	for (int resource = 0; resource < timeline.resource_count; resource++)
		form_prices(loader, resource, first);
	for (int i = first; i < timeline.stretch_count; i++)
		timeline.in_outage[i] = timeline.outage_count > 0 &&
			is_everybodys_outage(timeline.stretch_from[i]);
}

/* -- filling the cache --------------------------------------------------- */

static void
read_small_tables(Loader *loader)
{
	timeline.resource_count = 0;
	timeline.resource_names = NULL;
	timeline.factor_count = 0;
	timeline.factors = NULL;
	timeline.outage_count = 0;
	timeline.outages = NULL;
	timeline.rule_count = 0;
	timeline.rules = NULL;

	read_table(loader, YQ_RESOURCE_TYPE, read_resource_type);
	read_table(loader, YQ_BASE_PRICE, read_base_price);
	if (loader->base_count > 0)
		qsort(loader->base_points, loader->base_count, sizeof(BasePricePoint),
			  compare_base_points);
	read_table(loader, YQ_PRICE_FACTOR, read_factor);
	for (int i = 0; i < timeline.factor_count; i++)
		qsort(timeline.factors[i].points, timeline.factors[i].point_count,
			  sizeof(YqFactorPoint), compare_factor_points);
	if (timeline.factor_count > 0)
		qsort(timeline.factors, timeline.factor_count, sizeof(YqFactor), compare_factors);
	read_table(loader, YQ_OUTAGE, read_outage);
	read_table(loader, YQ_CHARGING_RULE, read_charging_rule);
	if (timeline.rule_count > 0)
		qsort(timeline.rules, timeline.rule_count, sizeof(YqChargingRule), compare_rules);
}

static void
drop_stretches(void)
{
	MemoryContextReset(timeline_context);
	timeline.generation++;
	timeline.stretch_count = 0;
	timeline.stretch_from = NULL;
	timeline.prices = NULL;
	timeline.in_outage = NULL;
	stretch_room = 0;
}

static void
empty_cache(void)
{
	if (timeline_context == NULL)
	{
		timeline_context = AllocSetContextCreate(CacheMemoryContext,
												 "yquota price timeline",
												 ALLOCSET_DEFAULT_SIZES);
		tables_context = AllocSetContextCreate(CacheMemoryContext,
											   "yquota price tables",
											   ALLOCSET_DEFAULT_SIZES);
	}
	drop_stretches();
	timeline.version = 0;
}

/* The names of all resource types, in order, as one text. */
static char *
join_resource_names(void)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < timeline.resource_count; i++)
		appendStringInfo(&names, "%s,", timeline.resource_names[i]);
	return names.data;
}

/* Fill the cache from "from" on, keeping the "kept" stretches before that. */
static void
fill_cache(Loader *loader, int kept, TimestampTz from)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext,
												  "yquota price loading",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(scratch);
	char	   *known_names = join_resource_names();

	MemoryContextReset(tables_context);
	MemoryContextSwitchTo(tables_context);
	read_small_tables(loader);
	MemoryContextSwitchTo(scratch);
	if (timeline.stretch_count > 0 && strcmp(known_names, join_resource_names()) != 0)
	{
		/* the layout of all stretches has changed, and the numbers of resources */
		drop_stretches();
		kept = 0;
		from = window_from;
	}
	read_multipliers(loader, from);
	make_stretches(loader, kept, from);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);

	timeline.fills++;
	timeline.kept_by_fill[timeline.fills % YQ_REMEMBERED_FILLS] = kept;
}

/*
 * What the leader of a parallel plan reads may be older than a change that it
 * has been told of already, and is not kept longer than needed.
 */
static Snapshot
loading_snapshot(void)
{
	if (IsInParallelMode())
		is_current = false;
	return yq_latest_snapshot();
}

static void
load_window(TimestampTz from)
{
	Loader		loader = {0};
	bool		own;
	int64		newest;

	empty_cache();
	loader.snapshot = loading_snapshot();
	(void) read_changes(&loader, 0, &newest, &own);
	window_from = from;
	fill_cache(&loader, 0, from);
	timeline.version = newest;
	has_own_changes = own;
	UnregisterSnapshot(loader.snapshot);
}

/* Bring an outdated cache up to date from the first affected stretch on. */
static void
load_changes(void)
{
	Loader		loader = {0};
	int64		newest;
	bool		own;
	TimestampTz earliest;
	int			kept;

	loader.snapshot = loading_snapshot();
	earliest = read_changes(&loader, timeline.version, &newest, &own);
	if (newest == timeline.version)
	{
		UnregisterSnapshot(loader.snapshot);
		return;
	}

	/* The stretch in which the first change falls is made anew as well. */
	if (newest < timeline.version || earliest <= window_from)
	{
		UnregisterSnapshot(loader.snapshot);
		load_window(window_from);
		return;
	}
	kept = yq_timeline_stretch(earliest - 1);
	fill_cache(&loader, kept, timeline.stretch_from[kept]);
	timeline.version = newest;
	has_own_changes = own;
	UnregisterSnapshot(loader.snapshot);
}

static void
watch_changes(void)
{
	yq_catalog_on_change(YQ_PRICING_CHANGE, &is_current);
	is_watched = true;
}

const YqTimeline *
yq_timeline_refresh(void)
{
	if (!is_watched)
		watch_changes();

	AcceptInvalidationMessages();
	if (is_current && !is_loading)
		return &timeline;

	/* An error may have left it half loaded, or the extension be another one. */
	if (is_loading || yq_table_oid(YQ_PRICING_CHANGE) != loaded_from)
		timeline.stretch_count = 0;
	loaded_from = yq_table_oid(YQ_PRICING_CHANGE);
	is_loading = true;

	/* What is loaded below is as new as any message that comes from now on. */
	is_current = true;
	if (timeline.stretch_count == 0 || timeline.stretch_count > MAX_KEPT_STRETCHES)
		load_window(yq_full_hour(yq_clock_statement()));
	else if (has_own_changes)
		load_window(window_from);
	else
		load_changes();
	is_loading = false;
	return &timeline;
}

const YqTimeline *
yq_timeline_cached(void)
{
	return &timeline;
}

void
yq_timeline_reach(TimestampTz instant)
{
	TimestampTz from;
	TimestampTz span;

	if (timeline.stretch_count > 0 && instant >= window_from)
		return;

	/* Double the window, so that a walk into the past loads it O(log n) times. */
	span = timeline.stretch_from[timeline.stretch_count - 1] - window_from;
	from = Min(yq_full_hour(instant), yq_full_hour(window_from - span));
	is_loading = true;
	load_window(from);
	is_loading = false;
}

int
yq_timeline_stretch(TimestampTz instant)
{
	int			low = 0;
	int			high = timeline.stretch_count - 1;

	Assert(instant >= window_from);
	if (instant >= timeline.stretch_from[high])
		return high;
	while (high - low > 1)
	{
		int			middle = low + (high - low) / 2;

		if (timeline.stretch_from[middle] <= instant)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int
yq_timeline_resource(const char *name, int name_length)
{
	for (int i = 0; i < timeline.resource_count; i++)
	{
		if (strncmp(timeline.resource_names[i], name, name_length) == 0 &&
			timeline.resource_names[i][name_length] == '\0')
			return i;
	}
	return -1;
}

int64
yq_minimum_run_time(TimestampTz started_at)
{
	int64		minimum = 0;

	for (int i = 0; i < timeline.rule_count && timeline.rules[i].effective_at <= started_at; i++)
		minimum = timeline.rules[i].minimum_run_time;
	return minimum;
}
