/*-------------------------------------------------------------------------
 *
 * timeline.c
 *	  The cache of prices in force: intervals, window, refreshing.
 *
 * The intervals have a memory context of their own.  Another memory context contains the rows of
 * the small tables (resource types, base prices, factors, outages, rules).  After every change, the
 * next refresh reads the small tables again.  Multipliers, calendar factors and the factors of
 * execution types may have many rows.  The refresh reads only those rows that apply at or after the
 * first instant that has changed.  timeline_load.c reads the tables.
 *
 * The relation cache callback only clears "is_current"; see store/catalog.h.  A cache that contains
 * uncommitted changes of its own transaction is loaded again completely.  After a rollback, another
 * transaction may use the version number of this cache for other changes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pricing/timeline.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* The next refresh drops a window with more intervals than this. */
#define MAX_KEPT_INTERVALS 262144

static YqTimeline timeline;
static MemoryContext timeline_context = NULL;	/* intervals */
static MemoryContext tables_context = NULL; /* rows of the small tables */
static bool is_current = false;
static bool is_loading = false; /* true during a load, and after a load that failed */
static bool has_own_changes = false;
static bool is_watched = false;
static Snapshot loading_snapshot = NULL;	/* snapshot of the parallel plan that loaded the timeline last, or NULL */
static Snapshot pinned_snapshot;	/* valid while is_pinned */
static ResourceOwner pinned_by;
static bool is_pinned = false;	/* set to false when the transaction aborts, which also releases the snapshot */
static uint64 pin_number = 0;	/* number of the pinned snapshot; see yq_timeline_snapshot_number() */
static uint64 plan_number = 0;	/* number of the last parallel plan; see yq_timeline_snapshot_number() */
static Snapshot plan_snapshot = NULL;	/* snapshot of the parallel plan that has plan_number */
static uint64 snapshot_count = 0;
static bool is_of_pinned = false;	/* the timeline was loaded with the pinned snapshot */
static Oid	loaded_from = InvalidOid;	/* OID of pricing_change when the timeline was loaded */
static const YqTerms *assumed_terms = NULL;
static TimestampTz window_from;
static int	interval_room = 0;

TimestampTz
yq_timeline_full_hour(TimestampTz instant)
{
	TimestampTz rest = instant % USECS_PER_HOUR;

	return instant - (rest < 0 ? rest + USECS_PER_HOUR : rest);
}

/* -- making intervals ---------------------------------------------------- */

/* Return the end of the ascending run that begins at "start". */
static int
end_of_run(const TimestampTz *instants, int start, int count)
{
	int			end = start + 1;

	while (end < count && instants[end - 1] <= instants[end])
		end++;
	return Min(end, count);
}

/*
 * Sort instants that consist of a few ascending runs, one for each timeline.  Neighbouring runs
 * are merged until one run is left.  Returns the sorted array, which is either the argument or a
 * new array.
 */
static TimestampTz *
sort_runs(TimestampTz *instants, int count)
{
	TimestampTz *merged = palloc_extended(count * sizeof(TimestampTz), MCXT_ALLOC_HUGE);

	while (end_of_run(instants, 0, count) < count)
	{
		TimestampTz *swapped = instants;

		for (int start = 0; start < count;)
		{
			int			left = start;
			int			left_end = end_of_run(instants, start, count);
			int			right = left_end;
			int			right_end = right < count ? end_of_run(instants, right, count) : right;

			for (int i = start; i < right_end; i++)
				merged[i] = right == right_end ||
					(left < left_end && instants[left] <= instants[right]) ?
					instants[left++] : instants[right++];
			start = right_end;
		}
		instants = merged;
		merged = swapped;
	}
	return instants;
}

