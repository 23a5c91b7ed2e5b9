/*-------------------------------------------------------------------------
 *
 * name_cache.c
 *	  Names of projects, nodes and waiting events that a session has cached.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/arguments.h"
#include "base/bytes_table.h"
#include "charging/event.h"
#include "charging/name_cache.h"
#include "commands/trigger.h"
#include "store/catalog.h"
#include "utils/memutils.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(yq_sql_signal_change);

/* The largest number of cached names of a table.  When it is reached, all names are dropped. */
#define MAX_NAMES 100000

typedef struct NameEntry
{
	YqBytes		key;
	text	   *label;			/* label of a node; NULL if the node does not exist */
} NameEntry;

/* The cached names of one table. */
typedef struct NameCache
{
	YqTable		table;
	bool		is_watched;
	bool		is_current;		/* the cached names are current; a change of the table sets this flag to false */
	MemoryContext context;
	HTAB	   *names;
} NameCache;

static NameCache projects = {.table = YQ_PROJECT};
static NameCache nodes = {.table = YQ_NODE};
static NameCache waiting = {.table = YQ_EVENT_REJECT};
static bool nothing_waits = false;

static void
watch(NameCache *cache)
{
	if (cache->is_watched)
		return;
	yq_catalog_on_change(cache->table, &cache->is_current);
	yq_catalog_on_abort(&cache->is_current);
	cache->is_watched = true;
}

/* Empty the cache if the table has changed. */
static void
refresh(NameCache *cache)
{
	watch(cache);
	if (cache->is_current && hash_get_num_entries(cache->names) < MAX_NAMES)
		return;
	if (cache->context == NULL)
		cache->context = AllocSetContextCreate(CacheMemoryContext, "yquota names",
												   ALLOCSET_DEFAULT_SIZES);
	cache->is_current = false;
	MemoryContextReset(cache->context);
	cache->names = yq_bytes_table_create("yquota names", sizeof(NameEntry),
											 cache->context);
	cache->is_current = true;
}

static void
note(NameCache *cache, const text *name, const text *label)
{
	MemoryContext old_context;
	NameEntry  *entry;
	text	   *kept_label;
	bool		found;

	if (!cache->is_current)
		return;
	old_context = MemoryContextSwitchTo(cache->context);
	/* copy the label first, so that an error leaves no entry without a label */
	kept_label = yq_varlena_copy(label);
	entry = yq_bytes_table_enter(cache->names, yq_bytes_of_varlena(name), cache->context, &found);
	entry->label = kept_label;
	MemoryContextSwitchTo(old_context);
}

bool
yq_name_cache_has_project(const text *project)
{
	refresh(&projects);
	return yq_bytes_table_find(projects.names, yq_bytes_of_varlena(project)) != NULL;
}

void
yq_name_cache_note_project(const text *project)
{
	note(&projects, project, NULL);
}

bool
yq_name_cache_has_node(const text *node, text **label)
{
	NameEntry  *entry;

	refresh(&nodes);
	entry = yq_bytes_table_find(nodes.names, yq_bytes_of_varlena(node));
	if (entry != NULL)
		*label = yq_varlena_copy(entry->label);
	return entry != NULL;
}

void
yq_name_cache_note_node(const text *node, const text *label)
{
	note(&nodes, node, label);
}

bool
yq_name_cache_nothing_waits(void)
{
	watch(&waiting);
	if (!waiting.is_current)
		nothing_waits = false;
	waiting.is_current = true;
	return nothing_waits;
}

void
yq_name_cache_note_nothing_waits(void)
{
	nothing_waits = waiting.is_current;
}

/*
 * Make all sessions drop their cached names of a table.  This is a row trigger of the cached
 * tables, for rows that change a cached name.
 */
Datum
yq_sql_signal_change(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	yq_require_trigger(fcinfo, "signal_change");
	yq_catalog_signal_change_of(RelationGetRelid(trigger->tg_relation));
	PG_RETURN_POINTER(NULL);
}
