/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  Noting skipped queues and applications, with the limit.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/decide/explain.h"
#include "utils/memutils.h"

static const char *const reason_names[YQ_SKIP_REASONS] = {
	[YQ_SKIP_NODE_FULL] = "node_full",
	[YQ_SKIP_QUEUE_LIMIT] = "queue_limit",
	[YQ_SKIP_HEADROOM] = "headroom",
	[YQ_SKIP_USER_LIMIT] = "user_limit",
	[YQ_SKIP_LABEL] = "label",
	[YQ_SKIP_EXCLUSIVITY] = "exclusivity",
	[YQ_SKIP_DEFAULT_FIRST] = "default_partition_first",
	[YQ_SKIP_BLACKLIST] = "blacklist",
	[YQ_SKIP_LOCALITY] = "locality",
	[YQ_SKIP_NODE_TOO_SMALL] = "node_too_small",
	[YQ_SKIP_NODE_SPACE] = "node_space",
	[YQ_SKIP_KILLABLE] = "killable",
	[YQ_SKIP_RESERVATION] = "reserved_container",
	[YQ_SKIP_COMMIT] = "commit",
	[YQ_SKIP_PROJECT] = "no_project",
	[YQ_SKIP_REFUSED] = "refused"
};

const char *
yq_skip_reason_name(YqSkipReason reason)
{
	return reason_names[reason];
}

static const int64 *
copy_amounts(const YqCluster *cluster, const int64 *amounts)
{
	Size		size = cluster->calculator->types * sizeof(int64);

	return amounts == NULL ? NULL : memcpy(MemoryContextAlloc(cluster->context, size), amounts, size);
}

void
yq_explain(YqCluster *cluster, const YqSkip *skip)
{
	YqSkip	   *noted;

	if (!cluster->explains)
		return;
	if (cluster->skip_count == cluster->skip_room)
	{
		cluster->skip_room = Max(64, cluster->skip_room * 2);
		cluster->skips = cluster->skips == NULL ?
			MemoryContextAllocHuge(cluster->context, cluster->skip_room * sizeof(YqSkip)) :
			repalloc_huge(cluster->skips, cluster->skip_room * sizeof(YqSkip));
	}
	noted = &cluster->skips[cluster->skip_count++];
	*noted = *skip;
	noted->required = copy_amounts(cluster, skip->required);
	noted->used = copy_amounts(cluster, skip->used);
	noted->limit = copy_amounts(cluster, skip->limit);
}
