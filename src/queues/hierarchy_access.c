/*-------------------------------------------------------------------------
 *
 * hierarchy_access.c
 *	  Access lists, priorities, workflows and settings of access: reading them into a
 *	  hierarchy and finding them there.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "queues/template.h"
#include "store/table_scan.h"
#include "utils/array.h"
#include "utils/builtins.h"

#define DEFAULT_WORKFLOW_TAG_PREFIX "workflowid:"

/* Number of operations, counted from the first, whose access lists a template may set. */
#define TEMPLATE_OPERATIONS 2

typedef struct TemplateLists
{
	YqBytes		path;
	YqAcl	   *acls[YQ_QUEUE_TEMPLATE_COUNT][TEMPLATE_OPERATIONS];
} TemplateLists;

typedef struct WorkflowEntry
{
	YqBytes		queue_and_workflow;
	int32		position;
	int32		priority;
} WorkflowEntry;

/* -- lists of queues --------------------------------------------------------- */

static YqAcl *
acl_of_template(Jsonb *template, YqQueueOperation operation)
{
	char	   *text = yq_template_text(template, yq_acl_columns[operation]);

	return text == NULL ? NULL : yq_acl_parse(text);
}

/* Replace an access list of a created queue by the list of its template, as Hadoop does. */
static void
take_list_of_template(YqQueue *queue, const YqTemplates *templates, YqQueueOperation operation)
{
	ListCell   *cell;

	foreach(cell, templates->templates)
	{
		YqAcl	   *acl = acl_of_template(lfirst(cell), operation);

		if (acl == NULL)
			continue;
		queue->acls[operation] = acl;
		return;
	}
}

void
yq_hierarchy_resolve_access(YqQueue *queue, const YqQueueRow *row, const YqTemplates *templates)
{
	char	   *priority;

	for (int i = 0; i < YQ_QUEUE_OPERATION_COUNT; i++)
	{
		if (!row->nulls[YQ_COL_FIRST_ACL + i])
			queue->acls[i] = yq_acl_parse(TextDatumGetCString(row->values[YQ_COL_FIRST_ACL + i]));
	}
	for (int i = 0; i < TEMPLATE_OPERATIONS; i++)
		take_list_of_template(queue, templates, i);

	if (!row->nulls[YQ_COL_PRIORITY_ACL])
		queue->priority_acl = TextDatumGetCString(row->values[YQ_COL_PRIORITY_ACL]);
	else
		queue->priority_acl = yq_templates_text(templates, "acl_application_max_priority");
	if (!row->nulls[YQ_COL_DEFAULT_APPLICATION_PRIORITY])
		queue->default_priority = DatumGetInt32(row->values[YQ_COL_DEFAULT_APPLICATION_PRIORITY]);
	else if ((priority = yq_templates_text(templates, "default-application-priority")) != NULL)
		queue->default_priority = strtol(priority, NULL, 10);
}

/* -- lists of templates ------------------------------------------------------ */

static void
note_template(YqHierarchy *hierarchy, YqBytes path, YqQueueTemplate template, Jsonb *object)
{
	TemplateLists *lists;
	YqBytes		key;
	bool		found;

	if (object == NULL)
		return;
	lists = yq_bytes_table_enter(hierarchy->template_lists, path, hierarchy->context, &found);
	if (!found)
	{
		key = lists->path;
		memset(lists, 0, sizeof(TemplateLists));
		lists->path = key;
	}
	for (int i = 0; i < TEMPLATE_OPERATIONS; i++)
		lists->acls[template][i] = acl_of_template(object, i);
}

static void
note_templates(YqHierarchyLoader *loader)
{
	static const YqQueueColumn columns[YQ_QUEUE_TEMPLATE_COUNT] = {
		[YQ_TEMPLATE_MANAGED] = YQ_COL_LEAF_QUEUE_TEMPLATE,
		[YQ_TEMPLATE_ANY] = YQ_COL_V2_TEMPLATE,
		[YQ_TEMPLATE_LEAF] = YQ_COL_V2_LEAF_TEMPLATE,
		[YQ_TEMPLATE_PARENT] = YQ_COL_V2_PARENT_TEMPLATE,
	};
	YqHierarchy *hierarchy = loader->hierarchy;
	HASH_SEQ_STATUS status;
	YqWildcardRow *wildcard;

	for (int i = 0; i < loader->row_count; i++)
	{
		const YqQueueRow *row = loader->rows[i];

		for (int template = 0; template < YQ_QUEUE_TEMPLATE_COUNT; template++)
		{
			if (!row->nulls[columns[template]])
				note_template(hierarchy, row->key, template, DatumGetJsonbP(row->values[columns[template]]));
		}
	}
	hash_seq_init(&status, loader->wildcards);
	while ((wildcard = hash_seq_search(&status)) != NULL)
	{
		note_template(hierarchy, wildcard->key, YQ_TEMPLATE_ANY, wildcard->common);
		note_template(hierarchy, wildcard->key, YQ_TEMPLATE_LEAF, wildcard->leaf);
		note_template(hierarchy, wildcard->key, YQ_TEMPLATE_PARENT, wildcard->parent);
	}
}

