/*-------------------------------------------------------------------------
 *
 * cluster.h
 *	  The state of an allocation cycle in memory: nodes, queues with their
 *	  users, applications with their requests, reservations (semantics/allocation).
 *
 * The loader makes a cluster from a computed hierarchy, sets the settings, and
 * adds nodes, users, applications, scheduler keys, requests and reservations.  Then
 * yq_cluster_prepare() computes the sums.  A cycle (assign_containers.h)
 * changes the state as it decides, and appends decisions, which record/ writes
 * down.  Nothing here reads or writes a table.
 *
 * Everything is allocated in the cluster's own context and goes with it.
 * Amounts are native units per resource type of the hierarchy.  Amounts per
 * label are in one array, label after label: see yq_at().  Strings given are
 * kept as they are, not copied.
 *
 * It need not be the whole cluster.  A cycle over some nodes needs: those
 * nodes; every application in state ACTIVE that has demand or a reservation,
 * with all its keys; the nodes of their reservations; all users of the leaves
 * of these applications, with their usage; and all queues.  An active
 * application without demand matters only in a leaf that is at its limit and
 * where applications have reservations: there, the first one in order without a
 * reservation ends the search.  Added like the others, without keys, it does.
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

/* How nodes with a label are shared (semantics/queues 4). */
typedef enum YqSchedulingMode
{
	YQ_RESPECT_EXCLUSIVITY,		/* among requests for the label */
	YQ_IGNORE_EXCLUSIVITY		/* among requests for the default partition */
} YqSchedulingMode;

/* Orders of the applications of a leaf (semantics/allocation 2.5). */
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
	int			rack_locality_additional_delay; /* likewise; -1: by the number of nodes asked for */
	bool		rack_locality_full_reset;
	bool		continues_looking;	/* reservations-continue-look-all-nodes */
	bool		assigns_multiple;	/* per-node-heartbeat.multiple-assignments-enabled */
	int			maximum_containers; /* per heartbeat; -1: no limit */
	int			maximum_off_switch; /* per heartbeat */
	bool		shares_with_masters;	/* node-labels.am.allow-non-exclusive-allocation */
} YqClusterSettings;

/* Names of nodes and racks, as numbers of the cluster. */
typedef int YqName;

#define YQ_ANYWHERE (-1)

typedef struct YqClusterNode
{
	const char *name;
	YqName		name_number;
	YqName		rack_number;
	int			label;			/* number; 0 is the default partition */
	int64	   *total;
	int64	   *unallocated;	/* may be negative, when the node has shrunk */
	struct YqReservation *reservation;	/* NULL for none */
	struct YqKillableContainer *killable;	/* the first of those on it; NULL for none */
	bool		has_false_room; /* record_decisions.c's: containers that were to die on it do not */
} YqClusterNode;

typedef struct YqClusterUser
{
	const char *username;
	struct YqClusterQueue *leaf;
	float4		weight;
	int64	   *used;			/* per label: by containers and reservations */
	float4	   *usage_ratio;	/* per label: the share of the partition */
	int64	   *limit[2];		/* per mode and label: see yq_user_limit() */
	uint64	   *limit_version[2];	/* per mode and label: of the shares that it was computed from */
	uint64		below_version;	/* of the shares when it was found to be below its limit, */
	int			below_label;	/* on that label */
	YqSchedulingMode below_mode;	/* in that mode */
	bool		is_active;		/* counts among active users (yq_leaf_user_is_active) */
	int			demanding;		/* applications with outstanding requests, loaded or not */
	bool		is_stale;		/* the loader's: the user's containers have changed, see user_containers.h */
	List	   *held;			/* the loader's: known containers of the user */
} YqClusterUser;

