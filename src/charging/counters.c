/*-------------------------------------------------------------------------
 *
 * counters.c
 *	  Summing up a statement's changes of the counters.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "base/bytes_table.h"
#include "base/delta_entries.h"
#include "base/wide.h"
#include "charging/counters.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "pricing/timeline.h"
#include "store/bulk_insert.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"

/*
 * The initial number of entries of a table.  It is small, because a statement about a single
 * container needs few.
 */
#define FEW_SUMS 4

/* The step by which memory is allocated.  The allocated memory decides when sums are posted. */
#define BLOCK_BYTES (256 * 1024)

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

/* The key of a sum, with copies of the names.  Fields that a kind of sum does not use are NULL or zero. */
typedef struct SumKey
{
	const struct varlena *names[4];	/* NULL for null */
	const YqRateClass *rate_class;	/* address of the class; valid until classes are dropped */
	int64		number;
} SumKey;

/* Index in SumKey.names for each kind of sum. */
enum
{
	PROJECT_NAME = 0,
	CLASS_SHAPE = 0,			/* shape of the key that class sums share; see ClassSum.shape */
	CLASS_FACTORS = 1,
	USAGE_QUEUE = 0,			/* "number" of the keys of usage and of nodes is the execution type */
	USAGE_LABEL = 1,
	USAGE_USERNAME = 2,
	NODE_NAME = 3,
	SHARE_APPLICATION = 3,		/* queue and username have the same indexes as in keys of usage */
	FEED_SOURCE = 0
};

typedef struct ProjectSum
{
	SumKey		key;
	bool		is_charged;
	YqWide		charged;
	TimestampTz changed_from;	/* DT_NOEND if no change was noted */
	struct sum_table_hash *classes;
} ProjectSum;

typedef struct ClassSum			/* "number" of the key is the hour */
{
	SumKey		key;
	const SumKey *shape;		/* shared key with the shape and the factors */
	int128		weight;
	YqWide		accrual_base;
} ClassSum;

typedef struct UsageSum
{
	SumKey		key;
	YqResourceSum *allocation;
	int64		containers;
} UsageSum;

typedef struct FeedSum
{
	SumKey		key;
	int64		events;
	TimestampTz last_event_at;	/* DT_NOBEGIN if no event has an instant */
} FeedSum;

typedef struct SumEntry
{
	const SumKey *key;			/* key of the sum; the key is the first field of the sum */
	uint32		status;
	uint32		hash;
} SumEntry;

static inline uint32
hash_sum_key(const SumKey *key)
{
	uint64		hash = (uint64) key->number ^ (uint64) (uintptr_t) key->rate_class;

	/* multiply by an odd number, which mixes the low bits into the high bits */
	for (int i = 0; i < (int) lengthof(key->names); i++)
	{
		if (key->names[i] != NULL)
			hash ^= hash_bytes((const unsigned char *) VARDATA_ANY(key->names[i]),
							   (int) VARSIZE_ANY_EXHDR(key->names[i]));
		hash *= UINT64CONST(0x9E3779B97F4A7C15);
	}
	return (uint32) (hash >> 32);
}

static inline bool
sum_keys_equal(const SumKey *a, const SumKey *b)
{
	bool		equal = (a->rate_class == b->rate_class && a->number == b->number);

	for (int i = 0; equal && i < (int) lengthof(a->names); i++)
		equal = yq_varlena_equal(a->names[i], b->names[i]);
	return equal;
}

#define SH_PREFIX sum_table
#define SH_ELEMENT_TYPE SumEntry
#define SH_KEY_TYPE const SumKey *
#define SH_KEY key
#define SH_HASH_KEY(table, key) hash_sum_key(key)
#define SH_EQUAL(table, a, b) sum_keys_equal(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct YqCounters
{
	MemoryContext context;		/* memory context of the sums; reset when the sums are posted */
	int64		pricing_version;
	TimestampTz recorded_at;
	TimestampTz priced_through; /* DT_NOBEGIN if no price was used */
	uint64		generation;		/* generation of rate classes; keys contain addresses of rate classes */
	sum_table_hash *projects;	/* NULL when empty */
	sum_table_hash *shapes;		/* keys with the shape and the factors of rate classes, without sums; NULL when empty */
	sum_table_hash *usages;		/* NULL when empty */
	sum_table_hash *nodes;		/* NULL when empty */
	sum_table_hash *feeds;		/* NULL when empty */
	sum_table_hash *shares;		/* NULL when empty */
};

