/*-------------------------------------------------------------------------
 *
 * queue_index.c
 *	  What is configured for queues, by path and by short name.
 *
 * Everything is read again after any change: a few milliseconds for thousands of
 * queues, and nothing that could be half new.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "queues/mapping_rule.h"
#include "queues/queue_index.h"
#include "store/catalog.h"
#include "store/table_scan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define DEFAULT_MAXIMUM_DEPTH 2
#define DEFAULT_WORKFLOW_TAG_PREFIX "workflowid:"

typedef struct NameEntry
{
	YqBytes		name;
	YqIndexedQueue *queue;		/* the first that was read */
	int			count;			/* queues of that name */
} NameEntry;

typedef struct TemplateEntry
{
	YqBytes		path;
	YqAcl	   *acls[YQ_QUEUE_TEMPLATE_COUNT][2];
	char	   *priority_acls[YQ_QUEUE_TEMPLATE_COUNT];	/* NULL: not set, like the next */
	char	   *default_priorities[YQ_QUEUE_TEMPLATE_COUNT];
} TemplateEntry;

typedef struct WorkflowEntry
{
	YqBytes		queue_and_workflow;
	int32		position;
	int32		priority;
} WorkflowEntry;

static const YqTable watched_tables[] = {
	YQ_QUEUE, YQ_SCHEDULER_SETTING, YQ_WILDCARD_TEMPLATE, YQ_WORKFLOW_PRIORITY_MAPPING,
	YQ_MAPPING_RULE,
};

const char *const yq_acl_columns[YQ_QUEUE_OPERATION_COUNT] = {
	[YQ_SUBMIT_APPLICATIONS] = "acl_submit_applications",
	[YQ_ADMINISTER_QUEUE] = "acl_administer_queue",
	[YQ_ADMINISTER_RESERVATIONS] = "acl_administer_reservations",
	[YQ_LIST_RESERVATIONS] = "acl_list_reservations",
	[YQ_SUBMIT_RESERVATIONS] = "acl_submit_reservations",
};

static const char *const template_columns[YQ_QUEUE_TEMPLATE_COUNT] = {
	[YQ_TEMPLATE_MANAGED] = "leaf_queue_template",
	[YQ_TEMPLATE_ANY] = "auto_queue_creation_v2_template",
	[YQ_TEMPLATE_LEAF] = "auto_queue_creation_v2_leaf_template",
	[YQ_TEMPLATE_PARENT] = "auto_queue_creation_v2_parent_template",
};

static MemoryContext index_context = NULL;
static bool is_current = false;
static bool is_loading = false; /* still set when loading failed */
static bool is_watched = false;
static uint64 generation = 0;
static YqAccessSettings settings;
static HTAB *queues_by_path;
static HTAB *queues_by_name;
static HTAB *templates;
static HTAB *workflows;

static YqBytes
bytes_of(const char *string)
{
	YqBytes		bytes = {.data = string, .length = strlen(string)};

	return bytes;
}

/* -- queues --------------------------------------------------------------- */

enum QueueColumn
{
	QUEUE_PATH,
	QUEUE_AUTO_CREATED,
	QUEUE_RESERVABLE,
	QUEUE_MANAGED,
	QUEUE_CREATES,
	QUEUE_DEFAULT_PRIORITY,
	QUEUE_MAXIMUM_DEPTH,
	QUEUE_PRIORITY_ACL,
	QUEUE_FIRST_ACL,
	QUEUE_FIRST_TEMPLATE = QUEUE_FIRST_ACL + YQ_QUEUE_OPERATION_COUNT,
	QUEUE_COLUMN_COUNT = QUEUE_FIRST_TEMPLATE + YQ_QUEUE_TEMPLATE_COUNT
};

static char *
text_of_template(Jsonb *template, const char *key)
{
	JsonbValue *value = getKeyJsonValueFromContainer(&template->root, key, strlen(key), NULL);

	if (value == NULL || value->type != jbvString)
		return NULL;
	return pnstrdup(value->val.string.val, value->val.string.len);
}

static YqAcl *
acl_of_template(Jsonb *template, YqQueueOperation operation)
{
	char	   *text = text_of_template(template, yq_acl_columns[operation]);

	return text == NULL ? NULL : yq_acl_parse(text);
}

