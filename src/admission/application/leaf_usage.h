/*-------------------------------------------------------------------------
 *
 * leaf_usage.h
 *	  Counts and usage of the applications and users of a leaf queue, its limits, and how
 *	  much a user may use of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LEAF_USAGE_H
#define YQ_LEAF_USAGE_H

#include "admission/application/application.h"
#include "queues/hierarchy.h"

/* -- leaf usage ---------------------------------------------------------------- */

/*
 * Counts come from yquota_internal.application_counter in the newest committed
 * state, with the changes of this transaction, at every isolation level.
 * Changes of the present command count after CommandCounterIncrement().  A
 * caller that decides by the counts holds the lock of the leaf and notes its
 * changes here, so that one reading serves several decisions.
 *
 * A user of the leaf has a live application in it or, when usage has been read,
 * GUARANTEED containers.  Events about containers name queue and user, and need
 * no application.
 *
 * Arrays per label are indexed by the number of the label; the last entry is
 * for labels that no longer exist (yq_leaf_slot).
 */

typedef struct YqLeafUser
{
	const char *username;
	float4		weight;
	int			non_runnable;	/* applications, by state */
	int			accepted;
	int			active;
	int			demanding;		/* in any of these states, with outstanding requests */
	int64	  **am_used;		/* per label: of application masters of active ones; NULL for none */
	int64	  **used;			/* per label: by GUARANTEED containers and reservations; NULL for none */
} YqLeafUser;

typedef struct YqLeafUsage
{
	YqHierarchy *hierarchy;		/* computed */
	const YqQueue *queue;
	MemoryContext context;
	YqLeafUser **users;			/* by name */
	int			user_count;
	int			user_room;
	int			non_runnable;	/* of all users */
	int			accepted;
	int			active;
	int		   *accepted_on;	/* per label */
	int64	  **am_used;		/* per label, of all users; never NULL */
	int			kept_active_users;	/* see yq_leaf_keep_active_users(); else negative */
	bool		has_usage;
	const int64 *am_limit;		/* by yq_leaf_am_limit() */
} YqLeafUsage;

/* Where arrays have a label, by its number; -1 for one that is gone. */
extern int	yq_leaf_slot(const YqLeafUsage *leaf, int label);

/* In the current memory context; goes with it. */
extern YqLeafUsage *yq_leaf_read(YqHierarchy *hierarchy, const YqQueue *queue);

/* The user of that name; NULL when the leaf has none. */
extern YqLeafUser *yq_leaf_user(const YqLeafUsage *leaf, const char *username);

/*
 * Count an application that comes (from a state that is not live), goes (to one
 * that is not) or changes its state.  Its has_outstanding_requests does not
 * change.
 */
extern void yq_leaf_note(YqLeafUsage *leaf, const YqApplication *application,
						 YqApplicationState from, YqApplicationState to);

/*
 * How much application masters may use of the default partition, by the usage
 * of containers at the first call.
 */
extern const int64 *yq_leaf_am_limit(YqLeafUsage *leaf);

/* Of the nearest queue above (or itself) that has one for the user; else 1. */
extern float4 yq_queue_user_weight(const YqQueue *queue, const char *username);

/*
 * Does the user want containers now?  He has an application with outstanding requests,
 * be it active or waiting: one that waits for its application master asks for that.
 */
extern bool yq_leaf_user_is_active(const YqLeafUser *user);

/*
 * May an application that begins to ask make its user an active one?  It does when he has one
 * that is active (UsersManager.activateApplication(), semantics/allocation 3.1).  The user may be NULL.
 */
extern bool yq_leaf_user_may_be_active(const YqLeafUser *user);

/*
 * The number of active users that a user counts for in the limit of application masters: one if he
 * has demand, and one more if he has applications waiting and none active
 * (UsersManager.getNumActiveUsers()).
 */
extern int	yq_leaf_user_counts(const YqLeafUser *user);
extern int	yq_leaf_active_users(const YqLeafUsage *leaf);

/*
 * Let rounds of activation count the active users of now, not those that are
 * noted later.  The scheduler counts them when it computes the limit of a user,
 * but not while applications come and go (semantics/allocation 3.1).
 */
extern void yq_leaf_keep_active_users(YqLeafUsage *leaf);

/*
 * How much application masters may use of a leaf queue (semantics/placement 4.2).  The
 * queue's limit in the default partition, which usage elsewhere lessens, counts
 * for the queue where it is larger than the guarantee.  A user's limit is a part
 * of the guarantee.  Amounts are palloc'd, in native units.
 */

/* The limit of a queue on a label by its guarantee alone: never more than the next one. */
extern int64 *yq_queue_guaranteed_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label);

/* The limit of a queue on a label by the queue limit that other queues leave (yq_queue_limit()). */
extern int64 *yq_queue_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label,
								const int64 *limit);

/*
 * Of a user with a weight, of so many active ones (none are as one), before it is
 * cut down to the queue's, which the next one does.
 */
extern int64 *yq_user_share_of_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue,
										const YqQueueLabel *label, float4 weight, int active_users);
extern int64 *yq_user_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue,
							   const YqQueueLabel *label, float4 weight, int active_users,
							   const int64 *queue_am_limit);

/* -- user limit ---------------------------------------------------------------- */

/*
 * How much a user may use of a leaf queue on a label, and how much of that is
 * left to an application (semantics/allocation 3).
 *
 * Amounts are in native units; figures are as of the usage that was read last,
 * where a running Hadoop goes on adding differences to the ratio of usage: its
 * float may differ in the last digits until the cluster changes, when it is added
 * up anew as here.  Users are added up in the order of their names.
 */

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

#endif							/* YQ_LEAF_USAGE_H */
