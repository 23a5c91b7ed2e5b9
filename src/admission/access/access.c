/*-------------------------------------------------------------------------
 *
 * access.c
 *	  Access of users to queues, and the priorities that users may submit with.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "queues/template.h"
#include "utils/memutils.h"

/* -- access -------------------------------------------------------------------- */

static YqAccessDecision
decision(bool allowed, const char *decided_by, char *reason)
{
	YqAccessDecision	result = {.allowed = allowed, .decided_by = decided_by, .reason = reason};

	return result;
}

static YqAccessDecision
acls_are_off(void)
{
	return decision(true, NULL, "ACLs are off (yarn.acl.enable)");
}

/* Return the queue with a path or, if it does not exist, its nearest existing ancestor. */
static YqQueue *
nearest_queue(const YqHierarchy *hierarchy, const char *path)
{
	YqQueue    *queue = yq_hierarchy_find(hierarchy, path);
	char	   *prefix;
	char	   *dot;

	if (queue != NULL)
		return queue;
	prefix = pstrdup(path);
	while (queue == NULL && (dot = strrchr(prefix, '.')) != NULL)
	{
		*dot = '\0';
		queue = yq_hierarchy_find(hierarchy, prefix);
	}
	pfree(prefix);
	return queue;
}

/*
 * Return the parent of a queue.  For an orphan, whose parent does not exist, return the
 * nearest existing queue above it on its path.
 */
static YqQueue *
queue_above(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	char	   *path;
	YqQueue    *above;

	if (queue->parent != NULL || strrchr(queue->path, '.') == NULL)
		return queue->parent;
	path = pnstrdup(queue->path, strrchr(queue->path, '.') - queue->path);
	above = nearest_queue(hierarchy, path);
	pfree(path);
	return above;
}

static char *
match_reason(YqQueueOperation operation, const char *where, YqAclMatch match, const char *name)
{
	return psprintf("%s of %s allows %s", yq_acl_columns[operation], where,
					yq_acl_match_text(match, name));
}

YqAccessDecision
yq_access_search(const YqHierarchy *hierarchy, const char *path, YqQueueOperation operation, const YqSubject *subject)
{
	for (YqQueue *queue = nearest_queue(hierarchy, path); queue != NULL; queue = queue_above(hierarchy, queue))
	{
		YqAcl	   *acl = queue->acls[operation];
		const char *name = NULL;
		YqAclMatch	match;

		if (acl == NULL && strcmp(queue->path, "root") == 0)
			return decision(true, queue->path,
							psprintf("%s of root is not set, which allows every user",
									 yq_acl_columns[operation]));
		if (acl == NULL)
			continue;
		match = yq_acl_match(acl, subject, &name);
		if (match != YQ_ACL_NOBODY)
			return decision(true, queue->path,
							match_reason(operation, queue->path, match, name));
	}
	return decision(false, NULL,
					psprintf("%s of %s and of the queues above it list neither user \"%s\" nor a group of the user",
							 yq_acl_columns[operation], path, subject->username));
}

/*
 * Check an operation on reservations.  Only the access list of the queue itself counts;
 * the lists of its ancestors do not.
 */
static YqAccessDecision
check_reservation(const YqHierarchy *hierarchy, const YqQueue *queue, YqQueueOperation operation,
				  const YqSubject *subject)
{
	YqAcl	   *acl = queue->acls[operation];
	const char *name = NULL;
	YqAclMatch	match;

	if (acl == NULL)
		return decision(true, queue->path,
						psprintf("%s of %s is not set, which allows every user",
								 yq_acl_columns[operation], queue->path));
	match = yq_acl_match(acl, subject, &name);
	if (match != YQ_ACL_NOBODY)
		return decision(true, queue->path, match_reason(operation, queue->path, match, name));
	return decision(false, queue->path,
					psprintf("%s of %s lists neither user \"%s\" nor a group of the user",
							 yq_acl_columns[operation], queue->path, subject->username));
}

YqAccessDecision
yq_access_check(const YqHierarchy *hierarchy, const char *queue, YqQueueOperation operation, const YqSubject *subject)
{
	YqQueue    *found;

	if (!hierarchy->access.acl_enable)
		return acls_are_off();
	found = yq_hierarchy_find_by_name(hierarchy, queue);
	if (found == NULL && yq_hierarchy_name_is_ambiguous(hierarchy, queue))
		return decision(false, NULL,
						psprintf("short name \"%s\" is ambiguous, use the full path", queue));
	if (found == NULL && strncmp(queue, "root.", 5) != 0)
		return decision(false, NULL, psprintf("queue \"%s\" does not exist", queue));
	if (operation < YQ_ADMINISTER_RESERVATIONS)
		return yq_access_search(hierarchy, found == NULL ? queue : found->path, operation, subject);
	if (found == NULL)
		return decision(false, NULL, psprintf("queue \"%s\" does not exist", queue));
	return check_reservation(hierarchy, found, operation, subject);
}

