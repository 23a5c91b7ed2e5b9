/*-------------------------------------------------------------------------
 *
 * cluster.h
 *	  State of an allocation cycle in memory: nodes, queues with their users,
 *	  applications with their requests, reservations (semantics/allocation).
 *
 * The loader makes a cluster from a computed hierarchy, sets the settings, and adds
 * nodes, users, applications, requests and reservations.  Requests of an application
 * with the same priority and id form a scheduler key.  Then yq_cluster_prepare() computes
 * the sums.  A cycle (assign_containers.h) changes the state as it decides, and appends
 * decisions, which record/ writes.  No function here reads or writes a table.
 *
 * All memory is in the cluster's own context and is freed with it.  An array of amounts
 * has one number for each resource type of the hierarchy, in the native unit of the type.
 * An array of amounts per label has these numbers label after label: see yq_at().  Strings
 * that the caller passes are kept, not copied.
 *
 * The state need not contain the whole cluster.  A cycle over some nodes needs these
 * nodes and all queues.  It needs every ACTIVE application that has demand or a
 * reservation, with all its keys, and the nodes of these reservations.  It also needs
 * all users of the leaves of these applications, with their usage.
 *
 * An ACTIVE application without demand matters only in a leaf that is at its limit and
 * in which applications have reservations.  The search of such a leaf ends at the first
 * application in order that has no reservation.  The loader therefore adds applications
 * without demand, too, but without keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_H
#define YQ_CLUSTER_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "queues/hierarchy.h"

typedef enum YqLocality
{
	YQ_NODE_LOCAL,
	YQ_RACK_LOCAL,
	YQ_OFF_SWITCH
} YqLocality;

/* Sharing of nodes with a label (semantics/queues 4). */
typedef enum YqSchedulingMode
{
	YQ_RESPECT_EXCLUSIVITY,		/* mode of requests for the label of the node */
	YQ_IGNORE_EXCLUSIVITY		/* mode of requests for the default partition */
} YqSchedulingMode;

/* Orders of the applications of a leaf (semantics/allocation 2.6). */
typedef enum YqApplicationPolicy
{
	YQ_FIFO,
	YQ_FAIR,
	YQ_FAIR_BY_SIZE,			/* fair.enable-size-based-weight */
	YQ_FIFO_WITH_PARTITIONS
} YqApplicationPolicy;

/* Settings of the scheduler; defaults in yq_cluster_create(). */
typedef struct YqClusterSettings
{
	int			node_locality_delay;	/* missed opportunities */
	int			rack_locality_additional_delay; /* missed opportunities; -1: by the number of requested nodes */
	bool		rack_locality_full_reset;
	bool		continues_looking;	/* reservations-continue-look-all-nodes */
	bool		assigns_multiple;	/* per-node-heartbeat.multiple-assignments-enabled */
	int			maximum_containers; /* per heartbeat; -1: no limit */
	int			maximum_off_switch; /* per heartbeat */
	bool		shares_with_masters;	/* node-labels.am.allow-non-exclusive-allocation */
} YqClusterSettings;

/* Number that stands for the name of a node or rack in the cluster. */
typedef int YqName;

#define YQ_ANYWHERE (-1)

typedef struct YqClusterNode
{
	const char *name;
	YqName		name_number;
	YqName		rack_number;
	int			label;			/* number; 0 is the default partition */
	int64	   *total;
	int64	   *unallocated;	/* negative if the node has become smaller than its containers */
	struct YqReservation *reservation;	/* NULL for none */
	struct YqKillableContainer *killable;	/* first killable container of the node; NULL for none */
	bool		has_false_room; /* set by record_decisions.c: containers that should make room are not killed */
} YqClusterNode;

typedef struct YqClusterUser
{
	const char *username;
	struct YqClusterQueue *leaf;
	float4		weight;
	int64	   *used;			/* per label: resources of containers and reservations */
	float4	   *usage_ratio;	/* per label: used share of the partition */
	int64	   *limit[2];		/* limit per mode and label: see yq_user_limit() */
	uint64	   *limit_version[2];	/* per mode and label: version of the leaf's shares when the limit was computed */
	uint64		below_version;	/* version of the leaf's shares when the user was found below the limit */
	int			below_label;	/* label for which the user was found below the limit */
	YqSchedulingMode below_mode;	/* mode for which the user was found below the limit */
	bool		is_active;		/* the user counts among active users (yq_leaf_user_is_active) */
	int			demanding;		/* number of applications with outstanding requests, loaded or not */
	bool		is_stale;		/* set by the loader: the user's containers have changed; see user_containers.h */
	List	   *held;			/* known containers of the user, for the loader; see user_containers.h */
} YqClusterUser;

