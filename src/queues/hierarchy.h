/*-------------------------------------------------------------------------
 *
 * hierarchy.h
 *	  The hierarchy of queues in memory: configured and inherited properties, and the
 *	  limits of each queue (docs/design.md 5).
 *
 * A hierarchy is built from rows (queue, queue_label, queue_user, node_label,
 * scheduler_setting ...).  validate.h reports their errors; nothing is refused here.  A
 * queue whose parent has no row is an orphan: it is in the array of queues, but is no
 * queue's child.
 *
 * A plan is the parent of its default queue, which always exists, and of the queues of
 * active reservations (yquota.reservation_queue).  These queues are leaves that no
 * configuration contains.  They are added, changed and removed without rebuilding the
 * hierarchy (hierarchy_load.c).  A plan therefore has vacant places among its children;
 * look-ups do not find them, and they get no resources.
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
	YQ_QUEUE_PLAN				/* a reservable leaf in the configuration, which is a parent here */
} YqQueueKind;

/* Properties that a queue inherits when it does not set them. */
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

/* Columns of yquota.queue for the inherited properties. */
extern const char *const yq_inherited_property_names[YQ_INHERITED_PROPERTIES];

/* Origins of values that do not come from a queue. */
extern const char yq_from_setting[];
extern const char yq_from_template[];

typedef struct YqInheritedValue
{
	const char *value;			/* NULL: none */
	const char *from;			/* path of a queue, or an origin from above; NULL: Hadoop's default */
} YqInheritedValue;

/* The configuration of a queue on the nodes of a label, with computed figures. */
typedef struct YqQueueLabel
{
	int			label;			/* number; 0 is the default partition */
	bool		is_configured;	/* false for a created queue that has only a weight on the label */
	bool		is_active;		/* for a leaf of a managed parent: it has the template's capacity */
	YqCapacity	capacity;
	YqCapacity	maximum;
	float4		configured;		/* configured fraction of the parent */
	float4		configured_maximum;
	float4		weight;			/* -1: the capacity is not a weight */
	const int64 *minimum_amounts;	/* configured absolute amounts; NULL: none */
	const int64 *maximum_amounts;	/* configured maximum amounts, or those of the parent */
	float4		am_percent;		/* fraction */
	const struct YqQueueLabel *template;	/* for a leaf of a managed parent, otherwise NULL */

	/* set by yq_hierarchy_compute() */
	float4		capacity_fraction;	/* share of the parent */
	float4		maximum_fraction;
	float4		normalized_weight;
	float4		absolute_capacity;	/* share of the partition */
	float4		absolute_maximum;
	int64	   *effective_minimum;
	int64	   *effective_maximum;
	int64	   *used;			/* resources of GUARANTEED containers and reservations in this queue and below */
	int64	   *am_used;		/* masters' resources here and below; by yq_hierarchy_read_applications() */
	float4	   *minimum_ratio;	/* for children, per type; -1: there is none */
} YqQueueLabel;

typedef struct YqUserWeight
{
	const char *username;
	float4		weight;
} YqUserWeight;

