/*-------------------------------------------------------------------------
 *
 * template.c
 *	  Reading the properties of queues from their rows and, for created queues, from templates.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "queues/template.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#define CAPACITY_SCHEDULER_PREFIX "yarn.scheduler.capacity."

char *
yq_template_text(Jsonb *template, const char *property)
{
	JsonbValue	value;

	if (template == NULL ||
		getKeyJsonValueFromContainer(&template->root, property, strlen(property), &value) == NULL)
		return NULL;
	if (value.type == jbvString)
		return pnstrdup(value.val.string.val, value.val.string.len);
	if (value.type == jbvNumeric)
		return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value.val.numeric)));
	if (value.type == jbvBool)
		return pstrdup(value.val.boolean ? "true" : "false");
	return NULL;
}

bool
yq_template_has_label(Jsonb *template, const char *label)
{
	char	   *prefix = psprintf("accessible-node-labels.%s.", label);
	int			length = strlen(prefix);
	JsonbIterator *iterator;
	JsonbValue	value;
	JsonbIteratorToken token;
	bool		has_label = false;

	if (template == NULL)
		return false;
	iterator = JsonbIteratorInit(&template->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY && value.val.string.len > length &&
			strncmp(value.val.string.val, prefix, length) == 0)
			has_label = true;
	}
	return has_label;
}

bool
yq_template_flag(const char *text, bool otherwise)
{
	if (text != NULL && pg_strcasecmp(text, "true") == 0)
		return true;
	if (text != NULL && pg_strcasecmp(text, "false") == 0)
		return false;
	return otherwise;
}

/* -- weights of users ------------------------------------------------------ */

static bool
has_weight(const YqWeightRow *rows, const char *username)
{
	for (; rows != NULL; rows = rows->next)
	{
		if (strcmp(rows->username, username) == 0)
			return true;
	}
	return false;
}

/*
 * Return the user's name in the name of a property user-settings.<user>.weight, or NULL
 * if the property has another form.
 */
static char *
user_of_property(const JsonbValue *key)
{
	static const char prefix[] = "user-settings.";
	static const char suffix[] = ".weight";
	int			length = key->val.string.len - (int) (sizeof(prefix) - 1) - (int) (sizeof(suffix) - 1);

	if (length <= 0 || strncmp(key->val.string.val, prefix, sizeof(prefix) - 1) != 0 ||
		strncmp(key->val.string.val + sizeof(prefix) - 1 + length, suffix, sizeof(suffix) - 1) != 0)
		return NULL;
	return pnstrdup(key->val.string.val + sizeof(prefix) - 1, length);
}

static YqWeightRow *
add_weights(Jsonb *template, YqWeightRow *rows)
{
	JsonbIterator *iterator = JsonbIteratorInit(&template->root);
	JsonbValue	key;
	JsonbIteratorToken token;

	while ((token = JsonbIteratorNext(&iterator, &key, true)) != WJB_DONE)
	{
		char	   *username = token == WJB_KEY ? user_of_property(&key) : NULL;
		char	   *weight;
		YqWeightRow *row;

		if (username == NULL || has_weight(rows, username))
			continue;
		weight = yq_template_text(template, psprintf("user-settings.%s.weight", username));
		if (weight == NULL)
			continue;
		row = palloc(sizeof(YqWeightRow));
		row->username = username;
		row->weight = strtof(weight, NULL);
		row->next = rows;
		rows = row;
	}
	return rows;
}

YqWeightRow *
yq_templates_weights(const YqTemplates *templates, YqWeightRow *rows)
{
	MemoryContext old_context = MemoryContextSwitchTo(templates->loader->scratch);
	ListCell   *cell;

	foreach(cell, templates->templates)
		rows = add_weights(lfirst(cell), rows);
	MemoryContextSwitchTo(old_context);
	return rows;
}

/* -- collecting ------------------------------------------------------------ */

static Jsonb *
row_jsonb(const YqQueueRow *row, YqQueueColumn column)
{
	return row->nulls[column] ? NULL : DatumGetJsonbP(row->values[column]);
}

char *
yq_template_wildcard_path(const char *path, int wildcards)
{
	StringInfoData result;
	char	   *prefix = pstrdup(path);

	for (int i = 0; i < wildcards; i++)
		*strrchr(prefix, '.') = '\0';
	initStringInfo(&result);
	appendStringInfoString(&result, prefix);
	for (int i = 0; i < wildcards; i++)
		appendStringInfoString(&result, ".*");
	return result.data;
}

static void
add_template(List **templates, Jsonb *template)
{
	if (template != NULL)
		*templates = lappend(*templates, template);
}

