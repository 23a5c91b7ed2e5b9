/*-------------------------------------------------------------------------
 *
 * placement.c
 *	  The queue that mapping rules choose for an application.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "admission/placement/placement.h"
#include "miscadmin.h"

/* Numbers of mapping rules, in ascending order. */
typedef struct RuleList
{
	YqBytes		key;			/* kind of the name ('u' user, 'g' group, 'a' application), followed by the name */
	int			count;
	int			room;
	int		   *numbers;
} RuleList;

static uint64 compiled_generation = 0;
static HTAB *rules_by_name;
static RuleList other_rules;	/* rules that match everybody, and rules that compare variables */

/* -- compiling ------------------------------------------------------------ */

static YqBytes
name_key(StringInfo buffer, char type, const char *name)
{
	YqBytes		key;

	resetStringInfo(buffer);
	appendStringInfoChar(buffer, type);
	appendStringInfoString(buffer, name);
	key.data = buffer->data;
	key.length = buffer->len;
	return key;
}

static void
append_number(RuleList *list, int number)
{
	if (list->count == list->room)
	{
		list->room = Max(list->room * 2, 4);
		list->numbers = list->count == 0 ? palloc(list->room * sizeof(int)) :
			repalloc_huge(list->numbers, list->room * sizeof(int));
	}
	list->numbers[list->count++] = number;
}

static void
add_rule(const YqMappingRule *rule, int number, StringInfo buffer)
{
	static const char types[] = {
		[YQ_MATCH_USER] = 'u',
		[YQ_MATCH_GROUP] = 'g',
		[YQ_MATCH_APPLICATION] = 'a',
	};
	RuleList   *list;
	bool		found;

	if (rule->match == YQ_MATCH_EVERYBODY || rule->has_variable)
	{
		append_number(&other_rules, number);
		return;
	}
	list = yq_bytes_table_enter(rules_by_name, name_key(buffer, types[rule->match], rule->matches),
								CurrentMemoryContext, &found);
	if (!found)
	{
		list->count = 0;
		list->room = 0;
	}
	append_number(list, number);
}

/* Compile the mapping rules.  The result is allocated in the memory of the hierarchy and freed with it. */
static void
compile(const YqHierarchy *hierarchy)
{
	MemoryContext old_context = MemoryContextSwitchTo(hierarchy->context);
	StringInfoData buffer;

	compiled_generation = 0;
	rules_by_name = yq_bytes_table_create("yquota mapping rules by name", sizeof(RuleList),
										  CurrentMemoryContext);
	memset(&other_rules, 0, sizeof(other_rules));
	initStringInfo(&buffer);
	for (int i = 0; i < hierarchy->mapping_rules.count; i++)
		add_rule(&hierarchy->mapping_rules.rules[i], i, &buffer);
	MemoryContextSwitchTo(old_context);
	compiled_generation = hierarchy->generation;
}

/* -- variables ------------------------------------------------------------ */

typedef struct Variables
{
	const YqApplicant *applicant;
	const char *user;			/* dots replaced */
	const char *specified;
	const char *application;
	const char *default_queue;
	const char *primary_group;	/* NULL: the group is not known, and the variable is not replaced */
	const char **secondary_groups;	/* dots replaced */
	int			secondary_count;
	bool		has_empty_secondary;	/* the user is known to have no secondary groups */
} Variables;

static const char *
without_dots(const char *name)
{
	StringInfoData clean;

	if (strchr(name, '.') == NULL)
		return name;
	initStringInfo(&clean);
	for (; *name != '\0'; name++)
	{
		if (*name == '.')
			appendStringInfoString(&clean, "_dot_");
		else
			appendStringInfoChar(&clean, *name);
	}
	return clean.data;
}

static Variables
make_variables(const YqApplicant *applicant)
{
	const YqSubject *subject = applicant->subject;
	Variables	variables = {
		.applicant = applicant,
		.user = without_dots(subject->username),
		.specified = strcmp(applicant->queue, YQ_UNNAMED_QUEUE) == 0 ? "" : applicant->queue,
		.application = applicant->application_name,
		.default_queue = "root.default",
	};

	if (!subject->groups_known)
	{
		variables.primary_group = "";
		variables.has_empty_secondary = true;
		return variables;
	}
	if (subject->group_count == 0)
		return variables;
	variables.primary_group = without_dots(subject->groups[0]);
	variables.secondary_groups = palloc(subject->group_count * sizeof(char *));
	for (int i = 1; i < subject->group_count; i++)
	{
		if (strcmp(subject->groups[i], subject->groups[0]) != 0)
			variables.secondary_groups[variables.secondary_count++] = without_dots(subject->groups[i]);
	}
	variables.has_empty_secondary = (variables.secondary_count == 0);
	return variables;
}