YqCounters *
yq_counters_create(int64 pricing_version, TimestampTz recorded_at)
{
	YqCounters *counters = palloc0(sizeof(YqCounters));

	counters->context = AllocSetContextCreate(CurrentMemoryContext,
											  "yquota counter sums",
											  ALLOCSET_DEFAULT_MINSIZE, ALLOCSET_DEFAULT_INITSIZE, BLOCK_BYTES);
	counters->pricing_version = pricing_version;
	counters->generation = yq_rate_class_generation();
	counters->recorded_at = recorded_at;
	counters->priced_through = DT_NOBEGIN;
	return counters;
}

/* Make the sum of a key.  Copies of the names follow the sum in memory. */
static SumKey *
make_sum(YqCounters *counters, const SumKey *key, Size size)
{
	Size		length = MAXALIGN(size);
	SumKey	   *sum;

	for (int i = 0; i < (int) lengthof(key->names); i++)
		length += key->names[i] == NULL ? 0 : MAXALIGN(VARSIZE_ANY(key->names[i]));
	sum = MemoryContextAllocZero(counters->context, length);
	*sum = *key;
	length = MAXALIGN(size);
	for (int i = 0; i < (int) lengthof(key->names); i++)
	{
		if (key->names[i] == NULL)
			continue;
		sum->names[i] = memcpy((char *) sum + length, key->names[i], VARSIZE_ANY(key->names[i]));
		length += MAXALIGN(VARSIZE_ANY(key->names[i]));
	}
	return sum;
}

/*
 * Return the sum of a key; "size" is its number of bytes.  If the sum is new, all bytes after the
 * key are zero.  A table remembers its last sum, because events of one container or application
 * often follow one another.
 */
static void *
enter_sum(YqCounters *counters, sum_table_hash **table, const SumKey *key, Size size, bool *found)
{
	SumEntry   *entry;

	if (*table == NULL)
		*table = sum_table_create(counters->context, FEW_SUMS, NULL);
	*found = (*table)->private_data != NULL && sum_keys_equal((*table)->private_data, key);
	if (!*found)
	{
		entry = sum_table_insert(*table, key, found);
		if (!*found)
			entry->key = make_sum(counters, key, size);
		(*table)->private_data = (void *) entry->key;
	}
	return (*table)->private_data;
}

/* Post the sums if they use much memory.  Callers do this before they add the sum of a rate class. */
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
	SumKey		key = {.names[PROJECT_NAME] = project};
	bool		found;
	ProjectSum *sum = enter_sum(counters, &counters->projects, &key, sizeof(ProjectSum), &found);

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
	SumKey		key = {.rate_class = rate_class,.number = yq_timeline_full_hour(settled_at)};
	ClassSum   *sum;
	bool		found;

	if (weight == 0)
		return;
	post_when_large(counters);
	sum = enter_sum(counters, &enter_project(counters, project)->classes, &key, sizeof(ClassSum), &found);
	if (!found)
	{
		SumKey		shape = {.names[CLASS_SHAPE] = yq_rate_class_shape(rate_class),.names[CLASS_FACTORS] = (struct varlena *) factors};

		sum->shape = enter_sum(counters, &counters->shapes, &shape, sizeof(SumKey), &found);
	}
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
add_usage(YqCounters *counters, sum_table_hash **table, const SumKey *key,
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
	SumKey		usage = {.names = {queue, label, username},.number = execution_type};
	SumKey		on_node = {.names[NODE_NAME] = node,.number = execution_type};

	add_usage(counters, &counters->usages, &usage, allocation, sign);
	if (node != NULL)
		add_usage(counters, &counters->nodes, &on_node, allocation, sign);
}

