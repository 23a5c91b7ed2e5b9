/*-------------------------------------------------------------------------
 *
 * hierarchy_read.c
 *	  Reading of the rows of the queue tables into a hierarchy.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/resource.h"
#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "miscadmin.h"
#include "queues/hierarchy_read.h"
#include "store/catalog.h"
#include "store/table_scan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

static const char *const queue_columns[YQ_QUEUE_COLUMNS] = {
	[YQ_COL_PATH] = "path",
	[YQ_COL_POSITION] = "position",
	[YQ_COL_AUTO_CREATED] = "auto_created",
	[YQ_COL_CAPACITY] = "capacity",
	[YQ_COL_MAXIMUM_CAPACITY] = "maximum_capacity",
	[YQ_COL_MINIMUM_USER_LIMIT_PERCENT] = "minimum_user_limit_percent",
	[YQ_COL_USER_LIMIT_FACTOR] = "user_limit_factor",
	[YQ_COL_MAXIMUM_ALLOCATION] = "maximum_allocation",
	[YQ_COL_MAXIMUM_ALLOCATION_MB] = "maximum_allocation_mb",
	[YQ_COL_MAXIMUM_ALLOCATION_VCORES] = "maximum_allocation_vcores",
	[YQ_COL_MAXIMUM_APPLICATIONS] = "maximum_applications",
	[YQ_COL_MAXIMUM_AM_RESOURCE_PERCENT] = "maximum_am_resource_percent",
	[YQ_COL_MAX_PARALLEL_APPS] = "max_parallel_apps",
	[YQ_COL_STATE] = "state",
	[YQ_COL_ORDERING_POLICY] = "ordering_policy",
	[YQ_COL_ORDERING_POLICY_OPTIONS] = "ordering_policy_options",
	[YQ_COL_PRIORITY] = "priority",
	[YQ_COL_ACCESSIBLE_NODE_LABELS] = "accessible_node_labels",
	[YQ_COL_DEFAULT_NODE_LABEL_EXPRESSION] = "default_node_label_expression",
	[YQ_COL_DISABLE_PREEMPTION] = "disable_preemption",
	[YQ_COL_INTRA_QUEUE_DISABLE_PREEMPTION] = "intra_queue_preemption_disable_preemption",
	[YQ_COL_MAXIMUM_APPLICATION_LIFETIME] = "maximum_application_lifetime",
	[YQ_COL_DEFAULT_APPLICATION_LIFETIME] = "default_application_lifetime",
	[YQ_COL_RESERVABLE] = "reservable",
	[YQ_COL_SHOW_RESERVATIONS] = "show_reservations_as_queues",
	[YQ_COL_ALLOW_ZERO_CAPACITY_SUM] = "allow_zero_capacity_sum",
	[YQ_COL_MULTI_NODE_SORTING_POLICY] = "multi_node_sorting_policy",
	[YQ_COL_AUTO_CREATE_CHILD_QUEUE_ENABLED] = "auto_create_child_queue_enabled",
	[YQ_COL_LEAF_QUEUE_TEMPLATE] = "leaf_queue_template",
	[YQ_COL_V2_ENABLED] = "auto_queue_creation_v2_enabled",
	[YQ_COL_V2_TEMPLATE] = "auto_queue_creation_v2_template",
	[YQ_COL_V2_LEAF_TEMPLATE] = "auto_queue_creation_v2_leaf_template",
	[YQ_COL_V2_PARENT_TEMPLATE] = "auto_queue_creation_v2_parent_template",
	[YQ_COL_AUTO_CREATE_CHILD_QUEUE_MAX_QUEUES] = "auto_create_child_queue_max_queues",
	[YQ_COL_AUTO_CREATE_CHILD_QUEUE_FAIL] = "auto_create_child_queue_fail_on_exceeding_parent_capacity",
	[YQ_COL_V2_MAX_QUEUES] = "auto_queue_creation_v2_max_queues",
	[YQ_COL_V2_MAXIMUM_QUEUE_DEPTH] = "auto_queue_creation_v2_maximum_queue_depth",
	[YQ_COL_V2_AUTO_REMOVAL] = "auto_queue_creation_v2_queue_auto_removal_enable",
	[YQ_COL_DEFAULT_APPLICATION_PRIORITY] = "default_application_priority",
	[YQ_COL_PRIORITY_ACL] = "acl_application_max_priority",
	[YQ_COL_AUTO_PROMOTE_AFTER] = "auto_promote_after",
	[YQ_COL_HOLD_POLICY] = "hold_policy",
};

/* -- tuples ---------------------------------------------------------------- */