/* Inputs of user limits, per label of a leaf (semantics/allocation 3.2). */
typedef struct YqLeafShares
{
	float4		usage_ratio;	/* sum of the users' ratios, changed in steps as in Hadoop */
	int64	   *used_by_active;
	bool		is_current[2];	/* per mode: limit was computed from the present values */
	int64	   *limit[2];		/* per mode: limit of a user with weight 1 */
	uint64		version;		/* changes with each change of the values; 0: not computed yet */
} YqLeafShares;

/* Rank of a queue among its siblings on a label (semantics/allocation 2.4). */
typedef struct YqQueueRank
{
	const YqQueueLabel *configured; /* configuration for the label; NULL when nothing is configured */
	bool		may_use;		/* the queue may use the label */
	bool		has_capacity;	/* the queue has a guaranteed capacity on the label */
	float4		used;			/* used fraction of that capacity, or of the partition if there is none */
} YqQueueRank;

typedef struct YqClusterQueue
{
	const YqQueue *queue;
	struct YqClusterQueue *parent;	/* NULL for root */
	struct YqClusterQueue **children;	/* in configured order */
	int			child_count;
	int			position;		/* position among its siblings */
	bool		is_leaf;
	int32		priority;
	bool		respects_priority;	/* parents: priority-utilization */
	int64	   *used;			/* per label: resources of containers and reservations */
	int64	   *reserved;		/* per label */
	int64	   *killable;		/* per label: usage of killable containers, which "used" includes */
	int64	   *pending;		/* per label: pending resources of loaded applications */
	struct YqClusterQueue ***order;	/* for parents, per label: children with demand, in order; see order.h */
	int		   *ordered;		/* for parents, per label: number of children in order */
	bool	   *is_demanding;	/* per label: the queue has pending resources, according to the calculator */
	const int64 **maximum;		/* per label: largest permitted usage */
	float4		share;			/* for a queue of a plan: last copied fraction of the plan */
	float4		maximum_share;	/* for a queue of a plan: last copied maximum fraction of the plan */
	bool		is_vacant;		/* for a queue of a plan: the queue did not exist when the shares were copied */
	YqQueueRank *ranks;			/* per label */

	/* for leaves */
	YqApplicationPolicy policy;
	bool	   *is_own_partition;	/* per label: the policy fifo-with-partitions orders its applications separately */
	const int64 *maximum_allocation;
	float4		minimum_allocation_factor;
	struct YqClusterUser **users;	/* by name, after preparation */
	int			user_count;
	int			user_room;
	float4		active_weights; /* sum over active users */
	YqLeafShares *shares;		/* per label */
	struct YqFruitlessSearch *fruitless_search; /* see decide/fruitless_search.c; NULL: none so far */
	struct YqClusterApplication **applications; /* in order, after preparation */
	int			application_count;
	int			application_room;
	struct YqClusterApplication ***demanding;	/* per label: applications with demand for the label, in order */
	int		   *demanding_count;	/* per label */
	bool		is_out_of_order;	/* the order must be computed again: see yq_cluster_order_leaf() */
	bool		is_stale;		/* the queue is listed in stale_queues, for the loader */
} YqClusterQueue;

/* A request for a node, for a rack, or anywhere. */
typedef struct YqResourceRequest
{
	YqName		name;			/* name of a node or rack, or YQ_ANYWHERE */
	int64		count;			/* containers */
	const int64 *amounts;		/* size of a container */
	bool		relaxes_locality;	/* a container farther away may also serve the request */
	bool		is_changed;		/* the count differs from the loaded count */
	void	   *source;			/* for the loader */
} YqResourceRequest;

