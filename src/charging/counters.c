/*-------------------------------------------------------------------------
 *
 * counters.c
 *	  Summing up what a statement changes in the counters.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/bytes_table.h"
#include "base/writer.h"
#include "charging/counters.h"
#include "pricing/timeline.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Sums kept in memory before they are posted. */
#define MAX_SUMS 20000

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
	DELTA_COLUMNS
};

/* Values of the column scope. */
#define SCOPE_ALL 'a'
#define SCOPE_PROJECT 'p'
#define SCOPE_RATE_CLASS 'r'
#define SCOPE_USAGE 'u'
#define SCOPE_NODE 'n'
#define SCOPE_FEED 'f'

typedef struct ProjectSum
{
	YqBytes		key;
	text	   *project;
	YqWide		charged;
} ProjectSum;

typedef struct ClassSum
{
	YqBytes		key;
	text	   *project;
	YqResource *shape;
	ArrayType  *factors;
	TimestampTz reference_at;
	int128		weight;
	YqWide		accrual_base;
} ClassSum;

/* Of queue, label, user and execution type; or of node and execution type. */
typedef struct UsageSum
{
	YqBytes		key;
	text	   *queue;
	text	   *label;
	text	   *username;
	text	   *node;
	Oid			execution_type;
	YqResource *allocation;
	int64		containers;
} UsageSum;

typedef struct FeedSum
{
	YqBytes		key;
	text	   *source;
	int64		events;
	TimestampTz last_event_at;	/* DT_NOBEGIN when none has an instant */
} FeedSum;

struct YqCounters
{
	MemoryContext parent;
	MemoryContext context;		/* the sums; reset when they are posted */
	int64		pricing_version;
	TimestampTz recorded_at;
	TimestampTz priced_through; /* DT_NOBEGIN when nothing was priced */
	StringInfoData key;			/* scratch */
	HTAB	   *projects;
	HTAB	   *classes;
	HTAB	   *usages;
	HTAB	   *nodes;
	HTAB	   *feeds;
};

static void
make_tables(YqCounters *counters)
{
	MemoryContext context = counters->context;

	counters->projects = yq_bytes_table_create("yquota project sums", sizeof(ProjectSum), context);
	counters->classes = yq_bytes_table_create("yquota class sums", sizeof(ClassSum), context);
	counters->usages = yq_bytes_table_create("yquota usage sums", sizeof(UsageSum), context);
	counters->nodes = yq_bytes_table_create("yquota node sums", sizeof(UsageSum), context);
	counters->feeds = yq_bytes_table_create("yquota feed sums", sizeof(FeedSum), context);
}

YqCounters *
yq_counters_create(int64 pricing_version, TimestampTz recorded_at)
{
	YqCounters *counters = palloc0(sizeof(YqCounters));

	counters->parent = CurrentMemoryContext;
	counters->context = AllocSetContextCreate(CurrentMemoryContext,
											  "yquota counter sums",
											  ALLOCSET_DEFAULT_SIZES);
	counters->pricing_version = pricing_version;
	counters->recorded_at = recorded_at;
	counters->priced_through = DT_NOBEGIN;
	initStringInfo(&counters->key);
	make_tables(counters);
	return counters;
}

/* -- keys and entries ---------------------------------------------------- */

static void
append_varlena(StringInfo key, const void *value)
{
	yq_bytes_append_part(key, value == NULL ? NULL : VARDATA_ANY(value),
						 value == NULL ? 0 : VARSIZE_ANY_EXHDR(value));
}

static void *
keep_varlena(YqCounters *counters, const void *value)
{
	MemoryContext old_context = MemoryContextSwitchTo(counters->context);
	void	   *copy = yq_varlena_copy(value);

	MemoryContextSwitchTo(old_context);
	return copy;
}

/* The sum of the key that has been built in counters->key. */
static void *
enter_sum(YqCounters *counters, HTAB *table, bool *found)
{
	YqBytes		key = {counters->key.data, counters->key.len};

	return yq_bytes_table_enter(table, key, counters->context, found);
}

static void
post_when_many(YqCounters *counters)
{
	long		sums = hash_get_num_entries(counters->projects) +
		hash_get_num_entries(counters->classes) +
		hash_get_num_entries(counters->usages) +
		hash_get_num_entries(counters->nodes);

	if (sums > MAX_SUMS)
		yq_counters_post(counters);
}

