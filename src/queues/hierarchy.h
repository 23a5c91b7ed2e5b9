/*-------------------------------------------------------------------------
 *
 * hierarchy.h
 *	  The hierarchy of queues in memory: configured and inherited properties, and the
 *	  limits of each queue (docs/design.md 5).
 *
 * A hierarchy is built from rows (queue, queue_label, queue_user, node_label,
 * scheduler_setting ...).  Errors in the rows are reported by validate.h; a hierarchy
 * is built in any case.  A queue whose parent has no row is an orphan: it is in the
 * array of queues, but is not the child of any queue.
 *
 * A plan is the parent of its default queue, which always exists, and of the queues of
 * active reservations (yquota.reservation_queue).  These queues are leaves that no
 * configuration contains.  They are added, changed and removed without rebuilding the
 * hierarchy (hierarchy_load.c).  A plan therefore has vacant YqQueue entries among its
 * children.  Look-ups do not find these entries, and they get no resources.
 *
 * Amounts are in native units; fractions are 32-bit floats (calculator.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_HIERARCHY_H
#define YQ_HIERARCHY_H

#include "base/bytes_table.h"
#include "nodes/pg_list.h"
#include "queues/acl.h"
#include "queues/calculator.h"
#include "queues/capacity.h"
#include "queues/mapping_rule.h"
#include "utils/snapshot.h"

typedef enum YqQueueKind
{
	YQ_QUEUE_LEAF,
	YQ_QUEUE_PARENT,
	YQ_QUEUE_MANAGED_PARENT,	/* auto-create-child-queue.enabled */
	YQ_QUEUE_PLAN				/* a leaf with the property reservable; here, the parent of queues of reservations */
} YqQueueKind;

/* Properties whose value a queue inherits from its parent unless the queue sets them. */
typedef enum YqInheritedProperty
{
	YQ_INHERITED_ACCESSIBLE_NODE_LABELS,
	YQ_INHERITED_DEFAULT_APPLICATION_LIFETIME,
	YQ_INHERITED_DEFAULT_NODE_LABEL_EXPRESSION,
	YQ_INHERITED_DISABLE_PREEMPTION,
	YQ_INHERITED_INTRA_QUEUE_DISABLE_PREEMPTION,
	YQ_INHERITED_MAX_PARALLEL_APPS,
	YQ_INHERITED_MAXIMUM_ALLOCATION,
	YQ_INHERITED_MAXIMUM_AM_RESOURCE_PERCENT,
	YQ_INHERITED_MAXIMUM_APPLICATION_LIFETIME,
	YQ_INHERITED_MINIMUM_USER_LIMIT_PERCENT,
	YQ_INHERITED_MULTI_NODE_SORTING_POLICY,
	YQ_INHERITED_ORDERING_POLICY,
	YQ_INHERITED_USER_LIMIT_FACTOR,
	YQ_INHERITED_PROPERTIES
} YqInheritedProperty;

/* Columns of yquota.queue that set the inherited properties. */
extern const char *const yq_inherited_property_names[YQ_INHERITED_PROPERTIES];

/* Origins of values that are not set by a queue: a setting of the scheduler, or a template. */
extern const char yq_from_setting[];
extern const char yq_from_template[];

typedef struct YqInheritedValue
{
	const char *value;			/* NULL: none */
	const char *from;			/* path of the queue that sets the value, or yq_from_setting or yq_from_template;
								 * NULL: Hadoop's default */
} YqInheritedValue;