/* Update of a running container that makes it larger or GUARANTEED (semantics/allocation 8). */
typedef struct YqContainerUpdate
{
	const char *container_id;
	bool		is_promotion;
	bool		is_by_rule;		/* a promotion that no application has requested: see load/promotable_containers.h */
	int64		ran;			/* for a promotion by rule: running time, microseconds */
	const int64 *present;		/* present allocation; NULL if "allocation" is NULL */
	const int64 *allocation;	/* allocation afterwards; NULL: the update is no longer wanted */
} YqContainerUpdate;

/* Counters of the requests with one priority and id: see YqSchedulerKey. */
typedef struct YqRequestCounters
{
	int64		opportunities;
	int64		missed_non_partitioned;
	int64		re_reservations;
} YqRequestCounters;

/*
 * Requests of an application that have the same priority and allocation request id.  A
 * key may also stand for an update of a container, which requests the missing amount on
 * the container's node.
 */
typedef struct YqSchedulerKey
{
	struct YqClusterApplication *application;
	const YqContainerUpdate *update;	/* NULL: the key requests new containers */
	int32		priority;		/* the smaller number is served first */
	int64		allocation_request_id;
	int			label;			/* label of the request for any node; -1: the label no longer exists */
	YqResourceRequest anywhere;	/* count 0: no container is wanted */
	YqResourceRequest *requests;	/* requests for nodes and racks, by name after preparation */
	int			request_count;
	int			request_room;
	int64		unique_requests;	/* number of requested names, including "anywhere" */
	int64		opportunities;	/* scheduling opportunities */
	int64		missed_non_partitioned; /* opportunities since an assignment in the default partition */
	int64		re_reservations;
	YqRequestCounters written;	/* values of the three counters when they were last loaded or written */
	int			wanted_from;	/* no key between this key and the key at position wanted_from wants a container */
	struct YqReservation **reservations;	/* reservations, sorted by the name of the node */
	int			reservation_count;
	int			reservation_room;
	bool		is_changed;		/* a counter or a count may differ from the loaded value */
} YqSchedulerKey;

typedef struct YqReservation
{
	YqSchedulerKey *key;
	YqClusterNode *node;
	int64		container;		/* number of the container in its application */
	const int64 *amounts;
} YqReservation;

typedef struct YqClusterApplication
{
	const char *application_id;
	YqClusterQueue *leaf;
	YqClusterUser *user;
	int32		priority;		/* the larger number is served first */
	int			partition;		/* label given at submission; -1: the label no longer exists */
	TimestampTz submitted_at;
	bool		waits_for_master;	/* the application is managed, and its application master has no container */
	int64		next_container; /* number of the next container */
	int64	   *used;			/* per label: resources of containers only */
	int64	   *reserved;		/* per label */
	int			reservation_count;	/* reservations of all keys of the application */
	int64	   *pending;		/* per label: sum of count times amounts of the requests for any node */
	YqSchedulerKey **keys;		/* keys, sorted after preparation */
	int			key_count;
	int			key_room;
	bool		is_demanding;	/* the application has an outstanding request */
	bool		activates_user; /* the application is counted in "demanding" of its user */
	YqName	   *blacklist;		/* blacklisted nodes and racks, sorted after preparation */
	int			blacklist_count;
	int			blacklist_room;
	int			number;			/* number of the application in its leaf, in the order of ids */
	bool		is_touched;		/* the application is in the cluster's list of touched applications */
	void	   *source;			/* for the loader */
} YqClusterApplication;

/*
 * A running container that lazy preemption has made killable: it is killed when its
 * resources are needed (semantics/preemption 8).  The killable containers of a node are
 * in the order of their ids, so the oldest application comes first.  In Hadoop their
 * order depends on a hash table.
 */
typedef struct YqKillableContainer
{
	const char *container_id;
	const char *application_id; /* the application may be missing in the cluster */
	YqClusterUser *user;		/* user in the leaf for which the container counts */
	YqClusterNode *node;		/* NULL: not loaded */
	int			label;			/* label for which the container counts */
	const int64 *amounts;
	bool		is_killed;		/* killed by this cycle */
	struct YqKillableContainer *next;	/* next container of the node, or of the decision that kills it; NULL: none */
} YqKillableContainer;