/* Collect the instants after "from" at which anything changes.  The result is sorted and has no duplicates. */
static TimestampTz *
collect_breakpoints(YqTimelineLoader *loader, TimestampTz from, int *count)
{
	Size		room = 1 + loader->multipliers.count + loader->calendar_factors.count + loader->base_count +
		2 * timeline.outage_count + timeline.mode_count;
	TimestampTz *instants;
	int			n = 0;
	int			kept = 1;

	for (int i = 0; i < timeline.factor_count; i++)
		room += timeline.factors[i].point_count;
	instants = palloc_extended(room * sizeof(TimestampTz), MCXT_ALLOC_HUGE);

#define ADD_BREAKPOINT(instant) \
	do { if ((instant) > from) instants[n++] = (instant); } while (0)

	instants[n++] = from;
	for (int i = 0; i < loader->multipliers.count; i++)
		ADD_BREAKPOINT(loader->multipliers.points[i].effective_at);
	for (int i = 0; i < loader->calendar_factors.count; i++)
		ADD_BREAKPOINT(loader->calendar_factors.points[i].effective_at);
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
	for (int i = 0; timeline.adds_up && i < timeline.mode_count; i++)
		ADD_BREAKPOINT(timeline.mode_points[i].effective_at);
#undef ADD_BREAKPOINT

	instants = sort_runs(instants, n);
	for (int i = 1; i < n; i++)
	{
		if (instants[i] != instants[i - 1])
			instants[kept++] = instants[i];
	}
	*count = kept;
	return instants;
}

static void
make_room_for_intervals(int count)
{
	if (count <= interval_room)
		return;

	interval_room = Max(count + count / 4, 64);
	if (timeline.interval_from == NULL)
	{
		timeline.interval_from = MemoryContextAllocHuge(timeline_context,
													   interval_room * sizeof(TimestampTz));
		timeline.prices = MemoryContextAllocHuge(timeline_context,
												 (Size) interval_room * Max(timeline.resource_count, 1) * sizeof(YqPrice));
		timeline.in_outage = MemoryContextAllocHuge(timeline_context,
													interval_room * sizeof(bool));
		timeline.modes = MemoryContextAllocHuge(timeline_context, interval_room * sizeof(uint8));
		return;
	}
	timeline.interval_from = repalloc_huge(timeline.interval_from,
										  interval_room * sizeof(TimestampTz));
	timeline.prices = repalloc_huge(timeline.prices,
									(Size) interval_room * Max(timeline.resource_count, 1) * sizeof(YqPrice));
	timeline.in_outage = repalloc_huge(timeline.in_outage, interval_room * sizeof(bool));
	timeline.modes = repalloc_huge(timeline.modes, interval_room * sizeof(uint8));
}

/* The position of a scan of one price group's points in time order. */
typedef struct GroupWalk
{
	const YqGroupPoints *points;	/* the points of all groups */
	int			group;
	int			next;			/* index of the next point */
	YqDecimal	value;			/* 1 until the first point is reached */
} GroupWalk;

static GroupWalk
begin_walk(const YqGroupPoints *points, int group)
{
	GroupWalk	walk = {
		.points = points,
		.group = group,
		.next = 0,
		.value = {1, 0}
	};

	while (walk.next < points->count && points->points[walk.next].group < group)
		walk.next++;
	return walk;
}

/* Advance to the point in force at an instant.  Returns whether the point has changed. */
static bool
advance_walk(GroupWalk *walk, TimestampTz instant)
{
	bool		changed = false;

	for (; walk->next < walk->points->count; walk->next++)
	{
		const YqGroupPoint *point = &walk->points->points[walk->next];

		if (point->group != walk->group || point->effective_at > instant)
			break;
		walk->value = point->value;
		changed = true;
	}
	return changed;
}

/*
 * Compute the prices of a resource in the intervals from "first" on.  The function scans the
 * resource's base prices together with its group's multipliers and calendar factors.
 */
