/*-------------------------------------------------------------------------
 *
 * rest_tree.c
 *	  Applications in order, with what must hold that they need not be looked at.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/hashfn.h"
#include "scheduler/decide/rest_tree.h"
#include "scheduler/state/order.h"

/* -- conditions -------------------------------------------------------------- */

void
yq_rest_conditions_clear(const YqCluster *cluster, YqRestConditions *conditions)
{
	conditions->is_awake = conditions->is_reserving = conditions->has_room = conditions->is_too_small = false;
	conditions->until = PG_INT64_MAX;
	memset(conditions->needed, 0, sizeof(int64) * cluster->calculator->types);
}

void
yq_rest_conditions_make(const YqCluster *cluster, YqRestConditions *conditions)
{
	int			types = cluster->calculator->types;

	conditions->needed = palloc(sizeof(int64) * 3 * types);
	conditions->room = conditions->needed + types;
	conditions->too_large = conditions->room + types;
	yq_rest_conditions_clear(cluster, conditions);
}

void
yq_rest_note_least(const YqCluster *cluster, bool *is_noted, int64 *noted, const int64 *amounts)
{
	for (int i = 0; i < cluster->calculator->types; i++)
		noted[i] = *is_noted ? Min(noted[i], amounts[i]) : amounts[i];
	*is_noted = true;
}

static void
add_conditions(const YqCluster *cluster, YqRestConditions *to, const YqRestConditions *conditions)
{
	to->is_awake = to->is_awake || conditions->is_awake;
	to->is_reserving = to->is_reserving || conditions->is_reserving;
	to->until = Min(to->until, conditions->until);
	for (int i = 0; i < cluster->calculator->types; i++)
		to->needed[i] = Max(to->needed[i], conditions->needed[i]);
	if (conditions->has_room)
		yq_rest_note_least(cluster, &to->has_room, to->room, conditions->room);
	if (conditions->is_too_small)
		yq_rest_note_least(cluster, &to->is_too_small, to->too_large, conditions->too_large);
}

/* Of several: may one have to be looked at? */
static bool
must_look(const YqCluster *cluster, const YqRestConditions *conditions, const YqRestMoment *moment)
{
	const YqClusterNode *node = moment->node;

	if (moment->standing != YQ_USER_BELOW_LIMIT)
		return conditions->is_reserving || moment->standing == YQ_USER_MAY_UNRESERVE;
	return conditions->is_awake || conditions->until <= moment->walks ||
		!yq_amounts_fit_in_by(cluster->calculator, conditions->needed, moment->headroom) ||
		(conditions->has_room &&
		 yq_amounts_available_containers(cluster->calculator, node->unallocated, conditions->room) > 0) ||
		(conditions->is_too_small &&
		 yq_amounts_fit_in_by(cluster->calculator, conditions->too_large, node->total));
}

/* -- the tree ---------------------------------------------------------------- */

YqRestEntry *
yq_rest_entry_make(const YqCluster *cluster, YqClusterApplication *application)
{
	YqRestEntry *entry = palloc0(sizeof(YqRestEntry));

	entry->application = application;
	entry->rank = murmurhash32((uint32) application->number);
	yq_rest_conditions_make(cluster, &entry->own);
	yq_rest_conditions_make(cluster, &entry->all);
	entry->own.is_awake = true;
	return entry;
}

/* Its children are known: what is below them follows. */
static void
pull(const YqCluster *cluster, YqRestEntry *entry)
{
	yq_rest_conditions_clear(cluster, &entry->all);
	add_conditions(cluster, &entry->all, &entry->own);
	if (entry->left != NULL)
	{
		entry->left->parent = entry;
		add_conditions(cluster, &entry->all, &entry->left->all);
	}
	if (entry->right != NULL)
	{
		entry->right->parent = entry;
		add_conditions(cluster, &entry->all, &entry->right->all);
	}
}

static void
pull_above(const YqCluster *cluster, YqRestEntry *entry)
{
	for (; entry != NULL; entry = entry->parent)
		pull(cluster, entry);
}

static void
add_passed(YqRestEntry *entry, int64 walks)
{
	if (entry == NULL)
		return;
	entry->passed += walks;
	entry->pass_on += walks;
}

/* Before its children get others. */
static void
push_down(YqRestEntry *entry)
{
	add_passed(entry->left, entry->pass_on);
	add_passed(entry->right, entry->pass_on);
	entry->pass_on = 0;
}

static int
compare(const YqCluster *cluster, const YqRestEntry *entry, const YqClusterApplication *application)
{
	return yq_order_compare(cluster, entry->application, application);
}

