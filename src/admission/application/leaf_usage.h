/*-------------------------------------------------------------------------
 *
 * leaf_usage.h
 *	  Counts and usage of the applications and users of a leaf queue, its limits, and
 *	  the limits of its users.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LEAF_USAGE_H
#define YQ_LEAF_USAGE_H

#include "admission/application/application.h"
#include "queues/hierarchy.h"

/* -- leaf usage ---------------------------------------------------------------- */

/*
 * Counts come from yquota_internal.application_counter in the newest committed state,
 * with the changes of this transaction, at every isolation level.  Changes by the
 * present command count after CommandCounterIncrement().  A caller whose decision
 * depends on the counts holds the lock of the leaf.  The caller notes its changes here,
 * so that a single reading serves several decisions.
 *
 * A user of the leaf has a live application in it or, after usage has been read,
 * GUARANTEED containers.  Events about containers name queue and user, and need no
 * application.
 *
 * Arrays per label are indexed by the number of the label; the last entry is for labels
 * that no longer exist (yq_leaf_slot).
 */

typedef struct YqLeafUser
{
	const char *username;
	float4		weight;
	int			non_runnable;	/* number of applications, by state; also for the next fields */
	int			accepted;
	int			active;
	int			demanding;		/* number of live applications with outstanding requests */
	int64	  **am_used;		/* per label: resources of masters of active applications; NULL: none */
	int64	  **used;			/* per label: resources of GUARANTEED containers and reservations; NULL: none */
} YqLeafUser;

typedef struct YqLeafUsage
{
	YqHierarchy *hierarchy;		/* computed */
	const YqQueue *queue;
	MemoryContext context;
	YqLeafUser **users;			/* by name */
	int			user_count;
	int			user_room;
	int			non_runnable;	/* number of applications of all users, by state; also for the next fields */
	int			accepted;
	int			active;
	int		   *accepted_on;	/* per label */
	int64	  **am_used;		/* per label, sum over all users; never NULL */
	int			kept_active_users;	/* see yq_leaf_keep_active_users(); negative: not set */
	bool		has_usage;
	const int64 *am_limit;		/* set by yq_leaf_am_limit() */
} YqLeafUsage;

/* Return the index of a label in arrays per label.  A removed label has the number -1. */
extern int	yq_leaf_slot(const YqLeafUsage *leaf, int label);

/* Read a leaf into the current memory context; deleting the context frees the leaf. */
extern YqLeafUsage *yq_leaf_read(YqHierarchy *hierarchy, const YqQueue *queue);

/* Return the user with a name, or NULL when the leaf has no such user. */
extern YqLeafUser *yq_leaf_user(const YqLeafUsage *leaf, const char *username);

/*
 * Note that an application enters the leaf, leaves it, or changes its state there.  It
 * enters from a state that is not live, and leaves to such a state.  Its
 * has_outstanding_requests does not change.
 */
extern void yq_leaf_note(YqLeafUsage *leaf, const YqApplication *application,
						 YqApplicationState from, YqApplicationState to);

/*
 * Return how much application masters may use of the default partition.  The limit
 * follows from the usage of containers at the first call.
 */
extern const int64 *yq_leaf_am_limit(YqLeafUsage *leaf);

/*
 * Return the user's weight.  The nearest queue that sets it decides, from this queue
 * upwards; otherwise it is 1.
 */
extern float4 yq_queue_user_weight(const YqQueue *queue, const char *username);

/*
 * Does the user want containers now?  Such a user has an active or waiting application
 * with outstanding requests.  An application that waits for its application master
 * requests that master.
 */
extern bool yq_leaf_user_is_active(const YqLeafUser *user);

/*
 * May an application that begins to request containers make its user active?  It may if
 * the user has an active application (UsersManager.activateApplication(),
 * semantics/allocation 3.1).  The user may be NULL.
 */
extern bool yq_leaf_user_may_be_active(const YqLeafUser *user);

/*
 * Return as how many active users a user counts in the limit of application masters.  A
 * user with demand counts once.  A user with waiting applications and without an active
 * application counts once more (UsersManager.getNumActiveUsers()).
 */
extern int	yq_leaf_user_counts(const YqLeafUser *user);
extern int	yq_leaf_active_users(const YqLeafUsage *leaf);

/*
 * Make rounds of activation count the present active users, without users that are
 * noted later.  The scheduler counts them when it computes the limit of a user, but not
 * when applications enter or leave (semantics/allocation 3.1).
 */
