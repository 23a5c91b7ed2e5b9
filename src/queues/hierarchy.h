/*-------------------------------------------------------------------------
 *
 * hierarchy.h
 *	  The hierarchy of queues in memory: configured and inherited properties,
 *	  and the limits of each queue (docs/design.md 5).
 *
 * A hierarchy is made of rows (queue, queue_label, queue_user, node_label,
 * scheduler_setting ...) and validate.h reports their errors; nothing is
 * refused here.  A row without a row for its parent is an orphan: it is in the
 * array of queues, but no queue's child.
 *
 * A plan is the parent of its default queue, which always exists, and of the queues of
 * active reservations (yquota.reservation_queue).  These queues are leaves that no
 * configuration contains.  They come, change their shares and go while the hierarchy
 * stays the same (hierarchy_load.c).  A plan therefore has vacant places among its
 * children; look-ups do not find them, and they get no resources.
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
	YQ_QUEUE_PLAN				/* a reservable leaf of the configuration: a parent here */
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

/* Origins of a value that comes from no queue. */
extern const char yq_from_setting[];
extern const char yq_from_template[];

typedef struct YqInheritedValue
{
	const char *value;			/* NULL for none */
	const char *from;			/* path of a queue, or an origin from above; NULL for Hadoop's default */
} YqInheritedValue;

/* The configuration of a queue on the nodes of a label, and computed figures. */
typedef struct YqQueueLabel
{
	int			label;			/* number; 0 is the default partition */
	bool		is_configured;	/* false for a created queue that has only a weight there */
	bool		is_active;		/* for a leaf of a managed parent: it has the template's capacity */
	YqCapacity	capacity;
	YqCapacity	maximum;
	float4		configured;		/* fraction of the parent */
	float4		configured_maximum;
	float4		weight;			/* -1 when the capacity is no weight */
	const int64 *minimum_amounts;	/* configured absolute amounts; NULL for none */
	const int64 *maximum_amounts;	/* configured maximum amounts, or the parent's */
	float4		am_percent;		/* fraction */
	const struct YqQueueLabel *template;	/* for a leaf of a managed parent, else NULL */

	/* by yq_hierarchy_compute() */
	float4		capacity_fraction;	/* share of the parent */
	float4		maximum_fraction;
	float4		normalized_weight;
	float4		absolute_capacity;	/* share of the partition */
	float4		absolute_maximum;
	int64	   *effective_minimum;
	int64	   *effective_maximum;
	int64	   *used;			/* resources of GUARANTEED containers and reservations, here and below */
	int64	   *am_used;		/* masters of applications, here and below; by yq_hierarchy_read_applications() */
	float4	   *minimum_ratio;	/* for children, per type; -1 where there is none */
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
	int			depth;			/* 0 for root */
	int			position;		/* configured, among its siblings; INT_MAX for none */
	YqQueueKind kind;
	int			number;			/* in the array of queues */
	bool		is_auto_created;
	bool		is_reservable;
	bool		shows_reservations; /* for a plan: show-reservations-as-queues */
	bool		is_vacant;		/* a child of a plan that does not exist: see above */
	bool		allows_zero_sum;
	bool		is_dynamic;		/* auto-created by the second generation */
	bool		creates_v2;		/* may have dynamic children, unless it is a managed parent */
	int			most_children;	/* limit on children that is checked when one is created */
	int			maximum_depth;	/* depth limit of queues created below a static queue */
	bool		fails_beyond_guarantee; /* fail-on-exceeding-parent-capacity */
	bool		is_removed_when_unused;
	YqQueueLabel *template_labels;	/* for a managed parent: capacities of its leaves, by number */
	int			template_label_count;
	int			configured_state;	/* 0, 'R' or 'S' */

	YqQueueLabel *labels;		/* configured labels, by number */
	int			label_count;
	bool		mixes_modes;	/* absolute on some labels and not on others */
	bool		is_absolute;	/* mode on its first label, which decides in Hadoop */

	YqInheritedValue inherited[YQ_INHERITED_PROPERTIES];
	float4		user_limit;		/* minimum-user-limit-percent */
	float4		user_limit_factor;
	float4		am_percent;		/* on labels that set none */
	bool		any_label;		/* may use every label */
	const bool *accessible;		/* labels by number, unless any_label */
	const char *default_label;	/* NULL for none */
	int64	   *maximum_allocation;
	const char *maximum_allocation_problem;
	int64		maximum_lifetime;	/* seconds; not positive for none */
	int64		default_lifetime;
	int64		checked_default_lifetime;	/* the lifetime that must not exceed the maximum */
	bool		default_lifetime_is_specified;
	int			maximum_applications;	/* -1 when not configured */
	const char *multi_node_policy;	/* NULL for none */
	int32		priority;		/* among its siblings; the larger number comes first */
	bool		weighs_by_size; /* ordering-policy.fair.enable-size-based-weight */
	const char *own_partitions; /* ordering-policy.exclusive-enforced-partitions; NULL for none */
	YqAcl	   *acls[YQ_QUEUE_OPERATION_COUNT]; /* NULL: neither set nor given by a template */
	const char *priority_acl;	/* acl_application_max_priority; NULL for none */
	List	   *priority_groups;	/* the parsed list of YqPriorityGroup; see admission/access/access.h */
	bool		priority_is_parsed;
	int32		default_priority;	/* default for applications; 0 when not set */
	YqUserWeight *own_weights;
	int			own_weight_count;
	struct YqQueue *weights_from;	/* nearest queue, itself included, that has weights */
	int64		auto_promote_after; /* own setting, microseconds; 0: none */
	struct YqQueue *promotes_as;	/* nearest queue, itself included, with that setting; NULL: none */
	bool		holds_quotes;	/* hold_policy, inherited: submissions hold what they are expected to cost */

	bool		is_running;		/* by yq_hierarchy_refresh(); else STOPPED or DRAINING */
	int64		containers;		/* running here and below, by yq_hierarchy_read_usage() */
	int64		non_runnable;	/* applications here and below, by yq_hierarchy_read_applications() */
	int64		accepted;
	int64		active;

	/* set by yq_hierarchy_compute() */
	int			most_applications;	/* leaves */
	int			most_applications_per_user;
} YqQueue;