YqAcl *
yq_hierarchy_template_acl(const YqHierarchy *hierarchy, const char *path, YqQueueTemplate template,
						  YqQueueOperation operation)
{
	TemplateLists *lists = yq_bytes_table_find(hierarchy->template_lists, yq_bytes_of_string(path));

	Assert(operation < TEMPLATE_OPERATIONS);
	return lists == NULL ? NULL : lists->acls[template][operation];
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
};

/*
 * Read the placement engines. user-group and app-name are two names of the same engine.
 * Any other name is a class of the resource manager, which yquota ignores.
 */
static void
read_engines(YqAccessSettings *settings, ArrayType *engines)
{
	Datum	   *names;
	bool	   *nulls;
	int			count;

	deconstruct_array(engines, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	settings->rules_in_force = (count == 0);
	for (int i = 0; i < count; i++)
	{
		char	   *name;

		if (nulls[i])
			continue;
		name = TextDatumGetCString(names[i]);
		if (strcmp(name, "user-group") == 0 || strcmp(name, "app-name") == 0)
			settings->rules_in_force = true;
		for (int j = 0; j < i; j++)
		{
			if (!nulls[j] && strcmp(name, TextDatumGetCString(names[j])) == 0)
				settings->duplicate_engine = name;
		}
	}
}

static void
read_access_setting(const YqRow *row)
{
	YqHierarchyLoader *loader = row->argument;
	YqAccessSettings *settings = &loader->hierarchy->access;
	char	   *text;
	bool		isnull;
	Datum		value;

	settings->acl_enable = yq_row_bool(row, SETTING_ACL_ENABLE);
	text = yq_row_text(row, SETTING_ADMIN_ACL);
	settings->has_admin_acl = (text != NULL);
	if (settings->has_admin_acl)
		settings->admin_acl = yq_acl_parse(text);
	settings->maximum_priority = yq_row_integer(row, SETTING_MAXIMUM_PRIORITY, 0);
	settings->override_queue = yq_row_bool(row, SETTING_OVERRIDE_QUEUE);
	text = yq_row_text(row, SETTING_RULE_FORMAT);
	settings->json_rules = (text != NULL && strcmp(text, "json") == 0);
	value = yq_row_value(row, SETTING_ENGINES, &isnull);
	if (!isnull)
		read_engines(settings, DatumGetArrayTypeP(value));
	settings->override_priority = yq_row_bool(row, SETTING_OVERRIDE_PRIORITY);
	text = yq_row_text(row, SETTING_TAG_PREFIX);
	if (text != NULL)
		settings->workflow_tag_prefix = text;
}

static void
set_access_defaults(YqAccessSettings *settings)
{
	settings->admin_acl = yq_acl_parse("*");
	settings->rules_in_force = true;
	settings->workflow_tag_prefix = DEFAULT_WORKFLOW_TAG_PREFIX;
}

/* -- workflows ------------------------------------------------------------ */

static const char *const workflow_columns[] = {"queue", "workflow_id", "priority", "position"};

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

/* Read a workflow's priority.  If several rows have the same queue and workflow, the last row counts. */
static void
read_workflow(const YqRow *row)
{
	YqHierarchyLoader *loader = row->argument;
	char	   *workflow_id = yq_row_text(row, 1);
	char	   *lower = yq_lower_case(workflow_id);
	int32		position = yq_row_integer(row, 3, 0);
	StringInfoData buffer;
	WorkflowEntry *entry;
	bool		found;

	entry = yq_bytes_table_enter(loader->hierarchy->workflows,
								 workflow_key(&buffer, yq_row_text(row, 0), lower),
								 loader->hierarchy->context, &found);
	if (found && entry->position > position)
		return;
	entry->position = position;
	entry->priority = yq_row_integer(row, 2, 0);
}

bool
yq_hierarchy_workflow_priority(const YqHierarchy *hierarchy, const char *queue_path,
							   const char *workflow_id, int32 *priority)
{
	StringInfoData buffer;
	WorkflowEntry *entry;

	entry = yq_bytes_table_find(hierarchy->workflows, workflow_key(&buffer, queue_path, workflow_id));
	pfree(buffer.data);
	if (entry == NULL)
		return false;
	*priority = entry->priority;
	return true;
}

/* -- all ------------------------------------------------------------------- */

void
yq_hierarchy_read_access(YqHierarchyLoader *loader)
{
	YqHierarchy *hierarchy = loader->hierarchy;
	MemoryContext old_context = MemoryContextSwitchTo(hierarchy->context);

	hierarchy->template_lists = yq_bytes_table_create("yquota access lists of templates", sizeof(TemplateLists),
													  hierarchy->context);
	hierarchy->workflows = yq_bytes_table_create("yquota workflow priorities", sizeof(WorkflowEntry),
												 hierarchy->context);
	set_access_defaults(&hierarchy->access);
	yq_table_scan(YQ_SCHEDULER_SETTING, loader->snapshot, setting_columns, SETTING_COLUMN_COUNT,
				  read_access_setting, loader);
	yq_table_scan(YQ_WORKFLOW_PRIORITY_MAPPING, loader->snapshot, workflow_columns,
				  lengthof(workflow_columns), read_workflow, loader);
	note_templates(loader);
	hierarchy->mapping_rules = yq_mapping_rules_read(loader->snapshot, hierarchy->access.json_rules);
	MemoryContextSwitchTo(old_context);
}
