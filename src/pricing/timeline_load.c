/*-------------------------------------------------------------------------
 *
 * timeline_load.c
 *	  Reading the rows that a timeline is made of.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/wide.h"
#include "catalog/pg_collation_d.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pricing/timeline_load.h"
#include "store/catalog.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

static const char *const dimension_names[YQ_FACTOR_KINDS] = {
	[YQ_FACTOR_QUEUE] = "queue",
	[YQ_FACTOR_APPLICATION] = "application",
	[YQ_FACTOR_USERNAME] = "username",
	[YQ_FACTOR_PROJECT] = "project",
	[YQ_FACTOR_LABEL] = "label",
	[YQ_FACTOR_EXECUTION_TYPE] = "execution_type",
	[YQ_FACTOR_WAITING] = "waiting",
};

static const char *const mode_names[YQ_CHARGING_MODES] = {
	[YQ_CHARGE_DEAREST] = "dearest",
	[YQ_CHARGE_SUM] = "sum",
	[YQ_CHARGE_SUM_OF_GROUPS] = "sum_of_groups",
};

const char *
yq_timeline_mode_name(YqChargingMode mode)
{
	return mode_names[mode];
}

const char *
yq_timeline_dimension_name(int dimension)
{
	return dimension_names[dimension];
}

int
yq_timeline_load_resource(const YqTimeline *timeline, const char *name, int name_length)
{
	for (int i = 0; i < timeline->resource_count; i++)
	{
		if (strncmp(timeline->resource_names[i], name, name_length) == 0 &&
			timeline->resource_names[i][name_length] == '\0')
			return i;
	}
	return -1;
}

/* -- reading small tables ------------------------------------------------ */

typedef void (*RowReader) (YqTimelineLoader *loader, TupleTableSlot *slot, Relation relation);

static void
load_table(YqTimelineLoader *loader, YqTable table, RowReader reader)
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

/* Load rows from the array that replaces the table. */
static void
load_rows(YqTimelineLoader *loader, YqTable table, ArrayType *rows, RowReader reader)
{
	Relation	relation = yq_table_open(table, AccessShareLock);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsHeapTuple);
	ArrayIterator iterator = array_create_iterator(rows, 0, NULL);
	Datum		element;
	bool		isnull;

	while (array_iterate(iterator, &element, &isnull))
	{
		HeapTupleData tuple = {0};

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;
		tuple.t_data = DatumGetHeapTupleHeader(element);
		tuple.t_len = HeapTupleHeaderGetDatumLength(tuple.t_data);
		ItemPointerSetInvalid(&tuple.t_self);
		ExecStoreHeapTuple(&tuple, slot, false);
		reader(loader, slot, relation);
	}
	array_free_iterator(iterator);
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

/* Make room for one more element in a palloc'd array whose size is a power of two. */
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
find_or_add_group(YqTimelineLoader *loader, const char *name)
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
read_resource_type(YqTimelineLoader *loader, TupleTableSlot *slot, Relation relation)
{
	YqTimeline *timeline = loader->timeline;
	char	   *name = TextDatumGetCString(column_value(slot, relation, "name"));
	char	   *group = TextDatumGetCString(column_value(slot, relation, "price_group"));
	int			group_index = find_or_add_group(loader, group);
	int			i = timeline->resource_count;

	timeline->resource_names = enlarge(timeline->resource_names, i, sizeof(char *));
	timeline->resource_groups = enlarge(timeline->resource_groups, i, sizeof(int));
	for (; i > 0 && strcmp(timeline->resource_names[i - 1], name) > 0; i--)
	{
		timeline->resource_names[i] = timeline->resource_names[i - 1];
		timeline->resource_groups[i] = timeline->resource_groups[i - 1];
	}
	timeline->resource_names[i] = name;
	timeline->resource_groups[i] = group_index;
	timeline->resource_count++;
}