static void
collect_flexible(YqTemplates *templates)
{
	const YqHierarchyLoader *loader = templates->loader;
	const YqQueue *parent = templates->queue->parent;
	const YqQueueRow *above = loader->row_of[parent->number];
	bool		is_leaf = templates->queue->kind == YQ_QUEUE_LEAF;
	List	   *common = NIL;
	int			levels = 0;

	add_template(&templates->templates,
				 row_jsonb(above, is_leaf ? YQ_COL_V2_LEAF_TEMPLATE : YQ_COL_V2_PARENT_TEMPLATE));
	templates->labels = row_jsonb(above, YQ_COL_V2_TEMPLATE);
	add_template(&common, templates->labels);
	if (hash_get_num_entries(loader->wildcards) > 0)
		levels = Min(parent->depth, parent->maximum_depth);
	for (int wildcards = 1; wildcards <= levels; wildcards++)
	{
		char	   *path = yq_template_wildcard_path(parent->path, wildcards);
		YqBytes		key = yq_bytes_of_string(path);
		YqWildcardRow *row = yq_bytes_table_find(loader->wildcards, key);

		if (row == NULL)
			continue;
		add_template(&templates->templates, is_leaf ? row->leaf : row->parent);
		add_template(&common, row->common);
	}
	templates->templates = list_concat(templates->templates, common);
}

YqTemplates
yq_templates_of(const YqHierarchyLoader *loader, const YqQueue *queue)
{
	YqTemplates templates = {.loader = loader, .queue = queue, .templates = NIL, .labels = NULL};
	MemoryContext old_context;

	if (!queue->is_auto_created || queue->parent == NULL)
		return templates;
	old_context = MemoryContextSwitchTo(loader->scratch);
	if (queue->parent->kind == YQ_QUEUE_MANAGED_PARENT)
	{
		templates.labels = row_jsonb(loader->row_of[queue->parent->number], YQ_COL_LEAF_QUEUE_TEMPLATE);
		add_template(&templates.templates, templates.labels);
	}
	else
		collect_flexible(&templates);
	MemoryContextSwitchTo(old_context);
	return templates;
}

/* -- looking up ------------------------------------------------------------ */

/*
 * Return the value that a configuration file set for a property of a queue that the
 * file did not list, or NULL.
 */
static char *
kept_text(const YqTemplates *templates, const char *property)
{
	YqUnmappedProperty *kept;
	char	   *name;
	YqBytes		key;

	if (!templates->queue->is_auto_created || hash_get_num_entries(templates->loader->kept) == 0)
		return NULL;
	name = psprintf(CAPACITY_SCHEDULER_PREFIX "%s.%s", templates->queue->path, property);
	key.data = name;
	key.length = strlen(name);
	kept = yq_bytes_table_find(templates->loader->kept, key);
	pfree(name);
	return kept == NULL ? NULL : pstrdup(kept->value);
}

bool
yq_templates_kept_label(const YqTemplates *templates, const char *label)
{
	return kept_text(templates, psprintf("accessible-node-labels.%s.capacity", label)) != NULL ||
		kept_text(templates, psprintf("accessible-node-labels.%s.maximum-capacity", label)) != NULL;
}

char *
yq_templates_text(const YqTemplates *templates, const char *property)
{
	char	   *text = kept_text(templates, property);
	ListCell   *cell;

	foreach(cell, templates->templates)
	{
		if (text != NULL)
			return text;
		text = yq_template_text(lfirst(cell), property);
	}
	return text;
}

char *
yq_templates_label_text(const YqTemplates *templates, const char *label, const char *property)
{
	char	   *name;
	char	   *text;

	if (!templates->queue->is_auto_created)
		return NULL;
	name = psprintf("accessible-node-labels.%s.%s", label, property);
	text = yq_templates_text(templates, name);
	pfree(name);
	return text;
}

/* -- a queue while its properties are resolved -------------------------------- */

bool
yq_resolving_is_own(YqResolving *resolving, YqQueueColumn column)
{
	resolving->from = resolving->queue->path;
	return !resolving->row->nulls[column];
}

char *
yq_resolving_template(YqResolving *resolving, const char *property)
{
	resolving->from = yq_from_template;
	return yq_templates_text(&resolving->templates, property);
}

char *
yq_resolving_text(YqResolving *resolving, YqQueueColumn column, const char *property)
{
	if (yq_resolving_is_own(resolving, column))
		return TextDatumGetCString(resolving->row->values[column]);
	return yq_resolving_template(resolving, property);
}

void
yq_resolving_note(YqQueue *queue, YqInheritedProperty property, const char *value, const char *from)
{
	queue->inherited[property].value = value;
	queue->inherited[property].from = from;
}

void
yq_resolving_note_parent(YqQueue *queue, YqInheritedProperty property, const char *fallback)
{
	if (queue->parent != NULL)
		queue->inherited[property] = queue->parent->inherited[property];
	else
		yq_resolving_note(queue, property, fallback, NULL);
}