/* -- records wanted at times ------------------------------------------------ */

/*
 * A table that has a row while some feature is in use.  The feature needs an additional record
 * of the changes that statements with events make.
 */
typedef struct Wanted
{
	YqTable		table;
	bool		is_watched;
	bool		is_known;		/* has_row is known; a change of the table sets this flag to false */
	bool		has_row;
} Wanted;

static void
note_row(const YqRow *row)
{
	*(bool *) row->argument = true;
}

/* Tell whether the table has a row in the newest committed state.  The statement's snapshot may be older. */
static bool
is_wanted(Wanted *wanted)
{
	if (!wanted->is_watched)
	{
		yq_catalog_on_change_of_rows(wanted->table, &wanted->is_known);
		yq_catalog_on_abort(&wanted->is_known);
		wanted->is_watched = true;
	}
	yq_catalog_accept_changes();
	if (wanted->is_known)
		return wanted->has_row;
	wanted->has_row = false;
	wanted->is_known = true;
	yq_table_scan(wanted->table, NULL, NULL, 0, note_row, &wanted->has_row);
	return wanted->has_row;
}

void
yq_counters_share(YqCounters *counters, const text *queue, const text *username,
				  const text *application_id, const YqResource *allocation, int sign)
{
	/*
	 * no first limit can take effect now, because adding it takes a lock of the log that conflicts
	 * with this statement's lock
	 */
	static Wanted sharing = {.table = YQ_OPPORTUNISTIC_COUNTING};
	SumKey		key = {.names = {queue, NULL, username, application_id}};

	if (is_wanted(&sharing))
		add_usage(counters, &counters->shares, &key, allocation, sign);
}

void
yq_counters_feed(YqCounters *counters, const text *source,
				 bool has_occurred_at, TimestampTz occurred_at, TimestampTz recorded_at)
{
	SumKey		key = {.names[FEED_SOURCE] = source};
	bool		found;
	FeedSum    *sum = enter_sum(counters, &counters->feeds, &key, sizeof(FeedSum), &found);

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
	FullTransactionId number;	/* id of the transaction; invalid if rows about usage need no id */
	bool		tells_prices;	/* a row has the version and the instant of the prices used */

	/* the row that is being built */
	char		scope;
	Datum		values[DELTA_COLUMNS];
	bool		nulls[DELTA_COLUMNS];
	YqEntryWriter entries;
	YqWide		accrual_base;	/* sum over the entries */
	TimestampTz reference_at;	/* latest reference_at of the entries; DT_NOBEGIN without entries */
	int64		containers;		/* sum over the entries */
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
	if (scope == SCOPE_ALL || scope == SCOPE_FEED)
		PUT(DELTA_RECORDED_AT, TimestampTzGetDatum(posting->counters->recorded_at));
}

/*
 * Store the prices that the statement used in the first row of a posting.  They apply to all rows
 * of the posting.
 */
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
	if (!posting->nulls[DELTA_CONTAINERS] && FullTransactionIdIsValid(posting->number))
		PUT(DELTA_CHANGED_BY, FullTransactionIdGetDatum(posting->number));
	yq_bulk_insert_put(posting->writer, posting->values, posting->nulls);
}

static void
put_project(Posting *posting, const ProjectSum *sum)
{
	PUT_VARLENA(DELTA_PROJECT, sum->key.names[PROJECT_NAME]);
	if (sum->is_charged)
		PUT(DELTA_CHARGED, NumericGetDatum(yq_wide_to_numeric(&sum->charged)));
	if (sum->changed_from != DT_NOEND)
		PUT(DELTA_CHANGED_FROM, TimestampTzGetDatum(sum->changed_from));
}