/* Return the first secondary group with which a queue "prefix.group" exists, or "". */
static const char *
secondary_group(const YqHierarchy *hierarchy, const Variables *variables, const char *prefix)
{
	for (int i = 0; i < variables->secondary_count; i++)
	{
		const char *group = variables->secondary_groups[i];

		CHECK_FOR_INTERRUPTS();
		if (yq_hierarchy_find_by_name(hierarchy, prefix[0] == '\0' ? group : psprintf("%s.%s", prefix, group)) != NULL)
			return group;
	}
	return "";
}

/*
 * Return the value of a part of a path.  For a variable, this is the value of the variable; any
 * other part stands for itself.
 */
static const char *
replaced_part(const YqHierarchy *hierarchy, const Variables *variables, const char *part, const char *prefix)
{
	if (part[0] != '%')
		return part;
	if (strcmp(part, "%user") == 0)
		return variables->user;
	if (strcmp(part, "%specified") == 0)
		return variables->specified;
	if (strcmp(part, "%application") == 0)
		return variables->application;
	if (strcmp(part, "%default") == 0)
		return variables->default_queue;
	if (strcmp(part, "%primary_group") == 0 && variables->primary_group != NULL)
		return variables->primary_group;
	if (strcmp(part, "%secondary_group") == 0 && variables->has_empty_secondary)
		return "";
	if (strcmp(part, "%secondary_group") == 0 && variables->secondary_count > 0)
		return secondary_group(hierarchy, variables, prefix);
	return part;
}

static char *
replace_in_path(const YqHierarchy *hierarchy, const Variables *variables, const char *path)
{
	StringInfoData result;
	ListCell   *cell;

	initStringInfo(&result);
	foreach(cell, yq_path_split(path))
	{
		const char *value = replaced_part(hierarchy, variables, lfirst(cell), result.data);

		if (foreach_current_index(cell) > 0)
			appendStringInfoChar(&result, '.');
		appendStringInfoString(&result, value);
	}
	return result.data;
}

static char *
replace_all(const char *text, const char *name, const char *value)
{
	StringInfoData result;
	const char *found;

	initStringInfo(&result);
	while ((found = strstr(text, name)) != NULL)
	{
		appendBinaryStringInfo(&result, text, found - text);
		appendStringInfoString(&result, value);
		text = found + strlen(name);
	}
	appendStringInfoString(&result, text);
	return result.data;
}

/*
 * Replace variables everywhere in a text.  A variable whose name begins with another
 * variable's name is replaced first.
 */
static const char *
replace_in_text(const Variables *variables, const char *text)
{
	if (strchr(text, '%') == NULL)
		return text;
	if (variables->has_empty_secondary)
		text = replace_all(text, "%secondary_group", "");
	if (variables->primary_group != NULL)
		text = replace_all(text, "%primary_group", variables->primary_group);
	text = replace_all(text, "%application", variables->application);
	text = replace_all(text, "%specified", variables->specified);
	text = replace_all(text, "%default", variables->default_queue);
	return replace_all(text, "%user", variables->user);
}

/* -- evaluating a rule ---------------------------------------------------- */

typedef enum RuleResult
{
	RESULT_SKIP,
	RESULT_PLACE,
	RESULT_PLACE_DEFAULT,
	RESULT_REJECT
} RuleResult;

static bool
rule_matches(const YqMappingRule *rule, const Variables *variables)
{
	const YqSubject *subject = variables->applicant->subject;
	const char *wanted;

	if (rule->match == YQ_MATCH_EVERYBODY)
		return true;
	wanted = replace_in_text(variables, rule->matches);
	switch (rule->match)
	{
		case YQ_MATCH_EVERYBODY:
			break;
		case YQ_MATCH_USER:
			return strcmp(wanted, subject->username) == 0;
		case YQ_MATCH_APPLICATION:
			return strcmp(wanted, variables->application) == 0;
		case YQ_MATCH_GROUP:
			for (int i = 0; i < subject->group_count; i++)
			{
				if (strcmp(wanted, subject->groups[i]) == 0)
					return true;
			}
			break;
	}
	return false;
}