/* The configuration of a queue for the nodes with a label, and the figures computed from the configuration. */
typedef struct YqQueueLabel
{
	int			label;			/* number of the label; 0 is the default partition */
	bool		is_configured;	/* false for a created queue that has nothing but a weight on the label */
	bool		is_active;		/* for a leaf of a managed parent: the leaf has the template's capacity */
	YqCapacity	capacity;
	YqCapacity	maximum;
	float4		configured;		/* configured capacity as a fraction of the parent */
	float4		configured_maximum;
	float4		weight;			/* -1: the configured capacity is not a weight */
	const int64 *minimum_amounts;	/* configured absolute amounts; NULL: none */
	const int64 *maximum_amounts;	/* configured maximum amounts, or the parent's maximum amounts */
	float4		am_percent;		/* fraction */
	const struct YqQueueLabel *template;	/* label of the parent's template, for a leaf of a managed parent;
											 * otherwise NULL */

	/* set by yq_hierarchy_compute() */
	float4		capacity_fraction;	/* capacity as a fraction of the parent */
	float4		maximum_fraction;
	float4		normalized_weight;
	float4		absolute_capacity;	/* capacity as a fraction of the partition */
	float4		absolute_maximum;
	int64	   *effective_minimum;
	int64	   *effective_maximum;
	int64	   *used;			/* resources of GUARANTEED containers and reservations in this queue and below */
	int64	   *am_used;		/* resources of application masters in this queue and below; set by
								 * yq_hierarchy_read_applications() */
	float4	   *minimum_ratio;	/* per type: factor that scales down the children's amounts; -1: no factor */
} YqQueueLabel;

typedef struct YqUserWeight
{
	const char *username;
	float4		weight;
} YqUserWeight;

typedef struct YqQueue
{
	YqBytes		key;			/* path of the queue, the key of the hash table */
	const char *path;			/* terminated */
	const char *name;			/* last part of the queue's path */
	struct YqQueue *parent;		/* parent; NULL for root and for orphans, whose parent does not exist */
	struct YqQueue **children;	/* children, sorted by position; created queues come last, sorted by path */
	int			child_count;
	int			depth;			/* number of ancestors of the queue; 0 for root */
	int			position;		/* configured position among the queue's siblings; INT_MAX: none */
	YqQueueKind kind;
	int			number;			/* index of the queue in YqHierarchy.queues */
	bool		is_auto_created;
	bool		is_reservable;
	bool		shows_reservations; /* for a plan of reservations: show-reservations-as-queues */
	bool		is_vacant;		/* an unused entry below a plan, for a queue that will be added later */
	bool		allows_zero_sum;
	bool		is_dynamic;		/* auto-created by the second generation of dynamic queues */
	bool		creates_v2;		/* children may be created by the second generation; false for a managed parent */
	int			most_children;	/* limit on the number of children, checked when a child is created */
	int			maximum_depth;	/* limit on the levels of queues created below a static queue */
	bool		fails_beyond_guarantee; /* fail-on-exceeding-parent-capacity */
	bool		is_removed_when_unused;
	YqQueueLabel *template_labels;	/* for a managed parent: its template's capacity for leaves, one entry per label,
									 * sorted by label number */
	int			template_label_count;
	int			configured_state;	/* configured state: 0 (not set), 'R' (RUNNING) or 'S' (STOPPED) */

	YqQueueLabel *labels;		/* configuration of the queue per label, sorted by label number */
	int			label_count;
	bool		mixes_modes;	/* the queue has absolute capacities on some labels but not on others */
	bool		is_absolute;	/* the queue has an absolute capacity on its first label, which in Hadoop decides for
								 * all labels */

	YqInheritedValue inherited[YQ_INHERITED_PROPERTIES];
	float4		user_limit;		/* minimum-user-limit-percent */
	float4		user_limit_factor;
	float4		am_percent;		/* maximum-am-resource-percent for labels that do not set it */
	bool		any_label;		/* the queue may use every label */
	const bool *accessible;		/* indexed by label number: the queue may use the label; ignored if any_label is set */
	const char *default_label;	/* NULL: none */
	int64	   *maximum_allocation;
	const char *maximum_allocation_problem;
	int64		maximum_lifetime;	/* seconds; 0 or less: no limit */
	int64		default_lifetime;
	int64		checked_default_lifetime;	/* default lifetime that is checked against the maximum lifetime */
	bool		default_lifetime_is_specified;
	int			maximum_applications;	/* -1: not configured */
	const char *multi_node_policy;	/* NULL: none */
	int32		priority;		/* priority among the queue's siblings, largest number first */
	bool		weighs_by_size; /* ordering-policy.fair.enable-size-based-weight */
	const char *own_partitions; /* ordering-policy.exclusive-enforced-partitions; NULL: none */
	YqAcl	   *acls[YQ_QUEUE_OPERATION_COUNT]; /* NULL: neither the queue nor a template sets the access list */
	const char *priority_acl;	/* acl_application_max_priority; NULL: none */
	List	   *priority_groups;	/* priority_acl after parsing: elements are YqPriorityGroup *; see
									 * admission/access/access.h */
	bool		priority_is_parsed;
	int32		default_priority;	/* default priority of applications; 0: not set */
	YqUserWeight *own_weights;
	int			own_weight_count;
	struct YqQueue *weights_from;	/* nearest queue that sets weights of users: this queue or an ancestor */
	int64		auto_promote_after; /* auto_promote_after of this queue, in microseconds; 0: not set */
	struct YqQueue *promotes_as;	/* nearest queue that sets auto_promote_after: this queue or an ancestor; NULL:
									 * no such queue */
	bool		holds_quotes;	/* hold_policy, own or inherited: each submission holds its expected cost */

	bool		is_running;		/* set by yq_hierarchy_refresh(); false: the queue is STOPPED or DRAINING */
	int64		containers;		/* number of running containers in this queue and below; set by
								 * yq_hierarchy_read_usage() */
	int64		non_runnable;	/* numbers of applications in this queue and below; set by
								 * yq_hierarchy_read_applications() */
	int64		accepted;
	int64		active;

	/* set by yq_hierarchy_compute() */
	int			most_applications;	/* leaves */
	int			most_applications_per_user;
} YqQueue;