static void
read_table(YqHierarchyLoader *loader, YqTable table, const char *const *columns, int column_count,
		   YqRowReader read_tuple)
{
	yq_table_scan(table, loader->snapshot, columns, column_count, read_tuple, loader);
}

static YqHierarchyLoader *
loader_of(const YqRow *tuple)
{
	return tuple->argument;
}

/* -- queues ---------------------------------------------------------------- */

/* Return the row of the queue to which a row of another table belongs, or NULL. */
static YqQueueRow *
row_of_queue(const YqRow *tuple, int column)
{
	YqHierarchyLoader *loader = loader_of(tuple);
	YqQueue    *queue = yq_hierarchy_find(loader->hierarchy, yq_row_text(tuple, column));

	return queue == NULL ? NULL : loader->row_of[queue->number];
}

void
yq_hierarchy_append_row(YqHierarchyLoader *loader, YqQueueRow *row)
{
	if (loader->rows == NULL || (loader->row_count >= 64 && (loader->row_count & (loader->row_count - 1)) == 0))
		loader->rows = loader->rows == NULL ? MemoryContextAlloc(loader->scratch, sizeof(YqQueueRow *) * 64) :
			repalloc_huge(loader->rows, sizeof(YqQueueRow *) * loader->row_count * 2);
	loader->rows[loader->row_count++] = row;
}

static void
read_queue(const YqRow *tuple)
{
	YqHierarchyLoader *loader = loader_of(tuple);
	TupleDesc	descriptor = tuple->slot->tts_tupleDescriptor;
	YqQueueRow *row = palloc0(sizeof(YqQueueRow));
	text	   *path;

	slot_getallattrs(tuple->slot);
	for (int i = 0; i < YQ_QUEUE_COLUMNS; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, tuple->columns[i] - 1);

		row->values[i] = yq_row_value(tuple, i, &row->nulls[i]);
		if (row->nulls[i])
			continue;
		if (attribute->attlen == -1)
			row->values[i] = PointerGetDatum(PG_DETOAST_DATUM_COPY(row->values[i]));
		else
			row->values[i] = datumCopy(row->values[i], attribute->attbyval, attribute->attlen);
	}
	path = DatumGetTextPP(row->values[YQ_COL_PATH]);
	row->key.data = VARDATA_ANY(path);
	row->key.length = VARSIZE_ANY_EXHDR(path);
	yq_hierarchy_append_row(loader, row);
}

static const char *const label_columns[] = {"queue", "label", "capacity", "maximum_capacity",
"maximum_am_resource_percent"};

/*
 * Read a row of yquota.queue_label.  A row whose columns are all NULL has no
 * counterpart in Hadoop's configuration.
 */
static void
read_label(const YqRow *tuple)
{
	YqQueueRow *row = row_of_queue(tuple, 0);
	YqLabelRow *label = palloc0(sizeof(YqLabelRow));
	Datum		am_percent;
	bool		isnull;

	label->label = yq_row_text(tuple, 1);
	label->capacity = yq_row_text(tuple, 2);
	label->maximum = yq_row_text(tuple, 3);
	am_percent = yq_row_value(tuple, 4, &isnull);
	label->has_am_percent = !isnull;
	if (!isnull)
		label->am_percent = DatumGetFloat4(am_percent);
	if (row == NULL || (isnull && label->capacity == NULL && label->maximum == NULL))
		return;
	label->next = row->labels;
	row->labels = label;
}

static const char *const weight_columns[] = {"queue", "username", "weight"};

static void
read_weight(const YqRow *tuple)
{
	YqQueueRow *row = row_of_queue(tuple, 0);
	YqWeightRow *weight = palloc0(sizeof(YqWeightRow));
	bool		isnull;
	Datum		value = yq_row_value(tuple, 2, &isnull);

	if (row == NULL || isnull)
		return;
	weight->username = yq_row_text(tuple, 1);
	weight->weight = DatumGetFloat4(value);
	weight->next = row->weights;
	row->weights = weight;
}

