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
 * Counts of a leaf's applications are read from yquota_internal.application_counter.
 * At every isolation level, the newest committed state is read, with the changes of
 * this transaction.  Changes of the present command are visible after
 * CommandCounterIncrement().  A caller whose decision depends on the counts holds the
 * lock of the leaf.  The caller also counts its own changes with yq_leaf_note(), so
 * that it need not read the counts again for its next decision.
 *
 * The users of a leaf are the owners of its live applications.  After usage has been
 * read, the users of GUARANTEED containers are added.  Events about containers name a
 * queue and a user even without an application.
 *
 * Arrays per label are indexed by label number.  Their last entry stands for all labels
 * that no longer exist (yq_leaf_slot).
 */

typedef struct YqLeafUser
{
	const char *username;
	float4		weight;
	int			non_runnable;	/* number of applications in this state */
	int			accepted;		/* number of applications in this state */
	int			active;			/* number of applications in this state */
	int			demanding;		/* number of live applications that have outstanding requests */
	int64	  **am_used;		/* per label: resources of the masters of active applications; NULL: none */
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
	int			non_runnable;	/* number of all users' applications in this state */
	int			accepted;		/* number of all users' applications in this state */
	int			active;			/* number of all users' applications in this state */
	int		   *accepted_on;	/* per label */
	int64	  **am_used;		/* per label: sum over all users; never NULL */
	int			kept_active_users;	/* number that yq_leaf_keep_active_users() has set; negative: not set */
	bool		has_usage;
	const int64 *am_limit;		/* set by yq_leaf_am_limit() */
} YqLeafUsage;

/* Return the index of a label in the arrays per label.  A label that no longer exists has the number -1. */
extern int	yq_leaf_slot(const YqLeafUsage *leaf, int label);

/*
 * Read the counts of a leaf.  The result is allocated in the current memory context.
 * To free it, delete that context.
 */
extern YqLeafUsage *yq_leaf_read(YqHierarchy *hierarchy, const YqQueue *queue);

/* Return the user with this name, or NULL if the leaf has no such user. */
extern YqLeafUser *yq_leaf_user(const YqLeafUsage *leaf, const char *username);

/*
 * Count an application that enters the leaf, leaves the leaf, or changes its state
 * there.  If it enters, "from" is a state that is not live; if it leaves, "to" is such
 * a state.  The application's has_outstanding_requests does not change.
 */
extern void yq_leaf_note(YqLeafUsage *leaf, const YqApplication *application,
						 YqApplicationState from, YqApplicationState to);

/*
 * Return the limit of application masters in the default partition.  The first call
 * computes it from the usage of containers at that time.
 */
extern const int64 *yq_leaf_am_limit(YqLeafUsage *leaf);

/*
 * Return the user's weight in a queue.  The weight comes from the nearest queue that sets it: the
 * queue itself or an ancestor.  If no queue sets it, the weight is 1.
 */
extern float4 yq_queue_user_weight(const YqQueue *queue, const char *username);

/*
 * Does the user have an active or waiting application with outstanding requests?  An
 * application that waits for its application master has requested the master.
 */
extern bool yq_leaf_user_is_active(const YqLeafUser *user);

/*
 * If an application begins to request containers, does its user become active?  Yes, if
 * the user has an active application (UsersManager.activateApplication(),
 * semantics/allocation 3.1).  The user may be NULL.
 */
extern bool yq_leaf_user_may_be_active(const YqLeafUser *user);

/*
 * Return how often this user counts as an active user in the limit of application masters.  A user
 * with demand counts once.  A user with waiting applications, but without an active application,
 * counts once more (UsersManager.getNumActiveUsers()).
 */
extern int	yq_leaf_user_counts(const YqLeafUser *user);
extern int	yq_leaf_active_users(const YqLeafUsage *leaf);

/*
 * Freeze the number of active users that rounds of activation use.  Users who are
 * counted later do not change it.  The scheduler updates the number when it computes
 * the limit of a user, but not when applications enter or leave (semantics/allocation
 * 3.1).
 */
extern void yq_leaf_keep_active_users(YqLeafUsage *leaf);

/*
 * Limits of application masters of a leaf queue (semantics/placement 4.2, 4.3).  In
 * the default partition, the usage of other queues lowers the queue's limit, but not
 * below the limit that follows from the guarantee.  A user's limit is a share of the
 * guarantee.  Amounts are palloc'd, in native units.
 */