static void
add_template(const char *path, YqQueueTemplate template, Datum value)
{
	Jsonb	   *object = DatumGetJsonbP(value);
	TemplateEntry *entry;
	YqBytes		key;
	bool		found;

	entry = yq_bytes_table_enter(templates, bytes_of(path), index_context, &found);
	if (!found)
	{
		key = entry->path;
		memset(entry, 0, sizeof(TemplateEntry));
		entry->path = key;
	}
	entry->acls[template][0] = acl_of_template(object, YQ_SUBMIT_APPLICATIONS);
	entry->acls[template][1] = acl_of_template(object, YQ_ADMINISTER_QUEUE);
	entry->priority_acls[template] = text_of_template(object, "acl_application_max_priority");
	entry->default_priorities[template] = text_of_template(object, "default-application-priority");
}

static void
add_name(YqIndexedQueue *queue)
{
	const char *dot = strrchr(queue->path, '.');
	NameEntry  *entry;
	bool		found;

	if (dot == NULL)
		return;
	entry = yq_bytes_table_enter_kept(queues_by_name, bytes_of(dot + 1), &found);
	if (!found)
	{
		entry->queue = queue;
		entry->count = 0;
	}
	entry->count++;
}

static void
read_queue(const YqRow *row)
{
	char	   *path = yq_row_text(row, QUEUE_PATH);
	YqIndexedQueue *queue;
	bool		found;
	bool		isnull;

	slot_getallattrs(row->slot);
	queue = yq_bytes_table_enter_kept(queues_by_path, bytes_of(path), &found);
	queue->path = path;
	queue->parent = NULL;
	queue->is_managed = yq_row_bool(row, QUEUE_MANAGED);
	queue->creates_queues = yq_row_bool(row, QUEUE_CREATES);
	queue->is_leaf = !queue->is_managed && !queue->creates_queues &&
		!yq_row_bool(row, QUEUE_RESERVABLE);
	queue->auto_created = yq_row_bool(row, QUEUE_AUTO_CREATED);
	queue->default_priority = yq_row_integer(row, QUEUE_DEFAULT_PRIORITY, 0);
	(void) yq_row_value(row, QUEUE_DEFAULT_PRIORITY, &isnull);
	queue->has_default_priority = !isnull;
	queue->maximum_depth = yq_row_integer(row, QUEUE_MAXIMUM_DEPTH, -1);
	queue->priority_acl = yq_row_text(row, QUEUE_PRIORITY_ACL);
	queue->priority_groups = NIL;
	queue->priority_is_parsed = false;
	for (int i = 0; i < YQ_QUEUE_OPERATION_COUNT; i++)
	{
		char	   *text = yq_row_text(row, QUEUE_FIRST_ACL + i);

		queue->acls[i] = text == NULL ? NULL : yq_acl_parse(text);
	}
	for (int i = 0; i < YQ_QUEUE_TEMPLATE_COUNT; i++)
	{
		Datum		value = yq_row_value(row, QUEUE_FIRST_TEMPLATE + i, &isnull);

		if (!isnull)
			add_template(path, i, value);
	}
	add_name(queue);
}

/* A queue that has children is a parent, whatever else it is. */
static void
link_parents(void)
{
	HASH_SEQ_STATUS scan;
	YqIndexedQueue *queue;

	hash_seq_init(&scan, queues_by_path);
	while ((queue = hash_seq_search(&scan)) != NULL)
	{
		const char *dot = strrchr(queue->path, '.');
		YqBytes		parent_path = {.data = queue->path};

		if (dot == NULL)
		{
			queue->is_leaf = false;
			continue;
		}
		parent_path.length = dot - queue->path;
		queue->parent = yq_bytes_table_find(queues_by_path, parent_path);
		if (queue->parent == NULL)
			continue;
		queue->parent->is_leaf = false;
		if (queue->parent->auto_created)
			queue->parent->creates_queues = true;
	}
}

static void
read_queues(Snapshot snapshot)
{
	const char *names[QUEUE_COLUMN_COUNT] = {
		[QUEUE_PATH] = "path",
		[QUEUE_AUTO_CREATED] = "auto_created",
		[QUEUE_RESERVABLE] = "reservable",
		[QUEUE_MANAGED] = "auto_create_child_queue_enabled",
		[QUEUE_CREATES] = "auto_queue_creation_v2_enabled",
		[QUEUE_DEFAULT_PRIORITY] = "default_application_priority",
		[QUEUE_MAXIMUM_DEPTH] = "auto_queue_creation_v2_maximum_queue_depth",
		[QUEUE_PRIORITY_ACL] = "acl_application_max_priority",
	};

	memcpy(&names[QUEUE_FIRST_ACL], yq_acl_columns, sizeof(yq_acl_columns));
	memcpy(&names[QUEUE_FIRST_TEMPLATE], template_columns, sizeof(template_columns));
	yq_table_scan(YQ_QUEUE, snapshot, names, QUEUE_COLUMN_COUNT, read_queue, NULL);
	link_parents();
}