/* The inputs of user limits, per label of a leaf (semantics/allocation 3.1). */
typedef struct YqLeafShares
{
	float4		usage_ratio;	/* sum over users, kept as Hadoop keeps it */
	int64	   *used_by_active;
	bool		is_current[2];	/* per mode: is the limit computed from the present figures? */
	int64	   *limit[2];		/* per mode: of a user with weight 1 */
	uint64		version;		/* another one after each change; 0: none yet */
} YqLeafShares;

/* The rank of a queue among its siblings on a label (semantics/allocation 2.4). */
typedef struct YqQueueRank
{
	const YqQueueLabel *configured; /* NULL for nothing */
	bool		may_use;		/* the queue may use the label */
	bool		has_capacity;	/* and has a part of it for itself */
	float4		used;			/* of that part, or of the partition if there is none */
} YqQueueRank;

typedef struct YqClusterQueue
{
	const YqQueue *queue;
	struct YqClusterQueue *parent;	/* NULL for root */
	struct YqClusterQueue **children;	/* as configured */
	int			child_count;
	int			position;		/* among its siblings */
	bool		is_leaf;
	int32		priority;
	bool		respects_priority;	/* parents: priority-utilization */
	int64	   *used;			/* per label: by containers and reservations */
	int64	   *reserved;		/* per label */
	int64	   *killable;		/* per label: of what is used, by killable containers */
	int64	   *pending;		/* per label: of applications loaded */
	struct YqClusterQueue ***order;	/* parents, per label: children with demand first to last; see order.h */
	int		   *ordered;		/* parents, per label: how many those are */
	bool	   *is_demanding;	/* per label: is anything pending, by the calculator? */
	const int64 **maximum;		/* per label: the most that it may use */
	float4		share;			/* of a queue of a plan: the fractions of the plan that it is */
	float4		maximum_share;	/* computed with; see yq_cluster_follow_plans() */
	bool		is_vacant;		/* likewise: it was not there */
	YqQueueRank *ranks;			/* per label */

	/* leaves */
	YqApplicationPolicy policy;
	bool	   *is_own_partition;	/* per label: fifo-with-partitions orders it apart */
	const int64 *maximum_allocation;
	float4		minimum_allocation_factor;
	struct YqClusterUser **users;	/* by name, once prepared */
	int			user_count;
	int			user_room;
	float4		active_weights; /* sum over active users */
	YqLeafShares *shares;		/* per label */
	struct YqFruitlessSearch *fruitless_search; /* of decide/fruitless_search.c; NULL: none yet */
	struct YqClusterApplication **applications; /* in order, once prepared */
	int			application_count;
	int			application_room;
	struct YqClusterApplication ***demanding;	/* per label: those with demand for it, in order */
	int		   *demanding_count;	/* per label */
	bool		is_out_of_order;	/* its order must be computed again: see yq_cluster_order_leaf() */
	bool		is_stale;		/* the loader's */
	void	   *source;			/* likewise */


} YqClusterQueue;

/* A request for one node, for one rack, or anywhere. */
typedef struct YqResourceRequest
{
	YqName		name;			/* of a node or rack, or YQ_ANYWHERE */
	int64		count;			/* containers */
	const int64 *amounts;		/* of one */
	bool		relaxes_locality;	/* may be served by a wider request */
	bool		is_changed;		/* count differs from the loaded one */
	void	   *source;			/* the loader's */
} YqResourceRequest;

/* A running container that is to have more, or to become GUARANTEED (semantics/allocation 8). */
typedef struct YqContainerUpdate
{
	const char *container_id;
	bool		is_promotion;
	bool		is_by_rule;		/* a promotion that no application has asked for: see load/promotable_containers.h */
	int64		ran;			/* by rule: for so long, microseconds */
	const int64 *present;		/* of the container now; NULL with the next */
	const int64 *allocation;	/* of the container afterwards; NULL: it is not wanted any more */
} YqContainerUpdate;

/* Counters of the requests with one priority and id: see YqSchedulerKey. */
typedef struct YqRequestCounters
{
	int64		opportunities;
	int64		missed_non_partitioned;
	int64		re_reservations;
} YqRequestCounters;