/* Settings of the whole scheduler.  A setting that is not set has its default value. */
typedef struct YqSchedulerSettings
{
	bool		is_legacy;
	bool		has_node_labels;
	int			maximum_applications;
	int			global_queue_max_application;	/* -1: none */
	float4		am_percent;
	float4		user_limit;
	float4		user_limit_factor;
	int			max_parallel_apps;
	const char *multi_node_policy;
	int			maximum_depth;	/* auto-queue-creation-v2.maximum-queue-depth */
	int64		expiration_seconds; /* time after which a dynamic queue that is not used is removed */
	int64	   *minimum_allocation;
	int64	   *maximum_allocation;
	/* is the setting set?  needed to report where a value comes from */
	bool		has_am_percent;
	bool		has_user_limit;
	bool		has_user_limit_factor;
	bool		has_max_parallel_apps;
	int64		memory_bounds[2];	/* minimum and maximum allocation of memory, as configured */
	int64		vcores_bounds[2];
} YqSchedulerSettings;

/* Settings of access, placement and priorities.  A setting that is not set has its default value. */
typedef struct YqAccessSettings
{
	bool		acl_enable;
	YqAcl	   *admin_acl;		/* access list of administrators; everybody if the list is not set */
	bool		has_admin_acl;
	int32		maximum_priority;
	bool		override_queue; /* queue-mappings-override.enable */
	bool		json_rules;
	bool		rules_in_force; /* do mapping rules apply? queue-placement-rules is empty, or contains user-group or
								 * app-name */
	const char *duplicate_engine;	/* engine that queue-placement-rules names twice; NULL: there is none */
	bool		override_priority;	/* workflow-priority-mappings-override.enable */
	const char *workflow_tag_prefix;
} YqAccessSettings;