static void
form_prices(YqTimelineLoader *loader, int resource, int first)
{
	int			base = 0;
	const YqBasePricePoint *base_now = NULL;
	GroupWalk	multiplier = begin_walk(&loader->multipliers, timeline.resource_groups[resource]);
	GroupWalk	calendar_factor = begin_walk(&loader->calendar_factors, timeline.resource_groups[resource]);
	YqPrice		price = 0;

	while (base < loader->base_count && loader->base_points[base].resource < resource)
		base++;

	for (int i = first; i < timeline.interval_count; i++)
	{
		TimestampTz from = timeline.interval_from[i];
		bool		changed = (i == first);

		for (; base < loader->base_count &&
			 loader->base_points[base].resource == resource &&
			 loader->base_points[base].effective_at <= from; base++)
		{
			base_now = &loader->base_points[base];
			changed = true;
		}
		changed |= advance_walk(&multiplier, from);
		changed |= advance_walk(&calendar_factor, from);
		if (changed)
			price = base_now == NULL ? 0 :
				yq_price_form(multiplier.value, calendar_factor.value, base_now->base_price, base_now->unit);
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

/* Replace the intervals from number "first" on.  Interval "first" begins at "from". */
static void
make_intervals(YqTimelineLoader *loader, int first, TimestampTz from)
{
	int			count;
	TimestampTz *instants = collect_breakpoints(loader, from, &count);

	make_room_for_intervals(first + count);
	memcpy(&timeline.interval_from[first], instants, count * sizeof(TimestampTz));
	timeline.interval_count = first + count;
	for (int resource = 0; resource < timeline.resource_count; resource++)
		form_prices(loader, resource, first);
	for (int i = first; i < timeline.interval_count; i++)
		timeline.in_outage[i] = timeline.outage_count > 0 &&
			is_everybodys_outage(timeline.interval_from[i]);
	for (int i = first; i < timeline.interval_count; i++)
		timeline.modes[i] = timeline.adds_up ?
			yq_timeline_mode(YQ_ALL_PROJECTS, timeline.interval_from[i]) : YQ_CHARGE_DEAREST;
}

/* -- filling the cache --------------------------------------------------- */

static void
drop_intervals(void)
{
	MemoryContextReset(timeline_context);
	timeline.generation++;
	timeline.interval_count = 0;
	timeline.interval_from = NULL;
	timeline.prices = NULL;
	timeline.in_outage = NULL;
	timeline.modes = NULL;
	interval_room = 0;
}

static void
empty_cache(void)
{
	if (timeline_context == NULL)
		timeline_context = AllocSetContextCreate(CacheMemoryContext,
												 "yquota price timeline",
												 ALLOCSET_DEFAULT_SIZES);
	if (tables_context == NULL)
		tables_context = AllocSetContextCreate(CacheMemoryContext,
											   "yquota price tables",
											   ALLOCSET_DEFAULT_SIZES);
	drop_intervals();
	timeline.version = 0;
}

/* Return the names of all resource types, in order, as a single string. */
static char *
join_resource_names(void)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < timeline.resource_count; i++)
		appendStringInfo(&names, "%s,", timeline.resource_names[i]);
	return names.data;
}

/* Copy the points of execution-type factors up to "from" into the current context. */
static void
keep_factors(YqTimelineLoader *loader, TimestampTz from)
{
	loader->kept_factors = palloc(sizeof(YqFactor) * Max(timeline.factor_count, 1));
	for (int i = 0; i < timeline.factor_count; i++)
	{
		const YqFactor *factor = &timeline.factors[i];
		YqFactor   *kept;

		if (factor->dimension != YQ_FACTOR_EXECUTION_TYPE)
			continue;
		kept = &loader->kept_factors[loader->kept_factor_count++];
		kept->dimension = factor->dimension;
		kept->name = pstrdup(factor->name);
		kept->point_count = yq_factor_points_until(factor, from);
		kept->points = palloc_extended(sizeof(YqFactorPoint) * Max(kept->point_count, 1), MCXT_ALLOC_HUGE);
		memcpy(kept->points, factor->points, sizeof(YqFactorPoint) * kept->point_count);
	}
}

/* Fill the cache from "from" on, and keep the first "kept" intervals, which end at "from". */
static void
fill_cache(YqTimelineLoader *loader, int kept, TimestampTz from)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext,
												  "yquota price loading",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(scratch);
	char	   *known_names = join_resource_names();

	loader->factors_from = from;
	if (kept > 0)
		keep_factors(loader, from);
	MemoryContextReset(tables_context);
	MemoryContextSwitchTo(tables_context);
	yq_timeline_load_tables(loader);
	MemoryContextSwitchTo(scratch);
	if (timeline.interval_count > 0 && strcmp(known_names, join_resource_names()) != 0)
	{
		/* the resource types have other numbers now, so that all intervals have to be rebuilt */
		drop_intervals();
		kept = 0;
		from = window_from;
	}
	yq_timeline_load_group_points(loader, from);
	make_intervals(loader, kept, from);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);

	timeline.fills++;
	timeline.kept_by_fill[timeline.fills % YQ_REMEMBERED_FILLS] = kept;
}

