/*-------------------------------------------------------------------------
 *
 * preemption_state.h
 *	  The state of a round of preemption in memory: queues with their figures per label,
 *	  applications, users, containers and nodes (preemption 2).
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

/* Selectors, in the order in which they run (preemption 2). */
typedef enum YqPreemptionSelector
{
	YQ_SELECTOR_QUEUE_PRIORITY,
	YQ_SELECTOR_RESERVED,
	YQ_SELECTOR_FIFO,
	YQ_SELECTOR_FIFO_BALANCE,	/* balances leaves above their guarantees */
	YQ_SELECTOR_INTRA_QUEUE,
	YQ_SELECTORS
} YqPreemptionSelector;

/* intra-queue-preemption.preemption-order-policy */
typedef enum YqIntraQueueOrder
{
	YQ_USERLIMIT_FIRST,
	YQ_PRIORITY_FIRST
} YqIntraQueueOrder;

/* The last criterion for ordering the containers of an application; not in Hadoop. */
typedef enum YqCandidateOrder
{
	YQ_NEWEST,					/* Hadoop's order */
	YQ_LEAST_PAID				/* fewest credits since the start, among equal request priorities */
} YqCandidateOrder;

/* Properties of preemption 1, with Hadoop's types; yq_preemption_create() sets the defaults. */
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
	bool		keeps_balance_marks;	/* repairs S4: see yq_preemption_forget_before() */
} YqPreemptionSettings;

/*
 * A queue on the nodes of a label.  The loader sets the fields before the figures; it
 * sets pending amounts only for leaves, and yq_preemption_prepare() adds them up for
 * parents.  The figures are those of the last selector that computed them.
 */
typedef struct YqPreemptionQueueLabel
{
	int64	   *guaranteed;		/* effective minimum, or absolute_capacity times the partition */
	int64	   *maximum;		/* effective maximum, or the absolute maximum, which is 1 on a shared label */
	int64	   *used;			/* by containers and reservations */
	int64	   *reserved;
	int64	   *killable;		/* usage of containers that lazy preemption has made killable */
	int64	   *pending;		/* limited by user limits (preemption 2.1) */
	int64	   *pending_without_reserved;	/* pending amounts after the deduction of reservations */
	float4		absolute_capacity;
	float4		used_capacity;	/* leaves: used fraction of the guarantee, by yq_queue_used() */

	/* figures (preemption 3) */
	int64	   *untouchable;	/* for leaves with disabled preemption: excess over the guarantee */
	int64	   *preemptable;	/* for other leaves: excess over the guarantee */
	int64	   *ideal;
	int64	   *to_be_preempted;
	int64	   *obtain;			/* leaves: amount to select, less the amounts that earlier selectors have selected */
	float8		satisfaction;	/* ideal allocation divided by the guarantee, for the order of need */
	bool		is_underserved; /* the queue is in the label's list of underserved queues */
	struct YqPreemptionFigures *decided_by; /* figures of the current selector; NULL: none yet */
} YqPreemptionQueueLabel;

typedef struct YqPreemptionQueue
{
	const char *path;
	int			number;			/* position in the array of queues */
	struct YqPreemptionQueue *parent;	/* NULL for root */
	struct YqPreemptionQueue **children;	/* in the order of the queues; NULL before yq_preemption_prepare() */
	int			child_count;
	YqPreemptionQueueLabel *labels; /* by number */
	int32		relative_priority;	/* 0 unless the parent respects priorities */
	bool		is_leaf;
	bool		is_disabled;	/* disable_preemption of this queue or an ancestor */
	bool		is_intra_disabled;	/* also by disable_preemption of intra-queue preemption, or for all queues */
	const char *disabled_by;	/* path of the queue that sets it, or name of a property; NULL: not disabled */
	const char *intra_disabled_by;	/* likewise */
	bool		has_priority_over_any;	/* set by queue_priority_selector.c: it has priority over some leaf */

	/* leaves */
	int64	   *capacity;		/* effective capacity of the default partition */
	float4		maximum_am_percent; /* fraction of the capacity for masters that are not taken (preemption 4, 3) */
	bool		is_fair;		/* the leaf orders its applications by usage */
	bool		is_complete;	/* the loader has added the fields below */
	struct YqPreemptionApplication **applications;	/* all applications, active or not, in the order of assignment */
	int			application_count;
	int			application_room;
	struct YqPreemptionUser **users;	/* users of these applications, and of containers without an application */
	int			user_count;
	int			user_room;
	void	   *source;			/* data of the loader */
} YqPreemptionQueue;