static const char *const wildcard_columns[] = {"path", "auto_queue_creation_v2_template",
"auto_queue_creation_v2_leaf_template", "auto_queue_creation_v2_parent_template"};

static Jsonb *
column_jsonb(const YqRow *tuple, int column)
{
	bool		isnull;
	Datum		value = yq_row_value(tuple, column, &isnull);

	return isnull ? NULL : DatumGetJsonbPCopy(value);
}

static void
read_wildcard(const YqRow *tuple)
{
	bool		found;
	YqWildcardRow *row = yq_bytes_table_enter(loader_of(tuple)->wildcards,
											  yq_bytes_of_string(yq_row_text(tuple, 0)),
											  loader_of(tuple)->scratch, &found);

	row->common = column_jsonb(tuple, 1);
	row->leaf = column_jsonb(tuple, 2);
	row->parent = column_jsonb(tuple, 3);
}

/* -- names ----------------------------------------------------------------- */

/* A name in a set.  Numbers are assigned later, when the set is complete. */
typedef struct NameEntry
{
	YqBytes		key;
} NameEntry;

static void
note_name(HTAB *names, const char *name, MemoryContext context)
{
	bool		found;

	(void) yq_bytes_table_enter(names, yq_bytes_of_string(name), context, &found);
}

/* Append the names of a set to the array "result", sorted.  The array already contains *count names. */
static void
sort_names(HTAB *names, const char **result, int *count)
{
	HASH_SEQ_STATUS status;
	NameEntry  *entry;
	int			first_count = *count;

	hash_seq_init(&status, names);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		const char *name = pnstrdup(entry->key.data, entry->key.length);
		bool		is_there = false;

		for (int i = 0; i < first_count; i++)
			is_there = is_there || strcmp(result[i], name) == 0;
		if (!is_there)
			result[(*count)++] = name;
	}
	qsort(result + first_count, *count - first_count, sizeof(char *), pg_qsort_strcmp);
}

static const char *const name_column[] = {"name"};
static const char *const node_columns[] = {"total", "label", "state"};

static void
read_type(const YqRow *tuple)
{
	note_name(loader_of(tuple)->type_numbers, yq_row_text(tuple, 0), loader_of(tuple)->scratch);
}

static void
read_label_name(const YqRow *tuple)
{
	note_name(loader_of(tuple)->label_numbers, yq_row_text(tuple, 0), loader_of(tuple)->scratch);
}

/* Add the resource types or labels that a node has, even if they are not declared. */
static void
read_node_names(const YqRow *tuple)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	bool		isnull;
	YqResource *total = DatumGetYqResourceP(yq_row_value(tuple, 0, &isnull));
	int			count = yq_resource_read(total, entries);

	for (int i = 0; i < count; i++)
	{
		YqBytes		name = {entries[i].name, entries[i].name_length};
		bool		found;

		(void) yq_bytes_table_enter(loader_of(tuple)->type_numbers, name, loader_of(tuple)->scratch, &found);
	}
	note_name(loader_of(tuple)->label_numbers, yq_row_text(tuple, 1), loader_of(tuple)->scratch);
}

static void
note_labels_of_array(YqHierarchyLoader *loader, Datum array)
{
	Datum	   *labels;
	bool	   *nulls;
	int			count;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT,
					  &labels, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		char	   *label = nulls[i] ? NULL : TextDatumGetCString(labels[i]);

		if (label != NULL && strcmp(label, "*") != 0)
			note_name(loader->label_numbers, label, loader->scratch);
	}
}

/* Add the labels that a template configures for created queues. */
static void
note_labels_of_template(YqHierarchyLoader *loader, Jsonb *template)
{
	static const char prefix[] = "accessible-node-labels.";
	JsonbIterator *iterator = JsonbIteratorInit(&template->root);
	JsonbValue	value;
	JsonbIteratorToken token;

	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		int			skip = sizeof(prefix) - 1;
		const char *end;

		if (token != WJB_KEY || value.val.string.len <= skip ||
			strncmp(value.val.string.val, prefix, skip) != 0)
			continue;
		end = memchr(value.val.string.val + skip, '.', value.val.string.len - skip);
		if (end != NULL)
			note_name(loader->label_numbers,
					  pnstrdup(value.val.string.val + skip, end - value.val.string.val - skip),
					  loader->scratch);
	}
}