void
yq_counters_charge(YqCounters *counters, const text *project, const YqWide *amount)
{
	ProjectSum *sum;
	bool		found;

	resetStringInfo(&counters->key);
	append_varlena(&counters->key, project);
	sum = enter_sum(counters, counters->projects, &found);
	if (!found)
	{
		sum->project = keep_varlena(counters, project);
		memset(&sum->charged, 0, sizeof(YqWide));
	}
	yq_wide_add(&sum->charged, amount);
}

void
yq_counters_accrue(YqCounters *counters, const text *project,
				   const YqResource *shape, ArrayType *factors,
				   TimestampTz settled_at, uint64 weight,
				   const YqWide *accrual_base, int sign)
{
	TimestampTz reference_at = yq_full_hour(settled_at);
	ClassSum   *sum;
	bool		found;

	if (weight == 0)
		return;
	post_when_many(counters);
	resetStringInfo(&counters->key);
	append_varlena(&counters->key, project);
	append_varlena(&counters->key, shape);
	append_varlena(&counters->key, factors);
	yq_bytes_append_part(&counters->key, &reference_at, sizeof(reference_at));
	sum = enter_sum(counters, counters->classes, &found);
	if (!found)
	{
		sum->project = keep_varlena(counters, project);
		sum->shape = keep_varlena(counters, shape);
		sum->factors = keep_varlena(counters, factors);
		sum->reference_at = reference_at;
		sum->weight = 0;
		memset(&sum->accrual_base, 0, sizeof(YqWide));
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
add_usage(YqCounters *counters, UsageSum *sum, const YqResource *allocation, int sign)
{
	MemoryContext old_context = MemoryContextSwitchTo(counters->context);
	YqResource *before = sum->allocation;

	sum->allocation = sign > 0 ? yq_resource_add(before, allocation) :
		yq_resource_subtract(before, allocation);
	sum->containers += sign;
	pfree(before);
	MemoryContextSwitchTo(old_context);
}

static YqResource *
empty_resource(YqCounters *counters)
{
	MemoryContext old_context = MemoryContextSwitchTo(counters->context);
	YqResource *empty = yq_resource_make(NULL, 0);

	MemoryContextSwitchTo(old_context);
	return empty;
}

void
yq_counters_use(YqCounters *counters, const text *queue, const text *label,
				const text *username, const text *node,
				Oid execution_type, const YqResource *allocation, int sign)
{
	UsageSum   *sum;
	bool		found;

	resetStringInfo(&counters->key);
	append_varlena(&counters->key, queue);
	append_varlena(&counters->key, label);
	append_varlena(&counters->key, username);
	yq_bytes_append_part(&counters->key, &execution_type, sizeof(Oid));
	sum = enter_sum(counters, counters->usages, &found);
	if (!found)
	{
		sum->queue = keep_varlena(counters, queue);
		sum->label = keep_varlena(counters, label);
		sum->username = keep_varlena(counters, username);
		sum->node = NULL;
		sum->execution_type = execution_type;
		sum->allocation = empty_resource(counters);
		sum->containers = 0;
	}
	add_usage(counters, sum, allocation, sign);

	if (node == NULL)
		return;
	resetStringInfo(&counters->key);
	append_varlena(&counters->key, node);
	yq_bytes_append_part(&counters->key, &execution_type, sizeof(Oid));
	sum = enter_sum(counters, counters->nodes, &found);
	if (!found)
	{
		sum->queue = sum->label = sum->username = NULL;
		sum->node = keep_varlena(counters, node);
		sum->execution_type = execution_type;
		sum->allocation = empty_resource(counters);
		sum->containers = 0;
	}
	add_usage(counters, sum, allocation, sign);
}

void
yq_counters_feed(YqCounters *counters, const text *source,
				 bool has_occurred_at, TimestampTz occurred_at)
{
	FeedSum    *sum;
	bool		found;

	resetStringInfo(&counters->key);
	append_varlena(&counters->key, source);
	sum = enter_sum(counters, counters->feeds, &found);
	if (!found)
	{
		sum->source = keep_varlena(counters, source);
		sum->events = 0;
		sum->last_event_at = DT_NOBEGIN;
	}
	sum->events++;
	if (has_occurred_at && !TIMESTAMP_NOT_FINITE(occurred_at))
		sum->last_event_at = Max(sum->last_event_at, occurred_at);
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

static void
begin_delta(const YqCounters *counters, Delta *delta, char scope)
{
	memset(delta->nulls, true, sizeof(delta->nulls));
	memset(delta->values, 0, sizeof(delta->values));

#define PUT(column, datum) \
	do { delta->values[column] = (datum); delta->nulls[column] = false; } while (0)
#define PUT_VARLENA(column, value) \
	do { if ((value) != NULL) PUT(column, PointerGetDatum(value)); } while (0)

	PUT(DELTA_SCOPE, CharGetDatum(scope));
	PUT(DELTA_PRICING_VERSION, Int64GetDatum(counters->pricing_version));
	PUT(DELTA_RECORDED_AT, TimestampTzGetDatum(counters->recorded_at));
	if (counters->priced_through != DT_NOBEGIN)
		PUT(DELTA_PRICED_THROUGH, TimestampTzGetDatum(counters->priced_through));
}

static void
put_project(Delta *delta, const ProjectSum *sum)
{
	PUT_VARLENA(DELTA_PROJECT, sum->project);
	PUT(DELTA_CHARGED, NumericGetDatum(yq_wide_to_numeric(&sum->charged)));
}

/* A weight is a whole number; take it through the money type to a numeric. */
static Numeric
weight_to_numeric(int128 weight)
{
	bool		negative = weight < 0;
	YqPrice		absolute = negative ? -(YqPrice) weight : (YqPrice) weight;
	YqWide		wide = {{(uint64) absolute, (uint64) (absolute >> 64)}};

	yq_wide_multiply(&wide, yq_power_of_ten(YQ_AMOUNT_DECIMALS / 2));
	yq_wide_multiply(&wide, yq_power_of_ten(YQ_AMOUNT_DECIMALS / 2));
	if (negative)
		yq_wide_negate(&wide);
	return yq_wide_to_numeric(&wide);
}

static void
put_class(Delta *delta, const ClassSum *sum)
{
	PUT_VARLENA(DELTA_PROJECT, sum->project);
	PUT_VARLENA(DELTA_SHAPE, sum->shape);
	PUT_VARLENA(DELTA_FACTORS, sum->factors);
	PUT(DELTA_REFERENCE_AT, TimestampTzGetDatum(sum->reference_at));
	PUT(DELTA_WEIGHT, NumericGetDatum(weight_to_numeric(sum->weight)));
	PUT(DELTA_ACCRUAL_BASE, NumericGetDatum(yq_wide_to_numeric(&sum->accrual_base)));
}

static void
put_usage(Delta *delta, const UsageSum *sum)
{
	PUT_VARLENA(DELTA_QUEUE, sum->queue);
	PUT_VARLENA(DELTA_LABEL, sum->label);
	PUT_VARLENA(DELTA_USERNAME, sum->username);
	PUT_VARLENA(DELTA_NODE, sum->node);
	PUT(DELTA_EXECUTION_TYPE, ObjectIdGetDatum(sum->execution_type));
	PUT_VARLENA(DELTA_ALLOCATION, sum->allocation);
	PUT(DELTA_CONTAINERS, Int64GetDatum(sum->containers));
}

static void
put_feed(Delta *delta, const FeedSum *sum)
{
	PUT_VARLENA(DELTA_SOURCE, sum->source);
	PUT(DELTA_EVENTS, Int64GetDatum(sum->events));
	if (sum->last_event_at != DT_NOBEGIN)
		PUT(DELTA_LAST_EVENT_AT, TimestampTzGetDatum(sum->last_event_at));
}

#undef PUT
#undef PUT_VARLENA

/* The only entry of a table; NULL when it is empty. */
static void *
only_sum(HTAB *table)
{
	HASH_SEQ_STATUS scan;
	void	   *entry;

	hash_seq_init(&scan, table);
	entry = hash_seq_search(&scan);
	if (entry != NULL)
		hash_seq_term(&scan);
	return entry;
}

/*
 * Whether one row can say it all: one sum of each kind at most, and those that
 * share columns saying the same.
 */
static bool
fits_one_row(const YqCounters *counters)
{
	const ProjectSum *project = only_sum(counters->projects);
	const ClassSum *class_sum = only_sum(counters->classes);
	const UsageSum *usage = only_sum(counters->usages);
	const UsageSum *node = only_sum(counters->nodes);

	if (hash_get_num_entries(counters->projects) > 1 ||
		hash_get_num_entries(counters->classes) > 1 ||
		hash_get_num_entries(counters->usages) != 1 ||
		hash_get_num_entries(counters->nodes) > 1 ||
		hash_get_num_entries(counters->feeds) > 1)
		return false;
	if (project != NULL && class_sum != NULL &&
		!yq_varlena_equal(project->project, class_sum->project))
		return false;
	return node == NULL ||
		(node->execution_type == usage->execution_type &&
		 node->containers == usage->containers &&
		 yq_resource_equal(node->allocation, usage->allocation));
}

static void
post_one_row(const YqCounters *counters, YqWriter *writer)
{
	Delta		delta;
	const ProjectSum *project = only_sum(counters->projects);
	const ClassSum *class_sum = only_sum(counters->classes);
	const UsageSum *usage = only_sum(counters->usages);
	const UsageSum *node = only_sum(counters->nodes);
	const FeedSum *feed = only_sum(counters->feeds);

	begin_delta(counters, &delta, SCOPE_ALL);
	if (project != NULL)
		put_project(&delta, project);
	if (class_sum != NULL)
		put_class(&delta, class_sum);
	put_usage(&delta, usage);
	if (node != NULL)
	{
		delta.values[DELTA_NODE] = PointerGetDatum(node->node);
		delta.nulls[DELTA_NODE] = false;
	}
	if (feed != NULL)
		put_feed(&delta, feed);
	yq_writer_put(writer, delta.values, delta.nulls);
}

static bool
usage_changed(const UsageSum *sum)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];

	return sum->containers != 0 || yq_resource_read(sum->allocation, entries) != 0;
}

static void
post_usages(const YqCounters *counters, YqWriter *writer, HTAB *table, char scope)
{
	HASH_SEQ_STATUS scan;
	UsageSum   *sum;
	Delta		delta;

	hash_seq_init(&scan, table);
	while ((sum = hash_seq_search(&scan)) != NULL)
	{
		if (!usage_changed(sum))
			continue;
		begin_delta(counters, &delta, scope);
		put_usage(&delta, sum);
		yq_writer_put(writer, delta.values, delta.nulls);
	}
}

static void
post_many_rows(const YqCounters *counters, YqWriter *writer)
{
	HASH_SEQ_STATUS scan;
	ProjectSum *project;
	ClassSum   *class_sum;
	FeedSum    *feed;
	Delta		delta;

	hash_seq_init(&scan, counters->projects);
	while ((project = hash_seq_search(&scan)) != NULL)
	{
		begin_delta(counters, &delta, SCOPE_PROJECT);
		put_project(&delta, project);
		yq_writer_put(writer, delta.values, delta.nulls);
	}
	hash_seq_init(&scan, counters->classes);
	while ((class_sum = hash_seq_search(&scan)) != NULL)
	{
		if (class_sum->weight == 0 && yq_wide_is_zero(&class_sum->accrual_base))
			continue;
		begin_delta(counters, &delta, SCOPE_RATE_CLASS);
		put_class(&delta, class_sum);
		yq_writer_put(writer, delta.values, delta.nulls);
	}
	post_usages(counters, writer, counters->usages, SCOPE_USAGE);
	post_usages(counters, writer, counters->nodes, SCOPE_NODE);
	hash_seq_init(&scan, counters->feeds);
	while ((feed = hash_seq_search(&scan)) != NULL)
	{
		begin_delta(counters, &delta, SCOPE_FEED);
		put_feed(&delta, feed);
		yq_writer_put(writer, delta.values, delta.nulls);
	}
}

void
yq_counters_post(YqCounters *counters)
{
	MemoryContext old_context = MemoryContextSwitchTo(counters->context);
	YqWriter   *writer = yq_writer_open(YQ_COUNTER_DELTA, DELTA_COLUMNS, 1000, false);

	if (fits_one_row(counters))
		post_one_row(counters, writer);
	else
		post_many_rows(counters, writer);
	yq_writer_close(writer);
	MemoryContextSwitchTo(old_context);

	MemoryContextReset(counters->context);
	make_tables(counters);
}