static void
read_base_price(YqTimelineLoader *loader, TupleTableSlot *slot, Relation relation)
{
	char	   *name = TextDatumGetCString(column_value(slot, relation, "resource_type"));
	YqBasePricePoint point;

	point.resource = yq_timeline_load_resource(loader->timeline, name, strlen(name));
	if (point.resource < 0)
		return;
	point.effective_at = DatumGetTimestampTz(column_value(slot, relation, "effective_at"));
	point.base_price = yq_decimal_from_numeric(DatumGetNumeric(column_value(slot, relation, "base_price")));
	point.unit = DatumGetInt64(column_value(slot, relation, "unit"));

	loader->base_points = enlarge(loader->base_points, loader->base_count,
								  sizeof(YqBasePricePoint));
	loader->base_points[loader->base_count++] = point;
}

static int
compare_base_points(const void *a, const void *b)
{
	const YqBasePricePoint *left = a;
	const YqBasePricePoint *right = b;

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
find_or_add_factor(YqTimeline *timeline, int dimension, const char *name)
{
	YqFactor   *factor;

	for (int i = 0; i < timeline->factor_count; i++)
	{
		if (timeline->factors[i].dimension == dimension &&
			strcmp(timeline->factors[i].name, name) == 0)
			return &timeline->factors[i];
	}
	timeline->factors = enlarge(timeline->factors, timeline->factor_count, sizeof(YqFactor));
	factor = &timeline->factors[timeline->factor_count++];
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

/* Convert a factor to units of 10^-6. */
static uint64
factor_value(Datum number)
{
	YqDecimal	value = yq_decimal_from_numeric(DatumGetNumeric(number));

	if (value.decimals > 6)
		yq_amount_out_of_range();
	return (uint64) (value.digits * yq_power_of_ten(6 - value.decimals));
}

static void
read_factor(YqTimelineLoader *loader, TupleTableSlot *slot, Relation relation)
{
	int			dimension = dimension_of_enum(DatumGetObjectId(column_value(slot, relation, "dimension")));
	char	   *name = TextDatumGetCString(column_value(slot, relation, "name"));
	Datum		number = column_value(slot, relation, "factor");
	YqFactor   *factor = find_or_add_factor(loader->timeline, dimension, name);
	YqFactorPoint *point;

	factor->points = enlarge(factor->points, factor->point_count, sizeof(YqFactorPoint));
	point = &factor->points[factor->point_count++];
	point->effective_at = DatumGetTimestampTz(column_value(slot, relation, "effective_at"));
	point->value = number == (Datum) 0 ? YQ_FACTOR_ENDED : factor_value(number);
	if (dimension == YQ_FACTOR_LABEL && point->value != YQ_FACTOR_ENDED)
		loader->timeline->labels_from = Min(loader->timeline->labels_from, point->effective_at);
}

static void
read_outage(YqTimelineLoader *loader, TupleTableSlot *slot, Relation relation)
{
	YqTimeline *timeline = loader->timeline;
	Datum		project = column_value(slot, relation, "project");
	YqOutage   *outage;

	if (!DatumGetBool(column_value(slot, relation, "forgiven")))
		return;
	timeline->outages = enlarge(timeline->outages, timeline->outage_count, sizeof(YqOutage));
	outage = &timeline->outages[timeline->outage_count++];
	outage->project = project == (Datum) 0 ? NULL : TextDatumGetCString(project);
	outage->started_at = DatumGetTimestampTz(column_value(slot, relation, "started_at"));
	outage->ended_at = DatumGetTimestampTz(column_value(slot, relation, "ended_at"));
}

/* Count a month as 30 days, as comparisons of intervals do. */
static int64
microseconds_of(const Interval *interval)
{
	return interval->time +
		((int64) interval->month * DAYS_PER_MONTH + interval->day) * USECS_PER_DAY;
}

static YqChargingMode
mode_of_enum(Oid enum_value)
{
	for (int i = 0; i < YQ_CHARGING_MODES; i++)
	{
		if (yq_enum_oid("charging_mode", mode_names[i]) == enum_value)
			return i;
	}
	elog(ERROR, "unknown charging mode %u", enum_value);
}

static void
add_mode_point(YqTimeline *timeline, char *project, TimestampTz effective_at, Datum mode)
{
	YqModePoint *point;

	timeline->mode_points = enlarge(timeline->mode_points, timeline->mode_count, sizeof(YqModePoint));
	point = &timeline->mode_points[timeline->mode_count++];
	point->project = project;
	point->effective_at = effective_at;
	point->has_ended = mode == (Datum) 0;
	point->mode = point->has_ended ? YQ_CHARGE_DEAREST : mode_of_enum(DatumGetObjectId(mode));
	timeline->adds_up |= point->mode != YQ_CHARGE_DEAREST;
}

static void
read_charging_rule(YqTimelineLoader *loader, TupleTableSlot *slot, Relation relation)
{
	YqTimeline *timeline = loader->timeline;
	char	   *project = TextDatumGetCString(column_value(slot, relation, "project"));
	YqChargingRule *rule;

	if (loader->terms == NULL || loader->terms->charging_mode == NULL)
		add_mode_point(timeline, project, DatumGetTimestampTz(column_value(slot, relation, "effective_at")),
					   column_value(slot, relation, "charging_mode"));
	/* the rule of a project contains only a charging mode */
	if (strcmp(project, YQ_ALL_PROJECTS) != 0)
		return;
	timeline->rules = enlarge(timeline->rules, timeline->rule_count, sizeof(YqChargingRule));
	rule = &timeline->rules[timeline->rule_count++];
	rule->effective_at = DatumGetTimestampTz(column_value(slot, relation, "effective_at"));
	rule->minimum_run_time =
		microseconds_of(DatumGetIntervalP(column_value(slot, relation, "minimum_run_time")));
	rule->free_before_preemption =
		microseconds_of(DatumGetIntervalP(column_value(slot, relation, "free_before_preemption")));
	rule->any_preemption_source =
		DatumGetBool(column_value(slot, relation, "any_preemption_source"));
	rule->waiting_factor = (uint32) factor_value(column_value(slot, relation, "waiting_factor"));
	rule->reserved_factor = (uint32) factor_value(column_value(slot, relation, "reserved_factor"));
}

static void
load_horizon(YqTimelineLoader *loader, TupleTableSlot *slot, Relation relation)
{
	bool		isnull;
	Datum		horizon = slot_getattr(slot, yq_column(relation, "horizon"), &isnull);

	if (!isnull)
		loader->timeline->horizon = Max(loader->timeline->horizon,
										DatumGetTimestampTz(horizon));
}

static void
read_closed_period(YqTimelineLoader *loader, TupleTableSlot *slot, Relation relation)
{
	YqTimeline *timeline = loader->timeline;
	TimestampTz until = DatumGetTimestampTz(column_value(slot, relation, "until"));
	bool		isnull;
	Datum		closed_at = slot_getattr(slot, yq_column(relation, "closed_at"), &isnull);
	int			place = timeline->period_count;

	timeline->period_ends = enlarge(timeline->period_ends, place, sizeof(TimestampTz));
	for (; place > 0 && timeline->period_ends[place - 1] > until; place--)
		timeline->period_ends[place] = timeline->period_ends[place - 1];
	timeline->period_ends[place] = until;
	timeline->period_count++;
	if (!isnull)
		timeline->booked_through = Max(timeline->booked_through,
									   DatumGetTimestampTz(closed_at));
}

static int
compare_mode_points(const void *a, const void *b)
{
	const YqModePoint *left = a;
	const YqModePoint *right = b;
	int			order = strcmp(left->project, right->project);

	return order != 0 ? order : timestamptz_cmp_internal(left->effective_at, right->effective_at);
}

static int
compare_charging_rules(const void *a, const void *b)
{
	return timestamptz_cmp_internal(((const YqChargingRule *) a)->effective_at,
									((const YqChargingRule *) b)->effective_at);
}

/* -- reading the points of price groups ------------------------------------ */

/* A table of points of price groups, with the facts that a scan of the table needs. */
typedef struct GroupPointTable
{
	YqTable		table;
	const char *index_name;
	const char *value_column;
} GroupPointTable;

static const GroupPointTable multiplier_table = {YQ_PRICE, "price_pkey", "multiplier"};
static const GroupPointTable calendar_factor_table = {YQ_CALENDAR_FACTOR, "calendar_factor_pkey", "factor"};

/* Columns of a table of points.  They are looked up once for all rows of a load. */
typedef struct PointColumns
{
	AttrNumber	effective_at;
	AttrNumber	value;
} PointColumns;

static void
add_group_point(YqGroupPoints *points, int group, TupleTableSlot *slot, const PointColumns *columns)
{
	YqGroupPoint *point;
	bool		isnull;

	points->points = enlarge(points->points, points->count, sizeof(YqGroupPoint));
	point = &points->points[points->count++];
	point->group = group;
	point->effective_at = DatumGetTimestampTz(slot_getattr(slot, columns->effective_at, &isnull));
	point->value = yq_decimal_from_numeric(DatumGetNumeric(slot_getattr(slot, columns->value, &isnull)));
}

/* Read a row of the array that replaces a table. */
static void
read_group_point(YqTimelineLoader *loader, YqGroupPoints *points, const GroupPointTable *table,
				 TupleTableSlot *slot, Relation relation)
{
	PointColumns columns = {yq_column(relation, "effective_at"), yq_column(relation, table->value_column)};
	char	   *group = TextDatumGetCString(column_value(slot, relation, "price_group"));

	add_group_point(points, find_or_add_group(loader, group), slot, &columns);
	pfree(group);
}

static void
read_multiplier(YqTimelineLoader *loader, TupleTableSlot *slot, Relation relation)
{
	read_group_point(loader, &loader->multipliers, &multiplier_table, slot, relation);
}

static void
read_calendar_factor(YqTimelineLoader *loader, TupleTableSlot *slot, Relation relation)
{
	read_group_point(loader, &loader->calendar_factors, &calendar_factor_table, slot, relation);
}

static int
compare_group_points(const void *a, const void *b)
{
	const YqGroupPoint *left = a;
	const YqGroupPoint *right = b;

	if (left->group != right->group)
		return left->group - right->group;
	return timestamptz_cmp_internal(left->effective_at, right->effective_at);
}

/*
 * Read the points of one group: the point in force at "from" and all later points.  Both scans use
 * the primary key (price_group, effective_at).
 */
static void
read_points_of_group(YqTimelineLoader *loader, YqGroupPoints *points, const PointColumns *columns,
					 Relation relation, Relation index, int group, TimestampTz from)
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
		add_group_point(points, group, slot, columns);

	ScanKeyInit(&keys[1], 2, BTGreaterStrategyNumber, F_TIMESTAMPTZ_GT,
				TimestampTzGetDatum(from));
	index_rescan(scan, keys, 2, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		add_group_point(points, group, slot, columns);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

static void
load_points_of_groups(YqTimelineLoader *loader, YqGroupPoints *points, const GroupPointTable *table, TimestampTz from)
{
	Relation	relation = yq_table_open(table->table, AccessShareLock);
	Relation	index = index_open(yq_index_oid(table->table, table->index_name), AccessShareLock);
	PointColumns columns = {yq_column(relation, "effective_at"), yq_column(relation, table->value_column)};

	for (int group = 0; group < loader->group_count; group++)
		read_points_of_group(loader, points, &columns, relation, index, group, from);
	index_close(index, AccessShareLock);
	table_close(relation, AccessShareLock);
}

static void
load_assumed_points(YqTimelineLoader *loader, YqGroupPoints *points, YqTable table, ArrayType *rows, RowReader reader)
{
	load_rows(loader, table, rows, reader);
	if (points->count > 0)
		qsort(points->points, points->count, sizeof(YqGroupPoint), compare_group_points);
}

void
yq_timeline_load_group_points(YqTimelineLoader *loader, TimestampTz from)
{
	const YqTerms *terms = loader->terms;

	if (terms != NULL && terms->multipliers != NULL)
		load_assumed_points(loader, &loader->multipliers, YQ_PRICE, terms->multipliers, read_multiplier);
	else
		load_points_of_groups(loader, &loader->multipliers, &multiplier_table, from);

	if (terms != NULL && terms->calendar_factors != NULL)
		load_assumed_points(loader, &loader->calendar_factors, YQ_CALENDAR_FACTOR, terms->calendar_factors,
							read_calendar_factor);
	else if (!yq_table_has_no_pages(YQ_CALENDAR_FACTOR))
		load_points_of_groups(loader, &loader->calendar_factors, &calendar_factor_table, from);
}

TimestampTz
yq_timeline_load_changes(YqTimelineLoader *loader, int64 known_version, int64 *newest, bool *own)
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

		CHECK_FOR_INTERRUPTS();
		*newest = Max(*newest, version);
		if (version <= known_version)
			break;
		*own |= TransactionIdIsCurrentTransactionId(xmin);
		earliest = Min(earliest,
					   DatumGetTimestampTz(column_value(slot, relation, "effective_from")));
		/* an empty cache needs only the newest version, not the changes */
		if (known_version == YQ_NO_VERSION && !*own)
			break;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	table_close(relation, AccessShareLock);
	return earliest;
}

/* -- reading the factors -------------------------------------------------- */

/* Read the points that a scan with the keys finds.  If only_last is set, read only the last one. */
static void
read_factors(YqTimelineLoader *loader, Relation relation, Relation index, ScanKey keys, int key_count, bool only_last)
{
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	IndexScanDesc scan = index_beginscan(relation, index, loader->snapshot, NULL, key_count, 0);

	index_rescan(scan, keys, key_count, NULL, 0);
	while (index_getnext_slot(scan, only_last ? BackwardScanDirection : ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		read_factor(loader, slot, relation);
		if (only_last)
			break;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/* Use the points of a factor that the cache has kept.  Returns false if there are none. */
static bool
keep_factor_points(YqTimelineLoader *loader, const char *execution_type)
{
	for (int i = 0; i < loader->kept_factor_count; i++)
	{
		const YqFactor *kept = &loader->kept_factors[i];
		YqFactor   *factor;

		if (strcmp(kept->name, execution_type) != 0 || kept->point_count == 0)
			continue;
		factor = find_or_add_factor(loader->timeline, YQ_FACTOR_EXECUTION_TYPE, execution_type);
		for (int j = 0; j < kept->point_count; j++)
		{
			factor->points = enlarge(factor->points, factor->point_count, sizeof(YqFactorPoint));
			factor->points[factor->point_count++] = kept->points[j];
		}
		return true;
	}
	return false;
}

/* Read the points of one factor.  The primary key is (dimension, name, effective_at). */
static void
read_factors_of_execution_type(YqTimelineLoader *loader, Relation relation, Relation index, const char *execution_type)
{
	ScanKeyData keys[3];

	ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_ENUM_EQ,
				ObjectIdGetDatum(yq_enum_oid("factor_dimension", dimension_names[YQ_FACTOR_EXECUTION_TYPE])));
	ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_TEXTEQ, CStringGetTextDatum(execution_type));
	keys[1].sk_collation = C_COLLATION_OID;
	ScanKeyInit(&keys[2], 3, BTLessEqualStrategyNumber, F_TIMESTAMPTZ_LE, TimestampTzGetDatum(loader->factors_from));
	if (!keep_factor_points(loader, execution_type))
		read_factors(loader, relation, index, keys, lengthof(keys), true);
	ScanKeyInit(&keys[2], 3, BTGreaterStrategyNumber, F_TIMESTAMPTZ_GT, TimestampTzGetDatum(loader->factors_from));
	read_factors(loader, relation, index, keys, lengthof(keys), false);
}

/*
 * Load all factors.  The other dimensions come first in the index.  Factors of execution types may
 * change as often as multipliers.  Only their new points are read, as for multipliers.
 */
static void
load_factors(YqTimelineLoader *loader)
{
	Relation	relation;
	Relation	index;
	ScanKeyData key;

	if (loader->terms != NULL && loader->terms->factors != NULL)
	{
		load_rows(loader, YQ_PRICE_FACTOR, loader->terms->factors, read_factor);
		return;
	}
	if (yq_table_has_no_pages(YQ_PRICE_FACTOR))
		return;
	relation = yq_table_open(YQ_PRICE_FACTOR, AccessShareLock);
	index = index_open(yq_index_oid(YQ_PRICE_FACTOR, "price_factor_pkey"), AccessShareLock);
	ScanKeyInit(&key, 1, BTLessStrategyNumber, F_ENUM_LT,
				ObjectIdGetDatum(yq_enum_oid("factor_dimension", dimension_names[YQ_FACTOR_EXECUTION_TYPE])));
	read_factors(loader, relation, index, &key, 1, false);
	read_factors_of_execution_type(loader, relation, index, "GUARANTEED");
	read_factors_of_execution_type(loader, relation, index, "OPPORTUNISTIC");
	index_close(index, AccessShareLock);
	table_close(relation, AccessShareLock);
}

static void
load_charging_rules(YqTimelineLoader *loader)
{
	YqTimeline *timeline = loader->timeline;

	timeline->rule_count = 0;
	timeline->rules = NULL;
	timeline->mode_count = 0;
	timeline->mode_points = NULL;
	timeline->adds_up = false;
	load_table(loader, YQ_CHARGING_RULE, read_charging_rule);
	if (timeline->rule_count > 0)
		qsort(timeline->rules, timeline->rule_count, sizeof(YqChargingRule), compare_charging_rules);
	if (loader->terms != NULL && loader->terms->charging_mode != NULL)
		add_mode_point(timeline, pstrdup(YQ_ALL_PROJECTS), DT_NOBEGIN,
					   ObjectIdGetDatum(yq_enum_oid("charging_mode", loader->terms->charging_mode)));
	if (timeline->mode_count > 0)
		qsort(timeline->mode_points, timeline->mode_count, sizeof(YqModePoint), compare_mode_points);
}

void
yq_timeline_load_tables(YqTimelineLoader *loader)
{
	YqTimeline *timeline = loader->timeline;

	timeline->resource_count = 0;
	timeline->resource_names = NULL;
	timeline->resource_groups = NULL;
	timeline->factor_count = 0;
	timeline->factors = NULL;
	timeline->labels_from = DT_NOEND;
	timeline->outage_count = 0;
	timeline->outages = NULL;
	timeline->horizon = DT_NOBEGIN;
	timeline->period_count = 0;
	timeline->period_ends = NULL;
	timeline->booked_through = DT_NOBEGIN;

	load_table(loader, YQ_RESOURCE_TYPE, read_resource_type);
	if (loader->terms != NULL && loader->terms->base_prices != NULL)
		load_rows(loader, YQ_BASE_PRICE, loader->terms->base_prices, read_base_price);
	else
		load_table(loader, YQ_BASE_PRICE, read_base_price);
	if (loader->base_count > 0)
		qsort(loader->base_points, loader->base_count, sizeof(YqBasePricePoint),
			  compare_base_points);
	load_factors(loader);
	for (int i = 0; i < timeline->factor_count; i++)
		qsort(timeline->factors[i].points, timeline->factors[i].point_count,
			  sizeof(YqFactorPoint), compare_factor_points);
	if (timeline->factor_count > 0)
		qsort(timeline->factors, timeline->factor_count, sizeof(YqFactor), compare_factors);
	if (loader->terms == NULL || !loader->terms->without_outages)
		load_table(loader, YQ_OUTAGE, read_outage);
	load_charging_rules(loader);
	load_table(loader, YQ_HISTORY_SEGMENT, load_horizon);
	load_table(loader, YQ_CLOSED_PERIOD, read_closed_period);
}