/* A user of a leaf on a label: set by the loader, then by intra_queue_selector.c. */
typedef struct YqPreemptionUserLabel
{
	int64	   *used;			/* by containers and reservations */
	int64	   *limit;			/* user limit with all users counted: YQ_ALL_USERS of leaf_usage.h */

	/* figures (preemption 7) */
	bool		is_computed;
	int64	   *master_used;	/* usage of the masters of its active applications */
	int64	   *limit_without_masters;
	int64	   *ideal;
	int64	   *selected;
	int64	   *remaining;		/* usage less the containers that the selector has taken */
	bool		has_given_surplus;	/* another application already gets the user's surplus above the limit */
} YqPreemptionUserLabel;

typedef struct YqPreemptionUser
{
	const char *username;
	YqPreemptionQueue *leaf;
	YqPreemptionUserLabel *labels;	/* by number */
} YqPreemptionUser;

/* An application on a label: set by the loader, then by intra_queue_selector.c. */
typedef struct YqPreemptionApplicationLabel
{
	int64	   *used;			/* by containers, without reservations */
	int64	   *master_used;	/* size of its master's request on the label, even if the master does not run yet */
	int64	   *pending;		/* sum of count times amounts of its requests, without user limits */

	/* figures (preemption 7) */
	bool		is_computed;
	int64	   *ideal;
	int64	   *wants;			/* amount to take from other applications, less the amount found */
	int64	   *gives;			/* largest amount that the application may lose */
	int64	   *taken;			/* amount that the application must lose */
	int64	   *selected;		/* amount that other selectors have selected */
} YqPreemptionApplicationLabel;

typedef struct YqPreemptionApplication
{
	const char *application_id;
	YqPreemptionQueue *leaf;
	YqPreemptionUser *user;
	int32		priority;		/* the larger number is served first */
	bool		is_active;		/* the application does not wait for activation */
	bool		waits_for_master;	/* the application master has no container */
	YqPreemptionApplicationLabel *labels;	/* by number */
	int			order;			/* position among the applications of its leaf */
	struct YqPreemptionContainer **containers;	/* running and reserved containers */
	int			container_count;
	int			container_room;
	bool		is_sorted;		/* the containers are in order: preemption_candidates.h */
	void	   *source;			/* data of the loader */
} YqPreemptionApplication;

/* A running GUARANTEED container, or a reserved container. */
typedef struct YqPreemptionContainer
{
	const char *container_id;
	int64		number;			/* number in its application */
	YqPreemptionApplication *application;
	struct YqPreemptionNode *node;	/* its label determines the partition */
	int			label;			/* requested label; -1: the label no longer exists */
	const int64 *amounts;		/* allocated or reserved amounts */
	int32		priority;		/* priority of the request; a smaller number is more urgent */
	int64		allocation_request_id;
	TimestampTz started_at;		/* time of the start, or of the reservation */
	bool		is_master;
	bool		is_reserved;	/* a reservation, for which its node has no room */
	bool		is_update;		/* for a reservation: it is for an update of a container */
	bool		relaxes_locality;	/* for a reservation: any node may serve it */
	bool		is_moved;		/* for a reservation: an earlier round moved it, but it is still on its node */
	bool		is_killable;	/* lazy preemption has made it killable */
	int64		paid_rank;		/* rank in its application by credits since the start; set by price_candidates */
	TimestampTz marked_at;		/* time of the first mark; DT_NOBEGIN: no mark */

	bool		is_selected;	/* selected by a selector of this round */
	bool		is_unreserved;	/* for a reservation: given up in this round */
	void	   *source;			/* data of the loader */
} YqPreemptionContainer;

