/*-------------------------------------------------------------------------
 *
 * am_limit.c
 *	  How much application masters may use of a leaf queue.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/am_limit.h"

static int64 *
part_of(const YqHierarchy *hierarchy, const int64 *amounts, float4 part)
{
	int64	   *result = yq_hierarchy_amounts(hierarchy);

	yq_amounts_multiply_and_normalize_up(&hierarchy->calculator, result, amounts, part,
										 hierarchy->settings.minimum_allocation);
	return result;
}

int64 *
yq_queue_guaranteed_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label)
{
	return part_of(hierarchy, label->effective_minimum, label->am_percent);
}

int64 *
yq_queue_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label, const int64 *limit)
{
	const YqCalculator *calculator = &hierarchy->calculator;
	int64		most[YQ_MAX_RESOURCE_TYPES];

	/* elsewhere there is no limit but the guarantee */
	if (label->label != 0)
		return yq_queue_guaranteed_am_limit(hierarchy, label);
	yq_amounts_round_down(calculator, most, label->effective_maximum,
						  hierarchy->settings.minimum_allocation);
	limit = yq_amounts_min(calculator, hierarchy->cluster, most, limit);
	if (!yq_amounts_fit_in_by(calculator, label->effective_minimum, limit))
		return yq_queue_guaranteed_am_limit(hierarchy, label);
	return part_of(hierarchy, limit, label->am_percent);
}

int64 *
yq_user_share_of_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue, const YqQueueLabel *label,
						  float4 weight, int active_users)
{
	float4		share = Max(queue->user_limit / 100.0f, 1.0f / Max(active_users, 1));

	if (queue->user_limit_factor == -1)
		return yq_queue_guaranteed_am_limit(hierarchy, label);
	share = Min(share * weight, 1.0f);
	return part_of(hierarchy, label->effective_minimum,
				   label->am_percent * share * queue->user_limit_factor);
}

int64 *
yq_user_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue, const YqQueueLabel *label,
				 float4 weight, int active_users, const int64 *queue_am_limit)
{
	int64	   *share = yq_user_share_of_am_limit(hierarchy, queue, label, weight, active_users);
	const int64 *least = yq_amounts_min(&hierarchy->calculator, hierarchy->cluster, share, queue_am_limit);

	if (least != share)
		memcpy(share, least, hierarchy->calculator.types * sizeof(int64));
	return share;
}
