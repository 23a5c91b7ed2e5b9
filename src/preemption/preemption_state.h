/*-------------------------------------------------------------------------
 *
 * preemption_state.h
 *	  The state of a round of preemption in memory: queues with their figures per label,
 *	  applications, users, containers and nodes (semantics/preemption 2).
 *
 * The loader creates a state, sets the settings and the inputs, adds queues and nodes,
 * and prepares it.  Then yq_preemption_round() (preemption_round.h) computes figures,
 * selects containers and appends outcomes, which record_preemption.h writes.  No
 * function here reads or writes a table.
 *
 * Only a few leaves need their applications, users and containers.  When a selector
 * first needs them, yq_preemption_complete_leaf() calls the loader back, which adds
 * them.  Selectors that examine nodes complete all leaves.
 *
 * Everything is allocated in the state's own context and is freed with it.  Amounts are
 * native units per resource type of the calculator.  Amounts that are inputs are arrays
 * of the state, whose elements the loader sets.  Strings that the caller passes are
 * kept, not copied.  Times are times of the policy's clock; waits are in microseconds.
 *
 * In Hadoop, some orders depend on hash sets; here they are fixed.  Leaves and siblings
 * come in the order of the queues, and labels in the order of their numbers.  Siblings
 * with equal needs come in the order of Java's heap.  Nodes are ordered by name, and
 * reservations of an application by the name of their node. Deducted containers are
 * ordered by application and number.  Ids of containers without numbers are compared as
 * text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_STATE_H
#define YQ_PREEMPTION_STATE_H

#include "datatype/timestamp.h"
#include "queues/calculator.h"

/* Selectors, in the order in which they run (semantics/preemption 1). */
typedef enum YqPreemptionSelector
{
	YQ_SELECTOR_QUEUE_PRIORITY,
	YQ_SELECTOR_RESERVED,
	YQ_SELECTOR_FIFO,
	YQ_SELECTOR_FIFO_BALANCE,	/* second pass of YQ_SELECTOR_FIFO, for leaves above their guarantees */
	YQ_SELECTOR_INTRA_QUEUE,
	YQ_SELECTORS
} YqPreemptionSelector;

/* intra-queue-preemption.preemption-order-policy */
typedef enum YqIntraQueueOrder
{
	YQ_USERLIMIT_FIRST,
	YQ_PRIORITY_FIRST
} YqIntraQueueOrder;

/* The last criterion when the containers of an application are sorted; Hadoop has no such choice. */
typedef enum YqCandidateOrder
{
	YQ_NEWEST,					/* Hadoop's order */
	YQ_LEAST_PAID				/* among requests with the same priority, fewest credits since the start first */
} YqCandidateOrder;

/* Settings of preemption, with Hadoop's types.  yq_preemption_create() sets their defaults. */
typedef struct YqPreemptionSettings
{
	bool		observes_only;	/* observe_only */
	int64		maximum_wait;	/* max_wait_before_kill */
	float4		total_per_round;	/* total_preemption_per_round */
	float8		ignored_over_capacity;	/* max_ignored_over_capacity */
	float8		natural_termination_factor;
	bool		selects_by_reserved;	/* select_based_on_reserved_containers */
	bool		balances_reserved;	/* additional_res_balance_based_on_reserved_containers */
	bool		balances_satisfied; /* preemption-to-balance-queue-after-satisfied.enabled */
	int64		balance_wait;	/* preemption-to-balance-queue-after-satisfied.max-wait-before-kill */
	bool		is_conservative;	/* conservative-drf */
	bool		selects_intra_queue;	/* intra-queue-preemption.enabled */
	float4		intra_queue_threshold;	/* minimum-threshold */
	float4		intra_queue_limit;	/* max-allowable-limit */
	YqIntraQueueOrder intra_queue_order;
	bool		intra_queue_is_conservative;	/* intra-queue-preemption.conservative-drf */
	bool		selects_by_priority;	/* underutilized-preemption.enabled */
	int64		reservation_delay;	/* underutilized-preemption.reserved-container-delay-ms */
	bool		moves_reservations; /* underutilized-preemption.allow-move-reservation */
	bool		is_lazy;		/* lazy-preemption-enabled */
	YqCandidateOrder candidate_order;
	bool		keeps_balance_marks;	/* keep some marks, unlike Hadoop: see yq_preemption_forget_before() */
} YqPreemptionSettings;