static void
read_wildcard_template(const YqRow *row)
{
	char	   *path = yq_row_text(row, 0);

	for (int i = YQ_TEMPLATE_ANY; i <= YQ_TEMPLATE_PARENT; i++)
	{
		bool		isnull;
		Datum		value = yq_row_value(row, i, &isnull);

		if (!isnull)
			add_template(path, i, value);
	}
}

/* -- what templates say of queues that were created ------------------------ */

/* Take from a template what nothing before it has said; *set tells which lists were taken. */
static void
take_from_template(YqIndexedQueue *queue, const TemplateEntry *entry, YqQueueTemplate template, bool *set)
{
	for (YqQueueOperation operation = YQ_SUBMIT_APPLICATIONS; operation <= YQ_ADMINISTER_QUEUE; operation++)
	{
		YqAcl	   *acl = entry->acls[template][operation];

		if (acl == NULL || set[operation])
			continue;
		queue->acls[operation] = acl;
		set[operation] = true;
	}
	if (queue->priority_acl == NULL)
		queue->priority_acl = entry->priority_acls[template];
	if (!queue->has_default_priority && entry->default_priorities[template] != NULL)
	{
		queue->default_priority = strtol(entry->default_priorities[template], NULL, 10);
		queue->has_default_priority = true;
	}
}

/* Templates of one kind: the parent's, then those with wildcards for the end of its path. */
static void
take_from_templates(YqIndexedQueue *queue, YqQueueTemplate template, bool *set)
{
	const YqIndexedQueue *parent = queue->parent;
	int			most = template == YQ_TEMPLATE_MANAGED ? 0 :
		parent->maximum_depth >= 0 ? parent->maximum_depth : settings.maximum_depth;
	char	   *prefix = pstrdup(parent->path);
	StringInfoData wildcards;

	initStringInfo(&wildcards);
	for (int level = 0; level <= most; level++)
	{
		TemplateEntry *entry = yq_bytes_table_find(templates, bytes_of(psprintf("%s%s", prefix, wildcards.data)));
		char	   *dot = strrchr(prefix, '.');

		if (entry != NULL)
			take_from_template(queue, entry, template, set);
		if (dot == NULL)
			break;
		*dot = '\0';
		appendStringInfoString(&wildcards, ".*");
	}
}

/* Lists of templates replace those of the queue, as in Hadoop; other values do not. */
static void
complete_created_queue(YqIndexedQueue *queue, void *state)
{
	bool		set[2] = {false};

	if (!queue->auto_created || queue->parent == NULL)
		return;
	if (queue->parent->is_managed)
	{
		take_from_templates(queue, YQ_TEMPLATE_MANAGED, set);
		return;
	}
	take_from_templates(queue, queue->is_leaf ? YQ_TEMPLATE_LEAF : YQ_TEMPLATE_PARENT, set);
	take_from_templates(queue, YQ_TEMPLATE_ANY, set);
}

/* -- settings ------------------------------------------------------------- */

enum SettingColumn
{
	SETTING_ACL_ENABLE,
	SETTING_ADMIN_ACL,
	SETTING_MAXIMUM_PRIORITY,
	SETTING_OVERRIDE_QUEUE,
	SETTING_RULE_FORMAT,
	SETTING_ENGINES,
	SETTING_OVERRIDE_PRIORITY,
	SETTING_TAG_PREFIX,
	SETTING_MAXIMUM_DEPTH,
	SETTING_COLUMN_COUNT
};

static const char *const setting_columns[SETTING_COLUMN_COUNT] = {
	[SETTING_ACL_ENABLE] = "acl_enable",
	[SETTING_ADMIN_ACL] = "admin_acl",
	[SETTING_MAXIMUM_PRIORITY] = "cluster_max_application_priority",
	[SETTING_OVERRIDE_QUEUE] = "queue_mappings_override_enable",
	[SETTING_RULE_FORMAT] = "mapping_rule_format",
	[SETTING_ENGINES] = "queue_placement_rules",
	[SETTING_OVERRIDE_PRIORITY] = "workflow_priority_mappings_override_enable",
	[SETTING_TAG_PREFIX] = "workflow_id_tag_prefix",
	[SETTING_MAXIMUM_DEPTH] = "auto_queue_creation_v2_maximum_queue_depth",
};

