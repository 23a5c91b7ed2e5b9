/*-------------------------------------------------------------------------
 *
 * counters.c
 *	  Summing up a statement's changes of the counters.
 *
 * Every text and vector that a sum is about is interned first, so that sums
 * are found by pointers, however long the names are.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "charging/counters.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "pricing/timeline.h"
#include "store/bulk_insert.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"

/* Tables begin with this many entries: a statement about one container. */
#define FEW_SUMS 4

/* Columns of counter_delta, in table order. */
enum
{
	DELTA_SCOPE,
	DELTA_PROJECT,
	DELTA_SHAPE,
	DELTA_FACTORS,
	DELTA_REFERENCE_AT,
	DELTA_WEIGHT,
	DELTA_ACCRUAL_BASE,
	DELTA_CHARGED,
	DELTA_QUEUE,
	DELTA_LABEL,
	DELTA_USERNAME,
	DELTA_NODE,
	DELTA_EXECUTION_TYPE,
	DELTA_ALLOCATION,
	DELTA_CONTAINERS,
	DELTA_SOURCE,
	DELTA_EVENTS,
	DELTA_LAST_EVENT_AT,
	DELTA_PRICING_VERSION,
	DELTA_PRICED_THROUGH,
	DELTA_RECORDED_AT,
	DELTA_CHANGED_FROM,
	DELTA_CHANGED_BY,
	DELTA_COLUMNS
};

/* Values of the column scope. */
#define SCOPE_ALL 'a'
#define SCOPE_PROJECT 'p'
#define SCOPE_RATE_CLASS 'r'
#define SCOPE_USAGE 'u'
#define SCOPE_NODE 'n'
#define SCOPE_FEED 'f'

/* -- interned values ----------------------------------------------------- */

typedef struct ValueEntry
{
	const struct varlena *value;
	uint32		status;
	uint32		hash;
} ValueEntry;

static inline uint32
hash_value(const struct varlena *value)
{
	return hash_bytes((const unsigned char *) VARDATA_ANY(value),
					  (int) VARSIZE_ANY_EXHDR(value));
}

#define SH_PREFIX value_table
#define SH_ELEMENT_TYPE ValueEntry
#define SH_KEY_TYPE const struct varlena *
#define SH_KEY value
#define SH_HASH_KEY(table, key) hash_value(key)
#define SH_EQUAL(table, a, b) yq_varlena_equal(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* -- sums ---------------------------------------------------------------- */

/*
 * The key of a sum: interned values, the same pointer for equal ones, and NULL
 * for null.  Fields that do not matter for a kind of sum are NULL or zero.
 */
typedef struct SumKey
{
	const struct varlena *names[4];
	int64		number;
} SumKey;

/* Places of the names in the keys of the kinds. */
enum
{
	PROJECT_NAME = 0,			/* of project and class sums */
	CLASS_SHAPE = 1,
	CLASS_FACTORS = 2,
	USAGE_QUEUE = 0,			/* number: the execution type, as for nodes */
	USAGE_LABEL = 1,
	USAGE_USERNAME = 2,
	NODE_NAME = 3,
	SHARE_APPLICATION = 3,		/* queue and username as for usage */
	FEED_SOURCE = 0
};

typedef struct ProjectSum
{
	bool		is_charged;
	YqWide		charged;
	TimestampTz changed_from;	/* DT_NOEND when no instant was told */
} ProjectSum;

typedef struct ClassSum
{
	int128		weight;
	YqWide		accrual_base;
} ClassSum;

typedef struct UsageSum
{
	YqResourceSum *allocation;
	int64		containers;
} UsageSum;

typedef struct FeedSum
{
	int64		events;
	TimestampTz last_event_at;	/* DT_NOBEGIN when none has an instant */
} FeedSum;

typedef struct SumEntry
{
	SumKey		key;
	uint32		status;
	uint32		hash;
	void	   *sum;			/* ProjectSum, ClassSum, UsageSum or FeedSum */
} SumEntry;