static void
put_class(Posting *posting, const ClassSum *sum)
{
	PUT_VARLENA(DELTA_SHAPE, sum->shape->names[CLASS_SHAPE]);
	PUT_VARLENA(DELTA_FACTORS, sum->shape->names[CLASS_FACTORS]);
	PUT(DELTA_REFERENCE_AT, TimestampTzGetDatum(sum->key.number));
	PUT(DELTA_WEIGHT, NumericGetDatum(yq_weight_to_numeric(sum->weight)));
	PUT(DELTA_ACCRUAL_BASE, NumericGetDatum(yq_wide_to_numeric(&sum->accrual_base)));
}

static void
put_usage(Posting *posting, const UsageSum *sum)
{
	PUT_VARLENA(DELTA_QUEUE, sum->key.names[USAGE_QUEUE]);
	PUT_VARLENA(DELTA_LABEL, sum->key.names[USAGE_LABEL]);
	PUT_VARLENA(DELTA_USERNAME, sum->key.names[USAGE_USERNAME]);
	PUT(DELTA_EXECUTION_TYPE, ObjectIdGetDatum((Oid) sum->key.number));
	PUT(DELTA_ALLOCATION, PointerGetDatum(yq_resource_sum_vector(sum->allocation)));
	PUT(DELTA_CONTAINERS, Int64GetDatum(sum->containers));
}

static void
put_feed(Posting *posting, const FeedSum *sum)
{
	PUT_VARLENA(DELTA_SOURCE, sum->key.names[FEED_SOURCE]);
	PUT(DELTA_EVENTS, Int64GetDatum(sum->events));
	if (sum->last_event_at != DT_NOBEGIN)
		PUT(DELTA_LAST_EVENT_AT, TimestampTzGetDatum(sum->last_event_at));
}

static uint32
count_sums(const sum_table_hash *table)
{
	return table == NULL ? 0 : table->members;
}

/* Return the first sum of a table, or NULL if the table is empty. */
static const void *
first_sum(sum_table_hash *table)
{
	sum_table_iterator iterator;
	const SumEntry *entry;

	if (table == NULL)
		return NULL;
	sum_table_start_iterate(table, &iterator);
	entry = sum_table_iterate(table, &iterator);
	return entry == NULL ? NULL : entry->key;
}

/*
 * Tell whether a single row can store all sums.  This is so if there is at most one sum of each
 * kind, and if these sums agree in the columns that they share.
 */
static bool
fits_one_row(const YqCounters *counters)
{
	const ProjectSum *project = first_sum(counters->projects);
	const UsageSum *usage = first_sum(counters->usages);
	const UsageSum *node = first_sum(counters->nodes);

	if (count_sums(counters->projects) > 1 ||
		(project != NULL && count_sums(project->classes) > 1) ||
		count_sums(counters->usages) != 1 ||
		count_sums(counters->nodes) > 1 ||
		count_sums(counters->feeds) > 1)
		return false;
	return node == NULL ||
		(node->key.number == usage->key.number &&
		 node->containers == usage->containers &&
		 yq_resource_sum_equal(node->allocation, usage->allocation));
}

static void
post_one_row(Posting *posting)
{
	const ProjectSum *project = first_sum(posting->counters->projects);
	const ClassSum *class_sum = project == NULL ? NULL : first_sum(project->classes);
	const UsageSum *node = first_sum(posting->counters->nodes);
	const FeedSum *feed = first_sum(posting->counters->feeds);

	begin_delta(posting, SCOPE_ALL);
	if (project != NULL)
		put_project(posting, project);
	if (class_sum != NULL)
		put_class(posting, class_sum);
	put_usage(posting, first_sum(posting->counters->usages));
	if (node != NULL)
		PUT_VARLENA(DELTA_NODE, node->key.names[NODE_NAME]);
	if (feed != NULL)
		put_feed(posting, feed);
	end_delta(posting);
}

static bool
usage_changed(const UsageSum *sum)
{
	return sum->containers != 0 || !yq_resource_sum_is_zero(sum->allocation);
}

/* -- many sums --------------------------------------------------------------- */

/* The largest number of bytes of entries in a row.  The server still stores such a row in line. */
#define FULL_ROW 1500