/* Settings of the whole scheduler; defaults filled in. */
typedef struct YqSchedulerSettings
{
	bool		is_legacy;
	bool		has_node_labels;
	int			maximum_applications;
	int			global_queue_max_application;	/* -1 for none */
	float4		am_percent;
	float4		user_limit;
	float4		user_limit_factor;
	int			max_parallel_apps;
	const char *multi_node_policy;
	int			maximum_depth;	/* auto-queue-creation-v2.maximum-queue-depth */
	int64		expiration_seconds; /* lifetime of unused dynamic queues */
	int64	   *minimum_allocation;
	int64	   *maximum_allocation;
	/* which settings are set, to report the origin of a value */
	bool		has_am_percent;
	bool		has_user_limit;
	bool		has_user_limit_factor;
	bool		has_max_parallel_apps;
	int64		memory_bounds[2];	/* minimum and maximum allocation, as configured */
	int64		vcores_bounds[2];
} YqSchedulerSettings;

/* Settings of access, placement and priorities; defaults filled in. */
typedef struct YqAccessSettings
{
	bool		acl_enable;
	YqAcl	   *admin_acl;		/* admits every user when not set */
	bool		has_admin_acl;
	int32		maximum_priority;
	bool		override_queue; /* queue-mappings-override.enable */
	bool		json_rules;
	bool		rules_in_force; /* queue-placement-rules has user-group or app-name */
	const char *duplicate_engine;	/* in queue-placement-rules; NULL: none */
	bool		override_priority;	/* workflow-priority-mappings-override.enable */
	const char *workflow_tag_prefix;
} YqAccessSettings;

/* Templates with access lists for queues that do not exist yet. */
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