typedef struct YqPreemptionNode
{
	const char *name;
	int			label;
	int64	   *total;
	int64	   *allocated;		/* amounts of its running containers */
	YqPreemptionContainer *reservation; /* NULL for none */
	YqPreemptionContainer **containers; /* running containers */
	int			container_count;
	int			container_room;
	bool		is_touched;		/* queue_priority_selector.c has used it */
	void	   *source;			/* data of the loader */
} YqPreemptionNode;

/* Figures of a leaf on a label for which a selector has selected containers. */
typedef struct YqPreemptionFigures
{
	YqPreemptionSelector selector;
	const YqPreemptionQueue *leaf;
	int			label;
	const int64 *used;
	const int64 *guaranteed;
	const int64 *ideal;			/* zero for YQ_SELECTOR_QUEUE_PRIORITY, ... */
	const int64 *to_be_preempted;	/* ... which does not compute these two */
	const int64 *obtain;
} YqPreemptionFigures;

/* A container that a selector has selected, in the order of selection. */
typedef struct YqPreemptionSelection
{
	YqPreemptionSelector selector;
	YqPreemptionContainer *container;
	const YqPreemptionFigures *figures; /* shared by selections of a selector, leaf and label */
} YqPreemptionSelection;

typedef enum YqPreemptionOutcomeKind
{
	YQ_PREEMPTION_MARKED,		/* marked for the first time; a decision informs the application */
	YQ_PREEMPTION_OBSERVED,		/* no effect: the container waits since marked_at, or the round only observes */
	YQ_PREEMPTION_KILLED,		/* the wait is over; the mark is forgotten */
	YQ_PREEMPTION_KILLABLE,		/* the wait is over: with lazy preemption, it runs until its resources are needed */
	YQ_PREEMPTION_UNRESERVED,	/* the reservation is given up */
	YQ_PREEMPTION_MOVED			/* the reservation goes to another node */
} YqPreemptionOutcomeKind;

typedef struct YqPreemptionOutcome
{
	YqPreemptionOutcomeKind kind;
	YqPreemptionSelector selector;
	YqPreemptionContainer *container;
	TimestampTz marked_at;		/* time of the first mark; DT_NOBEGIN: no mark */
	TimestampTz kill_at;		/* earliest time of the kill; DT_NOBEGIN: no mark */
	YqPreemptionNode *node;		/* new node of the reservation, even if the round only observes; or NULL */
	const YqPreemptionFigures *figures; /* NULL if the reservation is moved, or would be moved */
} YqPreemptionOutcome;

typedef struct YqPreemption
{
	MemoryContext context;
	const YqCalculator *calculator;
	YqPreemptionSettings settings;
	int			label_count;	/* number of labels; label 0 is the default partition */
	int64	  **totals;			/* per label: sum over its nodes */
	int64	   *cluster;		/* sum of the totals of all labels */
	int64	   *minimum_allocation;
	bool		has_reservations;	/* some node of the cluster is reserved */
	YqPreemptionQueue **queues; /* parents before children, siblings as configured */
	int			queue_count;
	int			queue_room;
	YqPreemptionNode **nodes;	/* by name; all nodes once everything is complete, until then those of added containers */
	int			node_count;
	int			node_room;
	/*
	 * Callbacks of the loader.  The first two may be NULL if everything has been added
	 * already. price_candidates may also be NULL.
	 */
	void	  (*complete_leaf) (struct YqPreemption *state, YqPreemptionQueue *leaf);
	void	  (*complete_all) (struct YqPreemption *state);
	void	  (*price_candidates) (struct YqPreemption *state, YqPreemptionApplication *application);

	/* Callback after each selector; may be NULL. */
	void	  (*note_selector) (struct YqPreemption *state, YqPreemptionSelector selector);
	bool		is_complete;
	void	   *source;			/* data of the loader */

	/* fields of the round */
	TimestampTz now;
	int64	   *allowed;		/* the rest of the budget */
	YqPreemptionSelector selector;	/* the selector that runs now */
	YqPreemptionQueue ***underserved;	/* per label: queues with unmet demand, in the order of need */
	int		   *underserved_count;	/* per label */
	YqPreemptionSelection *selections;
	int			selection_count;
	int			selection_room;
	YqPreemptionOutcome *outcomes;
	int			outcome_count;
	int			outcome_room;
} YqPreemption;