/* -- parallel plans -------------------------------------------------------- */

static Snapshot
copy_snapshot(Snapshot snapshot)
{
	Snapshot	copy = MemoryContextAlloc(CacheMemoryContext, sizeof(SnapshotData) +
										  sizeof(TransactionId) * (snapshot->xcnt + snapshot->subxcnt));

	*copy = *snapshot;
	copy->xip = (TransactionId *) (copy + 1);
	copy->subxip = copy->xip + snapshot->xcnt;
	if (snapshot->xcnt > 0)
		memcpy(copy->xip, snapshot->xip, sizeof(TransactionId) * snapshot->xcnt);
	if (snapshot->subxcnt > 0)
		memcpy(copy->subxip, snapshot->subxip, sizeof(TransactionId) * snapshot->subxcnt);
	return copy;
}

/* Tell whether two snapshots see the same rows.  They may come from different transactions. */
static bool
see_same_rows(Snapshot one, Snapshot other)
{
	return one->xmin == other->xmin && one->xmax == other->xmax &&
		one->curcid == other->curcid && one->takenDuringRecovery == other->takenDuringRecovery &&
		one->xcnt == other->xcnt && one->subxcnt == other->subxcnt &&
		(one->xcnt == 0 || memcmp(one->xip, other->xip, sizeof(TransactionId) * one->xcnt) == 0) &&
		(one->subxcnt <= 0 || memcmp(one->subxip, other->subxip, sizeof(TransactionId) * one->subxcnt) == 0);
}

/*
 * Tell whether the present plan may use the cache.  A parallel plan may not take new snapshots.
 * It may therefore read rows that are older than the invalidations that the backend has received.
 * Prices read by a parallel plan are used only by parallel plans whose snapshots see the same
 * rows.
 */
static bool
is_of_this_plan(void)
{
	return loading_snapshot == NULL ||
		(IsInParallelMode() && see_same_rows(loading_snapshot, GetActiveSnapshot()));
}

Snapshot
yq_timeline_take_snapshot(void)
{
	return is_pinned ? RegisterSnapshot(pinned_snapshot) : yq_latest_snapshot();
}

static Snapshot
take_loading_snapshot(void)
{
	if (loading_snapshot != NULL)
		pfree(loading_snapshot);
	loading_snapshot = NULL;
	if (IsInParallelMode())
		loading_snapshot = copy_snapshot(GetActiveSnapshot());
	return yq_timeline_take_snapshot();
}

static void
load_window(TimestampTz from)
{
	YqTimelineLoader loader = {.timeline = &timeline, .terms = assumed_terms};
	bool		own;
	int64		newest;

	empty_cache();
	loader.snapshot = take_loading_snapshot();
	(void) yq_timeline_load_changes(&loader, YQ_NO_VERSION, &newest, &own);
	window_from = from;
	fill_cache(&loader, 0, from);
	timeline.version = newest;
	has_own_changes = own;
	UnregisterSnapshot(loader.snapshot);
}

/* Bring an outdated cache up to date.  Intervals before the first change are kept. */
static void
load_price_changes(void)
{
	YqTimelineLoader loader = {.timeline = &timeline, .terms = assumed_terms};
	int64		newest;
	bool		own;
	TimestampTz earliest;
	int			kept;

	loader.snapshot = take_loading_snapshot();
	earliest = yq_timeline_load_changes(&loader, timeline.version, &newest, &own);
	if (newest == timeline.version)
	{
		UnregisterSnapshot(loader.snapshot);
		return;
	}

	/* Rebuild the interval that contains the first change, too. */
	if (newest < timeline.version || earliest <= window_from)
	{
		UnregisterSnapshot(loader.snapshot);
		load_window(window_from);
		return;
	}
	kept = yq_timeline_interval(earliest - 1);
	fill_cache(&loader, kept, timeline.interval_from[kept]);
	timeline.version = newest;
	has_own_changes = own;
	UnregisterSnapshot(loader.snapshot);
}

static void
watch_changes(void)
{
	yq_catalog_on_change_of_rows(YQ_PRICING_CHANGE, &is_current);
	is_watched = true;
}