static void
note_labels_of_queues(YqHierarchyLoader *loader)
{
	HASH_SEQ_STATUS status;
	YqWildcardRow *wildcard;

	for (int i = 0; i < loader->row_count; i++)
	{
		YqQueueRow *row = loader->rows[i];

		if (!row->nulls[YQ_COL_ACCESSIBLE_NODE_LABELS])
			note_labels_of_array(loader, row->values[YQ_COL_ACCESSIBLE_NODE_LABELS]);
		for (YqLabelRow *label = row->labels; label != NULL; label = label->next)
			note_name(loader->label_numbers, label->label, loader->scratch);
		for (int column = YQ_COL_LEAF_QUEUE_TEMPLATE; column <= YQ_COL_V2_PARENT_TEMPLATE; column++)
		{
			if (column != YQ_COL_V2_ENABLED && !row->nulls[column])
				note_labels_of_template(loader, DatumGetJsonbP(row->values[column]));
		}
	}
	hash_seq_init(&status, loader->wildcards);
	while ((wildcard = hash_seq_search(&status)) != NULL)
	{
		Jsonb	   *templates[] = {wildcard->common, wildcard->leaf, wildcard->parent};

		for (int i = 0; i < (int) lengthof(templates); i++)
		{
			if (templates[i] != NULL)
				note_labels_of_template(loader, templates[i]);
		}
	}
}

static void
number_names(YqHierarchyLoader *loader)
{
	YqHierarchy *hierarchy = loader->hierarchy;
	MemoryContext old_context = MemoryContextSwitchTo(hierarchy->context);

	hierarchy->type_names = palloc(sizeof(char *) * (hash_get_num_entries(loader->type_numbers) + 2));
	hierarchy->type_names[YQ_MEMORY] = "memory-mb";
	hierarchy->type_names[YQ_VCORES] = "vcores";
	hierarchy->calculator.types = 2;
	sort_names(loader->type_numbers, hierarchy->type_names, &hierarchy->calculator.types);
	if (hierarchy->calculator.types > YQ_MAX_RESOURCE_TYPES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("queues cannot have more than %d resource types", YQ_MAX_RESOURCE_TYPES),
				 errdetail("Tables resource_type and node name %d.", hierarchy->calculator.types)));

	hierarchy->labels = palloc(sizeof(char *) * (hash_get_num_entries(loader->label_numbers) + 1));
	hierarchy->labels[0] = "";
	hierarchy->label_count = 1;
	sort_names(loader->label_numbers, hierarchy->labels, &hierarchy->label_count);
	MemoryContextSwitchTo(old_context);
}

/* -- settings -------------------------------------------------------------- */

static const char *const setting_columns[] = {"legacy_queue_mode_enabled", "node_labels_enabled",
	"maximum_applications", "global_queue_max_application", "maximum_am_resource_percent",
	"minimum_user_limit_percent", "user_limit_factor", "max_parallel_apps",
	"multi_node_sorting_policy", "resource_calculator", "minimum_allocation_mb",
	"minimum_allocation_vcores", "maximum_allocation_mb", "maximum_allocation_vcores",
	"auto_queue_creation_v2_maximum_queue_depth", "auto_queue_creation_v2_queue_expiration_time"};

static int
setting_int(const YqRow *tuple, int column, int fallback, bool *is_set)
{
	bool		isnull;
	Datum		value = yq_row_value(tuple, column, &isnull);

	if (is_set != NULL)
		*is_set = !isnull;
	return isnull ? fallback : DatumGetInt32(value);
}

static float4
setting_float(const YqRow *tuple, int column, float4 fallback, bool *is_set)
{
	bool		isnull;
	Datum		value = yq_row_value(tuple, column, &isnull);

	*is_set = !isnull;
	return isnull ? fallback : DatumGetFloat4(value);
}

static bool
setting_bool(const YqRow *tuple, int column, bool fallback)
{
	bool		isnull;
	Datum		value = yq_row_value(tuple, column, &isnull);

	return isnull ? fallback : DatumGetBool(value);
}

