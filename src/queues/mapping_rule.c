/*-------------------------------------------------------------------------
 *
 * mapping_rule.c
 *	  Rules that choose the queue of an application, as they are configured.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "queues/mapping_rule.h"
#include "store/catalog.h"
#include "store/table_scan.h"

enum RuleColumn
{
	RULE_KIND,
	RULE_POSITION,
	RULE_TYPE,
	RULE_MATCHES,
	RULE_QUEUE,
	RULE_POLICY,
	RULE_PARENT_QUEUE,
	RULE_CUSTOM_PLACEMENT,
	RULE_VALUE,
	RULE_CREATE,
	RULE_FALLBACK,
	RULE_COLUMN_COUNT
};

static const char *const rule_columns[RULE_COLUMN_COUNT] = {
	[RULE_KIND] = "kind",
	[RULE_POSITION] = "position",
	[RULE_TYPE] = "type",
	[RULE_MATCHES] = "matches",
	[RULE_QUEUE] = "queue",
	[RULE_POLICY] = "policy",
	[RULE_PARENT_QUEUE] = "parent_queue",
	[RULE_CUSTOM_PLACEMENT] = "custom_placement",
	[RULE_VALUE] = "value",
	[RULE_CREATE] = "create_queue",
	[RULE_FALLBACK] = "fallback_result",
};

static const char *const kind_names[YQ_RULE_KIND_COUNT] = {
	[YQ_RULE_LEGACY] = "legacy",
	[YQ_RULE_APPLICATION] = "application",
	[YQ_RULE_JSON] = "json",
};

/* Policies that choose a queue below parentQueue, and the path that each policy stands for. */
static const struct
{
	const char *policy;
	const char *path;
}			generated_paths[] = {
	{"user", "%user"},
	{"primaryGroup", "%primary_group"},
	{"secondaryGroup", "%secondary_group"},
	{"primaryGroupUser", "%primary_group.%user"},
	{"secondaryGroupUser", "%secondary_group.%user"},
	{"applicationName", "%application"},
};

/* State while the rules are read from their table. */
typedef struct Reading
{
	YqMappingRules result;
	int			room;
	bool		json;
	Oid			kinds[YQ_RULE_KIND_COUNT];
} Reading;

const char *
yq_rule_kind_name(YqRuleKind kind)
{
	return kind_names[kind];
}

static YqRuleKind
read_rule_kind(const Reading *reading, Oid label)
{
	for (int i = 0; i < YQ_RULE_KIND_COUNT; i++)
	{
		if (reading->kinds[i] == label)
			return i;
	}
	elog(ERROR, "unknown kind of mapping rule %u", label);
}

static YqRuleMatch
match_of(const YqRow *row, YqMappingRule *rule)
{
	char	   *type = yq_row_text(row, RULE_TYPE);
	const char *everybody = rule->kind == YQ_RULE_JSON ? "*" : "%user";

	if (strcmp(type, "group") == 0)
		return YQ_MATCH_GROUP;
	if (strcmp(type, "application") == 0)
		return YQ_MATCH_APPLICATION;
	return strcmp(rule->matches, everybody) == 0 ? YQ_MATCH_EVERYBODY : YQ_MATCH_USER;
}

static void
read_json_action(const YqRow *row, YqMappingRule *rule)
{
	char	   *policy = yq_row_text(row, RULE_POLICY);
	char	   *parent = yq_row_text(row, RULE_PARENT_QUEUE);
	char	   *fallback = yq_row_text(row, RULE_FALLBACK);
	bool		isnull;
	Datum		create = yq_row_value(row, RULE_CREATE, &isnull);

	rule->action = YQ_RULE_PLACE;
	rule->may_create = isnull || DatumGetBool(create);
	rule->fallback = fallback == NULL || strcmp(fallback, "skip") == 0 ? YQ_FALLBACK_SKIP :
		strcmp(fallback, "reject") == 0 ? YQ_FALLBACK_REJECT : YQ_FALLBACK_DEFAULT;
	for (int i = 0; i < (int) lengthof(generated_paths); i++)
	{
		if (strcmp(policy, generated_paths[i].policy) == 0)
			rule->target = parent == NULL ? generated_paths[i].path :
				psprintf("%s.%s", parent, generated_paths[i].path);
	}
	if (rule->target != NULL)
		return;
	if (strcmp(policy, "specified") == 0)
		rule->target = "%specified";
	else if (strcmp(policy, "custom") == 0)
		rule->target = yq_row_text(row, RULE_CUSTOM_PLACEMENT);
	else if (strcmp(policy, "defaultQueue") == 0)
	{
		rule->target = "%default";
		rule->may_create = false;
	}
	else if (strcmp(policy, "setDefaultQueue") == 0)
	{
		rule->action = YQ_RULE_SET_DEFAULT;
		rule->target = yq_row_text(row, RULE_VALUE);
	}
	else
		rule->action = YQ_RULE_REJECT;
}

static void
read_rule(const YqRow *row)
{
	Reading    *reading = row->argument;
	YqMappingRules *result = &reading->result;
	bool		isnull;
	YqRuleKind	kind = read_rule_kind(reading, DatumGetObjectId(yq_row_value(row, RULE_KIND, &isnull)));
	YqMappingRule *rule;

	if ((kind == YQ_RULE_JSON) != reading->json)
		return;
	if (result->count == reading->room)
	{
		reading->room *= 2;
		result->rules = repalloc_huge(result->rules, reading->room * sizeof(YqMappingRule));
	}
	rule = &result->rules[result->count++];
	memset(rule, 0, sizeof(YqMappingRule));
	rule->kind = kind;
	rule->position = yq_row_integer(row, RULE_POSITION, 0);
	rule->matches = yq_row_text(row, RULE_MATCHES);
	rule->has_variable = (strchr(rule->matches, '%') != NULL);
	rule->match = match_of(row, rule);
	if (kind == YQ_RULE_JSON)
		read_json_action(row, rule);
	else
	{
		rule->action = YQ_RULE_PLACE;
		rule->target = yq_row_text(row, RULE_QUEUE);
		rule->may_create = true;
		rule->fallback = YQ_FALLBACK_DEFAULT;
	}
}

static int
compare_mapping_rules(const void *a, const void *b)
{
	const YqMappingRule *left = a;
	const YqMappingRule *right = b;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return (left->position > right->position) - (left->position < right->position);
}

YqMappingRules
yq_mapping_rules_read(Snapshot snapshot, bool json)
{
	Reading		reading = {.room = 64, .json = json};

	for (int i = 0; i < YQ_RULE_KIND_COUNT; i++)
		reading.kinds[i] = yq_enum_oid("mapping_rule_kind", kind_names[i]);
	reading.result.rules = palloc(reading.room * sizeof(YqMappingRule));
	yq_table_scan(YQ_MAPPING_RULE, snapshot, rule_columns, RULE_COLUMN_COUNT, read_rule, &reading);
	qsort(reading.result.rules, reading.result.count, sizeof(YqMappingRule), compare_mapping_rules);
	return reading.result;
}