/* Kinds of templates that contain access lists for queues to be created. */
typedef enum YqQueueTemplate
{
	YQ_TEMPLATE_MANAGED,		/* leaf-queue-template */
	YQ_TEMPLATE_ANY,			/* auto-queue-creation-v2.template */
	YQ_TEMPLATE_LEAF,			/* .leaf-template */
	YQ_TEMPLATE_PARENT,			/* .parent-template */
	YQ_QUEUE_TEMPLATE_COUNT
} YqQueueTemplate;

typedef struct YqNameCount
{
	YqBytes		key;
	int64		count;
	int64		compacted;		/* part of "count" that comes from compacted usage */
} YqNameCount;

/* Look-up entry of a path or short name.  The queue is NULL if several queues share the name. */
typedef struct YqQueueEntry
{
	YqBytes		key;
	YqQueue    *queue;
} YqQueueEntry;

typedef struct YqHierarchy
{
	MemoryContext context;
	YqCalculator calculator;
	const char **type_names;
	const char **labels;		/* "" (the default partition) first, then sorted by name */
	int			label_count;
	YqSchedulerSettings settings;
	YqAccessSettings access;
	YqMappingRules mapping_rules;
	YqQueue   **queues;			/* each parent before its children; siblings in order, except below plans; orphans
								 * last */
	int			queue_count;
	int			orphan_count;
	YqQueue    *root;			/* NULL: the configuration has no root */
	HTAB	   *by_path;		/* YqQueueEntry entries by path */
	HTAB	   *by_name;
	const char **policies_with_class;	/* names of policies in multi_node_sorting_policy that have a class */
	int			policy_count;
	HTAB	   *template_lists;	/* access lists of templates; filled by hierarchy_access.c, as are the workflows */
	HTAB	   *workflows;
	HTAB	   *kept_stopped;	/* paths of queues without a row for which a configuration file sets the state
								 * STOPPED */

	HTAB	   *containers_elsewhere;	/* number of containers per queue name that no queue has: YqNameCount entries */
	struct YqCompactedUsage *compacted_usage; /* see usage.c */
	int64	   *killable;		/* per queue and type, see yq_queue_killable(); NULL: no container is killable */

	int64	  **totals;			/* resources of all RUNNING nodes, per label */
	int64	   *cluster;
	int64	   *largest_node;	/* per type: the largest amount that a RUNNING node has; 0 if no node is RUNNING */
	uint64		generation;		/* number of this hierarchy among the hierarchies that the session has built, from 1 */
	HTAB	   *gone;			/* removed queues of plans: YqQueueEntry entries by path; NULL: none */
	uint64		plan_version;	/* increases with each change of the queues of plans */
	int			plan_row_count; /* number of rows of yquota.reservation_queue that belong to plans of this hierarchy */
	int			holds;			/* number of callers that still use the hierarchy, until their memory contexts are
								 * deleted */
	int64		shortest_auto_promotion;	/* smallest auto_promote_after of all queues; 0: no queue sets it */
	bool		is_computed;	/* yq_hierarchy_compute() has been called */
	bool		is_in_force;	/* yq_hierarchy_refresh() has been called for the current configuration */
} YqHierarchy;

/*
 * Return the session's hierarchy: the committed configuration and the changes made by
 * this transaction.  The result is valid until the current memory context is deleted,
 * even if a later call builds another hierarchy.
 */
extern YqHierarchy *yq_hierarchy_get(void);

/*
 * Return the queue with this path, or NULL.  yq_hierarchy_find_bytes() takes a path
 * that is not zero-terminated.
 */
extern YqQueue *yq_hierarchy_find(const YqHierarchy *hierarchy, const char *path);
extern YqQueue *yq_hierarchy_find_bytes(const YqHierarchy *hierarchy, YqBytes path);

/*
 * Return the entry of a removed queue of a plan, by its path.  The result is NULL if
 * the queue still exists, or if it never existed.
 */
extern YqQueue *yq_hierarchy_find_gone(const YqHierarchy *hierarchy, YqBytes path);