typedef enum YqDecisionKind
{
	YQ_ALLOCATED,				/* a container starts, possibly from a reservation */
	YQ_RESERVED,
	YQ_UNRESERVED,				/* the reservation is no longer wanted */
	YQ_SWAPPED					/* a container starts, and a reservation elsewhere is given up for it */
} YqDecisionKind;

typedef struct YqDecision
{
	YqDecisionKind kind;
	YqSchedulerKey *key;
	YqClusterNode *node;		/* node of the container or reservation */
	int64		container;		/* number of the container in its application */
	const int64 *amounts;
	YqLocality	locality;
	YqLocality	request_locality;	/* closest locality that was requested for the node */
	YqSchedulingMode mode;
	bool		is_master;		/* the container of an application master */
	YqReservation *reservation; /* reservation that is fulfilled, made or given up; NULL for none */
	YqKillableContainer *killed;	/* first container that is killed for the decision; NULL for none */
	bool		is_void;		/* set by record_decisions.c: the decision is not written */
} YqDecision;

/* Reason why an application, or a queue, was skipped on a node. */
typedef enum YqSkipReason
{
	YQ_SKIP_NODE_FULL,			/* less than a minimum allocation is free */
	YQ_SKIP_QUEUE_LIMIT,		/* the queue or one of its ancestors uses all that it may */
	YQ_SKIP_HEADROOM,			/* the request exceeds the headroom of the queue */
	YQ_SKIP_USER_LIMIT,
	YQ_SKIP_LABEL,				/* the application requests another partition */
	YQ_SKIP_EXCLUSIVITY,		/* application masters may not run on nodes of other labels */
	YQ_SKIP_DEFAULT_FIRST,		/* the request first has to wait for nodes of the default partition */
	YQ_SKIP_BLACKLIST,
	YQ_SKIP_LOCALITY,			/* the request waits for a closer node, or accepts only certain nodes */
	YQ_SKIP_NODE_TOO_SMALL,		/* the whole node is too small */
	YQ_SKIP_NODE_SPACE,			/* the node has no room, and no reservation is due */
	YQ_SKIP_KILLABLE,			/* kills would make room but are not allowed, or the key updates a killable container */
	YQ_SKIP_RESERVATION,		/* all requests have reservations, and none may be given up */
	YQ_SKIP_COMMIT,				/* the proposal was refused at the commit */
	YQ_SKIP_PROJECT,			/* no project pays, so the application was not tried */
	YQ_SKIP_REFUSED,			/* the decision could not be written, and the application was not tried */
	YQ_SKIP_REASONS
} YqSkipReason;

typedef struct YqSkip
{
	YqSkipReason reason;
	YqSchedulingMode mode;
	YqClusterNode *node;
	YqClusterQueue *queue;		/* NULL: the node itself is the reason */
	YqClusterApplication *application;	/* NULL: the queue is the reason */
	YqSchedulerKey *key;		/* NULL: the reason concerns no single key */
	const int64 *required;		/* the requested amounts; NULL for none */
	const int64 *used;			/* the usage that is compared with the limit; NULL for none */
	const int64 *limit;			/* the limit; NULL for none */
	int64		opportunities;	/* number of missed opportunities, for delays; otherwise 0 */
	int64		needed;			/* number of needed opportunities, for delays; otherwise 0 */
} YqSkip;

typedef struct YqCluster
{
	MemoryContext context;
	YqHierarchy *hierarchy;
	const YqCalculator *calculator;
	YqClusterSettings settings;
	int64		node_count;		/* nodes of the cluster, loaded or not: for delays */
	bool	   *shares;			/* per label: not exclusive, so idle nodes serve the default partition */
	HTAB	   *names;			/* names of nodes and racks */
	YqClusterNode **nodes;		/* nodes, indexed by number of the name; NULL: a rack, or not loaded */
	int			name_count;
	int			name_room;
	YqClusterQueue *queues;		/* queues, indexed by their number in the hierarchy */
	YqClusterQueue *root;		/* root queue; NULL when there is none */
	struct YqUserLimit *user_limit; /* memory for the computation of limits of users */
	YqKillableContainer *killable;	/* killable containers, in order, including killed containers; NULL for none */
	int			killable_count;
	void	  (*complete_leaf) (struct YqCluster *cluster, YqClusterQueue *leaf);	/* called before sorting */
	void	   *source;			/* for the loader */
	struct YqFruitlessSearch *fruitless_searches;	/* searches of leaves in this cycle */
	YqClusterApplication **touched; /* applications with changed keys */
	int			touched_count;
	int			touched_room;
	YqDecision *decisions;		/* decisions, in the order in which they were made */
	int			decision_count;
	int			decision_room;
	bool		explains;
	YqSkip	   *skips;			/* skipped queues and applications, filled by a cycle that explains */
	int			skip_count;
	int			skip_room;
} YqCluster;

