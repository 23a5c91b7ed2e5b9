/*-------------------------------------------------------------------------
 *
 * placement_check.c
 *	  Problems of mapping rules and priority lists that Hadoop 3.4.1 finds when it
 *	  starts.
 *
 * The check of the hierarchy (queue_sql.c) looks for these problems at the end of a transaction
 * that has changed the configuration.  A transaction that has only created dynamic queues does not
 * check rules.  If a new queue makes a name ambiguous, the next change of the configuration fails,
 * as in Hadoop.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "admission/access/access.h"
#include "admission/placement/placement.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "queues/validate.h"

PG_FUNCTION_INFO_V1(yq_sql_note_rule_change);

static const char *const known_variables[] = {
	"%user", "%primary_group", "%secondary_group", "%application", "%specified", "%default",
};

/* The last transaction that has changed a row from which rules or priority lists are read. */
static TransactionId changed_by = InvalidTransactionId;

/* -- targets -------------------------------------------------------------- */

static bool
is_variable(const char *part)
{
	for (int i = 0; i < (int) lengthof(known_variables); i++)
	{
		if (strcmp(part, known_variables[i]) == 0)
			return true;
	}
	return false;
}

static char *
check_static_path(const YqHierarchy *hierarchy, const char *path)
{
	char	   *normalized;
	char	   *problem = yq_path_normalize_root(hierarchy, path, &normalized);

	if (problem != NULL)
		return problem;
	switch (yq_path_verdict(hierarchy, normalized, &problem))
	{
		case YQ_PATH_IMPOSSIBLE:
			return problem;
		case YQ_PATH_CREATABLE:
			return NULL;
		case YQ_PATH_EXISTS:
			break;
	}
	if (yq_queue_is_leaf(yq_hierarchy_find(hierarchy, normalized)))
		return NULL;
	return psprintf("queue \"%s\" is not a leaf", normalized);
}

/* Can children of any name be created below the queue? */
static bool
creates_any(const YqQueue *queue)
{
	return queue != NULL && (queue->kind == YQ_QUEUE_MANAGED_PARENT || (!yq_queue_is_leaf(queue) && queue->creates_v2));
}

/* Check the parts of a path before the first variable.  The parts from the variable onwards are unknown. */
static char *
check_path_with_variables(const YqHierarchy *hierarchy, List *parts, const char *path)
{
	List	   *prefix = NIL;
	char	   *normalized;
	char	   *problem;
	YqQueue    *queue;
	ListCell   *cell;

	foreach(cell, parts)
	{
		if (is_variable(lfirst(cell)))
			break;
		prefix = lappend(prefix, lfirst(cell));
	}
	if (prefix == NIL)
		return NULL;
	problem = yq_path_normalize_root(hierarchy, yq_path_join(prefix), &normalized);
	if (problem != NULL)
		return problem;
	queue = yq_hierarchy_find(hierarchy, normalized);
	if (queue != NULL)
		return !yq_queue_is_leaf(queue) ? NULL :
			psprintf("\"%s\" is a leaf, which has no queues below it", normalized);
	prefix = list_delete_last(prefix);
	if (prefix != NIL && yq_path_normalize_root(hierarchy, yq_path_join(prefix), &normalized) == NULL &&
		creates_any(yq_hierarchy_find(hierarchy, normalized)))
		return NULL;
	return psprintf("no queue on path \"%s\" can create it", path);
}

static char *
check_rule_target(const YqHierarchy *hierarchy, const char *target)
{
	bool		is_static = true;
	List	   *parts = yq_path_split(target);
	ListCell   *cell;

	if (target[0] == '\0')
		return pstrdup("the path is empty");
	foreach(cell, parts)
	{
		const char *part = lfirst(cell);

		if (part[0] == '\0')
			return psprintf("path \"%s\" has an empty part", target);
		if (is_variable(part))
		{
			is_static = false;
			break;
		}
	}
	parts = yq_path_split(yq_path_tidy(target));
	if (parts == NIL)
		return psprintf("path \"%s\" has an empty part", target);
	return is_static ? check_static_path(hierarchy, yq_path_join(parts)) :
		check_path_with_variables(hierarchy, parts, target);
}

/* -- rules and lists ------------------------------------------------------- */

static char *
check_rule(const YqHierarchy *hierarchy, const YqMappingRule *rule)
{
	if (rule->kind == YQ_RULE_JSON && rule->match == YQ_MATCH_GROUP && strcmp(rule->matches, "*") == 0)
		return pstrdup("matches is \"*\", which is not possible for groups");
	switch (rule->action)
	{
		case YQ_RULE_REJECT:
			return NULL;
		case YQ_RULE_SET_DEFAULT:
			return rule->target != NULL ? NULL : pstrdup("policy setDefaultQueue has no value");
		case YQ_RULE_PLACE:
			break;
	}
	if (rule->target == NULL)
		return pstrdup("policy custom has no customPlacement");
	return check_rule_target(hierarchy, rule->target);
}

static const char *
property_of_kind(YqRuleKind kind)
{
	switch (kind)
	{
		case YQ_RULE_LEGACY:
			return "queue-mappings";
		case YQ_RULE_APPLICATION:
			return "queue-placement-rules.app-name";
		case YQ_RULE_JSON:
		case YQ_RULE_KIND_COUNT:
			break;
	}
	return "mapping-rule-json";
}