static TimestampTz
first_window_from(void)
{
	TimestampTz now = yq_clock_statement();

	if (assumed_terms == NULL || TIMESTAMP_NOT_FINITE(assumed_terms->from))
		return yq_timeline_full_hour(now);
	return yq_timeline_full_hour(Min(now, assumed_terms->from));
}

/*
 * Tell whether the window is too long to keep.  In a parallel plan, even a long window is kept,
 * because the plan may need it again for its next row.
 */
static bool
is_window_too_long(void)
{
	return timeline.interval_count > MAX_KEPT_INTERVALS && !IsInParallelMode();
}

const YqTimeline *
yq_timeline_refresh(void)
{
	if (!is_watched)
		watch_changes();

	if (is_pinned && is_of_pinned && !is_loading)
		return &timeline;
	yq_catalog_accept_changes();
	if (!is_pinned && is_current && !is_loading && is_of_this_plan())
		return &timeline;

	/*
	 * An error may have left the cache partly loaded, or the extension may have been dropped and
	 * created again.
	 */
	if (is_loading || yq_table_oid(YQ_PRICING_CHANGE) != loaded_from)
		timeline.interval_count = 0;
	loaded_from = yq_table_oid(YQ_PRICING_CHANGE);
	is_loading = true;

	/*
	 * An invalidation that arrives from here on sets is_current to false again.  The snapshot taken
	 * below sees the changes of all earlier invalidations, unless it is the pinned snapshot.
	 */
	is_current = !is_pinned;
	is_of_pinned = is_pinned;
	if (timeline.interval_count == 0 || is_window_too_long())
		load_window(first_window_from());
	else if (has_own_changes)
		load_window(window_from);
	else
		load_price_changes();
	is_loading = false;
	return &timeline;
}

void
yq_timeline_assume(const YqTerms *terms)
{
	assumed_terms = terms;
	is_current = false;
	timeline.interval_count = 0;
}

void
yq_timeline_pin(void)
{
	static bool ends_by_abort = false;

	if (!ends_by_abort)
		yq_catalog_on_abort(&is_pinned);
	ends_by_abort = true;
	yq_timeline_unpin();
	pinned_by = CurTransactionResourceOwner;
	pinned_snapshot = RegisterSnapshotOnOwner(GetActiveSnapshot(), pinned_by);
	is_pinned = true;
	is_of_pinned = false;
	pin_number = ++snapshot_count;
}

void
yq_timeline_unpin(void)
{
	if (is_pinned)
		UnregisterSnapshotFromOwner(pinned_snapshot, pinned_by);
	is_pinned = false;
}

uint64
yq_timeline_snapshot_number(void)
{
	if (is_pinned)
		return pin_number;
	if (!IsInParallelMode())
		return 0;
	if (plan_snapshot == NULL || !see_same_rows(plan_snapshot, GetActiveSnapshot()))
	{
		if (plan_snapshot != NULL)
			pfree(plan_snapshot);
		plan_snapshot = NULL;
		plan_snapshot = copy_snapshot(GetActiveSnapshot());
		plan_number = ++snapshot_count;
	}
	return plan_number;
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

	if (timeline.interval_count > 0 && instant >= window_from)
		return;

	/* Double the window.  A caller that goes back step by step then reloads the window only O(log n) times. */
	span = timeline.interval_from[timeline.interval_count - 1] - window_from;
	from = Min(yq_timeline_full_hour(instant), yq_timeline_full_hour(window_from - span));
	is_loading = true;
	load_window(from);
	is_loading = false;
}

/* Remember the last answer, because callers often ask for the same version again. */
TimestampTz
yq_timeline_changed_from(int64 version)
{
	static uint64 asked_fills = 0;
	static int64 asked_version = YQ_NO_VERSION;
	static TimestampTz answer;
	YqTimelineLoader loader = {.timeline = &timeline};
	int64		newest;
	bool		own;

	if (version == timeline.version)
		return DT_NOEND;
	if (asked_fills == timeline.fills && asked_version == version && (is_pinned ? is_of_pinned : is_current))
		return answer;

	loader.snapshot = yq_timeline_take_snapshot();
	answer = yq_timeline_load_changes(&loader, version, &newest, &own);
	UnregisterSnapshot(loader.snapshot);
	if (newest < version)
		answer = DT_NOBEGIN;
	asked_fills = timeline.fills;
	asked_version = version;
	return answer;
}