static inline uint32
hash_sum_key(const SumKey *key)
{
	uint64		hash = (uint64) key->number;

	/* addresses and numbers: multiplying by an odd number mixes upwards */
	for (int i = 0; i < (int) lengthof(key->names); i++)
		hash = (hash ^ (uint64) (uintptr_t) key->names[i]) * UINT64CONST(0x9E3779B97F4A7C15);
	return (uint32) (hash >> 32);
}

#define SH_PREFIX sum_table
#define SH_ELEMENT_TYPE SumEntry
#define SH_KEY_TYPE SumKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) hash_sum_key(&(key))
#define SH_EQUAL(table, a, b) (memcmp(&(a), &(b), sizeof(SumKey)) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct YqCounters
{
	MemoryContext context;		/* the sums; reset when they are posted */
	int64		pricing_version;
	TimestampTz recorded_at;
	TimestampTz priced_through; /* DT_NOBEGIN when nothing was priced */
	bool		tells_prices;	/* a row of this posting has version and instant */
	value_table_hash *values;	/* NULL when empty, as the next ones */
	sum_table_hash *projects;
	sum_table_hash *classes;
	sum_table_hash *usages;
	sum_table_hash *nodes;
	sum_table_hash *feeds;
	sum_table_hash *shares;
	bool		knows_shares;	/* whether they are counted was looked up */
	bool		counts_shares;
};

YqCounters *
yq_counters_create(int64 pricing_version, TimestampTz recorded_at)
{
	YqCounters *counters = palloc0(sizeof(YqCounters));

	counters->context = AllocSetContextCreate(CurrentMemoryContext,
											  "yquota counter sums",
											  ALLOCSET_DEFAULT_SIZES);
	counters->pricing_version = pricing_version;
	counters->recorded_at = recorded_at;
	counters->priced_through = DT_NOBEGIN;
	return counters;
}

static const struct varlena *
intern(YqCounters *counters, const void *value)
{
	ValueEntry *entry;
	bool		found;

	if (value == NULL)
		return NULL;
	if (counters->values == NULL)
		counters->values = value_table_create(counters->context, FEW_SUMS, NULL);
	entry = value_table_insert(counters->values, value, &found);
	if (!found)
	{
		MemoryContext old_context = MemoryContextSwitchTo(counters->context);

		entry->value = yq_varlena_copy(value);
		MemoryContextSwitchTo(old_context);
	}
	return entry->value;
}

/* The sum of a key, of "size" bytes; zero when it is new. */
static void *
enter_sum(YqCounters *counters, sum_table_hash **table, SumKey key, Size size,
		  bool *found)
{
	SumEntry   *entry;

	if (*table == NULL)
		*table = sum_table_create(counters->context, FEW_SUMS, NULL);
	entry = sum_table_insert(*table, key, found);
	if (!*found)
		entry->sum = MemoryContextAllocZero(counters->context, size);
	return entry->sum;
}

/* To be called before values are interned for a sum. */
static void
post_when_large(YqCounters *counters)
{
	if (MemoryContextMemAllocated(counters->context, false) > get_hash_memory_limit())
		yq_counters_post(counters);
}

static ProjectSum *
enter_project(YqCounters *counters, const text *project)
{
	SumKey		key = {0};
	ProjectSum *sum;
	bool		found;

	key.names[PROJECT_NAME] = intern(counters, project);
	sum = enter_sum(counters, &counters->projects, key, sizeof(ProjectSum), &found);
	if (!found)
		sum->changed_from = DT_NOEND;
	return sum;
}

void
yq_counters_charge(YqCounters *counters, const text *project, const YqWide *amount)
{
	ProjectSum *sum = enter_project(counters, project);

	sum->is_charged = true;
	yq_wide_add(&sum->charged, amount);
}

void
yq_counters_changed_from(YqCounters *counters, const text *project, TimestampTz from)
{
	ProjectSum *sum = enter_project(counters, project);

	sum->changed_from = Min(sum->changed_from, from);
}

