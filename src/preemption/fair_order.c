/*-------------------------------------------------------------------------
 *
 * fair_order.c
 *	  The order of applications of a fair leaf within which containers are
 *	  preempted.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "lib/rbtree.h"
#include "preemption/fair_order.h"

void
yq_fair_order_parts(YqPreemptionApplication **applications, int count, YqHeapComparison compare, void *argument)
{
	void	  **heap = palloc(Max(count, 1) * sizeof(void *));

	for (int i = 0; i < count; i++)
		yq_priority_heap_add(heap, i, applications[i], compare, argument);
	for (int i = 0; i < count; i++)
		applications[i] = yq_priority_heap_remove(heap, count - i, compare, argument);
	pfree(heap);
}

typedef struct TreeNode
{
	RBTNode		node;
	YqPreemptionApplication *application;
} TreeNode;

typedef struct Tree
{
	YqHeapComparison compare;
	void	   *argument;
} Tree;

/* The last in the order comes first. */
static int
compare_nodes(const RBTNode *a, const RBTNode *b, void *argument)
{
	const Tree *tree = argument;

	return tree->compare(((const TreeNode *) b)->application, ((const TreeNode *) a)->application, tree->argument);
}

/* Two applications never compare as equal. */
static void
combine_nodes(RBTNode *existing, const RBTNode *added, void *argument)
{
	Assert(false);
}

static RBTNode *
allocate_node(void *argument)
{
	return palloc(sizeof(TreeNode));
}

void
yq_fair_order_givers(YqPreemptionApplication **applications, int count, YqHeapComparison compare, void *argument)
{
	Tree		tree = {.compare = compare,.argument = argument};
	RBTree	   *givers = rbt_create(sizeof(TreeNode), compare_nodes, combine_nodes, allocate_node, NULL, &tree);
	RBTreeIterator iterator;
	int			at = count;

	for (int i = 0; i < count; i++)
	{
		TreeNode	added = {.application = applications[i]};
		bool		is_new;

		rbt_insert(givers, &added.node, &is_new);
	}
	rbt_begin_iterate(givers, LeftRightWalk, &iterator);
	for (RBTNode *node; (node = rbt_iterate(&iterator)) != NULL;)
		applications[--at] = ((TreeNode *) node)->application;
}