/*
 * The amounts of a queue on the nodes of a label.  The loader sets the first members; the selectors
 * compute the figures below, and each selector replaces them.  The loader sets pending amounts only
 * for leaves; yq_preemption_prepare() adds them up for parents.
 */
typedef struct YqPreemptionQueueLabel
{
	int64	   *guaranteed;		/* effective minimum, or absolute_capacity times the size of the partition */
	int64	   *maximum;		/* effective maximum, or the absolute maximum (1 on a shared label) */
	int64	   *used;			/* amounts that containers and reservations use */
	int64	   *reserved;
	int64	   *killable;		/* usage of containers that lazy preemption has made killable */
	int64	   *pending;		/* amounts that are requested, as far as user limits allow (semantics/preemption 2.2) */
	int64	   *pending_without_reserved;	/* pending amounts without the amounts of reservations */
	float4		absolute_capacity;
	float4		used_capacity;	/* leaves: used fraction of the guarantee, from yq_queue_used() */

	/* figures (semantics/preemption 3) */
	int64	   *untouchable;	/* leaves with disabled preemption: excess over the guarantee */
	int64	   *preemptable;	/* leaves with enabled preemption: excess over the guarantee */
	int64	   *ideal;
	int64	   *to_be_preempted;
	int64	   *obtain;			/* leaves: amount to select, without the amounts that earlier selectors have selected */
	float8		satisfaction;	/* ideal allocation divided by the guarantee; determines the order of need */
	bool		is_underserved; /* the queue is in the label's list of underserved queues */
	struct YqPreemptionFigures *decided_by; /* figures of the current selector for its selections; NULL: none yet */
} YqPreemptionQueueLabel;

typedef struct YqPreemptionQueue
{
	const char *path;
	int			number;			/* index in the array of queues */
	struct YqPreemptionQueue *parent;	/* NULL for root */
	struct YqPreemptionQueue **children;	/* in the order of the queues; NULL before yq_preemption_prepare() */
	int			child_count;
	YqPreemptionQueueLabel *labels; /* by number */
	int32		relative_priority;	/* priority among the siblings; 0 unless the parent respects priorities */
	bool		is_leaf;
	bool		is_disabled;	/* disable_preemption of this queue or of an ancestor is set */
	bool		is_intra_disabled;	/* intra-queue preemption, or all preemption, is disabled for this queue */
	const char *disabled_by;	/* path of the disabling queue, or name of the disabling property; NULL: not disabled */
	const char *intra_disabled_by;	/* queue or property that disables intra-queue preemption; NULL: not disabled */
	bool		has_priority_over_any;	/* the queue has priority over some leaf; set by queue_priority_selector.c */

	/* leaves */
	int64	   *capacity;		/* effective capacity of the default partition */
	float4		maximum_am_percent; /* fraction of the capacity that application masters may keep (semantics/preemption 4.3) */
	bool		is_fair;		/* the leaf orders its applications by usage */
	bool		is_complete;	/* the loader has set the members below */
	struct YqPreemptionApplication **applications;	/* all applications in the order of assignment, active or not */
	int			application_count;
	int			application_room;
	struct YqPreemptionUser **users;	/* owners of the applications, and of containers without an application */
	int			user_count;
	int			user_room;
	void	   *source;			/* data of the loader */
} YqPreemptionQueue;

/*
 * The amounts of a user of a leaf on a label.  The loader sets the first members, and
 * intra_queue_selector.c computes the figures.
 */