/*
 * user-group and app-name are one and the same engine; others are classes of the
 * resource manager's own, which do not place anything here.
 */
static void
read_engines(ArrayType *engines)
{
	Datum	   *names;
	bool	   *nulls;
	int			count;

	deconstruct_array(engines, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	settings.rules_in_force = (count == 0);
	for (int i = 0; i < count; i++)
	{
		char	   *name;

		if (nulls[i])
			continue;
		name = TextDatumGetCString(names[i]);
		if (strcmp(name, "user-group") == 0 || strcmp(name, "app-name") == 0)
			settings.rules_in_force = true;
		for (int j = 0; j < i; j++)
		{
			if (!nulls[j] && strcmp(name, TextDatumGetCString(names[j])) == 0)
				settings.duplicate_engine = name;
		}
	}
}

static void
read_setting(const YqRow *row)
{
	char	   *text;
	bool		isnull;
	Datum		value;

	settings.acl_enable = yq_row_bool(row, SETTING_ACL_ENABLE);
	text = yq_row_text(row, SETTING_ADMIN_ACL);
	settings.has_admin_acl = (text != NULL);
	if (settings.has_admin_acl)
		settings.admin_acl = yq_acl_parse(text);
	settings.maximum_priority = yq_row_integer(row, SETTING_MAXIMUM_PRIORITY, 0);
	settings.override_queue = yq_row_bool(row, SETTING_OVERRIDE_QUEUE);
	text = yq_row_text(row, SETTING_RULE_FORMAT);
	settings.json_rules = (text != NULL && strcmp(text, "json") == 0);
	value = yq_row_value(row, SETTING_ENGINES, &isnull);
	if (!isnull)
		read_engines(DatumGetArrayTypeP(value));
	settings.override_priority = yq_row_bool(row, SETTING_OVERRIDE_PRIORITY);
	text = yq_row_text(row, SETTING_TAG_PREFIX);
	if (text != NULL)
		settings.workflow_tag_prefix = text;
	settings.maximum_depth = yq_row_integer(row, SETTING_MAXIMUM_DEPTH,
										DEFAULT_MAXIMUM_DEPTH);
}

static void
set_defaults(void)
{
	memset(&settings, 0, sizeof(settings));
	settings.admin_acl = yq_acl_parse("*");
	settings.rules_in_force = true;
	settings.workflow_tag_prefix = DEFAULT_WORKFLOW_TAG_PREFIX;
	settings.maximum_depth = DEFAULT_MAXIMUM_DEPTH;
}

/* -- workflows ------------------------------------------------------------ */

static YqBytes
workflow_key(StringInfo buffer, const char *queue_path, const char *workflow_id)
{
	YqBytes		key;

	initStringInfo(buffer);
	yq_bytes_append_part(buffer, queue_path, strlen(queue_path));
	yq_bytes_append_part(buffer, workflow_id, strlen(workflow_id));
	key.data = buffer->data;
	key.length = buffer->len;
	return key;
}

/* Of two rows for the same queue and workflow the later one counts. */
static void
read_workflow(const YqRow *row)
{
	char	   *workflow_id = yq_row_text(row, 1);
	char	   *lower = str_tolower(workflow_id, strlen(workflow_id), DEFAULT_COLLATION_OID);
	int32		position = yq_row_integer(row, 3, 0);
	StringInfoData buffer;
	WorkflowEntry *entry;
	bool		found;

	entry = yq_bytes_table_enter(workflows,
								 workflow_key(&buffer, yq_row_text(row, 0), lower),
								 index_context, &found);
	if (found && entry->position > position)
		return;
	entry->position = position;
	entry->priority = yq_row_integer(row, 2, 0);
}

/* -- the cache ------------------------------------------------------------ */

static void
load(void)
{
	static const char *const template_names[] = {
		"path", "auto_queue_creation_v2_template", "auto_queue_creation_v2_leaf_template",
		"auto_queue_creation_v2_parent_template",
	};
	static const char *const workflow_names[] = {
		"queue", "workflow_id", "priority", "position",
	};
	MemoryContext old_context;
	Snapshot	snapshot;

	if (index_context == NULL)
		index_context = AllocSetContextCreate(CacheMemoryContext, "yquota queue index",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(index_context);
	generation++;
	snapshot = yq_latest_snapshot();
	old_context = MemoryContextSwitchTo(index_context);
	queues_by_path = yq_bytes_table_create("yquota queues by path",
										   sizeof(YqIndexedQueue), index_context);
	queues_by_name = yq_bytes_table_create("yquota queues by name",
										   sizeof(NameEntry), index_context);
	templates = yq_bytes_table_create("yquota queue templates",
									  sizeof(TemplateEntry), index_context);
	workflows = yq_bytes_table_create("yquota workflow priorities",
									  sizeof(WorkflowEntry), index_context);
	set_defaults();
	yq_table_scan(YQ_SCHEDULER_SETTING, snapshot, setting_columns, SETTING_COLUMN_COUNT,
				 read_setting, NULL);
	read_queues(snapshot);
	yq_table_scan(YQ_WILDCARD_TEMPLATE, snapshot, template_names, lengthof(template_names),
				 read_wildcard_template, NULL);
	if (hash_get_num_entries(templates) > 0)
		yq_queue_index_walk(complete_created_queue, NULL);
	yq_table_scan(YQ_WORKFLOW_PRIORITY_MAPPING, snapshot, workflow_names,
				 lengthof(workflow_names), read_workflow, NULL);
	yq_mapping_rules_read(snapshot, settings.json_rules);
	MemoryContextSwitchTo(old_context);
	UnregisterSnapshot(snapshot);
}

/*
 * What the leader of a parallel plan reads may be older than a change that it
 * has been told of already, and is not kept longer than needed.
 */
uint64
yq_queue_index_refresh(void)
{
	if (!is_watched)
	{
		for (int i = 0; i < (int) lengthof(watched_tables); i++)
			yq_catalog_on_change_of_rows(watched_tables[i], &is_current);
		yq_catalog_on_abort(&is_current);
		is_watched = true;
	}

	yq_catalog_accept_changes();
	if (is_current && !is_loading)
		return generation;

	/* What is read below is as new as any message that comes from now on. */
	is_loading = true;
	is_current = !IsInParallelMode();
	load();
	is_loading = false;
	return generation;
}

uint64
yq_queue_index_generation(void)
{
	return generation;
}

const YqAccessSettings *
yq_access_settings(void)
{
	return &settings;
}

MemoryContext
yq_queue_index_context(void)
{
	return index_context;
}

/* -- look-ups ------------------------------------------------------------- */

YqIndexedQueue *
yq_queue_find_path(const char *path)
{
	return yq_bytes_table_find(queues_by_path, bytes_of(path));
}

YqIndexedQueue *
yq_queue_find(const char *name)
{
	YqIndexedQueue *queue = yq_queue_find_path(name);
	NameEntry  *entry;

	if (queue != NULL || strcmp(name, "root") == 0)
		return queue;
	entry = yq_bytes_table_find(queues_by_name, bytes_of(name));
	return entry != NULL && entry->count == 1 ? entry->queue : NULL;
}

bool
yq_queue_name_is_ambiguous(const char *name)
{
	NameEntry  *entry = yq_bytes_table_find(queues_by_name, bytes_of(name));

	return entry != NULL && entry->count > 1;
}

void
yq_queue_index_walk(void (*visit) (YqIndexedQueue *queue, void *state), void *state)
{
	HASH_SEQ_STATUS scan;
	YqIndexedQueue *queue;

	hash_seq_init(&scan, queues_by_path);
	while ((queue = hash_seq_search(&scan)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		visit(queue, state);
	}
}

YqAcl *
yq_queue_template_acl(const char *path, YqQueueTemplate template, YqQueueOperation operation)
{
	TemplateEntry *entry = yq_bytes_table_find(templates, bytes_of(path));

	Assert(operation == YQ_SUBMIT_APPLICATIONS || operation == YQ_ADMINISTER_QUEUE);
	return entry == NULL ? NULL : entry->acls[template][operation == YQ_ADMINISTER_QUEUE];
}

bool
yq_workflow_priority(const char *queue_path, const char *workflow_id, int32 *priority)
{
	StringInfoData buffer;
	WorkflowEntry *entry;

	entry = yq_bytes_table_find(workflows, workflow_key(&buffer, queue_path, workflow_id));
	pfree(buffer.data);
	if (entry == NULL)
		return false;
	*priority = entry->priority;
	return true;
}