int
yq_timeline_unchanged_intervals(uint64 fills)
{
	int			kept = INT_MAX;

	if (timeline.fills - fills >= YQ_REMEMBERED_FILLS)
		return 0;
	while (++fills <= timeline.fills)
		kept = Min(kept, timeline.kept_by_fill[fills % YQ_REMEMBERED_FILLS]);
	return kept;
}

int
yq_factor_points_until(const YqFactor *factor, TimestampTz instant)
{
	int			low = 0;
	int			high = factor->point_count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (factor->points[middle].effective_at <= instant)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int
yq_timeline_interval(TimestampTz instant)
{
	int			low = 0;
	int			high = timeline.interval_count - 1;

	Assert(instant >= window_from);
	if (instant >= timeline.interval_from[high])
		return high;
	while (high - low > 1)
	{
		int			middle = low + (high - low) / 2;

		if (timeline.interval_from[middle] <= instant)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int
yq_timeline_resource(const char *name, int name_length)
{
	return yq_timeline_load_resource(&timeline, name, name_length);
}

/* Return the charging rule in force at an instant, or NULL if there is none. */
static const YqChargingRule *
charging_rule(TimestampTz at)
{
	const YqChargingRule *rule = NULL;

	for (int i = 0; i < timeline.rule_count && timeline.rules[i].effective_at <= at; i++)
		rule = &timeline.rules[i];
	return rule;
}

int64
yq_timeline_minimum_run_time(TimestampTz started_at)
{
	const YqChargingRule *rule = charging_rule(started_at);

	return rule == NULL ? 0 : rule->minimum_run_time;
}

int64
yq_timeline_free_before_preemption(TimestampTz started_at, bool *any_source)
{
	const YqChargingRule *rule = charging_rule(started_at);

	*any_source = rule != NULL && rule->any_preemption_source;
	return rule == NULL ? 0 : rule->free_before_preemption;
}

uint32
yq_timeline_waiting_factor(TimestampTz began_at)
{
	const YqChargingRule *rule = charging_rule(began_at);

	return rule == NULL ? 0 : rule->waiting_factor;
}

uint32
yq_timeline_reserved_factor(TimestampTz accepted_at)
{
	const YqChargingRule *rule = charging_rule(accepted_at);

	return rule == NULL ? 0 : rule->reserved_factor;
}

/* Return the number of mode points that sort at or before a project and an instant. */
static int
mode_points_until(const char *project, TimestampTz at)
{
	int			low = 0;
	int			high = timeline.mode_count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		const YqModePoint *point = &timeline.mode_points[middle];
		int			order = strcmp(point->project, project);

		if (order < 0 || (order == 0 && point->effective_at <= at))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return the last mode point of a project at or before an instant, or NULL. */
static const YqModePoint *
mode_point(const char *project, TimestampTz at)
{
	int			number = mode_points_until(project, at) - 1;

	return number >= 0 && strcmp(timeline.mode_points[number].project, project) == 0 ?
		&timeline.mode_points[number] : NULL;
}

bool
yq_timeline_has_mode(const char *project)
{
	return strcmp(project, YQ_ALL_PROJECTS) != 0 && mode_point(project, DT_NOEND) != NULL;
}

YqChargingMode
yq_timeline_mode(const char *project, TimestampTz at)
{
	const YqModePoint *point = mode_point(project, at);

	if (point == NULL || point->has_ended)
		point = mode_point(YQ_ALL_PROJECTS, at);
	return point == NULL ? YQ_CHARGE_DEAREST : point->mode;
}

bool
yq_timeline_mode_changes(const char *project, TimestampTz from, TimestampTz to)
{
	return mode_points_until(project, from) != mode_points_until(project, to - 1) ||
		mode_points_until(YQ_ALL_PROJECTS, from) != mode_points_until(YQ_ALL_PROJECTS, to - 1);
}

TimestampTz
yq_timeline_last_period_end(void)
{
	return timeline.period_count == 0 ? DT_NOBEGIN :
		timeline.period_ends[timeline.period_count - 1];
}