void
yq_counters_accrue(YqCounters *counters, const text *project,
				   const YqResource *shape, ArrayType *factors,
				   TimestampTz settled_at, uint64 weight,
				   const YqWide *accrual_base, int sign)
{
	SumKey		key = {0};
	ClassSum   *sum;
	bool		found;

	if (weight == 0)
		return;
	post_when_large(counters);
	key.names[PROJECT_NAME] = intern(counters, project);
	key.names[CLASS_SHAPE] = intern(counters, shape);
	key.names[CLASS_FACTORS] = intern(counters, factors);
	key.number = yq_timeline_full_hour(settled_at);
	sum = enter_sum(counters, &counters->classes, key, sizeof(ClassSum), &found);
	if (sign > 0)
	{
		sum->weight += weight;
		yq_wide_add(&sum->accrual_base, accrual_base);
	}
	else
	{
		sum->weight -= weight;
		yq_wide_subtract(&sum->accrual_base, accrual_base);
	}
}

static void
add_usage(YqCounters *counters, sum_table_hash **table, SumKey key,
		  const YqResource *allocation, int sign)
{
	bool		found;
	UsageSum   *sum = enter_sum(counters, table, key, sizeof(UsageSum), &found);

	if (!found)
		sum->allocation = yq_resource_sum_create(counters->context);
	yq_resource_sum_add(sum->allocation, allocation, sign);
	sum->containers += sign;
}

void
yq_counters_use(YqCounters *counters, const text *queue, const text *label,
				const text *username, const text *node,
				Oid execution_type, const YqResource *allocation, int sign)
{
	SumKey		usage = {.number = execution_type};
	SumKey		on_node = {.number = execution_type};

	usage.names[USAGE_QUEUE] = intern(counters, queue);
	usage.names[USAGE_LABEL] = intern(counters, label);
	usage.names[USAGE_USERNAME] = intern(counters, username);
	add_usage(counters, &counters->usages, usage, allocation, sign);
	if (node == NULL)
		return;
	on_node.names[NODE_NAME] = intern(counters, node);
	add_usage(counters, &counters->nodes, on_node, allocation, sign);
}

/* -- opportunistic containers under limits ------------------------------- */

static void
note_row(const YqRow *row)
{
	*(bool *) row->argument = true;
}

/*
 * The first limit begins to count under a lock of the log, for which this statement would have
 * waited: whatever its snapshot is, the newest state tells.
 */
static bool
shares_are_counted(void)
{
	bool		is_counting = false;
	Snapshot	snapshot;

	if (yq_table_has_no_pages(YQ_OPPORTUNISTIC_COUNTING))
		return false;
	snapshot = yq_latest_snapshot();
	yq_table_scan(YQ_OPPORTUNISTIC_COUNTING, snapshot, NULL, 0, note_row, &is_counting);
	UnregisterSnapshot(snapshot);
	return is_counting;
}

void
yq_counters_share(YqCounters *counters, const text *queue, const text *username,
				  const text *application_id, const YqResource *allocation, int sign)
{
	SumKey		key = {0};

	if (!counters->knows_shares)
		counters->counts_shares = shares_are_counted();
	counters->knows_shares = true;
	if (!counters->counts_shares)
		return;
	key.names[USAGE_QUEUE] = intern(counters, queue);
	key.names[USAGE_USERNAME] = intern(counters, username);
	key.names[SHARE_APPLICATION] = intern(counters, application_id);
	add_usage(counters, &counters->shares, key, allocation, sign);
}

void
yq_counters_feed(YqCounters *counters, const text *source,
				 bool has_occurred_at, TimestampTz occurred_at, TimestampTz recorded_at)
{
	SumKey		key = {0};
	FeedSum    *sum;
	bool		found;

	key.names[FEED_SOURCE] = intern(counters, source);
	sum = enter_sum(counters, &counters->feeds, key, sizeof(FeedSum), &found);
	if (!found)
		sum->last_event_at = DT_NOBEGIN;
	sum->events++;
	if (has_occurred_at && !TIMESTAMP_NOT_FINITE(occurred_at))
	{
		sum->last_event_at = Max(sum->last_event_at, occurred_at);
		counters->recorded_at = Max(counters->recorded_at, recorded_at);
	}
}