typedef struct YqPreemptionUserLabel
{
	int64	   *used;			/* amounts that containers and reservations use */
	int64	   *limit;			/* user limit that counts all users (YQ_ALL_USERS of leaf_usage.h) */

	/* figures (semantics/preemption 7) */
	bool		is_computed;
	int64	   *master_used;	/* usage of the masters of the user's active applications */
	int64	   *limit_without_masters;
	int64	   *ideal;
	int64	   *selected;
	int64	   *remaining;		/* usage without the containers that the selector has taken */
	bool		has_given_surplus;	/* the user's surplus above the limit already goes to another application */
} YqPreemptionUserLabel;

typedef struct YqPreemptionUser
{
	const char *username;
	YqPreemptionQueue *leaf;
	YqPreemptionUserLabel *labels;	/* by number */
} YqPreemptionUser;

/*
 * The amounts of an application on a label.  The loader sets the first members, and
 * intra_queue_selector.c computes the figures.
 */
typedef struct YqPreemptionApplicationLabel
{
	int64	   *used;			/* amounts that containers use; reservations do not count */
	int64	   *master_used;	/* size of the request for the master, even if the master does not run yet */
	int64	   *pending;		/* sum over the requests of count times size; user limits do not count */

	/* figures (semantics/preemption 7) */
	bool		is_computed;
	int64	   *ideal;
	int64	   *wants;			/* amount that the application still wants from other applications */
	int64	   *gives;			/* largest amount that the application may lose */
	int64	   *taken;			/* amount that the application must lose */
	int64	   *selected;		/* amount that other selectors have selected */
} YqPreemptionApplicationLabel;

typedef struct YqPreemptionApplication
{
	const char *application_id;
	YqPreemptionQueue *leaf;
	YqPreemptionUser *user;
	int32		priority;		/* larger numbers are served first */
	bool		is_active;		/* false: the application waits for activation */
	bool		waits_for_master;	/* the application master has no container yet */
	YqPreemptionApplicationLabel *labels;	/* by number */
	int			order;			/* position among the applications of its leaf */
	struct YqPreemptionContainer **containers;	/* running and reserved containers */
	int			container_count;
	int			container_room;
	bool		is_sorted;		/* the containers are sorted by yq_candidates_sort() */
	void	   *source;			/* data of the loader */
} YqPreemptionApplication;

/* A running GUARANTEED container, or a reserved container. */
typedef struct YqPreemptionContainer
{
	const char *container_id;
	int64		number;			/* number within the application */
	YqPreemptionApplication *application;
	struct YqPreemptionNode *node;	/* the container belongs to the partition of the node's label */
	int			label;			/* requested label; -1: the label has been removed */
	const int64 *amounts;		/* allocated or reserved amounts */
	int32		priority;		/* priority of the request; smaller numbers are more urgent */
	int64		allocation_request_id;
	TimestampTz started_at;		/* time at which the container was started or reserved */
	bool		is_master;
	bool		is_reserved;	/* the container is reserved on a node that has no room for it yet */
	bool		is_update;		/* reservations: the reservation is for an update of a container */
	bool		relaxes_locality;	/* reservations: any node may serve the request */
	bool		is_moved;		/* reservations: an earlier round moved the reservation, which is still on that node */
	bool		is_killable;	/* lazy preemption has made the container killable */
	int64		paid_rank;		/* rank within the application by credits since the start; set by price_candidates */
	TimestampTz marked_at;		/* time of the first mark; DT_NOBEGIN: not marked */

	bool		is_selected;	/* selected by a selector of this round */
	bool		is_unreserved;	/* reservations: given up in this round */
	void	   *source;			/* data of the loader */
} YqPreemptionContainer;

typedef struct YqPreemptionNode
{
	const char *name;
	int			label;
	int64	   *total;
	int64	   *allocated;		/* sum of the running containers */
	YqPreemptionContainer *reservation; /* NULL for none */
	YqPreemptionContainer **containers; /* running containers */
	int			container_count;
	int			container_room;
	bool		is_touched;		/* queue_priority_selector.c has already used the node */
	void	   *source;			/* data of the loader */
} YqPreemptionNode;

