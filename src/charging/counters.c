/*-------------------------------------------------------------------------
 *
 * counters.c
 *	  Summing up a statement's changes of the counters.
 *
 * Every name that a sum is about is interned first, so that sums are found by
 * pointers, however long the names are.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "base/delta_entries.h"
#include "base/intern_table.h"
#include "charging/counters.h"
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
	DELTA_PACKED,
	DELTA_COLUMNS
};

/* Values of the column scope. */
#define SCOPE_ALL 'a'
#define SCOPE_PROJECT 'p'
#define SCOPE_USAGE 'u'
#define SCOPE_NODE 'n'
#define SCOPE_FEED 'f'

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
	RATE_CLASS = 1,				/* no name: its address, until classes are forgotten */
	USAGE_QUEUE = 0,			/* number: the execution type, as for nodes */
	USAGE_LABEL = 1,
	USAGE_USERNAME = 2,
	NODE_NAME = 3,
	SHARE_APPLICATION = 3,		/* queue and username as for usage */
	FEED_SOURCE = 0
};

typedef struct ClassSum
{
	struct ClassSum *next;		/* of the project */
	YqClassChange change;
} ClassSum;

typedef struct ProjectSum
{
	bool		is_charged;
	YqWide		charged;
	TimestampTz changed_from;	/* DT_NOEND when no instant was told */
	ClassSum   *classes;
} ProjectSum;

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
	uint64		generation;		/* of rate classes, whose addresses are in keys */
	YqInternTable *values;		/* NULL when empty, as the next ones */
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
	counters->generation = yq_rate_class_generation();
	counters->recorded_at = recorded_at;
	counters->priced_through = DT_NOBEGIN;
	return counters;
}