void
yq_counters_priced(YqCounters *counters, TimestampTz through)
{
	counters->priced_through = Max(counters->priced_through, through);
}

/* -- posting ------------------------------------------------------------- */

typedef struct Delta
{
	Datum		values[DELTA_COLUMNS];
	bool		nulls[DELTA_COLUMNS];
} Delta;

/* The prices used are those of all rows of a posting: the first one tells them. */
static void
begin_delta(YqCounters *counters, Delta *delta, char scope)
{
	memset(delta->nulls, true, sizeof(delta->nulls));
	memset(delta->values, 0, sizeof(delta->values));

#define PUT(column, datum) \
	do { delta->values[column] = (datum); delta->nulls[column] = false; } while (0)
#define PUT_VARLENA(column, value) \
	do { if ((value) != NULL) PUT(column, PointerGetDatum(value)); } while (0)

	PUT(DELTA_SCOPE, CharGetDatum(scope));
	PUT(DELTA_CHANGED_BY, FullTransactionIdGetDatum(GetTopFullTransactionId()));
	if (scope == SCOPE_ALL || scope == SCOPE_FEED)
		PUT(DELTA_RECORDED_AT, TimestampTzGetDatum(counters->recorded_at));
	if (counters->tells_prices)
		return;
	counters->tells_prices = true;
	PUT(DELTA_PRICING_VERSION, Int64GetDatum(counters->pricing_version));
	if (counters->priced_through != DT_NOBEGIN)
		PUT(DELTA_PRICED_THROUGH, TimestampTzGetDatum(counters->priced_through));
}

static void
put_project(Delta *delta, const SumEntry *entry)
{
	const ProjectSum *sum = entry->sum;

	PUT_VARLENA(DELTA_PROJECT, entry->key.names[PROJECT_NAME]);
	if (sum->is_charged)
		PUT(DELTA_CHARGED, NumericGetDatum(yq_wide_to_numeric(&sum->charged)));
	if (sum->changed_from != DT_NOEND)
		PUT(DELTA_CHANGED_FROM, TimestampTzGetDatum(sum->changed_from));
}

static Numeric
weight_to_numeric(int128 weight)
{
	YqPrice		absolute = weight < 0 ? -(YqPrice) weight : (YqPrice) weight;
	YqWide		wide = {{(uint64) absolute, (uint64) (absolute >> 64)}};

	if (weight >= PG_INT64_MIN && weight <= PG_INT64_MAX)
		return int64_to_numeric((int64) weight);

	/* take it through the money type */
	yq_wide_multiply(&wide, yq_power_of_ten(YQ_AMOUNT_DECIMALS / 2));
	yq_wide_multiply(&wide, yq_power_of_ten(YQ_AMOUNT_DECIMALS / 2));
	if (weight < 0)
		yq_wide_negate(&wide);
	return yq_wide_to_numeric(&wide);
}

static void
put_class(Delta *delta, const SumEntry *entry)
{
	const ClassSum *sum = entry->sum;

	PUT_VARLENA(DELTA_PROJECT, entry->key.names[PROJECT_NAME]);
	PUT_VARLENA(DELTA_SHAPE, entry->key.names[CLASS_SHAPE]);
	PUT_VARLENA(DELTA_FACTORS, entry->key.names[CLASS_FACTORS]);
	PUT(DELTA_REFERENCE_AT, TimestampTzGetDatum(entry->key.number));
	PUT(DELTA_WEIGHT, NumericGetDatum(weight_to_numeric(sum->weight)));
	PUT(DELTA_ACCRUAL_BASE, NumericGetDatum(yq_wide_to_numeric(&sum->accrual_base)));
}