static void
read_settings(const YqRow *tuple)
{
	YqHierarchy *hierarchy = loader_of(tuple)->hierarchy;
	YqSchedulerSettings *settings = &hierarchy->settings;
	char	   *calculator = yq_row_text(tuple, 9);
	MemoryContext old_context;
	Datum		expiration;
	bool		isnull;

	settings->is_legacy = setting_bool(tuple, 0, true);
	settings->has_node_labels = setting_bool(tuple, 1, true);
	settings->maximum_applications = setting_int(tuple, 2, settings->maximum_applications, NULL);
	settings->global_queue_max_application = setting_int(tuple, 3, -1, NULL);
	settings->am_percent = setting_float(tuple, 4, settings->am_percent, &settings->has_am_percent);
	settings->user_limit = setting_float(tuple, 5, settings->user_limit, &settings->has_user_limit);
	settings->user_limit_factor = setting_float(tuple, 6, settings->user_limit_factor,
												&settings->has_user_limit_factor);
	settings->max_parallel_apps = setting_int(tuple, 7, settings->max_parallel_apps,
											  &settings->has_max_parallel_apps);
	old_context = MemoryContextSwitchTo(hierarchy->context);
	settings->multi_node_policy = yq_row_text(tuple, 8);
	MemoryContextSwitchTo(old_context);
	/* the value is the name of a class; only the part without the package matters */
	hierarchy->calculator.is_dominant = calculator != NULL &&
		strstr(calculator, "DominantResourceCalculator") != NULL;
	settings->memory_bounds[0] = setting_int(tuple, 10, (int) settings->memory_bounds[0], NULL);
	settings->vcores_bounds[0] = setting_int(tuple, 11, (int) settings->vcores_bounds[0], NULL);
	settings->memory_bounds[1] = setting_int(tuple, 12, (int) settings->memory_bounds[1], NULL);
	settings->vcores_bounds[1] = setting_int(tuple, 13, (int) settings->vcores_bounds[1], NULL);
	settings->maximum_depth = setting_int(tuple, 14, settings->maximum_depth, NULL);
	expiration = yq_row_value(tuple, 15, &isnull);
	if (!isnull)
		settings->expiration_seconds = DatumGetInt64(expiration);
}

static void
set_hierarchy_defaults(YqHierarchy *hierarchy)
{
	YqSchedulerSettings *settings = &hierarchy->settings;

	settings->is_legacy = true;
	settings->has_node_labels = true;
	settings->maximum_applications = 10000;
	settings->global_queue_max_application = -1;
	settings->am_percent = 0.1f;
	settings->user_limit = 100;
	settings->user_limit_factor = 1;
	settings->max_parallel_apps = PG_INT32_MAX;
	settings->maximum_depth = 2;
	settings->expiration_seconds = 300;
	settings->memory_bounds[0] = 1024;
	settings->memory_bounds[1] = 8192;
	settings->vcores_bounds[0] = 1;
	settings->vcores_bounds[1] = 4;
}

static void
set_allocation_bounds(YqHierarchy *hierarchy)
{
	YqSchedulerSettings *settings = &hierarchy->settings;
	MemoryContext old_context = MemoryContextSwitchTo(hierarchy->context);

	settings->minimum_allocation = yq_hierarchy_amounts(hierarchy);
	settings->maximum_allocation = yq_hierarchy_amounts(hierarchy);
	for (int i = YQ_VCORES + 1; i < hierarchy->calculator.types; i++)
		settings->maximum_allocation[i] = PG_INT64_MAX;
	settings->minimum_allocation[YQ_MEMORY] = settings->memory_bounds[0];
	settings->maximum_allocation[YQ_MEMORY] = settings->memory_bounds[1];
	settings->minimum_allocation[YQ_VCORES] = settings->vcores_bounds[0];
	settings->maximum_allocation[YQ_VCORES] = settings->vcores_bounds[1];
	MemoryContextSwitchTo(old_context);
}

static const char *const policy_columns[] = {"name", "class"};