typedef struct YqQueue
{
	YqBytes		key;			/* path, the key of the hash table */
	const char *path;			/* terminated */
	const char *name;			/* last part of the path */
	struct YqQueue *parent;		/* NULL for root and orphans */
	struct YqQueue **children;	/* by position; created queues come last, by path */
	int			child_count;
	int			depth;			/* number of ancestors; 0 for root */
	int			position;		/* configured position among its siblings; INT_MAX: none */
	YqQueueKind kind;
	int			number;			/* position in the array of queues */
	bool		is_auto_created;
	bool		is_reservable;
	bool		shows_reservations; /* for a plan: show-reservations-as-queues */
	bool		is_vacant;		/* a vacant place below a plan, see above */
	bool		allows_zero_sum;
	bool		is_dynamic;		/* auto-created by the second generation */
	bool		creates_v2;		/* may have dynamic children; not set for a managed parent */
	int			most_children;	/* limit on children, checked when a child is created */
	int			maximum_depth;	/* depth limit of queues created below a static queue */
	bool		fails_beyond_guarantee; /* fail-on-exceeding-parent-capacity */
	bool		is_removed_when_unused;
	YqQueueLabel *template_labels;	/* for a managed parent: capacities of its leaves, by number of the label */
	int			template_label_count;
	int			configured_state;	/* 0 (not set), 'R' or 'S' */

	YqQueueLabel *labels;		/* configured labels, by number of the label */
	int			label_count;
	bool		mixes_modes;	/* absolute on some labels but not on others */
	bool		is_absolute;	/* mode on its first label, which Hadoop uses for all labels */

	YqInheritedValue inherited[YQ_INHERITED_PROPERTIES];
	float4		user_limit;		/* minimum-user-limit-percent */
	float4		user_limit_factor;
	float4		am_percent;		/* for labels that do not set it */
	bool		any_label;		/* may use every label */
	const bool *accessible;		/* by number of the label; not used if any_label is set */
	const char *default_label;	/* NULL: none */
	int64	   *maximum_allocation;
	const char *maximum_allocation_problem;
	int64		maximum_lifetime;	/* seconds; 0 or less: no limit */
	int64		default_lifetime;
	int64		checked_default_lifetime;	/* the default lifetime, which must not exceed the maximum */
	bool		default_lifetime_is_specified;
	int			maximum_applications;	/* -1: not configured */
	const char *multi_node_policy;	/* NULL: none */
	int32		priority;		/* priority among its siblings; the larger number comes first */
	bool		weighs_by_size; /* ordering-policy.fair.enable-size-based-weight */
	const char *own_partitions; /* ordering-policy.exclusive-enforced-partitions; NULL: none */
	YqAcl	   *acls[YQ_QUEUE_OPERATION_COUNT]; /* NULL: neither the queue nor a template sets the list */
	const char *priority_acl;	/* acl_application_max_priority; NULL: none */
	List	   *priority_groups;	/* the parsed list of YqPriorityGroup; see admission/access/access.h */
	bool		priority_is_parsed;
	int32		default_priority;	/* default for applications; 0: not set */
	YqUserWeight *own_weights;
	int			own_weight_count;
	struct YqQueue *weights_from;	/* nearest queue with weights: this queue or an ancestor */
	int64		auto_promote_after; /* set by this queue, in microseconds; 0: none */
	struct YqQueue *promotes_as;	/* nearest queue with that setting: this queue or an ancestor; NULL: none */
	bool		holds_quotes;	/* hold_policy, inherited: submissions hold what they are expected to cost */

	bool		is_running;		/* set by yq_hierarchy_refresh(); false: STOPPED or DRAINING */
	int64		containers;		/* running containers in this queue and below, by yq_hierarchy_read_usage() */
	int64		non_runnable;	/* applications in this queue and below; by yq_hierarchy_read_applications() */
	int64		accepted;
	int64		active;

	/* set by yq_hierarchy_compute() */
	int			most_applications;	/* leaves */
	int			most_applications_per_user;
} YqQueue;

/* Settings of the whole scheduler.  Settings that are not set have their defaults. */
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
	int64		expiration_seconds; /* time after which unused dynamic queues are removed */
	int64	   *minimum_allocation;
	int64	   *maximum_allocation;
	/* tell which settings are set, to report the origin of a value */
	bool		has_am_percent;
	bool		has_user_limit;
	bool		has_user_limit_factor;
	bool		has_max_parallel_apps;
	int64		memory_bounds[2];	/* minimum and maximum allocation, as configured */
	int64		vcores_bounds[2];
} YqSchedulerSettings;

/* Settings of access, placement and priorities.  Settings that are not set have their defaults. */
typedef struct YqAccessSettings
{
	bool		acl_enable;
	YqAcl	   *admin_acl;		/* if not set, the list contains every user */
	bool		has_admin_acl;
	int32		maximum_priority;
	bool		override_queue; /* queue-mappings-override.enable */
	bool		json_rules;
	bool		rules_in_force; /* queue-placement-rules contains user-group or app-name */
	const char *duplicate_engine;	/* engine that queue-placement-rules contains twice; NULL: none */
	bool		override_priority;	/* workflow-priority-mappings-override.enable */
	const char *workflow_tag_prefix;
} YqAccessSettings;

/* Kinds of templates with access lists for queues that do not exist yet. */
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
	int64		compacted;		/* length of the compacted part */
} YqNameCount;

/* A queue by its path or short name.  The queue is NULL if several queues have the name. */
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
	const char **labels;		/* "" first, then by name */
	int			label_count;
	YqSchedulerSettings settings;
	YqAccessSettings access;
	YqMappingRules mapping_rules;
	YqQueue   **queues;			/* parents before children, siblings in order except below plans; orphans last */
	int			queue_count;
	int			orphan_count;
	YqQueue    *root;			/* NULL: there is no root */
	HTAB	   *by_path;		/* entries: YqQueueEntry, as in by_name */
	HTAB	   *by_name;
	const char **policies_with_class;	/* policies of multi_node_sorting_policy that name a class */
	int			policy_count;
	HTAB	   *template_lists;	/* access lists of templates, see hierarchy_access.c, which also has the workflows */
	HTAB	   *workflows;
	HTAB	   *kept_stopped;	/* paths without a row whose property state is STOPPED */

	HTAB	   *containers_elsewhere;	/* number of containers per name that no queue has: YqNameCount */
	struct YqCompactedUsage *compacted_usage; /* see usage.c */
	int64	   *killable;		/* see yq_queue_killable(); NULL: no container is killable */

	int64	  **totals;			/* resources of RUNNING nodes, per label */
	int64	   *cluster;
	int64	   *largest_node;	/* per type: largest amount of a RUNNING node; 0 without nodes */
	uint64		generation;		/* number of the hierarchy in this session, from 1; yq_hierarchy_get() counts */
	HTAB	   *gone;			/* removed queues of plans, by path: YqQueueEntry; NULL: none */
	uint64		plan_version;	/* changes with each change of the queues of plans */
	int			plan_row_count; /* number of rows of reservation_queue that the hierarchy contains */
	int			holds;			/* number of callers that hold it until their memory contexts are deleted */
	int64		shortest_auto_promotion;	/* smallest auto_promote_after of all queues; 0: none is set */
	bool		is_computed;	/* yq_hierarchy_compute() has been called */
	bool		is_in_force;	/* yq_hierarchy_refresh() has been called for the current configuration */
} YqHierarchy;