static void
put_usage(Delta *delta, const SumEntry *entry)
{
	const UsageSum *sum = entry->sum;

	PUT_VARLENA(DELTA_QUEUE, entry->key.names[USAGE_QUEUE]);
	PUT_VARLENA(DELTA_LABEL, entry->key.names[USAGE_LABEL]);
	PUT_VARLENA(DELTA_USERNAME, entry->key.names[USAGE_USERNAME]);
	PUT_VARLENA(DELTA_NODE, entry->key.names[NODE_NAME]);
	PUT(DELTA_EXECUTION_TYPE, ObjectIdGetDatum((Oid) entry->key.number));
	PUT(DELTA_ALLOCATION, PointerGetDatum(yq_resource_sum_vector(sum->allocation)));
	PUT(DELTA_CONTAINERS, Int64GetDatum(sum->containers));
}

static void
put_feed(Delta *delta, const SumEntry *entry)
{
	const FeedSum *sum = entry->sum;

	PUT_VARLENA(DELTA_SOURCE, entry->key.names[FEED_SOURCE]);
	PUT(DELTA_EVENTS, Int64GetDatum(sum->events));
	if (sum->last_event_at != DT_NOBEGIN)
		PUT(DELTA_LAST_EVENT_AT, TimestampTzGetDatum(sum->last_event_at));
}

#undef PUT
#undef PUT_VARLENA

static uint32
count_sums(const sum_table_hash *table)
{
	return table == NULL ? 0 : table->members;
}

/* The first entry of a table; NULL when it is empty. */
static const SumEntry *
first_sum(sum_table_hash *table)
{
	sum_table_iterator iterator;

	if (table == NULL)
		return NULL;
	sum_table_start_iterate(table, &iterator);
	return sum_table_iterate(table, &iterator);
}

/*
 * Whether one row can say it all: one sum of each kind at most, and those that
 * share columns saying the same.
 */
static bool
fits_one_row(const YqCounters *counters)
{
	const SumEntry *project = first_sum(counters->projects);
	const SumEntry *class_entry = first_sum(counters->classes);
	const SumEntry *usage = first_sum(counters->usages);
	const SumEntry *node = first_sum(counters->nodes);
	const UsageSum *used;
	const UsageSum *used_on_node;

	if (count_sums(counters->projects) > 1 ||
		count_sums(counters->classes) > 1 ||
		count_sums(counters->usages) != 1 ||
		count_sums(counters->nodes) > 1 ||
		count_sums(counters->feeds) > 1)
		return false;
	if (project != NULL && class_entry != NULL &&
		project->key.names[PROJECT_NAME] != class_entry->key.names[PROJECT_NAME])
		return false;
	if (node == NULL)
		return true;
	used = usage->sum;
	used_on_node = node->sum;
	return node->key.number == usage->key.number &&
		used_on_node->containers == used->containers &&
		yq_resource_sum_equal(used_on_node->allocation, used->allocation);
}

static void
post_one_row(YqCounters *counters, YqBulkInsert *writer)
{
	Delta		delta;
	const SumEntry *project = first_sum(counters->projects);
	const SumEntry *class_entry = first_sum(counters->classes);
	const SumEntry *node = first_sum(counters->nodes);
	const SumEntry *feed = first_sum(counters->feeds);

	begin_delta(counters, &delta, SCOPE_ALL);
	if (project != NULL)
		put_project(&delta, project);
	if (class_entry != NULL)
		put_class(&delta, class_entry);
	put_usage(&delta, first_sum(counters->usages));
	if (node != NULL)
	{
		delta.values[DELTA_NODE] = PointerGetDatum(node->key.names[NODE_NAME]);
		delta.nulls[DELTA_NODE] = false;
	}
	if (feed != NULL)
		put_feed(&delta, feed);
	yq_bulk_insert_put(writer, delta.values, delta.nulls);
}

static bool
class_changed(const SumEntry *entry)
{
	const ClassSum *sum = entry->sum;

	return sum->weight != 0 || !yq_wide_is_zero(&sum->accrual_base);
}

static bool
usage_changed(const SumEntry *entry)
{
	const UsageSum *sum = entry->sum;

	return sum->containers != 0 || !yq_resource_sum_is_zero(sum->allocation);
}