static void
read_policy(const YqRow *tuple)
{
	YqHierarchy *hierarchy = loader_of(tuple)->hierarchy;
	char	   *class = yq_row_text(tuple, 1);
	MemoryContext old_context;

	if (class == NULL || *class == '\0')
		return;
	old_context = MemoryContextSwitchTo(hierarchy->context);
	if (hierarchy->policy_count == 0)
		hierarchy->policies_with_class = palloc(sizeof(char *));
	else
		hierarchy->policies_with_class = repalloc(hierarchy->policies_with_class,
												  sizeof(char *) * (hierarchy->policy_count + 1));
	hierarchy->policies_with_class[hierarchy->policy_count++] = yq_row_text(tuple, 0);
	MemoryContextSwitchTo(old_context);
}

static const char *const unmapped_columns[] = {"property", "value"};

/*
 * Keep a property of a queue that the configuration file did not list.  The property applies when
 * the queue is created.
 */
static void
keep_property(YqHierarchyLoader *loader, const char *property, const char *value)
{
	bool		found;
	YqUnmappedProperty *kept = yq_bytes_table_enter(loader->kept, yq_bytes_of_string(property), loader->scratch, &found);

	kept->value = value;
}

/*
 * Read a property that no other table represents.  Such a property may be the state
 * STOPPED of a queue that was removed.
 */
static void
read_unmapped_property(const YqRow *tuple)
{
	static const char prefix[] = "yarn.scheduler.capacity.";
	static const char suffix[] = ".state";
	YqHierarchy *hierarchy = loader_of(tuple)->hierarchy;
	char	   *property = yq_row_text(tuple, 0);
	int			length = (int) strlen(property) - (int) (sizeof(prefix) - 1) - (int) (sizeof(suffix) - 1);

	if (strncmp(property, "yarn.scheduler.capacity.root.", sizeof("yarn.scheduler.capacity.root.") - 1) == 0)
		keep_property(loader_of(tuple), property, yq_row_text(tuple, 1));
	if (length > 0 && strncmp(property, prefix, sizeof(prefix) - 1) == 0 &&
		strcmp(property + sizeof(prefix) - 1 + length, suffix) == 0 &&
		strcmp(yq_row_text(tuple, 1), "STOPPED") == 0)
		note_name(hierarchy->kept_stopped, pnstrdup(property + sizeof(prefix) - 1, length),
				  hierarchy->context);
}

/* -- leaves of managed parents --------------------------------------------- */

static const char *const active_leaf_columns[] = {"queue", "label"};

/* Make a hash key of a path and a label.  The separator is a newline, which no path contains. */
static YqBytes
active_leaf_key(const char *path, const char *label)
{
	return yq_bytes_of_string(psprintf("%s\n%s", path, label));
}

static void
read_active_leaf(const YqRow *tuple)
{
	YqHierarchyLoader *loader = loader_of(tuple);
	bool		found;

	(void) yq_bytes_table_enter(loader->active_leaves,
								active_leaf_key(yq_row_text(tuple, 0), yq_row_text(tuple, 1)),
								loader->scratch, &found);
}

bool
yq_hierarchy_leaf_is_active(const YqHierarchyLoader *loader, const char *path, const char *label)
{
	return yq_bytes_table_find(loader->active_leaves, active_leaf_key(path, label)) != NULL;
}

/* -- nodes ----------------------------------------------------------------- */

/*
 * Add two amounts.  The sum stops at the largest integer.  A node that reports an
 * absurd amount must neither raise an error in a decision nor make a sum negative.
 */
static int64
add_up_to_most(int64 a, int64 b)
{
	int64		sum;

	return pg_add_s64_overflow(a, b, &sum) ? PG_INT64_MAX : sum;
}

static void
read_queue_node(const YqRow *tuple)
{
	YqHierarchy *hierarchy = loader_of(tuple)->hierarchy;
	bool		isnull;
	int64		total[YQ_MAX_RESOURCE_TYPES] = {0};
	int			label = 0;

	if (DatumGetObjectId(yq_row_value(tuple, 2, &isnull)) != loader_of(tuple)->running)
		return;
	if (hierarchy->settings.has_node_labels)
		label = yq_hierarchy_label(hierarchy, yq_row_text(tuple, 1));
	yq_hierarchy_add_amounts(hierarchy, total, yq_row_value(tuple, 0, &isnull));
	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		hierarchy->cluster[i] = add_up_to_most(hierarchy->cluster[i], total[i]);
		hierarchy->largest_node[i] = Max(hierarchy->largest_node[i], total[i]);
		if (label >= 0)
			hierarchy->totals[label][i] = add_up_to_most(hierarchy->totals[label][i], total[i]);
	}
}