/*
 * Find the queue that the path from a rule names.  Sets *full_path and returns NULL, or
 * returns the problem.  If the queue does not exist but may be created, sets
 * *must_create.
 */
static char *
resolve_path(const YqHierarchy *hierarchy, const char *path, bool may_create, const char **full_path, bool *must_create)
{
	char	   *tidy_path = yq_path_tidy(path);
	char	   *normalized;
	char	   *problem;
	YqQueue    *queue;

	*must_create = false;
	if (yq_path_has_empty_part(tidy_path))
		return psprintf("path \"%s\" has an empty part", path);
	if (strchr(tidy_path, '.') == NULL)
	{
		queue = yq_hierarchy_find_by_name(hierarchy, tidy_path);
		if (queue == NULL && yq_hierarchy_name_is_ambiguous(hierarchy, tidy_path))
			return psprintf("queue \"%s\" is ambiguous", tidy_path);
		if (queue == NULL)
			return psprintf("queue \"%s\" does not exist", tidy_path);
		*full_path = queue->path;
	}
	else
	{
		problem = yq_path_normalize_root(hierarchy, tidy_path, &normalized);
		if (problem != NULL)
			return problem;
		*full_path = normalized;
		switch (yq_path_verdict(hierarchy, normalized, &problem))
		{
			case YQ_PATH_EXISTS:
				break;
			case YQ_PATH_CREATABLE:
				if (!may_create)
					return psprintf("queue \"%s\" does not exist, and the rule may not create it", normalized);
				*must_create = true;
				return NULL;
			case YQ_PATH_IMPOSSIBLE:
				return problem;
		}
		queue = yq_hierarchy_find(hierarchy, normalized);
	}
	return yq_queue_is_leaf(queue) ? NULL : psprintf("queue \"%s\" is not a leaf", *full_path);
}

/* Apply the fallback of a rule that matches but whose queue cannot be used. */
static RuleResult
fall_back(const YqMappingRule *rule, char *problem, YqPlacement *placement)
{
	switch (rule->fallback)
	{
		case YQ_FALLBACK_SKIP:
			break;
		case YQ_FALLBACK_REJECT:
			placement->reason = psprintf("%s, and the rule rejects the application then", problem);
			return RESULT_REJECT;
		case YQ_FALLBACK_DEFAULT:
			placement->reason = problem;
			return RESULT_PLACE_DEFAULT;
	}
	placement->reason = psprintf("%s, skipped", problem);
	return RESULT_SKIP;
}

/* Evaluate a rule that matches the application.  Sets *target, and the reason in "placement". */
static RuleResult
evaluate_rule(const YqHierarchy *hierarchy, const YqMappingRule *rule, Variables *variables, YqPlacement *placement,
			  const char **target)
{
	const char *pattern = rule->target == NULL ? "" : rule->target;
	char	   *problem;

	*target = NULL;
	switch (rule->action)
	{
		case YQ_RULE_REJECT:
			placement->reason = pstrdup("the rule rejects the application");
			return RESULT_REJECT;
		case YQ_RULE_SET_DEFAULT:
			variables->default_queue = replace_in_text(variables, pattern);
			*target = variables->default_queue;
			placement->reason = psprintf("sets the default queue to \"%s\"", *target);
			return RESULT_SKIP;
		case YQ_RULE_PLACE:
			break;
	}
	*target = replace_in_path(hierarchy, variables, pattern);
	problem = resolve_path(hierarchy, *target, rule->may_create, &placement->queue, &placement->must_create);
	if (problem != NULL)
		return fall_back(rule, problem, placement);
	placement->reason = psprintf("the rule sends the application to \"%s\"", *target);
	return RESULT_PLACE;
}

/* Make the result of a rule the decision.  Returns false if the result leaves the decision to later rules. */
static bool
settle(const YqHierarchy *hierarchy, RuleResult result, const Variables *variables, YqPlacement *placement)
{
	char	   *problem;

	switch (result)
	{
		case RESULT_SKIP:
			return false;
		case RESULT_PLACE:
			placement->outcome = YQ_PLACED;
			return true;
		case RESULT_REJECT:
			placement->outcome = YQ_PLACEMENT_REJECTED;
			placement->queue = NULL;
			placement->must_create = false;
			return true;
		case RESULT_PLACE_DEFAULT:
			break;
	}
	problem = resolve_path(hierarchy, replace_in_path(hierarchy, variables, "%default"), false,
						   &placement->queue, &placement->must_create);
	if (problem == NULL)
	{
		placement->outcome = YQ_PLACED_BY_DEFAULT;
		placement->reason = psprintf("%s, so the default queue is taken", placement->reason);
		return true;
	}
	placement->outcome = YQ_PLACEMENT_REJECTED;
	placement->queue = NULL;
	placement->reason = psprintf("%s, and the default queue cannot be taken: %s",
								 placement->reason, problem);
	return true;
}

