/*-------------------------------------------------------------------------
 *
 * priority.c
 *	  The priorities with which users may submit (semantics/placement); see access.h.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "utils/memutils.h"

/* A group while its text is read: values of user= and group= in their order. */
typedef struct GroupParse
{
	bool		has_max;
	int			name_count;
	char	   *names[2];		/* of more, the first two count */
} GroupParse;

static bool
parse_integer(const char *text, int32 *value)
{
	long		number;
	char	   *end;

	if (!(isdigit((unsigned char) text[0]) ||
		  ((text[0] == '+' || text[0] == '-') && isdigit((unsigned char) text[1]))))
		return false;
	errno = 0;
	number = strtol(text, &end, 10);
	if (errno != 0 || *end != '\0' || number < PG_INT32_MIN || number > PG_INT32_MAX)
		return false;
	*value = (int32) number;
	return true;
}

/* One key=value; a pair without a value says nothing. */
static char *
parse_pair(char *pair, GroupParse *parse, YqPriorityGroup *group)
{
	char	   *value = strchr(pair, '=');
	char	   *key;

	if (value == NULL || value[1] == '\0' || value[1] == '=')
		return NULL;
	key = yq_trim(pair, value);
	value = pstrdup(value + 1);
	value[strcspn(value, "=")] = '\0';
	if (pg_strcasecmp(key, "user") == 0 || pg_strcasecmp(key, "group") == 0)
	{
		if (parse->name_count < (int) lengthof(parse->names))
			parse->names[parse->name_count] = yq_trim(value, value + strlen(value));
		parse->name_count++;
	}
	else if (pg_strcasecmp(key, "max_priority") == 0)
	{
		if (!parse_integer(value, &group->max_priority))
			return psprintf("max_priority \"%s\" is not an integer", value);
		parse->has_max = true;
	}
	else if (pg_strcasecmp(key, "default_priority") == 0)
	{
		if (!parse_integer(value, &group->default_priority))
			return psprintf("default_priority \"%s\" is not an integer", value);
		group->default_priority = Max(group->default_priority, 0);
		group->has_default = true;
	}
	else
		return psprintf("key \"%s\" is none of user, group, max_priority, default_priority", key);
	return NULL;
}

static YqAcl *
acl_of_names(const GroupParse *parse)
{
	char	   *text = parse->names[0];

	if (strcmp(text, "*") != 0 && parse->name_count > 1 && parse->names[1][0] != '\0')
		text = psprintf("%s %s", text, parse->names[1]);
	return yq_acl_parse(yq_trim(text, text + strlen(text)));
}

static char *
parse_group(const char *begin, const char *end, int32 maximum_priority, YqPriorityGroup *group)
{
	GroupParse	parse = {.has_max = false};
	char	   *text = yq_trim(begin, end);
	char	   *state = NULL;

	for (char *pair = strtok_r(text, " ", &state); pair != NULL; pair = strtok_r(NULL, " ", &state))
	{
		char	   *problem = parse_pair(pair, &parse, group);

		if (problem != NULL)
			return problem;
	}
	if (!parse.has_max)
		return pstrdup("a group has no max_priority");
	if (parse.name_count == 0)
		return pstrdup("a group has neither user nor group");
	group->max_priority = Min(group->max_priority, maximum_priority);
	group->acl = acl_of_names(&parse);
	return NULL;
}

/*
 * The larger maximum first, as Hadoop's comparison of priorities has it; groups of
 * the same maximum keep their order.
 */
static void
insert_group(List **groups, YqPriorityGroup *group)
{
	int			position = 0;
	ListCell   *cell;

	foreach(cell, *groups)
	{
		if (((const YqPriorityGroup *) lfirst(cell))->max_priority < group->max_priority)
			break;
		position++;
	}
	*groups = list_insert_nth(*groups, position, group);
}

char *
yq_priority_acl_parse(const char *text, int32 maximum_priority, List **groups)
{
	const char *begin = strchr(text, '[');

	*groups = NIL;
	while (begin != NULL)
	{
		const char *end = strchr(++begin, ']');
		char	   *content;

		if (end == NULL)
			end = begin + strlen(begin);
		content = yq_trim(begin, end);
		if (content[0] != '\0')
		{
			YqPriorityGroup *group = palloc0(sizeof(YqPriorityGroup));
			char	   *problem = parse_group(begin, end, maximum_priority, group);

			if (problem != NULL)
				return problem;
			insert_group(groups, group);
		}
		begin = strchr(end, '[');
	}
	return NULL;
}

/* -- deciding ------------------------------------------------------------- */

static List *
groups_of_queue(const YqHierarchy *hierarchy, YqQueue *queue)
{
	char	   *problem = NULL;

	if (!queue->priority_is_parsed && queue->priority_acl != NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(hierarchy->context);

		problem = yq_priority_acl_parse(queue->priority_acl,
										hierarchy->access.maximum_priority,
										&queue->priority_groups);
		MemoryContextSwitchTo(old_context);
	}
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("acl_application_max_priority of queue \"%s\" is not valid", queue->path),
				 errdetail("In \"%s\", %s.", queue->priority_acl, problem)));
	queue->priority_is_parsed = true;
	return queue->priority_groups;
}