void
yq_hierarchy_read_nodes(YqHierarchy *hierarchy, Snapshot snapshot)
{
	YqHierarchyLoader loader = {.hierarchy = hierarchy, .snapshot = snapshot};
	MemoryContext old_context = MemoryContextSwitchTo(hierarchy->context);

	if (hierarchy->totals == NULL)
	{
		hierarchy->totals = palloc(sizeof(int64 *) * hierarchy->label_count);
		for (int i = 0; i < hierarchy->label_count; i++)
			hierarchy->totals[i] = yq_hierarchy_amounts(hierarchy);
		hierarchy->cluster = yq_hierarchy_amounts(hierarchy);
		hierarchy->largest_node = yq_hierarchy_amounts(hierarchy);
	}
	MemoryContextSwitchTo(old_context);
	for (int i = 0; i < hierarchy->label_count; i++)
		memset(hierarchy->totals[i], 0, hierarchy->calculator.types * sizeof(int64));
	memset(hierarchy->cluster, 0, hierarchy->calculator.types * sizeof(int64));
	memset(hierarchy->largest_node, 0, hierarchy->calculator.types * sizeof(int64));
	loader.running = yq_enum_oid("node_state", "RUNNING");
	read_table(&loader, YQ_NODE, node_columns, lengthof(node_columns), read_queue_node);
}

/* -- all ------------------------------------------------------------------- */

void
yq_hierarchy_read_queues(YqHierarchyLoader *loader)
{
	const char *columns[YQ_QUEUE_COLUMNS];

	memcpy(columns, queue_columns, sizeof(queue_columns));
	memcpy(&columns[YQ_COL_FIRST_ACL], yq_acl_columns, sizeof(yq_acl_columns));
	read_table(loader, YQ_QUEUE, columns, YQ_QUEUE_COLUMNS, read_queue);
}

void
yq_hierarchy_read(YqHierarchyLoader *loader)
{
	MemoryContext scratch = loader->scratch;

	loader->running = yq_enum_oid("queue_state", "RUNNING");
	loader->stopped = yq_enum_oid("queue_state", "STOPPED");
	loader->wildcards = yq_bytes_table_create("yquota templates", sizeof(YqWildcardRow), scratch);
	loader->kept = yq_bytes_table_create("yquota unmapped properties", sizeof(YqUnmappedProperty), scratch);
	loader->active_leaves = yq_bytes_table_create("yquota active leaves", sizeof(NameEntry), scratch);
	loader->label_numbers = yq_bytes_table_create("yquota labels", sizeof(NameEntry), scratch);
	loader->type_numbers = yq_bytes_table_create("yquota types", sizeof(NameEntry), scratch);
	loader->hierarchy->kept_stopped =
		yq_bytes_table_create("yquota stopped queues", sizeof(NameEntry), loader->hierarchy->context);
	set_hierarchy_defaults(loader->hierarchy);

	read_table(loader, YQ_QUEUE_LABEL, label_columns, lengthof(label_columns), read_label);
	read_table(loader, YQ_QUEUE_USER, weight_columns, lengthof(weight_columns), read_weight);
	read_table(loader, YQ_WILDCARD_TEMPLATE, wildcard_columns, lengthof(wildcard_columns), read_wildcard);
	read_table(loader, YQ_SCHEDULER_SETTING, setting_columns, lengthof(setting_columns), read_settings);
	read_table(loader, YQ_MULTI_NODE_SORTING_POLICY, policy_columns, lengthof(policy_columns), read_policy);
	read_table(loader, YQ_UNMAPPED_PROPERTY, unmapped_columns, lengthof(unmapped_columns), read_unmapped_property);
	read_table(loader, YQ_ACTIVE_LEAF, active_leaf_columns, lengthof(active_leaf_columns), read_active_leaf);
	read_table(loader, YQ_RESOURCE_TYPE, name_column, lengthof(name_column), read_type);
	read_table(loader, YQ_NODE_LABEL, name_column, lengthof(name_column), read_label_name);
	read_table(loader, YQ_NODE, node_columns, lengthof(node_columns), read_node_names);
	note_labels_of_queues(loader);
	number_names(loader);
	set_allocation_bounds(loader->hierarchy);
}