YqAccessDecision
yq_access_check_administrator(const YqHierarchy *hierarchy, const YqSubject *subject)
{
	const char *name = NULL;
	YqAclMatch	match = yq_acl_match(hierarchy->access.admin_acl, subject, &name);

	if (match != YQ_ACL_NOBODY)
		return decision(true, NULL,
						psprintf("yarn.admin.acl allows %s", yq_acl_match_text(match, name)));
	return decision(false, NULL,
					psprintf("yarn.admin.acl lists neither user \"%s\" nor a group of the user",
							 subject->username));
}

/* -- queues that do not exist yet ------------------------------------------- */

/* Return the limit on the levels of queues that may be created below a static queue. */
static int32
maximum_depth_of(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	return queue != NULL ? queue->maximum_depth : hierarchy->settings.maximum_depth;
}

char *
yq_missing_parents(const YqHierarchy *hierarchy, const char *path, List **missing)
{
	char	   *candidate = yq_path_above(path);
	YqQueue    *existing;
	YqQueue    *first_static;
	int			distance = 1;

	*missing = NIL;
	if (candidate == NULL)
		return psprintf("cannot create queue \"%s\", which names no parent", path);
	if (yq_hierarchy_name_is_ambiguous(hierarchy, candidate))
		return psprintf("cannot create queue \"%s\" because its parent \"%s\" is ambiguous",
						path, candidate);

	existing = yq_hierarchy_find_by_name(hierarchy, candidate);
	first_static = existing;
	while (first_static == NULL || first_static->is_auto_created)
	{
		char	   *above = yq_path_above(candidate);

		distance++;
		if (existing == NULL)
			*missing = lcons(candidate, *missing);
		if (above == NULL)
			return psprintf("cannot create queue \"%s\" because no queue above it exists", path);
		candidate = above;
		if (existing == NULL)
			existing = yq_hierarchy_find_by_name(hierarchy, candidate);
		first_static = yq_hierarchy_find_by_name(hierarchy, candidate);
	}
	if (distance > maximum_depth_of(hierarchy, first_static))
		return psprintf("cannot create queue \"%s\", which is %d levels below the static queue \"%s\", more than the maximum of %d",
						path, distance, first_static->path, maximum_depth_of(hierarchy, first_static));
	if (yq_queue_is_leaf(existing))
		return psprintf("cannot create queue \"%s\" because \"%s\" is not a parent", path, existing->path);
	if (!existing->creates_v2)
		return psprintf("cannot create queue \"%s\" because \"%s\" does not create queues", path, existing->path);
	return NULL;
}

/*
 * Find the access list that a template sets for queues below a parent.  The parent's own template
 * is tried first, then templates with wildcards.  The number of wildcards is at most the number of
 * levels that can be created below a static queue.  A wildcard never replaces root.
 */
static YqAcl *
find_template(const YqHierarchy *hierarchy, const char *parent_path, YqQueueTemplate template, YqQueueOperation operation)
{
	int			levels = 0;

	for (const char *c = parent_path; *c != '\0'; c++)
		levels += (*c == '.');
	if (levels > 0)
		levels = Min(levels, maximum_depth_of(hierarchy, yq_hierarchy_find(hierarchy, parent_path)));
	for (int wildcards = 0; wildcards <= levels; wildcards++)
	{
		YqAcl	   *acl = yq_hierarchy_template_acl(hierarchy, yq_template_wildcard_path(parent_path, wildcards),
												template, operation);

		if (acl != NULL)
			return acl;
	}
	return NULL;
}

static YqAccessDecision
check_template(const YqHierarchy *hierarchy, const char *path, YqQueueTemplate template, YqQueueOperation operation,
			   const YqSubject *subject)
{
	const char *parent_path = yq_path_above(path);
	YqAcl	   *acl = find_template(hierarchy, parent_path, template, operation);
	const char *name = NULL;
	YqAclMatch	match;

	if (acl == NULL && template != YQ_TEMPLATE_MANAGED)
		acl = find_template(hierarchy, parent_path, YQ_TEMPLATE_ANY, operation);
	match = acl == NULL ? YQ_ACL_NOBODY : yq_acl_match(acl, subject, &name);
	if (match == YQ_ACL_NOBODY)
		return decision(false, NULL, NULL);
	return decision(true, path,
					match_reason(operation, psprintf("the template for %s", path), match, name));
}