static void
for_each_sum(sum_table_hash *table, void (*post) (Posting *, const void *), Posting *posting)
{
	sum_table_iterator iterator;
	const SumEntry *entry;

	if (table == NULL)
		return;
	sum_table_start_iterate(table, &iterator);
	while ((entry = sum_table_iterate(table, &iterator)) != NULL)
		post(posting, entry->key);
}

static void
post_class(Posting *posting, const void *entered)
{
	const ClassSum *sum = entered;
	YqClassChange change = {sum->shape->names[CLASS_SHAPE], (ArrayType *) sum->shape->names[CLASS_FACTORS],
	sum->key.number, sum->weight, sum->accrual_base};

	if (sum->weight == 0 && yq_wide_is_zero(&sum->accrual_base))
		return;
	if (posting->entries.packed.len >= FULL_ROW)
	{
		Datum		project = posting->values[DELTA_PROJECT];

		end_delta(posting);
		begin_delta(posting, SCOPE_PROJECT);
		PUT(DELTA_PROJECT, project);
	}
	yq_delta_append_class(&posting->entries, &change);
	yq_wide_add(&posting->accrual_base, &sum->accrual_base);
	posting->reference_at = Max(posting->reference_at, sum->key.number);
}

static void
post_project(Posting *posting, const void *entered)
{
	const ProjectSum *sum = entered;

	begin_delta(posting, SCOPE_PROJECT);
	put_project(posting, sum);
	for_each_sum(sum->classes, post_class, posting);
	if (posting->entries.entries > 0 || sum->is_charged || sum->changed_from != DT_NOEND)
		end_delta(posting);
}

static void
post_usage(Posting *posting, const void *entered)
{
	const UsageSum *sum = entered;

	/* also write the row of a queue whose sum is zero; it records that containers started and ended */
	if (posting->scope == SCOPE_NODE && !usage_changed(sum))
		return;
	if (posting->entries.packed.len >= FULL_ROW)
	{
		end_delta(posting);
		begin_delta(posting, posting->scope);
	}
	yq_delta_append_usage(&posting->entries, sum->key.names, (Oid) sum->key.number == posting->guaranteed,
						  yq_resource_sum_vector(sum->allocation), sum->containers);
	posting->containers += sum->containers;
}

static void
post_feed(Posting *posting, const void *entered)
{
	begin_delta(posting, SCOPE_FEED);
	put_feed(posting, entered);
	end_delta(posting);
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
post_share(Posting *posting, const void *entered)
{
	const UsageSum *sum = entered;
	Datum		values[CHANGE_COLUMNS];
	bool		nulls[CHANGE_COLUMNS] = {false};

	if (!usage_changed(sum))
		return;
	yq_varlena_put(values, nulls, CHANGE_QUEUE, sum->key.names[USAGE_QUEUE]);
	yq_varlena_put(values, nulls, CHANGE_USERNAME, sum->key.names[USAGE_USERNAME]);
	yq_varlena_put(values, nulls, CHANGE_APPLICATION_ID, sum->key.names[SHARE_APPLICATION]);
	values[CHANGE_CONTAINERS] = Int64GetDatum(sum->containers);
	values[CHANGE_ALLOCATION] = PointerGetDatum(yq_resource_sum_vector(sum->allocation));
	yq_bulk_insert_put(posting->writer, values, nulls);
}

void
yq_counters_post(YqCounters *counters)
{
	/*
	 * take the transaction id before reading the table; every transaction that takes its id after
	 * the table's row was committed then finds this row
	 */
	static Wanted numbering = {.table = YQ_USAGE_NUMBERING};
	FullTransactionId number = GetTopFullTransactionId();
	MemoryContext old_context = MemoryContextSwitchTo(counters->context);
	Posting		posting = {.counters = counters,.number = is_wanted(&numbering) ? number : InvalidFullTransactionId};

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

	counters->projects = counters->shapes = counters->usages = NULL;
	counters->nodes = counters->feeds = counters->shares = NULL;
	MemoryContextReset(counters->context);
}