/* -- evaluating rules ------------------------------------------------- */

/* Lists of rules that may match an application, and a position in each list.  The lists are merged in order. */
typedef struct Candidates
{
	int			count;
	const RuleList **lists;
	int		   *next;
} Candidates;

static void
add_list(Candidates *candidates, const RuleList *list)
{
	if (list == NULL || list->count == 0)
		return;
	candidates->lists[candidates->count] = list;
	candidates->next[candidates->count] = 0;
	candidates->count++;
}

static Candidates
find_placement_candidates(const YqApplicant *applicant)
{
	const YqSubject *subject = applicant->subject;
	Candidates	candidates = {.count = 0};
	StringInfoData buffer;

	candidates.lists = palloc((subject->group_count + 3) * sizeof(RuleList *));
	candidates.next = palloc((subject->group_count + 3) * sizeof(int));
	initStringInfo(&buffer);
	add_list(&candidates, &other_rules);
	add_list(&candidates, yq_bytes_table_find(rules_by_name, name_key(&buffer, 'u', subject->username)));
	for (int i = 0; i < subject->group_count; i++)
		add_list(&candidates, yq_bytes_table_find(rules_by_name, name_key(&buffer, 'g', subject->groups[i])));
	add_list(&candidates, yq_bytes_table_find(rules_by_name, name_key(&buffer, 'a', applicant->application_name)));
	return candidates;
}

/* Return the number of the next rule in order, or -1.  A rule that is in several lists is returned once. */
static int
next_candidate(Candidates *candidates)
{
	int			smallest = INT_MAX;

	for (int i = 0; i < candidates->count; i++)
	{
		if (candidates->next[i] < candidates->lists[i]->count)
			smallest = Min(smallest, candidates->lists[i]->numbers[candidates->next[i]]);
	}
	if (smallest == INT_MAX)
		return -1;
	for (int i = 0; i < candidates->count; i++)
	{
		if (candidates->next[i] < candidates->lists[i]->count &&
			candidates->lists[i]->numbers[candidates->next[i]] == smallest)
			candidates->next[i]++;
	}
	return smallest;
}

static void
note_skipped(YqPlacement *placement, int number)
{
	YqSkippedRule *skipped = palloc(sizeof(YqSkippedRule));

	skipped->number = number;
	skipped->reason = placement->reason;
	placement->skipped = lappend(placement->skipped, skipped);
}

/* Evaluate the rules that may match, in order.  Returns true if one of them has decided. */
static bool
ask_rules(const YqHierarchy *hierarchy, const YqApplicant *applicant, YqPlacement *placement)
{
	const YqMappingRule *rules = hierarchy->mapping_rules.rules;
	Variables	variables = make_variables(applicant);
	Candidates	candidates = find_placement_candidates(applicant);
	int			number;

	while ((number = next_candidate(&candidates)) >= 0)
	{
		const char *target;

		CHECK_FOR_INTERRUPTS();
		if (rules[number].has_variable && !rule_matches(&rules[number], &variables))
			continue;
		if (settle(hierarchy, evaluate_rule(hierarchy, &rules[number], &variables, placement, &target),
				   &variables, placement))
		{
			placement->rule = number;
			placement->rules_asked = number;
			return true;
		}
		note_skipped(placement, number);
	}
	placement->rules_asked = hierarchy->mapping_rules.count;
	return false;
}

/* Return the reason why no rule is evaluated, or NULL if rules are evaluated. */
static char *
why_not_asked(const YqHierarchy *hierarchy, const YqApplicant *applicant)
{
	if (!hierarchy->access.rules_in_force)
		return pstrdup("yarn.scheduler.queue-placement-rules has neither user-group nor app-name");
	if (!hierarchy->access.override_queue && strcmp(applicant->queue, YQ_UNNAMED_QUEUE) != 0)
		return pstrdup("a queue is named, and queue-mappings-override.enable is off");
	return NULL;
}