/* A queue by its path or short name; queue is NULL for a name that several queues have. */
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
	YqQueue   **queues;			/* parents before children, siblings in order except those of plans; orphans last */
	int			queue_count;
	int			orphan_count;
	YqQueue    *root;			/* NULL without a root */
	HTAB	   *by_path;		/* entries: YqQueueEntry; by_name has the same */
	HTAB	   *by_name;
	const char **policies_with_class;	/* policies of multi_node_sorting_policy with a class */
	int			policy_count;
	HTAB	   *template_lists;	/* access lists of templates, see hierarchy_access.c; workflows likewise */
	HTAB	   *workflows;
	HTAB	   *kept_stopped;	/* paths without a row that have a property state STOPPED */

	HTAB	   *containers_elsewhere;	/* counts for names that no queue has: YqNameCount */
	struct YqCompactedUsage *compacted_usage; /* see usage.c */
	int64	   *killable;		/* see yq_queue_killable(); NULL: no container is killable */

	int64	  **totals;			/* resources of RUNNING nodes, per label */
	int64	   *cluster;
	int64	   *largest_node;	/* per type, the largest amount of a RUNNING node; 0 without nodes */
	uint64		generation;		/* number of the hierarchy among those of yq_hierarchy_get(), from 1 */
	HTAB	   *gone;			/* queues of plans that have gone, by path: YqQueueEntry; NULL: none */
	uint64		plan_version;	/* changes with each change of the queues of plans */
	int			plan_row_count; /* number of contained rows of reservation_queue */
	int			holds;			/* number of callers that hold it, released with their memory contexts */
	int64		shortest_auto_promotion;	/* the least auto_promote_after of all queues; 0: none is set */
	bool		is_computed;	/* yq_hierarchy_compute() has been called */
	bool		is_in_force;	/* yq_hierarchy_refresh() has been called for the configuration in force */
} YqHierarchy;

/*
 * Return the hierarchy as committed and as changed by this transaction, per session.
 * The hierarchy is valid until the current memory context is deleted, even if a later
 * call makes another one.
 */
extern YqHierarchy *yq_hierarchy_get(void);

/* Return the queue with that path, or NULL; the latter function takes bytes that are no terminated string. */
extern YqQueue *yq_hierarchy_find(const YqHierarchy *hierarchy, const char *path);
extern YqQueue *yq_hierarchy_find_bytes(const YqHierarchy *hierarchy, YqBytes path);

/* Return the place that a queue of a plan has left, by its path; NULL: the queue exists, or never did. */
extern YqQueue *yq_hierarchy_find_gone(const YqHierarchy *hierarchy, YqBytes path);

/* Return the queue with that path, or the only queue with that short name, or NULL. */
extern YqQueue *yq_hierarchy_find_by_name(const YqHierarchy *hierarchy, const char *name);

/* Do several queues have that name, so that a look-up finds none of them? */
extern bool yq_hierarchy_name_is_ambiguous(const YqHierarchy *hierarchy, const char *name);

/* Return the path of the parent, palloc'd; NULL for a path without a dot. */
extern char *yq_path_above(const char *path);

/* Does a path lack a name before its first dot, between two dots or after its last one? */
extern bool yq_path_has_empty_part(const char *path);

/* Is the queue a leaf of a managed parent (first generation)? */
extern bool yq_queue_is_created_leaf(const YqQueue *queue);

/* Is the queue a child of a plan: a default queue, or the queue of a reservation? */
extern bool yq_queue_is_of_plan(const YqQueue *queue);

/* Does the queue belong to a plan that does not show its queues?  Its usage counts in the plan. */
extern bool yq_queue_is_hidden(const YqQueue *queue);

/* Return the default queue of a plan, which takes applications that name no reservation. */
extern YqQueue *yq_plan_default_queue(const YqQueue *plan);

/* Does the queue accept applications?  A root without children does not. */
extern bool yq_queue_is_leaf(const YqQueue *queue);

/*
 * Return the access list in a template of exactly this path, of a queue or of
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

/* May the queue use nodes of that label? */
extern bool yq_queue_may_use_label(const YqQueue *queue, int label);

/* Make a hierarchy in a context of its own below "parent". */
extern YqHierarchy *yq_hierarchy_load(Snapshot snapshot, MemoryContext parent);

/* Return an empty resource, palloc'd. */
extern int64 *yq_hierarchy_amounts(const YqHierarchy *hierarchy);

/* Return the amounts of a resource, palloc'd; types unknown to the hierarchy are left out. */
extern int64 *yq_hierarchy_read_amounts(const YqHierarchy *hierarchy, Datum resource);

/* Add a resource to amounts. */
extern void yq_hierarchy_add_amounts(const YqHierarchy *hierarchy, int64 *amounts, Datum resource);

/* Return amounts as a value of yquota.resource. */
extern Datum yq_hierarchy_resource(const YqHierarchy *hierarchy, const int64 *amounts);

/* Return amounts as a resource without its unlimited types (PG_INT64_MAX). */
extern Datum yq_hierarchy_bounded_resource(const YqHierarchy *hierarchy, const int64 *amounts);

#endif							/* YQ_HIERARCHY_H */