/*
 * Check submission to a queue that does not exist yet.  The access lists of the
 * templates from which the queue would be created count, too.
 */
static YqAccessDecision
check_new_queue(const YqHierarchy *hierarchy, const char *path, const YqSubject *subject)
{
	char	   *parent_path = yq_path_above(path);
	YqQueue    *parent = parent_path == NULL ? NULL : yq_hierarchy_find(hierarchy, parent_path);
	List	   *missing = NIL;

	if (parent == NULL)
	{
		char	   *problem = yq_missing_parents(hierarchy, path, &missing);

		if (problem != NULL)
			return decision(true, NULL, psprintf("not checked: %s", problem));
	}
	for (YqQueueOperation operation = YQ_SUBMIT_APPLICATIONS; operation <= YQ_ADMINISTER_QUEUE; operation++)
	{
		YqAccessDecision	result = yq_access_search(hierarchy, path, operation, subject);
		ListCell   *cell;

		if (!result.allowed)
			result = check_template(hierarchy, path, parent != NULL && parent->kind == YQ_QUEUE_MANAGED_PARENT ?
									YQ_TEMPLATE_MANAGED : YQ_TEMPLATE_LEAF,
									operation, subject);
		foreach(cell, missing)
		{
			if (!result.allowed)
				result = check_template(hierarchy, lfirst(cell), YQ_TEMPLATE_PARENT, operation, subject);
		}
		if (result.allowed)
			return result;
	}
	return decision(false, NULL,
					psprintf("neither the queues above %s nor the templates for it list user \"%s\" or a group of the user",
							 path, subject->username));
}

YqAccessDecision
yq_access_check_submission(const YqHierarchy *hierarchy, const char *queue, const YqSubject *subject)
{
	YqQueue    *found;
	YqAccessDecision	result;

	if (!hierarchy->access.acl_enable)
		return acls_are_off();
	found = yq_hierarchy_find_by_name(hierarchy, queue);
	if (found == NULL)
		return check_new_queue(hierarchy, queue, subject);
	result = yq_access_search(hierarchy, found->path, YQ_SUBMIT_APPLICATIONS, subject);
	if (!result.allowed)
		result = yq_access_search(hierarchy, found->path, YQ_ADMINISTER_QUEUE, subject);
	if (!result.allowed)
		result.reason = psprintf("neither acl_submit_applications nor acl_administer_queue of %s and of the queues above it list user \"%s\" or a group of the user",
								 found->path, subject->username);
	return result;
}

/* -- priority ------------------------------------------------------------------ */

/* Parse acl_application_max_priority, and apply it to submissions (semantics/placement). */

/* State while the text of a priority group is parsed. */
typedef struct GroupParse
{
	bool		has_max;
	int			name_count;
	char	   *names[2];		/* values of user= and group=, in order; only the first two count */
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

/* Read a pair key=value.  A pair without a value is ignored. */
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
 * Insert a group.  Groups are sorted by descending maximum priority, as in Hadoop.  A
 * group comes after the groups with an equal maximum.
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

/* Return the priority groups of a queue (acl_application_max_priority).  Only leaves have such groups. */
static List *
groups_in_force(const YqHierarchy *hierarchy, YqQueue *queue)
{
	if (!hierarchy->access.acl_enable || queue == NULL || !yq_queue_is_leaf(queue))
		return NIL;
	return groups_of_queue(hierarchy, queue);
}

/*
 * Return the default priority of a user.  The last group that contains the user sets
 * it; without such a group, the queue's default counts.
 */
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

/*
 * Limit a priority to the cluster's maximum.  Then check that the queue's groups allow the user to
 * use this priority.
 */
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
	result.reason = psprintf("user \"%s\" does not have permission to submit or update an application with priority %d: no group of acl_application_max_priority of %s allows it",
							 subject->username, result.priority, queue->path);
	return result;
}

/*
 * Return the workflow that the tags name: the rest of the last tag that begins with the
 * prefix.  Tags are converted to lower case.
 */
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

/*
 * Find the nearest queue that sets a priority for the workflow.  The search begins at
 * the leaf and goes upwards, without root.
 */
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