/* Figures of a leaf on a label, at the time when a selector has selected containers there. */
typedef struct YqPreemptionFigures
{
	YqPreemptionSelector selector;
	const YqPreemptionQueue *leaf;
	int			label;
	const int64 *used;
	const int64 *guaranteed;
	const int64 *ideal;			/* zero for YQ_SELECTOR_QUEUE_PRIORITY, which computes no such amount */
	const int64 *to_be_preempted;	/* zero for YQ_SELECTOR_QUEUE_PRIORITY, too */
	const int64 *obtain;
} YqPreemptionFigures;

/* A selected container; selections are in the order in which they were made. */
typedef struct YqPreemptionSelection
{
	YqPreemptionSelector selector;
	YqPreemptionContainer *container;
	const YqPreemptionFigures *figures; /* shared by all selections with the same selector, leaf and label */
} YqPreemptionSelection;

typedef enum YqPreemptionOutcomeKind
{
	YQ_PREEMPTION_MARKED,		/* the container is marked for the first time; a decision informs the application */
	YQ_PREEMPTION_OBSERVED,		/* nothing changes: the container's wait is not over, or the round only observes */
	YQ_PREEMPTION_KILLED,		/* the container's wait is over: the container is killed and its mark forgotten */
	YQ_PREEMPTION_KILLABLE,		/* the wait is over; lazy preemption lets the container run until room is needed */
	YQ_PREEMPTION_UNRESERVED,	/* the reservation is given up */
	YQ_PREEMPTION_MOVED			/* the reservation moves to another node */
} YqPreemptionOutcomeKind;

typedef struct YqPreemptionOutcome
{
	YqPreemptionOutcomeKind kind;
	YqPreemptionSelector selector;
	YqPreemptionContainer *container;
	TimestampTz marked_at;		/* time of the first mark; DT_NOBEGIN: not marked */
	TimestampTz kill_at;		/* time at which the wait ends; DT_NOBEGIN: not marked */
	YqPreemptionNode *node;		/* new node of the reservation, also if the round only observes; NULL: no move */
	const YqPreemptionFigures *figures; /* figures; NULL if the outcome moves a reservation, or would move it */
} YqPreemptionOutcome;

typedef struct YqPreemption
{
	MemoryContext context;
	const YqCalculator *calculator;
	YqPreemptionSettings settings;
	int			label_count;	/* number of labels; label 0 is the default partition */
	int64	  **totals;			/* size of each label's partition */
	int64	   *cluster;		/* size of the whole cluster */
	int64	   *minimum_allocation;
	bool		has_reservations;	/* some node of the cluster is reserved */
	YqPreemptionQueue **queues; /* parents before children, siblings as configured */
	int			queue_count;
	int			queue_room;
	YqPreemptionNode **nodes;	/* nodes, by name; until yq_preemption_complete_all(), only nodes of added containers */
	int			node_count;
	int			node_room;
	/*
	 * Callbacks of the loader.  The first two may be NULL if all data have been added
	 * already. price_candidates may always be NULL.
	 */
	void	  (*complete_leaf) (struct YqPreemption *state, YqPreemptionQueue *leaf);
	void	  (*complete_all) (struct YqPreemption *state);
	void	  (*price_candidates) (struct YqPreemption *state, YqPreemptionApplication *application);

	/* Callback that is called after each selector; may be NULL. */
	void	  (*note_selector) (struct YqPreemption *state, YqPreemptionSelector selector);
	bool		is_complete;
	void	   *source;			/* data of the loader */

	/* members that the round sets */
	TimestampTz now;
	int64	   *allowed;		/* budget that the round has not spent yet */
	YqPreemptionSelector selector;	/* the selector that is running */
	YqPreemptionQueue ***underserved;	/* per label: queues with unmet demand, the most underserved first */
	int		   *underserved_count;	/* per label */
	YqPreemptionSelection *selections;
	int			selection_count;
	int			selection_room;
	YqPreemptionOutcome *outcomes;
	int			outcome_count;
	int			outcome_room;
} YqPreemption;