/* Amounts of one label in an array of all labels. */
#define yq_at(cluster, amounts, label) \
	((amounts) + (size_t) (label) * (cluster)->calculator->types)

/* Return the size in bytes of an array of the amounts of all labels. */
extern Size yq_cluster_amounts_size(const YqCluster *cluster);

/*
 * Make a cluster without nodes and applications, in its own memory context, whose parent
 * is the current one.  Its queues have the data of the hierarchy, and no usage.  The
 * caller then sets their priorities and policies, and the shared labels.
 */
extern YqCluster *yq_cluster_create(YqHierarchy *hierarchy);

/* Return the queue with this path, or NULL. */
extern YqClusterQueue *yq_cluster_queue(const YqCluster *cluster, const char *path);

/* Return the number of the name of a node or rack.  A name without a number gets the next number. */
extern YqName yq_cluster_name(YqCluster *cluster, const char *name);

/* Add a node of size "total", without containers. */
extern YqClusterNode *yq_cluster_add_node(YqCluster *cluster, const char *name, const char *rack,
										  int label, const int64 *total);

/* Return the node with this name, or NULL. */
extern YqClusterNode *yq_cluster_node(const YqCluster *cluster, const char *name);
extern YqClusterNode *yq_cluster_find_node(const YqCluster *cluster, YqBytes name);

/* Add a user of a leaf, without usage.  The caller adds each name only once. */
extern YqClusterUser *yq_cluster_add_user(YqCluster *cluster, YqClusterQueue *leaf,
										  const char *username, float4 weight);

/*
 * Add an application of a user.  The caller sets the application's own usage (used);
 * the usage of its user and queues is not derived from it.
 */
extern YqClusterApplication *yq_cluster_add_application(YqCluster *cluster, YqClusterUser *user,
														const char *application_id, int32 priority);

/* Add a scheduler key with counters of 0 and without requests. */
extern YqSchedulerKey *yq_cluster_add_key(YqCluster *cluster, YqClusterApplication *application,
										  int32 priority, int64 allocation_request_id, int label);

/* Sort the keys of an application.  Preparing the application sorts them, too. */
extern void yq_cluster_sort_keys(YqClusterApplication *application);

/*
 * Find a key among the first "sorted_count" keys, which are in order.  Returns NULL if
 * the key is missing.  The container id is that of an update, or NULL for new containers.
 */
extern YqSchedulerKey *yq_cluster_find_key(const YqClusterApplication *application, int sorted_count, int32 priority,
										   int64 allocation_request_id, const char *container_to_update);

/*
 * Return the position of the first key, from the position "from" on, that still wants a
 * container.  Returns the number of keys if there is none.  The keys remember which keys
 * the search may skip.  Once a count has increased, yq_cluster_find_wanted_keys() must be
 * called, which makes the next search look at every key again.
 */
extern int	yq_cluster_wanted_key(YqClusterApplication *application, int from);
extern void yq_cluster_find_wanted_keys(YqClusterApplication *application);

/*
 * Add a request of a key for a node, for a rack, or for any node (YQ_ANYWHERE).  A row
 * with count 0 still counts among the requested names, as in Hadoop.  The result is
 * valid until the next request is added.
 */
extern YqResourceRequest *yq_cluster_add_request(YqCluster *cluster, YqSchedulerKey *key, YqName name, int64 count,
												 const int64 *amounts, bool relaxes_locality);

/*
 * Add a reservation of a node that has none.  It counts for its application, user and
 * queues, so the caller must not pass it to yq_cluster_add_usage().
 */
extern YqReservation *yq_cluster_add_reservation(YqCluster *cluster, YqSchedulerKey *key,
												 YqClusterNode *node, int64 container,
												 const int64 *amounts);