static void
split(const YqCluster *cluster, YqRestEntry *entry, const YqClusterApplication *application,
	  YqRestEntry **before, YqRestEntry **after)
{
	if (entry == NULL)
	{
		*before = *after = NULL;
		return;
	}
	push_down(entry);
	if (compare(cluster, entry, application) < 0)
	{
		split(cluster, entry->right, application, &entry->right, after);
		*before = entry;
	}
	else
	{
		split(cluster, entry->left, application, before, &entry->left);
		*after = entry;
	}
	pull(cluster, entry);
}

static YqRestEntry *
merge(const YqCluster *cluster, YqRestEntry *left, YqRestEntry *right)
{
	YqRestEntry *top;

	if (left == NULL || right == NULL)
		return left == NULL ? right : left;
	top = left->rank > right->rank ? left : right;
	push_down(top);
	if (top == left)
		top->right = merge(cluster, top->right, right);
	else
		top->left = merge(cluster, left, top->left);
	pull(cluster, top);
	return top;
}

/* Where the parent has its child, or the tree its root. */
static YqRestEntry **
link_to(YqRestTree *tree, YqRestEntry *parent, const YqRestEntry *child)
{
	if (parent == NULL)
		return &tree->root;
	return parent->left == child ? &parent->left : &parent->right;
}

void
yq_rest_tree_insert(YqRestTree *tree, YqRestEntry *entry)
{
	YqRestEntry **link = &tree->root;
	YqRestEntry *parent = NULL;

	while (*link != NULL && (*link)->rank >= entry->rank)
	{
		parent = *link;
		link = compare(tree->cluster, parent, entry->application) < 0 ? &parent->right : &parent->left;
	}
	split(tree->cluster, *link, entry->application, &entry->left, &entry->right);
	*link = entry;
	entry->parent = parent;
	entry->tree = tree;
	entry->pass_on = 0;
	pull_above(tree->cluster, entry);
}

void
yq_rest_tree_remove(YqRestEntry *entry)
{
	YqRestTree *tree = entry->tree;
	YqRestEntry **link = link_to(tree, entry->parent, entry);

	push_down(entry);
	*link = merge(tree->cluster, entry->left, entry->right);
	if (*link != NULL)
		(*link)->parent = entry->parent;
	pull_above(tree->cluster, entry->parent);
	entry->parent = entry->left = entry->right = NULL;
	entry->tree = NULL;
}

void
yq_rest_tree_refresh(YqRestEntry *entry)
{
	pull_above(entry->tree->cluster, entry);
}

static YqRestEntry *
find(const YqCluster *cluster, YqRestEntry *entry, const YqRestMoment *moment, const YqClusterApplication *after)
{
	if (entry == NULL || !must_look(cluster, &entry->all, moment))
		return NULL;
	if (after == NULL || compare(cluster, entry, after) > 0)
	{
		YqRestEntry *found = find(cluster, entry->left, moment, after);

		if (found != NULL)
			return found;
		if (must_look(cluster, &entry->own, moment))
			return entry;
		after = NULL;
	}
	return find(cluster, entry->right, moment, after);
}

YqRestEntry *
yq_rest_tree_find(const YqRestTree *tree, const YqRestMoment *moment, const YqClusterApplication *after)
{
	return find(tree->cluster, tree->root, moment, after);
}

void
yq_rest_tree_pass(YqRestTree *tree, const YqClusterApplication *before, int64 walks)
{
	YqRestEntry *entry = tree->root;

	if (before == NULL)
	{
		add_passed(entry, walks);
		return;
	}
	while (entry != NULL)
	{
		if (compare(tree->cluster, entry, before) < 0)
		{
			entry->passed += walks;
			add_passed(entry->left, walks);
			entry = entry->right;
		}
		else
			entry = entry->left;
	}
}

int64
yq_rest_tree_take_passed(YqRestEntry *entry, int64 afterwards)
{
	int64		passed = entry->passed;

	for (const YqRestEntry *above = entry->parent; above != NULL; above = above->parent)
		passed += above->pass_on;
	entry->passed += afterwards - passed;
	return passed;
}

void
yq_rest_tree_add_conditions(const YqRestTree *tree, const YqClusterApplication *before, YqRestConditions *conditions)
{
	const YqRestEntry *entry = tree->root;

	while (entry != NULL)
	{
		if (before == NULL)
		{
			add_conditions(tree->cluster, conditions, &entry->all);
			return;
		}
		if (compare(tree->cluster, entry, before) < 0)
		{
			add_conditions(tree->cluster, conditions, &entry->own);
			if (entry->left != NULL)
				add_conditions(tree->cluster, conditions, &entry->left->all);
			entry = entry->right;
		}
		else
			entry = entry->left;
	}
}