static const struct varlena *
intern(YqCounters *counters, const void *value)
{
	return yq_intern(&counters->values, value, counters->context);
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

/* To be called before values are interned for a sum of a rate class. */
static void
post_when_large(YqCounters *counters)
{
	if (counters->generation != yq_rate_class_generation() ||
		MemoryContextMemAllocated(counters->context, false) > get_hash_memory_limit())
		yq_counters_post(counters);
	counters->generation = yq_rate_class_generation();
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
				   const YqRateClass *rate_class, ArrayType *factors,
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
	key.names[RATE_CLASS] = (const struct varlena *) rate_class;
	key.number = yq_timeline_full_hour(settled_at);
	sum = enter_sum(counters, &counters->classes, key, sizeof(ClassSum), &found);
	if (!found)
	{
		ProjectSum *project_sum = enter_project(counters, project);

		sum->change.shape = intern(counters, yq_rate_class_shape(rate_class));
		sum->change.factors = (ArrayType *) intern(counters, factors);
		sum->change.reference_at = key.number;
		sum->next = project_sum->classes;
		project_sum->classes = sum;
	}
	if (sign > 0)
	{
		sum->change.weight += weight;
		yq_wide_add(&sum->change.accrual_base, accrual_base);
	}
	else
	{
		sum->change.weight -= weight;
		yq_wide_subtract(&sum->change.accrual_base, accrual_base);
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

typedef struct Posting
{
	YqCounters *counters;
	YqBulkInsert *writer;
	Oid			guaranteed;		/* execution type */
	bool		tells_prices;	/* a row has version and instant of the prices */

	/* the row that is made */
	char		scope;
	Datum		values[DELTA_COLUMNS];
	bool		nulls[DELTA_COLUMNS];
	YqEntryWriter entries;
	YqWide		accrual_base;	/* sum of the entries */
	TimestampTz reference_at;	/* latest of the entries; DT_NOBEGIN without */
	int64		containers;		/* sum of the entries */
} Posting;

#define PUT(column, datum) \
	do { posting->values[column] = (datum); posting->nulls[column] = false; } while (0)
#define PUT_VARLENA(column, value) \
	do { if ((value) != NULL) PUT(column, PointerGetDatum(value)); } while (0)

static void
begin_delta(Posting *posting, char scope)
{
	memset(posting->nulls, true, sizeof(posting->nulls));
	memset(posting->values, 0, sizeof(posting->values));
	memset(&posting->accrual_base, 0, sizeof(posting->accrual_base));
	posting->reference_at = DT_NOBEGIN;
	posting->containers = 0;
	posting->scope = scope;
	PUT(DELTA_SCOPE, CharGetDatum(scope));
	PUT(DELTA_CHANGED_BY, FullTransactionIdGetDatum(GetTopFullTransactionId()));
	if (scope == SCOPE_ALL || scope == SCOPE_FEED)
		PUT(DELTA_RECORDED_AT, TimestampTzGetDatum(posting->counters->recorded_at));
}

/* The prices used are those of all rows of a posting: the first one tells them. */
static void
end_delta(Posting *posting)
{
	if (!posting->tells_prices)
		PUT(DELTA_PRICING_VERSION, Int64GetDatum(posting->counters->pricing_version));
	if (!posting->tells_prices && posting->counters->priced_through != DT_NOBEGIN)
		PUT(DELTA_PRICED_THROUGH, TimestampTzGetDatum(posting->counters->priced_through));
	posting->tells_prices = true;
	if (posting->reference_at != DT_NOBEGIN)
	{
		PUT(DELTA_REFERENCE_AT, TimestampTzGetDatum(posting->reference_at));
		PUT(DELTA_ACCRUAL_BASE, NumericGetDatum(yq_wide_to_numeric(&posting->accrual_base)));
	}
	else if (posting->entries.entries > 0)
		PUT(DELTA_CONTAINERS, Int64GetDatum(posting->containers));
	if (posting->entries.entries > 0)
		PUT(DELTA_PACKED, PointerGetDatum(yq_entries_end(&posting->entries)));
	yq_bulk_insert_put(posting->writer, posting->values, posting->nulls);
}

static void
put_project(Posting *posting, const SumEntry *entry)
{
	const ProjectSum *sum = entry->sum;

	PUT_VARLENA(DELTA_PROJECT, entry->key.names[PROJECT_NAME]);
	if (sum->is_charged)
		PUT(DELTA_CHARGED, NumericGetDatum(yq_wide_to_numeric(&sum->charged)));
	if (sum->changed_from != DT_NOEND)
		PUT(DELTA_CHANGED_FROM, TimestampTzGetDatum(sum->changed_from));
}

static void
put_class(Posting *posting, const SumEntry *entry)
{
	const YqClassChange *change = &((const ClassSum *) entry->sum)->change;

	PUT_VARLENA(DELTA_SHAPE, change->shape);
	PUT_VARLENA(DELTA_FACTORS, change->factors);
	PUT(DELTA_REFERENCE_AT, TimestampTzGetDatum(change->reference_at));
	PUT(DELTA_WEIGHT, NumericGetDatum(yq_weight_to_numeric(change->weight)));
	PUT(DELTA_ACCRUAL_BASE, NumericGetDatum(yq_wide_to_numeric(&change->accrual_base)));
}

static void
put_usage(Posting *posting, const SumEntry *entry)
{
	const UsageSum *sum = entry->sum;

	PUT_VARLENA(DELTA_QUEUE, entry->key.names[USAGE_QUEUE]);
	PUT_VARLENA(DELTA_LABEL, entry->key.names[USAGE_LABEL]);
	PUT_VARLENA(DELTA_USERNAME, entry->key.names[USAGE_USERNAME]);
	PUT(DELTA_EXECUTION_TYPE, ObjectIdGetDatum((Oid) entry->key.number));
	PUT(DELTA_ALLOCATION, PointerGetDatum(yq_resource_sum_vector(sum->allocation)));
	PUT(DELTA_CONTAINERS, Int64GetDatum(sum->containers));
}

static void
put_feed(Posting *posting, const SumEntry *entry)
{
	const FeedSum *sum = entry->sum;

	PUT_VARLENA(DELTA_SOURCE, entry->key.names[FEED_SOURCE]);
	PUT(DELTA_EVENTS, Int64GetDatum(sum->events));
	if (sum->last_event_at != DT_NOBEGIN)
		PUT(DELTA_LAST_EVENT_AT, TimestampTzGetDatum(sum->last_event_at));
}

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
	if (node == NULL)
		return true;
	used = usage->sum;
	used_on_node = node->sum;
	return node->key.number == usage->key.number &&
		used_on_node->containers == used->containers &&
		yq_resource_sum_equal(used_on_node->allocation, used->allocation);
}

static void
post_one_row(Posting *posting)
{
	const SumEntry *project = first_sum(posting->counters->projects);
	const SumEntry *class_entry = first_sum(posting->counters->classes);
	const SumEntry *node = first_sum(posting->counters->nodes);
	const SumEntry *feed = first_sum(posting->counters->feeds);

	begin_delta(posting, SCOPE_ALL);
	if (project != NULL)
		put_project(posting, project);
	if (class_entry != NULL)
		put_class(posting, class_entry);
	put_usage(posting, first_sum(posting->counters->usages));
	if (node != NULL)
		PUT_VARLENA(DELTA_NODE, node->key.names[NODE_NAME]);
	if (feed != NULL)
		put_feed(posting, feed);
	end_delta(posting);
}

static bool
usage_changed(const SumEntry *entry)
{
	const UsageSum *sum = entry->sum;

	return sum->containers != 0 || !yq_resource_sum_is_zero(sum->allocation);
}

/* -- many sums --------------------------------------------------------------- */

/* A row is full with so many bytes of entries: none is stored out of line. */
#define FULL_ROW 1500

static void
post_project(Posting *posting, const SumEntry *entry)
{
	const ProjectSum *project = entry->sum;

	begin_delta(posting, SCOPE_PROJECT);
	put_project(posting, entry);
	for (const ClassSum *sum = project->classes; sum != NULL; sum = sum->next)
	{
		if (sum->change.weight == 0 && yq_wide_is_zero(&sum->change.accrual_base))
			continue;
		if (posting->entries.packed.len >= FULL_ROW)
		{
			end_delta(posting);
			begin_delta(posting, SCOPE_PROJECT);
			PUT_VARLENA(DELTA_PROJECT, entry->key.names[PROJECT_NAME]);
		}
		yq_delta_append_class(&posting->entries, &sum->change);
		yq_wide_add(&posting->accrual_base, &sum->change.accrual_base);
		posting->reference_at = Max(posting->reference_at, sum->change.reference_at);
	}
	if (posting->entries.entries > 0 || project->is_charged || project->changed_from != DT_NOEND)
		end_delta(posting);
}

static void
post_usage(Posting *posting, const SumEntry *entry)
{
	const UsageSum *sum = entry->sum;

	/* that containers of a queue came and went is told even where they held the same */
	if (posting->scope == SCOPE_NODE && !usage_changed(entry))
		return;
	if (posting->entries.packed.len >= FULL_ROW)
	{
		end_delta(posting);
		begin_delta(posting, posting->scope);
	}
	yq_delta_append_usage(&posting->entries, entry->key.names, (Oid) entry->key.number == posting->guaranteed,
						  yq_resource_sum_vector(sum->allocation), sum->containers);
	posting->containers += sum->containers;
}

static void
post_feed(Posting *posting, const SumEntry *entry)
{
	begin_delta(posting, SCOPE_FEED);
	put_feed(posting, entry);
	end_delta(posting);
}

static void
for_each_sum(sum_table_hash *table, void (*post) (Posting *, const SumEntry *), Posting *posting)
{
	sum_table_iterator iterator;
	const SumEntry *entry;

	if (table == NULL)
		return;
	sum_table_start_iterate(table, &iterator);
	while ((entry = sum_table_iterate(table, &iterator)) != NULL)
		post(posting, entry);
}

static void
post_usages(Posting *posting, sum_table_hash *table, char scope)
{
	begin_delta(posting, scope);
	for_each_sum(table, post_usage, posting);
	if (posting->entries.entries > 0)
		end_delta(posting);
}

static void
post_many_rows(Posting *posting)
{
	YqCounters *counters = posting->counters;

	yq_entries_begin(&posting->entries);
	posting->guaranteed = yq_enum_oid("execution_type", "GUARANTEED");
	for_each_sum(counters->projects, post_project, posting);
	post_usages(posting, counters->usages, SCOPE_USAGE);
	post_usages(posting, counters->nodes, SCOPE_NODE);
	for_each_sum(counters->feeds, post_feed, posting);
}

#undef PUT
#undef PUT_VARLENA

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
post_share(Posting *posting, const SumEntry *entry)
{
	const UsageSum *sum = entry->sum;
	Datum		values[CHANGE_COLUMNS];
	bool		nulls[CHANGE_COLUMNS] = {false};

	if (!usage_changed(entry))
		return;
	yq_varlena_put(values, nulls, CHANGE_QUEUE, entry->key.names[USAGE_QUEUE]);
	yq_varlena_put(values, nulls, CHANGE_USERNAME, entry->key.names[USAGE_USERNAME]);
	yq_varlena_put(values, nulls, CHANGE_APPLICATION_ID, entry->key.names[SHARE_APPLICATION]);
	values[CHANGE_CONTAINERS] = Int64GetDatum(sum->containers);
	values[CHANGE_ALLOCATION] = PointerGetDatum(yq_resource_sum_vector(sum->allocation));
	yq_bulk_insert_put(posting->writer, values, nulls);
}

void
yq_counters_post(YqCounters *counters)
{
	MemoryContext old_context = MemoryContextSwitchTo(counters->context);
	Posting		posting = {.counters = counters};

	posting.writer = yq_bulk_insert_open(YQ_COUNTER_DELTA, DELTA_COLUMNS, 1000, false);
	if (fits_one_row(counters))
		post_one_row(&posting);
	else
		post_many_rows(&posting);
	yq_bulk_insert_close(posting.writer);
	if (counters->shares != NULL)
	{
		posting.writer = yq_bulk_insert_open(YQ_OPPORTUNISTIC_CHANGE, CHANGE_COLUMNS, 1000, false);
		for_each_sum(counters->shares, post_share, &posting);
		yq_bulk_insert_close(posting.writer);
	}
	MemoryContextSwitchTo(old_context);

	counters->values = NULL;
	counters->projects = counters->classes = counters->usages = NULL;
	counters->nodes = counters->feeds = counters->shares = NULL;
	MemoryContextReset(counters->context);
}
