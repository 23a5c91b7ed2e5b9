/*-------------------------------------------------------------------------
 *
 * placement_path.c
 *	  Paths that rules make: do they lead to a queue, or could one be created?
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/placement.h"

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

/* The path above, or NULL. */
static char *
above(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot == NULL ? NULL : pnstrdup(path, dot - path);
}

YqPathVerdict
yq_path_verdict(const YqHierarchy *hierarchy, const char *normalized, char **problem)
{
	char	   *parent_path = above(normalized);
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

	/* A parent may be created as well, below one of the second generation. */
	grandparent_path = above(parent_path);
	grandparent = grandparent_path == NULL ? NULL : yq_hierarchy_find(hierarchy, grandparent_path);
	if (grandparent != NULL && !yq_queue_is_leaf(grandparent) && grandparent->creates_v2)
		return YQ_PATH_CREATABLE;
	*problem = psprintf("queue \"%s\" does not exist, nor does its parent, and \"%s\" does not create queues",
						normalized, grandparent_path == NULL ? parent_path : grandparent_path);
	return YQ_PATH_IMPOSSIBLE;
}