/* Choose the queue that the submission names, if it can accept an application.  No rule has decided. */
static void
take_named_queue(const YqHierarchy *hierarchy, const char *name, const char *why, YqPlacement *placement)
{
	YqQueue    *queue = yq_hierarchy_find_by_name(hierarchy, name);
	char	   *problem = NULL;
	char	   *normalized;
	List	   *missing;

	placement->queue = queue == NULL ? name : queue->path;
	placement->must_create = (queue == NULL);
	if (queue == NULL && yq_hierarchy_name_is_ambiguous(hierarchy, name))
		problem = psprintf("queue \"%s\" is ambiguous, use the full path", name);
	else if (queue == NULL && strchr(name, '.') == NULL)
		problem = psprintf("queue \"%s\" does not exist", name);
	else if (queue == NULL && yq_path_has_empty_part(name))
		problem = psprintf("queue \"%s\" has an empty part", name);
	else if (queue == NULL)
	{
		problem = yq_missing_parents(hierarchy, name, &missing);
		if (problem == NULL && yq_path_normalize_root(hierarchy, name, &normalized) == NULL)
			placement->queue = normalized;
	}
	else if (!yq_queue_is_leaf(queue) && queue->kind != YQ_QUEUE_PLAN)
		problem = psprintf("queue \"%s\" is not a leaf", queue->path);
	else if (queue->is_auto_created && queue->parent != NULL && queue->parent->kind == YQ_QUEUE_MANAGED_PARENT)
		problem = psprintf("queue \"%s\" was created for a rule and takes only applications that a rule sends", queue->path);

	placement->outcome = problem == NULL ? YQ_PLACED_AS_NAMED : YQ_PLACEMENT_UNKNOWN;
	placement->reason = problem == NULL ? psprintf("as named: %s", why) : psprintf("%s: %s", why, problem);
	if (problem != NULL)
	{
		placement->queue = NULL;
		placement->must_create = false;
	}
}

YqPlacement
yq_place_application(const YqHierarchy *hierarchy, const YqApplicant *applicant)
{
	YqPlacement placement = {.rule = -1};
	char	   *why = why_not_asked(hierarchy, applicant);

	if (compiled_generation != hierarchy->generation)
		compile(hierarchy);
	if (why == NULL)
	{
		if (ask_rules(hierarchy, applicant, &placement))
			return placement;
		why = pstrdup(placement.rules_asked == 0 ? "there are no rules" : "no rule decides");
	}
	take_named_queue(hierarchy, applicant->queue, why, &placement);
	return placement;
}

/* -- explaining ----------------------------------------------------------- */

static char *
mismatch(const YqMappingRule *rule, const Variables *variables)
{
	const char *wanted = replace_in_text(variables, rule->matches);

	switch (rule->match)
	{
		case YQ_MATCH_USER:
			return psprintf("user is \"%s\", not \"%s\"", variables->applicant->subject->username, wanted);
		case YQ_MATCH_GROUP:
			return psprintf("user is not in group \"%s\"", wanted);
		case YQ_MATCH_APPLICATION:
			return psprintf("application is \"%s\", not \"%s\"", variables->application, wanted);
		case YQ_MATCH_EVERYBODY:
			break;
	}
	return pstrdup("");
}

void
yq_placement_trace(const YqHierarchy *hierarchy, const YqApplicant *applicant,
				   void (*report) (void *state, const YqMappingRule *rule, const YqRuleTrace *trace),
				   void *state)
{
	const YqMappingRule *rules = hierarchy->mapping_rules.rules;
	Variables	variables = make_variables(applicant);
	char	   *why = why_not_asked(hierarchy, applicant);
	bool		decided = false;

	for (int i = 0; i < hierarchy->mapping_rules.count && !decided; i++)
	{
		YqRuleTrace trace = {.matches = false};
		YqPlacement placement = {.rule = -1};

		CHECK_FOR_INTERRUPTS();
		trace.matches = rule_matches(&rules[i], &variables);
		if (why != NULL)
			trace.reason = psprintf("not asked: %s", why);
		else if (!trace.matches)
			trace.reason = mismatch(&rules[i], &variables);
		else
		{
			decided = settle(hierarchy, evaluate_rule(hierarchy, &rules[i], &variables, &placement, &trace.target),
							 &variables, &placement);
			trace.decides = decided;
			trace.reason = placement.reason;
		}
		report(state, &rules[i], &trace);
	}
}