/* Make a reservation during a cycle.  The cycle itself updates the usage of user and queues. */
extern YqReservation *yq_cluster_make_reservation(YqCluster *cluster, YqSchedulerKey *key,
												  YqClusterNode *node, int64 container,
												  const int64 *amounts);

/* Remove a reservation that is no longer needed, and free it. */
extern void yq_cluster_remove_reservation(YqCluster *cluster, YqReservation *reservation);

/* Make an application avoid a node or rack. */
extern void yq_cluster_add_to_blacklist(YqCluster *cluster, YqClusterApplication *application,
										YqName name);

/*
 * Add the usage of running GUARANTEED containers.  Adds "amounts" of the label to the
 * leaf, to all its ancestors and, if it is not NULL, to the user.
 */
extern void yq_cluster_add_usage(YqCluster *cluster, YqClusterQueue *leaf, YqClusterUser *user,
								 int label, const int64 *amounts);

/* Replace the killable containers by an array in any order.  The cluster keeps the array and sorts it. */
extern void yq_cluster_set_killable(YqCluster *cluster, YqKillableContainer *containers, int count);

/* Set "room" to the free amounts of the node plus the amounts of its killable containers. */
extern void yq_cluster_node_room(const YqCluster *cluster, const YqClusterNode *node, int64 *room);

/*
 * Sort queues and applications, and compute sums.  The caller has added everything, and
 * calls this function once, before the first cycle.
 */
extern void yq_cluster_prepare(YqCluster *cluster);

/*
 * The next four functions change a cluster that a session keeps between cycles.
 *
 * Remove an application, with its requests and reservations.  Its containers still count
 * as usage.  The application is freed, but not the strings and sources that the caller has
 * given to it.
 */
extern void yq_cluster_remove_application(YqCluster *cluster, YqClusterApplication *application);

/* Sort the keys and requests of an application that was added, and add its demand to its queues. */
extern void yq_cluster_prepare_application(YqCluster *cluster, YqClusterApplication *application);

/* Remove the keys of an application that have neither requests nor reservations. */
extern void yq_cluster_drop_empty_keys(YqClusterApplication *application);

/*
 * Prepare the queues (YqClusterQueue) whose applications, users or usage have changed.  The
 * caller has made all changes before.  A leaf is sorted only when a cycle visits it.
 */
extern void yq_cluster_prepare_again(YqCluster *cluster, const List *queues);

/* Copy the present shares of a plan's queue from the hierarchy, and whether the queue exists. */
extern void yq_cluster_note_share(YqClusterQueue *queue);

/*
 * Copy the present shares of the queues of all plans from the hierarchy.  The function
 * appends the queues (YqClusterQueue) with changed shares to "changed", and new queues to
 * both lists.  The caller prepares these queues.  A removed queue keeps its contents.
 */
extern void yq_cluster_follow_plans(YqCluster *cluster, List **changed, List **came);

/* Do removed queues still contain containers or applications?  If so, the cluster must not be used. */
extern bool yq_cluster_uses_gone_queues(const YqCluster *cluster);

/* Sort a leaf if necessary, because the cycle visits it next. */
extern void yq_cluster_order_leaf(YqCluster *cluster, YqClusterQueue *leaf);

/* Note that a cycle has changed a key, so that the change is recorded. */
extern void yq_cluster_touch(YqCluster *cluster, YqSchedulerKey *key);

/* Sort the touched applications by id. */
extern void yq_cluster_sort_touched(YqCluster *cluster);

/*
 * Have the counters of a key changed since they were loaded or written?  Nearly every
 * heartbeat changes missed_non_partitioned, which matters only if nodes are shared.
 * Without shared nodes, a change of this counter alone therefore does not count.
 */
extern bool yq_scheduler_key_counters_differ(const YqCluster *cluster, const YqSchedulerKey *key);

/* End a cycle and discard its decisions. */
extern void yq_cluster_end_cycle(YqCluster *cluster);

/* Does the order of applications depend on their usage? */
extern bool yq_is_fair(YqApplicationPolicy policy);

/* Return the request of a key for a node or rack, or NULL. */
extern YqResourceRequest *yq_scheduler_key_request(const YqSchedulerKey *key, YqName name);

#endif							/* YQ_CLUSTER_H */