/*
 * Return the session's hierarchy, as committed and as changed by this transaction.  It
 * is valid until the current memory context is deleted, even if a later call builds
 * another hierarchy.
 */
extern YqHierarchy *yq_hierarchy_get(void);

/* Return the queue with this path, or NULL.  The second function takes bytes that are not terminated. */
extern YqQueue *yq_hierarchy_find(const YqHierarchy *hierarchy, const char *path);
extern YqQueue *yq_hierarchy_find_bytes(const YqHierarchy *hierarchy, YqBytes path);

/*
 * Return the former place of a removed queue of a plan, by its path.  NULL: the queue
 * exists, or never existed.
 */
extern YqQueue *yq_hierarchy_find_gone(const YqHierarchy *hierarchy, YqBytes path);

/* Return the queue with this path, or the only queue with this short name, or NULL. */
extern YqQueue *yq_hierarchy_find_by_name(const YqHierarchy *hierarchy, const char *name);

/* Do several queues have this name, so that a look-up finds none of them? */
extern bool yq_hierarchy_name_is_ambiguous(const YqHierarchy *hierarchy, const char *name);

/* Return the path of the parent, palloc'd; NULL for a path without a dot. */
extern char *yq_path_above(const char *path);

/* Is a name missing in a path: before its first dot, between two dots or after its last dot? */
extern bool yq_path_has_empty_part(const char *path);

/* Is the queue a leaf of a managed parent (first generation)? */
extern bool yq_queue_is_created_leaf(const YqQueue *queue);

/* Is the queue a child of a plan: a default queue, or the queue of a reservation? */
extern bool yq_queue_is_of_plan(const YqQueue *queue);

/* Does the queue belong to a plan that does not show its queues?  Then its usage counts for the plan. */
extern bool yq_queue_is_hidden(const YqQueue *queue);

/* Return the default queue of a plan, which gets the applications that name no reservation. */
extern YqQueue *yq_plan_default_queue(const YqQueue *plan);

/* Does the queue accept applications?  A root without children does not. */
extern bool yq_queue_is_leaf(const YqQueue *queue);

/*
 * Return the access list in the template with exactly this path, in queue or in
 * wildcard_template, or NULL.  The operation is YQ_SUBMIT_APPLICATIONS or
 * YQ_ADMINISTER_QUEUE.
 */
extern YqAcl *yq_hierarchy_template_acl(const YqHierarchy *hierarchy, const char *path,
										YqQueueTemplate template, YqQueueOperation operation);

/* Find the priority of a workflow that is mapped for exactly this queue. */
extern bool yq_hierarchy_workflow_priority(const YqHierarchy *hierarchy, const char *queue_path,
										   const char *workflow_id, int32 *priority);

/* Return the number of a label, or -1. */
extern int	yq_hierarchy_label(const YqHierarchy *hierarchy, const char *label);

/* Return the configuration of a queue for a label, or NULL. */
extern YqQueueLabel *yq_queue_label(const YqQueue *queue, int label);

/* May the queue use nodes of this label? */
extern bool yq_queue_may_use_label(const YqQueue *queue, int label);

/* Build a hierarchy in its own context below "parent". */
extern YqHierarchy *yq_hierarchy_load(Snapshot snapshot, MemoryContext parent);

/* Return an empty resource, palloc'd. */
extern int64 *yq_hierarchy_amounts(const YqHierarchy *hierarchy);

/* Return the amounts of a resource, palloc'd.  Types that the hierarchy does not know are left out. */
extern int64 *yq_hierarchy_read_amounts(const YqHierarchy *hierarchy, Datum resource);

/* Add a resource to amounts. */
extern void yq_hierarchy_add_amounts(const YqHierarchy *hierarchy, int64 *amounts, Datum resource);

/* Return amounts as a value of yquota.resource. */
extern Datum yq_hierarchy_resource(const YqHierarchy *hierarchy, const int64 *amounts);

/* Return amounts as a resource without its unlimited types (PG_INT64_MAX). */
extern Datum yq_hierarchy_bounded_resource(const YqHierarchy *hierarchy, const int64 *amounts);

#endif							/* YQ_HIERARCHY_H */