static bool
always_changed(const SumEntry *entry)
{
	return true;
}

/* Post the sums of one kind that have changed, one row each. */
static void
post_sums(YqCounters *counters, YqBulkInsert *writer, sum_table_hash *table, char scope,
		  bool (*changed) (const SumEntry *), void (*put) (Delta *, const SumEntry *))
{
	sum_table_iterator iterator;
	const SumEntry *entry;
	Delta		delta;

	if (table == NULL)
		return;
	sum_table_start_iterate(table, &iterator);
	while ((entry = sum_table_iterate(table, &iterator)) != NULL)
	{
		if (!changed(entry))
			continue;
		begin_delta(counters, &delta, scope);
		put(&delta, entry);
		yq_bulk_insert_put(writer, delta.values, delta.nulls);
	}
}

static void
post_many_rows(YqCounters *counters, YqBulkInsert *writer)
{
	post_sums(counters, writer, counters->projects, SCOPE_PROJECT, always_changed, put_project);
	post_sums(counters, writer, counters->classes, SCOPE_RATE_CLASS, class_changed, put_class);
	/* that containers came and went is told even where they held the same */
	post_sums(counters, writer, counters->usages, SCOPE_USAGE, always_changed, put_usage);
	post_sums(counters, writer, counters->nodes, SCOPE_NODE, usage_changed, put_usage);
	post_sums(counters, writer, counters->feeds, SCOPE_FEED, always_changed, put_feed);
}

/* Columns of opportunistic_change, in table order. */
enum
{
	CHANGE_QUEUE,
	CHANGE_USERNAME,
	CHANGE_APPLICATION_ID,
	CHANGE_CONTAINERS,
	CHANGE_ALLOCATION,
	CHANGE_COLUMNS
};

static void
set_name(Datum *values, bool *nulls, int column, const struct varlena *name)
{
	nulls[column] = (name == NULL);
	values[column] = PointerGetDatum(name);
}

static void
post_shares(const YqCounters *counters)
{
	YqBulkInsert *writer;
	sum_table_iterator iterator;
	const SumEntry *entry;
	Datum		values[CHANGE_COLUMNS];
	bool		nulls[CHANGE_COLUMNS] = {false};

	if (counters->shares == NULL)
		return;
	writer = yq_bulk_insert_open(YQ_OPPORTUNISTIC_CHANGE, CHANGE_COLUMNS, 1000, false);
	sum_table_start_iterate(counters->shares, &iterator);
	while ((entry = sum_table_iterate(counters->shares, &iterator)) != NULL)
	{
		const UsageSum *sum = entry->sum;

		if (!usage_changed(entry))
			continue;
		set_name(values, nulls, CHANGE_QUEUE, entry->key.names[USAGE_QUEUE]);
		set_name(values, nulls, CHANGE_USERNAME, entry->key.names[USAGE_USERNAME]);
		set_name(values, nulls, CHANGE_APPLICATION_ID, entry->key.names[SHARE_APPLICATION]);
		values[CHANGE_CONTAINERS] = Int64GetDatum(sum->containers);
		values[CHANGE_ALLOCATION] = PointerGetDatum(yq_resource_sum_vector(sum->allocation));
		yq_bulk_insert_put(writer, values, nulls);
	}
	yq_bulk_insert_close(writer);
}

void
yq_counters_post(YqCounters *counters)
{
	MemoryContext old_context = MemoryContextSwitchTo(counters->context);
	YqBulkInsert   *writer = yq_bulk_insert_open(YQ_COUNTER_DELTA, DELTA_COLUMNS, 1000, false);

	counters->tells_prices = false;
	if (fits_one_row(counters))
		post_one_row(counters, writer);
	else
		post_many_rows(counters, writer);
	yq_bulk_insert_close(writer);
	post_shares(counters);
	MemoryContextSwitchTo(old_context);

	counters->values = NULL;
	counters->projects = counters->classes = counters->usages = NULL;
	counters->nodes = counters->feeds = counters->shares = NULL;
	MemoryContextReset(counters->context);
}