static List *
check_rules(const YqHierarchy *hierarchy, List *violations)
{
	const YqMappingRule *rules = hierarchy->mapping_rules.rules;
	const char *twice = hierarchy->access.duplicate_engine;

	if (twice != NULL)
		violations = yq_violation_add(violations, NULL, "queue-placement-rules", twice,
									  psprintf("placement rule \"%s\" is given twice", twice));
	if (!hierarchy->access.rules_in_force)
		return violations;
	for (int i = 0; i < hierarchy->mapping_rules.count; i++)
	{
		char	   *problem = check_rule(hierarchy, &rules[i]);

		CHECK_FOR_INTERRUPTS();
		if (problem != NULL)
			violations = yq_violation_add(violations, NULL, property_of_kind(rules[i].kind),
										  rules[i].target,
										  psprintf("%s mapping rule %d: %s",
												   yq_rule_kind_name(rules[i].kind),
												   rules[i].position, problem));
	}
	return violations;
}

static List *
check_priority_list(const YqHierarchy *hierarchy, const YqQueue *queue, List *violations)
{
	List	   *groups;
	char	   *problem;

	if (queue->priority_acl == NULL || !yq_queue_is_leaf(queue))
		return violations;
	problem = yq_priority_acl_parse(queue->priority_acl, hierarchy->access.maximum_priority,
									&groups);
	if (problem == NULL)
		return violations;
	return yq_violation_add(violations, queue->path, "acl_application_max_priority",
								  queue->priority_acl,
								  psprintf("priority list of queue %s: %s", queue->path, problem));
}

static int
compare_queue_cells(const ListCell *a, const ListCell *b)
{
	return strcmp(((const YqViolation *) lfirst(a))->queue, ((const YqViolation *) lfirst(b))->queue);
}

List *
yq_placement_validate(List *violations)
{
	const YqHierarchy *hierarchy;
	List	   *lists = NIL;

	if (changed_by != GetTopTransactionId())
		return violations;
	hierarchy = yq_hierarchy_get();
	violations = check_rules(hierarchy, violations);
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		lists = check_priority_list(hierarchy, hierarchy->queues[i], lists);
	}
	list_sort(lists, compare_queue_cells);
	return list_concat(violations, lists);
}

/* Row-level trigger on tables from which rules or priority lists are read. */
Datum
yq_sql_note_rule_change(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("note_rule_change() must be called as a trigger")));
	changed_by = GetTopTransactionId();
	PG_RETURN_POINTER(NULL);
}

/* -- paths ----------------------------------------------------------------- */

List *
yq_path_split(const char *path)
{
	List	   *parts = NIL;
	const char *begin = path;

	for (const char *c = path;; c++)
	{
		if (*c != '.' && *c != '\0')
			continue;
		parts = lappend(parts, pnstrdup(begin, c - begin));
		begin = c + 1;
		if (*c == '\0')
			break;
	}
	while (list_length(parts) > 0 && ((char *) llast(parts))[0] == '\0' &&
		   strchr(path, '.') != NULL)
		parts = list_delete_last(parts);
	return parts;
}

char *
yq_path_join(List *parts)
{
	StringInfoData path;
	ListCell   *cell;

	initStringInfo(&path);
	foreach(cell, parts)
	{
		if (path.len > 0 || foreach_current_index(cell) > 0)
			appendStringInfoChar(&path, '.');
		appendStringInfoString(&path, lfirst(cell));
	}
	return path.data;
}

char *
yq_path_tidy(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (dot == NULL)
		return pstrdup(path);
	return psprintf("%s.%s", yq_trim(path, dot), yq_trim(dot + 1, dot + strlen(dot)));
}

char *
yq_path_normalize_root(const YqHierarchy *hierarchy, const char *path, char **normalized)
{
	const char *end = path + strcspn(path, ".");
	char	   *first = pnstrdup(path, end - path);
	YqQueue    *queue = yq_hierarchy_find_by_name(hierarchy, first);

	if (queue == NULL && yq_hierarchy_name_is_ambiguous(hierarchy, first))
		return psprintf("path root \"%s\" of \"%s\" is ambiguous", first, path);
	if (queue == NULL)
		return psprintf("path root \"%s\" of \"%s\" does not exist", first, path);
	*normalized = psprintf("%s%s", queue->path, end);
	return NULL;
}

YqPathVerdict
yq_path_verdict(const YqHierarchy *hierarchy, const char *normalized, char **problem)
{
	char	   *parent_path = yq_path_above(normalized);
	char	   *grandparent_path;
	YqQueue    *parent;
	YqQueue    *grandparent;

	if (yq_hierarchy_find(hierarchy, normalized) != NULL)
		return YQ_PATH_EXISTS;
	if (parent_path == NULL)
	{
		*problem = psprintf("queue \"%s\" does not exist and names no parent", normalized);
		return YQ_PATH_IMPOSSIBLE;
	}

	parent = yq_hierarchy_find(hierarchy, parent_path);
	if (parent != NULL)
	{
		if (parent->kind == YQ_QUEUE_MANAGED_PARENT || (!yq_queue_is_leaf(parent) && parent->creates_v2))
			return YQ_PATH_CREATABLE;
		*problem = psprintf("queue \"%s\" does not exist, and its parent \"%s\" %s",
							normalized, parent_path,
							yq_queue_is_leaf(parent) ? "is a leaf" : "does not create queues");
		return YQ_PATH_IMPOSSIBLE;
	}

	/* if the grandparent creates queues (second generation), the parent can be created, too */
	grandparent_path = yq_path_above(parent_path);
	grandparent = grandparent_path == NULL ? NULL : yq_hierarchy_find(hierarchy, grandparent_path);
	if (grandparent != NULL && !yq_queue_is_leaf(grandparent) && grandparent->creates_v2)
		return YQ_PATH_CREATABLE;
	*problem = psprintf("queue \"%s\" does not exist, nor does its parent, and \"%s\" does not create queues",
						normalized, grandparent_path == NULL ? parent_path : grandparent_path);
	return YQ_PATH_IMPOSSIBLE;
}