/* Return the queue with this path.  If no queue has it, return the only queue with this short name, or NULL. */
extern YqQueue *yq_hierarchy_find_by_name(const YqHierarchy *hierarchy, const char *name);

/*
 * Return the path of the queue whose path or short name is nearest to a name.  The
 * result is NULL if none is similar, or if the short name is ambiguous.  A role that may
 * not see every queue gets NULL, too.
 */
extern const char *yq_hierarchy_similar_queue(const YqHierarchy *hierarchy, const char *name);

/* Do several queues have this short name, so that the name finds none of them? */
extern bool yq_hierarchy_name_is_ambiguous(const YqHierarchy *hierarchy, const char *name);

/* Return the path of the parent, palloc'd, or NULL if the path has no dot. */
extern char *yq_path_above(const char *path);

/* Is a part of the path empty: before the first dot, between two dots or after the last dot? */
extern bool yq_path_has_empty_part(const char *path);

/* Is the queue a leaf of a managed parent (the first generation of dynamic queues)? */
extern bool yq_queue_is_created_leaf(const YqQueue *queue);

/* Is the queue a child of a plan: a default queue, or the queue of a reservation? */
extern bool yq_queue_is_of_plan(const YqQueue *queue);

/*
 * Does the queue belong to a plan that hides its queues?  If so, the queue's usage
 * counts as usage of the plan.
 */
extern bool yq_queue_is_hidden(const YqQueue *queue);

/* Return the default queue of a plan, which receives the applications that do not name a reservation. */
extern YqQueue *yq_plan_default_queue(const YqQueue *plan);

/* Does the queue accept applications?  A root queue without children does not. */
extern bool yq_queue_is_leaf(const YqQueue *queue);

/*
 * Return the access list for an operation from the template with exactly this path, or
 * NULL.  The template is in yquota.queue or in yquota.wildcard_template.  The operation
 * is YQ_SUBMIT_APPLICATIONS or YQ_ADMINISTER_QUEUE.
 */
extern YqAcl *yq_hierarchy_template_acl(const YqHierarchy *hierarchy, const char *path,
										YqQueueTemplate template, YqQueueOperation operation);

/* Find the priority that workflow-priority-mappings sets for a workflow in exactly this queue. */
extern bool yq_hierarchy_workflow_priority(const YqHierarchy *hierarchy, const char *queue_path,
										   const char *workflow_id, int32 *priority);

/* Return the number of the label with this name, or -1. */
extern int	yq_hierarchy_label(const YqHierarchy *hierarchy, const char *label);

/* Return the configuration of a queue for a label, or NULL if the queue has none for the label. */
extern YqQueueLabel *yq_queue_label(const YqQueue *queue, int label);

/* May the queue use nodes of this label? */
extern bool yq_queue_may_use_label(const YqQueue *queue, int label);

/* Build a hierarchy in a new memory context, a child of "parent". */
extern YqHierarchy *yq_hierarchy_load(Snapshot snapshot, MemoryContext parent);

/* Return amounts that are all zero, palloc'd. */
extern int64 *yq_hierarchy_amounts(const YqHierarchy *hierarchy);

/*
 * Return the amounts of a resource value, palloc'd.  Resource types that the hierarchy
 * does not know are left out.
 */
extern int64 *yq_hierarchy_read_amounts(const YqHierarchy *hierarchy, Datum resource);

/* Add the amounts of a resource value to amounts. */
extern void yq_hierarchy_add_amounts(const YqHierarchy *hierarchy, int64 *amounts, Datum resource);

/* Return amounts as a value of the type yquota.resource. */
extern Datum yq_hierarchy_resource(const YqHierarchy *hierarchy, const int64 *amounts);

/* Return amounts as a resource value.  Unlimited types (PG_INT64_MAX) are left out. */
extern Datum yq_hierarchy_bounded_resource(const YqHierarchy *hierarchy, const int64 *amounts);

#endif							/* YQ_HIERARCHY_H */