/*
 * The requests of an application with one priority and allocation request id;
 * or an update of one of its containers, which is a request for the missing
 * amount on its node.
 */
typedef struct YqSchedulerKey
{
	struct YqClusterApplication *application;
	const YqContainerUpdate *update;	/* NULL: asks for new containers */
	int32		priority;		/* the smaller number comes first */
	int64		allocation_request_id;
	int			label;			/* label of the request anywhere; -1 when the label no longer exists */
	YqResourceRequest anywhere;	/* count 0: no container is wanted any more */
	YqResourceRequest *requests;	/* of nodes and racks, by name once prepared */
	int			request_count;
	int			request_room;
	int64		unique_requests;	/* names asked for, anywhere included */
	int64		opportunities;	/* scheduling opportunities */
	int64		missed_non_partitioned; /* of them, such as are not for the default partition */
	int64		re_reservations;
	YqRequestCounters written;	/* the last three as they were loaded, or written down */
	int			wanted_from;	/* keys of its application after it and before this place: nothing is wanted of them */
	struct YqReservation **reservations;	/* by name of the node */
	int			reservation_count;
	int			reservation_room;
	bool		is_changed;		/* a counter or a request differs from the loaded one */
	void	   *source;			/* the loader's */
} YqSchedulerKey;

typedef struct YqReservation
{
	YqSchedulerKey *key;
	YqClusterNode *node;
	int64		container;		/* number of the container in its application */
	const int64 *amounts;
	void	   *source;			/* the loader's */
} YqReservation;

typedef struct YqClusterApplication
{
	const char *application_id;
	YqClusterQueue *leaf;
	YqClusterUser *user;
	int32		priority;		/* the larger number comes first */
	int			partition;		/* label that it was submitted with; -1 when it is gone */
	TimestampTz submitted_at;
	bool		waits_for_master;	/* managed, and its application master has no container */
	int64		next_container; /* number of the container that comes next */
	int64	   *used;			/* per label: by containers alone */
	int64	   *reserved;		/* per label */
	int			reservation_count;	/* of all its keys */
	int64	   *pending;		/* per label: count times amounts of the requests anywhere */
	YqSchedulerKey **keys;		/* in order, once prepared */
	int			key_count;
	int			key_room;
	bool		is_demanding;	/* something is outstanding */
	bool		activates_user; /* and that makes its user an active one */
	YqName	   *blacklist;		/* nodes and racks, in order, once prepared */
	int			blacklist_count;
	int			blacklist_room;
	int			number;			/* in its leaf, in order of ids */
	bool		is_touched;		/* is among those of the cluster that are */
	void	   *source;			/* the loader's */
} YqClusterApplication;

/*
 * A running container that lazy preemption has made killable: it dies when its room
 * is needed (semantics/preemption 8).  Those of a node are in the order of their ids, the oldest
 * application first, for what is an accident of a hash table in Hadoop.
 */
typedef struct YqKillableContainer
{
	const char *container_id;
	const char *application_id; /* may be of none in the cluster */
	YqClusterUser *user;		/* with the leaf that it is counted in */
	YqClusterNode *node;		/* NULL: not loaded */
	int			label;			/* that it is counted for */
	const int64 *amounts;
	bool		is_killed;		/* by this cycle */
	struct YqKillableContainer *next;	/* of its node, or that dies for the same decision; NULL for none */
} YqKillableContainer;

typedef enum YqDecisionKind
{
	YQ_ALLOCATED,				/* a container starts; from a reservation, if there is one */
	YQ_RESERVED,
	YQ_UNRESERVED,				/* the reservation is not wanted any more */
	YQ_SWAPPED					/* a container starts, and a reservation elsewhere is given up for it */
} YqDecisionKind;