/* Return the name of a selector for users: queue_priority, reserved, fifo, fifo_balance or intra_queue. */
extern const char *yq_preemption_selector_name(YqPreemptionSelector selector);

/* Set Hadoop's defaults (preemption 1). */
extern void yq_preemption_set_defaults(YqPreemptionSettings *settings);

/*
 * Create a state without queues, in its own context below the current one.  The caller
 * sets totals, cluster, minimum_allocation and the settings that differ from Hadoop's
 * defaults.
 */
extern YqPreemption *yq_preemption_create(const YqCalculator *calculator, int label_count);

/*
 * Allocate amounts in the state's context.  The first function sets them to zero; the
 * second copies amounts.
 */
extern int64 *yq_preemption_amounts(const YqPreemption *state);
extern int64 *yq_preemption_copy(const YqPreemption *state, const int64 *amounts);

/* Add a queue below a parent that was added before.  The parent of root, which comes first, is NULL. */
extern YqPreemptionQueue *yq_preemption_add_queue(YqPreemption *state, YqPreemptionQueue *parent, const char *path,
												  bool is_leaf);

/* Add a node.  The caller adds each name only once. */
extern YqPreemptionNode *yq_preemption_add_node(YqPreemption *state, const char *name, int label);

/* Add a user of a leaf.  The caller adds each name only once. */
extern YqPreemptionUser *yq_preemption_add_user(YqPreemption *state, YqPreemptionQueue *leaf, const char *username);

/* Add an application of a user.  In the order of assignment, it follows the leaf's earlier applications. */
extern YqPreemptionApplication *yq_preemption_add_application(YqPreemption *state, YqPreemptionUser *user,
															  const char *application_id, int32 priority);

/*
 * Add a container, or a reservation, of an application on a node.  The amounts are
 * kept, not copied.  The function does not add them to the usage of the application,
 * user, queues or node.
 */
extern YqPreemptionContainer *yq_preemption_add_container(YqPreemption *state, YqPreemptionApplication *application,
														  YqPreemptionNode *node, const char *container_id,
														  int64 number, const int64 *amounts, bool is_reserved);

/* Add up the pending amounts of parents.  All queues have been added and their inputs set. */
extern void yq_preemption_prepare(YqPreemption *state);

/* Let the loader add missing data: those of one leaf, or of all leaves and all nodes. */
extern void yq_preemption_complete_leaf(YqPreemption *state, YqPreemptionQueue *leaf);
extern void yq_preemption_complete_all(YqPreemption *state);

/*
 * Return the time such that marks of a selector before it are forgotten after a round.
 * It is two maximum waits ago, even if the selector waits longer (preemption 11, S4).
 * With keeps_balance_marks, marks of YQ_SELECTOR_FIFO_BALANCE are kept for two waits of
 * that selector.  A round that only observes forgets no marks.
 */
extern TimestampTz yq_preemption_forget_before(const YqPreemption *state, YqPreemptionSelector selector);

/* Return how long a selector waits from the mark to the kill. */
extern int64 yq_preemption_wait(const YqPreemption *state, YqPreemptionSelector selector);

/*
 * Compare by application id, then by number, then by id as text.  The result is
 * negative when the first container is older.
 */
extern int	yq_preemption_compare_ids(const YqPreemptionContainer *a, const YqPreemptionContainer *b);

/* Return the figures of the container's leaf, on the label of its node, for the current selector. */
extern const YqPreemptionFigures *yq_preemption_figures(YqPreemption *state, const YqPreemptionContainer *container);

/* Select a container that is not selected yet.  The caller deducts its amounts from the budget. */
extern void yq_preemption_select(YqPreemption *state, YqPreemptionContainer *container);

/* Append an outcome of the current selector.  The caller sets times and figures. */
extern YqPreemptionOutcome *yq_preemption_add_outcome(YqPreemption *state, YqPreemptionOutcomeKind kind,
													  YqPreemptionContainer *container);

#endif							/* YQ_PREEMPTION_STATE_H */
