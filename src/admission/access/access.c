/*-------------------------------------------------------------------------
 *
 * access.c
 *	  Access of users to queues.
 *
 * Priorities are in priority.c.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "queues/template.h"

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

/* The queue of a path or, if there is none, the nearest one above it. */
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

/* An orphan has queues above it all the same, by its path. */
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
	return psprintf("%s of %s has %s", yq_acl_columns[operation], where,
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
							psprintf("%s of root is not set, which is every user",
									 yq_acl_columns[operation]));
		if (acl == NULL)
			continue;
		match = yq_acl_match(acl, subject, &name);
		if (match != YQ_ACL_NOBODY)
			return decision(true, queue->path,
							match_reason(operation, queue->path, match, name));
	}
	return decision(false, NULL,
					psprintf("%s of %s and of the queues above it have neither user \"%s\" nor a group of his",
							 yq_acl_columns[operation], path, subject->username));
}

/* Lists about reservations are not inherited. */
static YqAccessDecision
check_reservation(const YqHierarchy *hierarchy, const YqQueue *queue, YqQueueOperation operation,
				  const YqSubject *subject)
{
	YqAcl	   *acl = queue->acls[operation];
	const char *name = NULL;
	YqAclMatch	match;

	if (acl == NULL)
		return decision(true, queue->path,
						psprintf("%s of %s is not set, which is every user",
								 yq_acl_columns[operation], queue->path));
	match = yq_acl_match(acl, subject, &name);
	if (match != YQ_ACL_NOBODY)
		return decision(true, queue->path, match_reason(operation, queue->path, match, name));
	return decision(false, queue->path,
					psprintf("%s of %s has neither user \"%s\" nor a group of his",
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
						psprintf("yarn.admin.acl has %s", yq_acl_match_text(match, name)));
	return decision(false, NULL,
					psprintf("yarn.admin.acl has neither user \"%s\" nor a group of his",
							 subject->username));
}

/* -- queues that are yet to be created ------------------------------------ */

/* How many levels may be created below a static queue. */
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
 * The list in a template for queues below a parent: its own or one with
 * wildcards, at most as many as levels can be created, and never for the root.
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

/* Submission to a queue that does not exist yet, by the access lists of its templates. */
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
					psprintf("neither the queues above %s nor the templates it would be created from have user \"%s\" or a group of his",
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
		result.reason = psprintf("neither acl_submit_applications nor acl_administer_queue of %s and of the queues above it have user \"%s\" or a group of his",
								 found->path, subject->username);
	return result;
}