typedef struct YqDecision
{
	YqDecisionKind kind;
	YqSchedulerKey *key;
	YqClusterNode *node;		/* where the container, or reservation, is */
	int64		container;		/* its number in its application */
	const int64 *amounts;
	YqLocality	locality;
	YqLocality	request_locality;	/* the closest that was asked for there */
	YqSchedulingMode mode;
	bool		is_master;		/* the container of an application master */
	YqReservation *reservation; /* fulfilled, made, or given up; NULL for none */
	YqKillableContainer *killed;	/* the first of those that die for it; NULL for none */
	bool		is_void;		/* record_decisions.c's: not to be written down */
} YqDecision;

/* Why an application, or a queue, was passed over on a node. */
typedef enum YqSkipReason
{
	YQ_SKIP_NODE_FULL,			/* less than a minimum allocation is free */
	YQ_SKIP_QUEUE_LIMIT,		/* the queue, or one above it, uses all it may */
	YQ_SKIP_HEADROOM,			/* the queue may not use as much as is asked for */
	YQ_SKIP_USER_LIMIT,
	YQ_SKIP_LABEL,				/* asks for another partition */
	YQ_SKIP_EXCLUSIVITY,		/* an application master on nodes of others */
	YQ_SKIP_DEFAULT_FIRST,		/* waits for nodes of the default partition first */
	YQ_SKIP_BLACKLIST,
	YQ_SKIP_LOCALITY,			/* waits for a closer node, or wants no other */
	YQ_SKIP_NODE_TOO_SMALL,		/* the whole node is */
	YQ_SKIP_NODE_SPACE,			/* no room, and no reservation is due */
	YQ_SKIP_KILLABLE,			/* the leaf has its guarantee, and may not use the room of killable containers; or is for one */
	YQ_SKIP_RESERVATION,		/* has reservations for all it asks for, and may give none up */
	YQ_SKIP_COMMIT,				/* refused when it was about to be committed */
	YQ_SKIP_PROJECT,			/* no project pays: the application was not tried */
	YQ_SKIP_REFUSED,			/* what it was to get could not be written, and it was not tried */
	YQ_SKIP_REASONS
} YqSkipReason;

typedef struct YqSkip
{
	YqSkipReason reason;
	YqSchedulingMode mode;
	YqClusterNode *node;
	YqClusterQueue *queue;		/* NULL: the node alone is the reason */
	YqClusterApplication *application;	/* NULL: the queue is the reason */
	YqSchedulerKey *key;		/* NULL: not one of them */
	const int64 *required;		/* the requested amounts; NULL for none */
	const int64 *used;			/* usage that counts against the limit; NULL for none */
	const int64 *limit;			/* the limit; NULL for none */
	int64		opportunities;	/* such as were missed and such as are needed, for */
	int64		needed;			/* delays; 0 otherwise */
} YqSkip;

typedef struct YqCluster
{
	MemoryContext context;
	YqHierarchy *hierarchy;
	const YqCalculator *calculator;
	YqClusterSettings settings;
	int64		node_count;		/* nodes of the cluster, loaded or not: for delays */
	bool	   *shares;			/* per label: not exclusive, idle nodes serve the default partition */
	HTAB	   *names;			/* of nodes and racks */
	YqClusterNode **nodes;		/* in order of their names' numbers; NULL: a rack, or not loaded */
	int			name_count;
	int			name_room;
	YqClusterQueue *queues;		/* by number of the hierarchy */
	YqClusterQueue *root;		/* NULL when there is none */
	struct YqUserLimit *user_limit; /* where limits of users are computed */
	YqKillableContainer *killable;	/* in order, those that were killed included; NULL for none */
	int			killable_count;
	void	  (*complete_leaf) (struct YqCluster *cluster, YqClusterQueue *leaf);	/* the loader's: before it is put in order */
	void	   *source;			/* likewise */
	struct YqFruitlessSearch *fruitless_searches;	/* of leaves that this cycle has searched */
	YqClusterApplication **touched; /* with changed keys */
	int			touched_count;
	int			touched_room;
	YqDecision *decisions;		/* in the order in which they were made */
	int			decision_count;
	int			decision_room;
	bool		explains;
	YqSkip	   *skips;			/* when it explains */
	int			skip_count;
	int			skip_room;
} YqCluster;