/*
 * Return the queue's limit on a label, computed from the guarantee alone.
 * yq_queue_am_limit() is never smaller.
 */
extern int64 *yq_queue_guaranteed_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label);

/* Return the queue's limit on a label.  "limit" is the amount that other queues leave (yq_queue_limit()). */
extern int64 *yq_queue_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label,
								const int64 *limit);

/*
 * Return the share of a user with this weight, among the active users; 0 users count as
 * 1.  The share may exceed the queue's limit.  yq_user_am_limit() returns at most the
 * queue's limit.
 */
extern int64 *yq_user_share_of_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue,
										const YqQueueLabel *label, float4 weight, int active_users);
extern int64 *yq_user_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue,
							   const YqQueueLabel *label, float4 weight, int active_users,
							   const int64 *queue_am_limit);

/* -- user limit ---------------------------------------------------------------- */

/*
 * Compute the limit on what a user may use of a leaf queue on a label, and the
 * headroom.  The headroom is the part of the limit that an application may still get
 * (semantics/allocation 3).
 *
 * Amounts are in native units, and are computed from the usage that was read last.  The
 * ratio of usage may differ from a running Hadoop in the last digits.  Hadoop adds
 * differences to a float, and computes the sum again only when the cluster changes.
 * yquota computes the sum each time, over the users in the order of their names.
 */

/* Users among whom the queue's capacity is shared. */
typedef enum YqSharers
{
	YQ_ACTIVE_USERS,			/* users with demand; used by the scheduler */
	YQ_ALL_USERS				/* all users; used by preemption */
} YqSharers;

/* Amounts from which the limit of each user follows.  They are palloc'd, and none of them is NULL. */
typedef struct YqUserLimit
{
	YqSharers	sharers;
	int			users;			/* number of users who share the capacity */
	float4		weights;		/* sum of the weights of the users who share the capacity */
	float4		usage_ratio;	/* sum of the fractions of the partition that the users use */
	int64	   *consumed;		/* amount used: usage_ratio times the resources of the partition */
	int64	   *current_capacity;	/* the guarantee, or the consumption plus the minimum allocation */
	int64	   *used;			/* amount that is shared: current_capacity, or usage of the sharing users plus
								 * the minimum allocation */
	int64	   *share;			/* share of a user whose weight is 1 */
	int64	   *minimum_share;	/* share by minimum-user-limit-percent */
	int64	   *most;			/* upper bound of every user's limit */
	int64	   *limit;			/* limit of a user whose weight is 1 */
} YqUserLimit;

/* Create a limit whose amounts are all zero. */
extern YqUserLimit *yq_user_limit_create(const YqHierarchy *hierarchy);

/*
 * Compute the amounts of a limit for a leaf, from the usage of the users who share the
 * capacity.  The caller has set sharers, users, weights and usage_ratio.
 * ignores_exclusivity is for containers on free nodes of another label.  With it, the
 * only upper bound is the partition.
 */
extern void yq_user_limit_derive(const YqHierarchy *hierarchy, const YqQueue *queue, int label,
								 bool ignores_exclusivity, const int64 *used_by_sharers,
								 YqUserLimit *limit);

/* Compute the limit of users on a label.  The usage of the leaf must have been read. */
extern YqUserLimit *yq_user_limit_compute(YqLeafUsage *leaf, int label, YqSharers sharers,
										  bool ignores_exclusivity);

/* Return the limit of a user with this weight, palloc'd. */
extern int64 *yq_user_limit_for(const YqLeafUsage *leaf, const YqUserLimit *limit, float4 weight);

/* May a user with this usage get further containers, because the usage is within the limit? */
extern bool yq_user_may_be_assigned(const YqLeafUsage *leaf, const int64 *used, const int64 *limit);

typedef struct YqHeadroom
{
	int64	   *user_limit;
	const int64 *user_used;
	int64	   *queue_limit;
	const int64 *queue_used;
	const int64 *total;			/* resources of all nodes of the partition */
	int64	   *free;			/* free resources of the partition; negative if more is used than the partition has */
	int64	   *headroom;		/* result; the amount of memory is never negative */
} YqHeadroom;

/* Compute the headroom of a user in a leaf on a label.  The function reads the usage of all queues. */
extern YqHeadroom *yq_headroom_compute(YqLeafUsage *leaf, int label, const char *username);

#endif							/* YQ_LEAF_USAGE_H */