/* Only leaves have priority lists. */
static List *
groups_in_force(const YqHierarchy *hierarchy, YqQueue *queue)
{
	if (!hierarchy->access.acl_enable || queue == NULL || !yq_queue_is_leaf(queue))
		return NIL;
	return groups_of_queue(hierarchy, queue);
}

/* The last group that has the user decides his default. */
static int32
default_priority(const YqHierarchy *hierarchy, YqQueue *queue, const YqSubject *subject, char **reason)
{
	YqPriorityGroup *chosen = NULL;
	ListCell   *cell;
	const char *name;

	foreach(cell, groups_in_force(hierarchy, queue))
	{
		YqPriorityGroup *group = lfirst(cell);

		if (yq_acl_match(group->acl, subject, &name) != YQ_ACL_NOBODY)
			chosen = group;
	}
	if (chosen != NULL && chosen->has_default)
	{
		*reason = psprintf("default of acl_application_max_priority of %s", queue->path);
		return chosen->default_priority;
	}
	if (queue == NULL)
	{
		*reason = pstrdup("default of a queue that does not exist yet");
		return 0;
	}
	if (!yq_queue_is_leaf(queue))
	{
		*reason = psprintf("default, as %s is not a leaf", queue->path);
		return 0;
	}
	*reason = psprintf("default-application-priority of %s", queue->path);
	return queue->default_priority;
}

/* Clamp a priority to the cluster's maximum and ask the queue's list. */
static YqPriorityDecision
clamp_and_check(const YqHierarchy *hierarchy, YqQueue *queue, const YqSubject *subject, int32 priority, char *reason)
{
	YqPriorityDecision result = {.allowed = true, .priority = priority, .reason = reason};
	int32		maximum = hierarchy->access.maximum_priority;
	List	   *groups = groups_in_force(hierarchy, queue);
	ListCell   *cell;
	const char *name;

	if (priority > maximum)
	{
		result.priority = maximum;
		result.reason = psprintf("%s (%d), lowered to yarn.cluster.max-application-priority",
								 reason, priority);
	}
	if (groups == NIL)
		return result;
	foreach(cell, groups)
	{
		YqPriorityGroup *group = lfirst(cell);

		if (result.priority <= group->max_priority &&
			yq_acl_match(group->acl, subject, &name) != YQ_ACL_NOBODY)
			return result;
	}
	result.allowed = false;
	result.reason = psprintf("user \"%s\" does not have permission to submit or update an application with priority %d: no group of acl_application_max_priority of %s gives him that",
							 subject->username, result.priority, queue->path);
	return result;
}

/* The workflow in the last tag with the prefix; tags are read in lower case. */
static char *
workflow_of_tags(const YqHierarchy *hierarchy, const char *const *tags, int tag_count)
{
	const char *prefix = hierarchy->access.workflow_tag_prefix;
	char	   *workflow = NULL;

	for (int i = 0; i < tag_count; i++)
	{
		char	   *lower = yq_lower_case(tags[i]);
		char	   *tag = yq_trim(lower, lower + strlen(lower));

		if (strncmp(tag, prefix, strlen(prefix)) == 0)
			workflow = tag + strlen(prefix);
	}
	return workflow != NULL && workflow[0] != '\0' ? workflow : NULL;
}

/* The nearest queue from the leaf up, but for the root, that maps the workflow. */
static bool
find_workflow(const YqHierarchy *hierarchy, YqQueue *queue, const char *workflow, int32 *priority, const char **path)
{
	for (; queue != NULL && strcmp(queue->path, "root") != 0; queue = queue->parent)
	{
		*path = queue->path;
		if (yq_hierarchy_workflow_priority(hierarchy, queue->path, workflow, priority))
			return true;
	}
	return false;
}

YqPriorityDecision
yq_priority_decide(const YqHierarchy *hierarchy, const char *queue_name, const YqSubject *subject, const int32 *requested,
				   const char *const *tags, int tag_count)
{
	YqQueue    *queue = yq_hierarchy_find_by_name(hierarchy, queue_name);
	YqPriorityDecision result;
	char	   *reason;
	char	   *workflow;
	const char *path;
	int32		priority;

	if (requested != NULL)
	{
		priority = *requested;
		reason = pstrdup("as requested");
	}
	else
		priority = default_priority(hierarchy, queue, subject, &reason);
	result = clamp_and_check(hierarchy, queue, subject, priority, reason);
	if (!result.allowed || !hierarchy->access.override_priority)
		return result;

	workflow = workflow_of_tags(hierarchy, tags, tag_count);
	if (workflow != NULL && find_workflow(hierarchy, queue, workflow, &priority, &path))
		result = clamp_and_check(hierarchy, queue, subject, priority,
								 psprintf("workflow \"%s\" is mapped in %s", workflow, path));
	return result;
}