/* The amounts of one label in an array of all. */
#define yq_at(cluster, amounts, label) \
	((amounts) + (size_t) (label) * (cluster)->calculator->types)

/* Bytes of an array of the amounts of all labels. */
extern Size yq_cluster_amounts_size(const YqCluster *cluster);

/*
 * A cluster without nodes and applications, in a context of its own below the
 * current one.  Queues have the data of the hierarchy, and no usage; the caller
 * sets other data (priority, policy options, shares) afterwards.
 */
extern YqCluster *yq_cluster_create(YqHierarchy *hierarchy);

/* The queue with that path, or NULL. */
extern YqClusterQueue *yq_cluster_queue(const YqCluster *cluster, const char *path);

/* The number of a name, which is new if need be. */
extern YqName yq_cluster_name(YqCluster *cluster, const char *name);

/* Add a node that offers "total", of which nothing is allocated yet. */
extern YqClusterNode *yq_cluster_add_node(YqCluster *cluster, const char *name, const char *rack,
										  int label, const int64 *total);

/* The node with that name, or NULL. */
extern YqClusterNode *yq_cluster_node(const YqCluster *cluster, const char *name);
extern YqClusterNode *yq_cluster_find_node(const YqCluster *cluster, YqBytes name);

/* Add a user of a leaf; each name is added once.  He uses nothing yet. */
extern YqClusterUser *yq_cluster_add_user(YqCluster *cluster, YqClusterQueue *leaf,
										  const char *username, float4 weight);

/*
 * Add an application of a user.  Its own usage (used) is set by the caller, that
 * of its user and queues is not derived from it.
 */
extern YqClusterApplication *yq_cluster_add_application(YqCluster *cluster, YqClusterUser *user,
														const char *application_id, int32 priority);

/* Add a scheduler key; its counters are 0, and nothing is asked for yet. */
extern YqSchedulerKey *yq_cluster_add_key(YqCluster *cluster, YqClusterApplication *application,
										  int32 priority, int64 allocation_request_id, int label);

/* Put the keys of an application in their order, which preparing it does, too. */
extern void yq_cluster_sort_keys(YqClusterApplication *application);

/* The key among the first ones, which are in order; NULL when it is not there.  NULL for no update. */
extern YqSchedulerKey *yq_cluster_find_key(const YqClusterApplication *application, int sorted_count, int32 priority,
										   int64 allocation_request_id, const char *container_to_update);

/*
 * The position of the first key at or after "from" with an open count; the
 * number of keys when none is left.  Counts only decrease between calls, or the
 * caller starts anew.
 */
extern int	yq_cluster_wanted_key(YqClusterApplication *application, int from);
extern void yq_cluster_find_wanted_keys(YqClusterApplication *application);

/*
 * Add a request of a key for a node or rack, or anywhere (YQ_ANYWHERE).  A row
 * of count 0 still counts among the names asked for, as it does in Hadoop.  The
 * result is good until the next one is added.
 */
extern YqResourceRequest *yq_cluster_add_request(YqCluster *cluster, YqSchedulerKey *key, YqName name, int64 count,
												 const int64 *amounts, bool relaxes_locality);

/*
 * Add a reservation of a node that has none.  It counts for its application, user
 * and queues; yq_cluster_add_usage() is not told of it.
 */
extern YqReservation *yq_cluster_add_reservation(YqCluster *cluster, YqSchedulerKey *key,
												 YqClusterNode *node, int64 container,
												 const int64 *amounts);

/* Make a reservation in a cycle, which updates the usage of user and queues itself. */
extern YqReservation *yq_cluster_make_reservation(YqCluster *cluster, YqSchedulerKey *key,
												  YqClusterNode *node, int64 container,
												  const int64 *amounts);