extern void yq_leaf_keep_active_users(YqLeafUsage *leaf);

/*
 * Limits of application masters of a leaf queue (semantics/placement 4.2).  In the
 * default partition, usage of other queues lowers the queue's limit, but not below the
 * guarantee.  A user's limit is a share of the guarantee.  Amounts are palloc'd, in
 * native units.
 */

/* Return the limit of a queue on a label by its guarantee alone.  It never exceeds yq_queue_am_limit(). */
extern int64 *yq_queue_guaranteed_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label);

/* Return the limit of a queue on a label, given the amount that other queues leave (yq_queue_limit()). */
extern int64 *yq_queue_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label,
								const int64 *limit);

/*
 * Return the share of a user with a weight among the active users (0 counts as 1).  The
 * share may exceed the queue's limit; yq_user_am_limit() reduces it.
 */
extern int64 *yq_user_share_of_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue,
										const YqQueueLabel *label, float4 weight, int active_users);
extern int64 *yq_user_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue,
							   const YqQueueLabel *label, float4 weight, int active_users,
							   const int64 *queue_am_limit);

/* -- user limit ---------------------------------------------------------------- */

/*
 * Compute how much a user may use of a leaf queue on a label.  The headroom is the part
 * of that amount that an application may still get (semantics/allocation 3).
 *
 * Amounts are in native units; figures follow the usage that was read last.  A running
 * Hadoop instead adds differences to the ratio of usage.  Its float may differ in the
 * last digits until the cluster changes; then Hadoop computes the sum again, as yquota
 * always does.  Users are added up in the order of their names.
 */

/* Users that share the queue. */
typedef enum YqSharers
{
	YQ_ACTIVE_USERS,			/* users with demand; for scheduling */
	YQ_ALL_USERS				/* all users; for preemption */
} YqSharers;

/* Amounts of a limit that are equal for all users, palloc'd; none of them is NULL. */
typedef struct YqUserLimit
{
	YqSharers	sharers;
	int			users;			/* number of users that share the queue */
	float4		weights;		/* sum of the weights of these users */
	float4		usage_ratio;	/* sum of all users' ratios of the partition */
	int64	   *consumed;		/* usage_ratio of the partition */
	int64	   *current_capacity;	/* guarantee, or the consumption plus one step */
	int64	   *used;			/* the amount to share: usage of these users plus one step, or current_capacity */
	int64	   *share;			/* share of a user with weight 1 */
	int64	   *minimum_share;	/* share by minimum-user-limit-percent */
	int64	   *most;			/* upper bound for every user */
	int64	   *limit;			/* limit for weight 1 */
} YqUserLimit;

/* Make a limit whose amounts are all zero. */
extern YqUserLimit *yq_user_limit_create(const YqHierarchy *hierarchy);

/*
 * Set the amounts of a limit for a leaf, given the usage of the users that share it.
 * The caller has set sharers, users, weights and usage_ratio.  With
 * ignores_exclusivity, for containers on free nodes of a label, only the partition
 * bounds the limit.
 */
extern void yq_user_limit_derive(const YqHierarchy *hierarchy, const YqQueue *queue, int label,
								 bool ignores_exclusivity, const int64 *used_by_sharers,
								 YqUserLimit *limit);

/* Compute the limit.  The usage of the leaf must have been read. */
extern YqUserLimit *yq_user_limit_compute(YqLeafUsage *leaf, int label, YqSharers sharers,
										  bool ignores_exclusivity);

/* Return the limit for a weight, palloc'd. */
extern int64 *yq_user_limit_for(const YqLeafUsage *leaf, const YqUserLimit *limit, float4 weight);

/* Is a user with this usage below the limit, so that further containers may be assigned? */
extern bool yq_user_may_be_assigned(const YqLeafUsage *leaf, const int64 *used, const int64 *limit);

typedef struct YqHeadroom
{
	int64	   *user_limit;
	const int64 *user_used;
	int64	   *queue_limit;
	const int64 *queue_used;
	const int64 *total;			/* resources of the partition */
	int64	   *free;			/* free resources of the partition; negative when more is used */
	int64	   *headroom;		/* memory is never negative */
} YqHeadroom;

/* Compute the headroom of a user of a leaf on a label.  Reads the usage of all queues. */
extern YqHeadroom *yq_headroom_compute(YqLeafUsage *leaf, int label, const char *username);

#endif							/* YQ_LEAF_USAGE_H */
