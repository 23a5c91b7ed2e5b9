/*-------------------------------------------------------------------------
 *
 * user_limit.h
 *	  How much a user may use of a leaf queue on a label, and how much of that is
 *	  left to an application (semantics/allocation 3).
 *
 * Amounts are in native units; figures are as of the usage that was read last,
 * where a running Hadoop goes on adding differences to the ratio of usage: its
 * float may differ in the last digits until the cluster changes, when it is added
 * up anew as here.  Users are added up in the order of their names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_USER_LIMIT_H
#define YQ_USER_LIMIT_H

#include "admission/application/leaf_usage.h"

/* The users that share the queue. */
typedef enum YqSharers
{
	YQ_ACTIVE_USERS,			/* those with demand: for scheduling */
	YQ_ALL_USERS				/* for preemption */
} YqSharers;

/* The parts of a limit that are the same for all users, palloc'd; none of the amounts is NULL. */
typedef struct YqUserLimit
{
	YqSharers	sharers;
	int			users;			/* how many share */
	float4		weights;		/* sum of theirs */
	float4		usage_ratio;	/* sum of all users' ratios of the partition */
	int64	   *consumed;		/* that ratio of the partition */
	int64	   *current_capacity;	/* guarantee, or the consumption plus one step */
	int64	   *used;			/* the shared amount: usage of the sharers plus one step, or current_capacity */
	int64	   *share;			/* of one sharer of weight 1 */
	int64	   *minimum_share;	/* by minimum-user-limit-percent */
	int64	   *most;			/* the bound of every user */
	int64	   *limit;			/* for weight 1 */
} YqUserLimit;

/* One with room for all amounts, and nothing in it. */
extern YqUserLimit *yq_user_limit_create(const YqHierarchy *hierarchy);

/*
 * Set the amounts of a limit of which sharers, users, weights and usage_ratio
 * are set, for a leaf with the given usage of its sharers.  With
 * ignores_exclusivity, for containers on free nodes of a label, only the
 * partition caps the limit.
 */
extern void yq_user_limit_derive(const YqHierarchy *hierarchy, const YqQueue *queue, int label,
								 bool ignores_exclusivity, const int64 *used_by_sharers,
								 YqUserLimit *limit);

/* Compute it; usage of the leaf is read. */
extern YqUserLimit *yq_user_limit_compute(YqLeafUsage *leaf, int label, YqSharers sharers,
										  bool ignores_exclusivity);

/* The limit for a weight, palloc'd. */
extern int64 *yq_user_limit_for(const YqLeafUsage *leaf, const YqUserLimit *limit, float4 weight);

/* Whether a user with this usage may be assigned more, being below the limit. */
extern bool yq_user_may_be_assigned(const YqLeafUsage *leaf, const int64 *used, const int64 *limit);

typedef struct YqHeadroom
{
	int64	   *user_limit;
	const int64 *user_used;
	int64	   *queue_limit;
	const int64 *queue_used;
	const int64 *total;			/* of the partition */
	int64	   *free;			/* of it; negative when more is used */
	int64	   *headroom;		/* memory is never negative */
} YqHeadroom;

/* The headroom of a user of a leaf on a label; reads the usage of all queues. */
extern YqHeadroom *yq_headroom_compute(YqLeafUsage *leaf, int label, const char *username);

#endif							/* YQ_USER_LIMIT_H */
