/*-------------------------------------------------------------------------
 *
 * placement_check.c
 *	  What is wrong with mapping rules and priority lists, as Hadoop 3.4.1 finds
 *	  it out when it starts.
 *
 * The check of the hierarchy (queue_sql.c) asks, at the end of a transaction that
 * has changed what is configured.  One that has only created queues for
 * applications is not held up by rules: a name that became ambiguous by that is
 * for the next change of the configuration, as it is for Hadoop's.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "admission/access.h"
#include "admission/placement.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "queues/validate.h"

PG_FUNCTION_INFO_V1(yq_sql_note_rule_change);

static const char *const known_variables[] = {
	"%user", "%primary_group", "%secondary_group", "%application", "%specified", "%default",
};

/* The transaction that has changed what rules depend on. */
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
check_static_path(const char *path)
{
	char	   *normalized;
	char	   *problem = yq_path_normalize_root(path, &normalized);

	if (problem != NULL)
		return problem;
	switch (yq_path_verdict(normalized, &problem))
	{
		case YQ_PATH_IMPOSSIBLE:
			return problem;
		case YQ_PATH_CREATABLE:
			return NULL;
		case YQ_PATH_EXISTS:
			break;
	}
	if (yq_queue_find_path(normalized)->is_leaf)
		return NULL;
	return psprintf("queue \"%s\" is not a leaf", normalized);
}

/* Whether queues of any name can be created below a queue. */
static bool
creates_any(const YqIndexedQueue *queue)
{
	return queue != NULL && (queue->is_managed || (!queue->is_leaf && queue->creates_queues));
}

/* Only what precedes the first variable can be looked at. */
static char *
check_path_with_variables(List *parts, const char *path)
{
	List	   *prefix = NIL;
	char	   *normalized;
	char	   *problem;
	YqIndexedQueue *queue;
	ListCell   *cell;

	foreach(cell, parts)
	{
		if (is_variable(lfirst(cell)))
			break;
		prefix = lappend(prefix, lfirst(cell));
	}
	if (prefix == NIL)
		return NULL;
	problem = yq_path_normalize_root(yq_path_join(prefix), &normalized);
	if (problem != NULL)
		return problem;
	queue = yq_queue_find_path(normalized);
	if (queue != NULL)
		return !queue->is_leaf ? NULL :
			psprintf("\"%s\" is a leaf, which has no queues below it", normalized);
	prefix = list_delete_last(prefix);
	if (prefix != NIL && yq_path_normalize_root(yq_path_join(prefix), &normalized) == NULL &&
		creates_any(yq_queue_find_path(normalized)))
		return NULL;
	return psprintf("no queue on path \"%s\" could have it created", path);
}

static char *
check_target(const char *target)
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
	return is_static ? check_static_path(yq_path_join(parts)) :
		check_path_with_variables(parts, target);
}

/* -- rules and lists ------------------------------------------------------- */

static char *
check_rule(const YqMappingRule *rule)
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
	return check_target(rule->target);
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
check_rules(List *violations)
{
	int			count;
	const YqMappingRule *rules = yq_mapping_rules(&count);
	const char *twice = yq_access_settings()->duplicate_engine;

	if (twice != NULL)
		violations = yq_violation_add(violations, NULL, "queue-placement-rules", twice,
									  psprintf("placement rule \"%s\" is given twice", twice));
	if (!yq_access_settings()->rules_in_force)
		return violations;
	for (int i = 0; i < count; i++)
	{
		char	   *problem = check_rule(&rules[i]);

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

/* Note what is wrong with the list of a queue. */
static void
check_priority_list(YqIndexedQueue *queue, void *state)
{
	List	  **found = state;
	List	   *groups;
	char	   *problem;

	if (queue->priority_acl == NULL || !queue->is_leaf)
		return;
	problem = yq_priority_acl_parse(queue->priority_acl, yq_access_settings()->maximum_priority,
									&groups);
	if (problem != NULL)
		*found = yq_violation_add(*found, queue->path, "acl_application_max_priority",
								  queue->priority_acl,
								  psprintf("priority list of queue %s: %s", queue->path, problem));
}

static int
compare_queues(const ListCell *a, const ListCell *b)
{
	return strcmp(((const YqViolation *) lfirst(a))->queue, ((const YqViolation *) lfirst(b))->queue);
}

List *
yq_placement_validate(List *violations)
{
	List	   *lists = NIL;

	if (changed_by != GetTopTransactionId())
		return violations;
	(void) yq_queue_index_refresh();
	violations = check_rules(violations);
	yq_queue_index_walk(check_priority_list, &lists);
	list_sort(lists, compare_queues);
	return list_concat(violations, lists);
}

/* Trigger for each row that rules or priority lists depend on. */
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