/* Return the name that users see of a selector: queue_priority, reserved, fifo, fifo_balance or intra_queue. */
extern const char *yq_preemption_selector_name(YqPreemptionSelector selector);

/* Set Hadoop's defaults. */
extern void yq_preemption_set_defaults(YqPreemptionSettings *settings);

/*
 * Create a state without queues, in its own context below the current one.  The caller sets
 * totals, cluster and minimum_allocation, and changes the settings that are not Hadoop's
 * defaults.
 */
extern YqPreemption *yq_preemption_create(const YqCalculator *calculator, int label_count);

/*
 * Allocate amounts in the state's context.  The first function sets the amounts to zero;
 * the second function copies amounts.
 */
extern int64 *yq_preemption_amounts(const YqPreemption *state);
extern int64 *yq_preemption_copy(const YqPreemption *state, const int64 *amounts);

/* Add a queue below a parent, which must have been added before.  The first queue is root, with a NULL parent. */
extern YqPreemptionQueue *yq_preemption_add_queue(YqPreemption *state, YqPreemptionQueue *parent, const char *path,
												  bool is_leaf);

/* Add a node.  The caller must not add a name twice. */
extern YqPreemptionNode *yq_preemption_add_node(YqPreemption *state, const char *name, int label);

/* Add a user of a leaf.  The caller must not add a name twice. */
extern YqPreemptionUser *yq_preemption_add_user(YqPreemption *state, YqPreemptionQueue *leaf, const char *username);

/* Add an application of a user.  Applications of a leaf must be added in the order of assignment. */
extern YqPreemptionApplication *yq_preemption_add_application(YqPreemption *state, YqPreemptionUser *user,
															  const char *application_id, int32 priority);

/*
 * Add a container or a reservation of an application on a node.  The amounts are not
 * copied.  The caller adds them to the usage of the application, user, queues and node.
 */
extern YqPreemptionContainer *yq_preemption_add_container(YqPreemption *state, YqPreemptionApplication *application,
														  YqPreemptionNode *node, const char *container_id,
														  int64 number, const int64 *amounts, bool is_reserved);

/*
 * Add up the pending amounts of parents.  Before the call, all queues must have been added,
 * with the members that the loader sets.
 */
extern void yq_preemption_prepare(YqPreemption *state);

/*
 * Have the loader add missing data.  The first function adds the data of one leaf; the
 * second adds those of all leaves and nodes.
 */
extern void yq_preemption_complete_leaf(YqPreemption *state, YqPreemptionQueue *leaf);
extern void yq_preemption_complete_all(YqPreemption *state);

/*
 * Return the time before which a round forgets the selector's marks.  It is two maximum
 * waits ago, even if the selector's own wait is longer (semantics/preemption 8.2).  With
 * keeps_balance_marks, marks of YQ_SELECTOR_FIFO_BALANCE are kept for two waits of that
 * selector.  A round that only observes forgets no marks.
 */
extern TimestampTz yq_preemption_forget_before(const YqPreemption *state, YqPreemptionSelector selector);

/* Return how long a selector waits between a container's mark and its kill. */
extern int64 yq_preemption_wait(const YqPreemption *state, YqPreemptionSelector selector);

/*
 * Compare containers by application id, then by number, then by id as text.  The result is
 * negative if the first container is older.
 */
extern int	yq_preemption_compare_ids(const YqPreemptionContainer *a, const YqPreemptionContainer *b);

/* Return the current selector's figures for the container's leaf, on the label of the container's node. */
extern const YqPreemptionFigures *yq_preemption_figures(YqPreemption *state, const YqPreemptionContainer *container);

/* Select a container that is not selected yet.  The caller must deduct the container from the budget. */
extern void yq_preemption_select(YqPreemption *state, YqPreemptionContainer *container);

/* Append an outcome of the current selector.  The caller sets the outcome's times and figures. */
extern YqPreemptionOutcome *yq_preemption_add_outcome(YqPreemption *state, YqPreemptionOutcomeKind kind,
													  YqPreemptionContainer *container);

#endif							/* YQ_PREEMPTION_STATE_H */