/* Remove a reservation that is no longer used, and free it. */
extern void yq_cluster_remove_reservation(YqCluster *cluster, YqReservation *reservation);

/* Have an application avoid a node or rack. */
extern void yq_cluster_add_to_blacklist(YqCluster *cluster, YqClusterApplication *application,
										YqName name);

/*
 * Count the usage of running GUARANTEED containers:  "amounts" of the label for
 * the leaf, all queues above it and, if there is one, the user.
 */
extern void yq_cluster_add_usage(YqCluster *cluster, YqClusterQueue *leaf, YqClusterUser *user,
								 int label, const int64 *amounts);

/*
 * Set the killable containers, in place of those before: an array in any order, which
 * is kept, and put in order.
 */
extern void yq_cluster_set_killable(YqCluster *cluster, YqKillableContainer *containers, int count);

/* room := what is free on the node, and the room of its killable containers. */
extern void yq_cluster_node_room(const YqCluster *cluster, const YqClusterNode *node, int64 *room);

/*
 * Order queues and applications and compute sums after everything is added.
 * Called once, before the first cycle.
 */
extern void yq_cluster_prepare(YqCluster *cluster);

/*
 * Afterwards a cluster may follow its tables.  yq_cluster_remove_application()
 * takes an application out: its requests and reservations no longer count, its
 * containers still do.  It is freed, but not the memory that the caller gave
 * for it.  Keys without requests and reservations can be dropped alone.  To add
 * one: as before, and then prepare it.  When all is done, everything else that
 * follows is put in order for the queues (YqClusterQueue) whose applications,
 * users or usage have changed; inside of leaves not before the cycle visits them.
 */
extern void yq_cluster_remove_application(YqCluster *cluster, YqClusterApplication *application);
extern void yq_cluster_prepare_application(YqCluster *cluster, YqClusterApplication *application);
extern void yq_cluster_drop_empty_keys(YqClusterApplication *application);
extern void yq_cluster_prepare_again(YqCluster *cluster, const List *queues);

/* Note the share, or absence, of a queue of a plan that the cluster is computed with. */
extern void yq_cluster_note_share(YqClusterQueue *queue);

/*
 * Have queues of plans the shares that they have in the hierarchy now; those that
 * changed (YqClusterQueue) are appended, and are not prepared again, and so are those
 * that came.  A queue that has gone still has what was in it.
 */
extern void yq_cluster_follow_plans(YqCluster *cluster, List **changed, List **came);

/* Are containers or applications in queues that have gone?  They should not count. */
extern bool yq_cluster_uses_gone_queues(const YqCluster *cluster);

/* Put a leaf in order that the cycle visits next, if it is not. */
extern void yq_cluster_order_leaf(YqCluster *cluster, YqClusterQueue *leaf);

/* Note that a key differs from the loaded one. */
extern void yq_cluster_touch(YqCluster *cluster, YqSchedulerKey *key);

/* Put those that were touched in the order of their ids. */
extern void yq_cluster_sort_touched(YqCluster *cluster);

/*
 * Have the counters of a key changed?  Opportunities missed in the default partition
 * matter on shared nodes alone.  Every node that reports lets many requests
 * miss it, so without such nodes it is written down along with other counters
 * only.
 */
extern bool yq_scheduler_key_counters_differ(const YqCluster *cluster, const YqSchedulerKey *key);

/* A cycle is over, its decisions are of no use any more. */
extern void yq_cluster_end_cycle(YqCluster *cluster);

/* Does the order of applications depend on their usage? */
extern bool yq_is_fair(YqApplicationPolicy policy);

/* The request of a key for a node or rack, or NULL. */
extern YqResourceRequest *yq_scheduler_key_request(const YqSchedulerKey *key, YqName name);

#endif							/* YQ_CLUSTER_H */
