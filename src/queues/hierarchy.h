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
 * A plan is the parent of its default queue, which is always there, and of the
 * queues of active reservations (yquota.reservation_queue): leaves, which no
 * configuration has.  Their shares change, and they come and go, in a hierarchy
 * that is there already (hierarchy_load.c).  So a plan has vacant places among
 * its children: no look-up finds them, and they have and get nothing.
 *
 * Amounts are in native units, fractions floats of 32 bits (calculator.h).
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

/* Properties that come from elsewhere when a queue does not set them. */
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

/* Column of yquota.queue that a property is in. */
extern const char *const yq_inherited_property_names[YQ_INHERITED_PROPERTIES];

/* Where a value came from when it was no queue. */
extern const char yq_from_setting[];
extern const char yq_from_template[];

typedef struct YqInheritedValue
{
	const char *value;			/* NULL for none */
	const char *from;			/* path of a queue, or one of the above; NULL for Hadoop's default */
} YqInheritedValue;

/* The configuration of a queue on the nodes of a label, and computed figures. */
typedef struct YqQueueLabel
{
	int			label;			/* number; 0 is the default partition */
	bool		is_configured;	/* false: a created queue has a weight there, and no more */
	bool		is_active;		/* of a leaf of a managed parent: it has the template's capacity */
	YqCapacity	capacity;
	YqCapacity	maximum;
	float4		configured;		/* fraction of the parent */
	float4		configured_maximum;
	float4		weight;			/* -1 when it is none */
	const int64 *minimum_amounts;	/* configured absolute amounts; NULL for none */
	const int64 *maximum_amounts;	/* the same, or the parent's */
	float4		am_percent;		/* fraction */
	const struct YqQueueLabel *template;	/* of a leaf of a managed parent, else NULL */

	/* by yq_hierarchy_compute() */
	float4		capacity_fraction;	/* of the parent */
	float4		maximum_fraction;
	float4		normalized_weight;
	float4		absolute_capacity;	/* of the partition */
	float4		absolute_maximum;
	int64	   *effective_minimum;
	int64	   *effective_maximum;
	int64	   *used;			/* by GUARANTEED containers and reservations, here and below */
	int64	   *am_used;		/* of application masters, likewise; by yq_hierarchy_read_applications() */
	float4	   *minimum_ratio;	/* for children, per type; -1 where there is none */
} YqQueueLabel;

typedef struct YqUserWeight
{
	const char *username;
	float4		weight;
} YqUserWeight;

typedef struct YqQueue
{
	YqBytes		key;			/* path, as the hash table has it */
	const char *path;			/* terminated */
	const char *name;			/* last part of it */
	struct YqQueue *parent;		/* NULL for root and orphans */
	struct YqQueue **children;	/* by position, those that were created last, then by path */
	int			child_count;
	int			depth;			/* 0 for root */
	int			position;		/* configured, among its siblings; INT_MAX for none */
	YqQueueKind kind;
	int			number;			/* in the array of queues */
	bool		is_auto_created;
	bool		is_reservable;
	bool		shows_reservations; /* of a plan: show-reservations-as-queues */
	bool		is_vacant;		/* a child of a plan that does not exist: see above */
	bool		allows_zero_sum;
	bool		is_dynamic;		/* auto-created by the second generation */
	bool		creates_v2;		/* may have dynamic children, unless it is a managed parent */
	int			most_children;	/* that may be there when one is created */
	int			maximum_depth;	/* of queues created below a static queue */
	bool		fails_beyond_guarantee; /* fail-on-exceeding-parent-capacity */
	bool		is_removed_when_unused;
	YqQueueLabel *template_labels;	/* of a managed parent: capacities of its leaves, by number */
	int			template_label_count;
	int			configured_state;	/* 0, 'R' or 'S' */

	YqQueueLabel *labels;		/* configured ones, by number */
	int			label_count;
	bool		mixes_modes;	/* absolute on one label and not on another */
	bool		is_absolute;	/* mode on its first label, as Hadoop has it */

	YqInheritedValue inherited[YQ_INHERITED_PROPERTIES];
	float4		user_limit;		/* minimum-user-limit-percent */
	float4		user_limit_factor;
	float4		am_percent;		/* on labels that have none */
	bool		any_label;		/* may use every label */
	const bool *accessible;		/* by number, when it may not */
	const char *default_label;	/* NULL for none */
	int64	   *maximum_allocation;
	const char *maximum_allocation_problem;
	int64		maximum_lifetime;	/* seconds; not positive for none */
	int64		default_lifetime;
	int64		checked_default_lifetime;	/* the lifetime that must not exceed the maximum */
	bool		default_lifetime_is_specified;
	int			maximum_applications;	/* configured; -1 when it is not */
	const char *multi_node_policy;	/* NULL for none */
	int32		priority;		/* among its siblings; the larger number comes first */
	bool		weighs_by_size; /* ordering-policy.fair.enable-size-based-weight */
	const char *own_partitions; /* ordering-policy.exclusive-enforced-partitions; NULL for none */
	YqAcl	   *acls[YQ_QUEUE_OPERATION_COUNT]; /* NULL: not set, nor by a template */
	const char *priority_acl;	/* acl_application_max_priority; NULL for none */
	List	   *priority_groups;	/* the parsed list of YqPriorityGroup; see admission/access/access.h */
	bool		priority_is_parsed;
	int32		default_priority;	/* of applications; 0 when it is not set */
	YqUserWeight *own_weights;
	int			own_weight_count;
	struct YqQueue *weights_from;	/* nearest queue above with weights, or itself */
	int64		auto_promote_after; /* its own, microseconds; 0: none */
	struct YqQueue *promotes_as;	/* nearest queue above with one, or itself; NULL: none */

	bool		is_running;		/* by yq_hierarchy_refresh(); else STOPPED or DRAINING */
	int64		containers;		/* running here and below, by yq_hierarchy_read_usage() */
	int64		non_runnable;	/* applications here and below, by yq_hierarchy_read_applications() */
	int64		accepted;
	int64		active;

	/* by yq_hierarchy_compute() */
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
	int64		expiration_seconds; /* of unused dynamic queues */
	int64	   *minimum_allocation;
	int64	   *maximum_allocation;
	/* which of them are set, for telling where a value came from */
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
	YqAcl	   *admin_acl;		/* every user when it is not set */
	bool		has_admin_acl;
	int32		maximum_priority;
	bool		override_queue; /* queue-mappings-override.enable */
	bool		json_rules;
	bool		rules_in_force; /* queue-placement-rules has user-group or app-name */
	const char *duplicate_engine;	/* in queue-placement-rules; NULL: none */
	bool		override_priority;	/* workflow-priority-mappings-override.enable */
	const char *workflow_tag_prefix;
} YqAccessSettings;

/* Templates that have access lists for queues that do not exist yet. */
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
	int64		compacted;		/* as much of it as is compacted */
} YqNameCount;

/* A queue by its path or short name; NULL for a name that several queues have. */
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
	YqQueue   **queues;			/* parents before children, siblings in order but for plans'; orphans last */
	int			queue_count;
	int			orphan_count;
	YqQueue    *root;			/* NULL when there is none */
	HTAB	   *by_path;		/* YqQueueEntry, as the next one */
	HTAB	   *by_name;
	const char **policies_with_class;	/* of multi_node_sorting_policy */
	int			policy_count;
	HTAB	   *template_lists;	/* of hierarchy_access.c, as the next one */
	HTAB	   *workflows;
	HTAB	   *kept_stopped;	/* paths that have no row, but a property state STOPPED */

	HTAB	   *containers_elsewhere;	/* of names that no queue has: YqNameCount */
	struct YqCompactedUsage *compacted_usage; /* of usage.c */
	int64	   *killable;		/* likewise: see yq_queue_killable(); NULL: there are none */

	int64	  **totals;			/* of RUNNING nodes, per label */
	int64	   *cluster;
	int64	   *largest_node;	/* of each type, the most that a RUNNING node has; nothing without nodes */
	uint64		generation;		/* of those that yq_hierarchy_get() has made, from 1 */
	HTAB	   *gone;			/* queues of plans that have gone, by path: YqQueueEntry; NULL: none */
	uint64		plan_version;	/* another one after each change of queues of plans in it */
	int			plan_row_count; /* of reservation_queue that it contains */
	int			holds;			/* callers of it whose memory contexts last */
	int64		shortest_auto_promotion;	/* the least auto_promote_after of all queues; 0: none has one */
	bool		is_computed;	/* yq_hierarchy_compute() has been called */
	bool		is_in_force;	/* yq_hierarchy_refresh() has, of a configuration that is */
} YqHierarchy;

/*
 * The hierarchy as committed and as changed by this transaction, per session.  It lasts as
 * long as the current memory context, also when a later call makes another one.
 */
extern YqHierarchy *yq_hierarchy_get(void);

/* The queue with that path, or NULL; the latter finds it by bytes that are no string. */
extern YqQueue *yq_hierarchy_find(const YqHierarchy *hierarchy, const char *path);
extern YqQueue *yq_hierarchy_find_bytes(const YqHierarchy *hierarchy, YqBytes path);

/* The place that a queue of a plan has left, by its path; NULL: it is there, or was not. */
extern YqQueue *yq_hierarchy_find_gone(const YqHierarchy *hierarchy, YqBytes path);

/* The queue with that path or, when only one has it, that name; or NULL. */
extern YqQueue *yq_hierarchy_find_by_name(const YqHierarchy *hierarchy, const char *name);

/* Have several queues that name, so that it finds none of them? */
extern bool yq_hierarchy_name_is_ambiguous(const YqHierarchy *hierarchy, const char *name);

/* The path of the parent, palloc'd; NULL for a path without a dot. */
extern char *yq_path_above(const char *path);

/* Has a path no name before its first dot, between two dots or after its last one? */
extern bool yq_path_has_empty_part(const char *path);

/* Is it a leaf of a managed parent (first generation)? */
extern bool yq_queue_is_created_leaf(const YqQueue *queue);

/* Is it a child of a plan: a default queue, or the queue of a reservation? */
extern bool yq_queue_is_of_plan(const YqQueue *queue);

/* Is the queue one of a plan that does not show them?  They count in the plan. */
extern bool yq_queue_is_hidden(const YqQueue *queue);

/* The default queue of a plan: it takes what names no reservation. */
extern YqQueue *yq_plan_default_queue(const YqQueue *plan);

/* Does the queue take applications?  A root without children does not. */
extern bool yq_queue_is_leaf(const YqQueue *queue);

/*
 * The access list in a template of exactly this path, of a queue or of
 * wildcard_template, for YQ_SUBMIT_APPLICATIONS or YQ_ADMINISTER_QUEUE; or NULL.
 */
extern YqAcl *yq_hierarchy_template_acl(const YqHierarchy *hierarchy, const char *path,
										YqQueueTemplate template, YqQueueOperation operation);

/* The priority of a workflow that is mapped for exactly this queue. */
extern bool yq_hierarchy_workflow_priority(const YqHierarchy *hierarchy, const char *queue_path,
										   const char *workflow_id, int32 *priority);

/* The number of a label, or -1. */
extern int	yq_hierarchy_label(const YqHierarchy *hierarchy, const char *label);

/* The configuration of a queue for a label, or NULL. */
extern YqQueueLabel *yq_queue_label(const YqQueue *queue, int label);

/* May the queue use nodes of that label? */
extern bool yq_queue_may_use_label(const YqQueue *queue, int label);

/* Make a hierarchy in a context of its own below "parent". */
extern YqHierarchy *yq_hierarchy_load(Snapshot snapshot, MemoryContext parent);

/* An empty resource, palloc'd. */
extern int64 *yq_hierarchy_amounts(const YqHierarchy *hierarchy);

/* Amounts of a resource, palloc'd; types that the hierarchy does not know are left out. */
extern int64 *yq_hierarchy_read_amounts(const YqHierarchy *hierarchy, Datum resource);

/* Add a resource to amounts. */
extern void yq_hierarchy_add_amounts(const YqHierarchy *hierarchy, int64 *amounts, Datum resource);

/* Amounts as a value of yquota.resource. */
extern Datum yq_hierarchy_resource(const YqHierarchy *hierarchy, const int64 *amounts);

/* Amounts as a resource without the types of which any amount will do (PG_INT64_MAX). */
extern Datum yq_hierarchy_bounded_resource(const YqHierarchy *hierarchy, const int64 *amounts);

#endif							/* YQ_HIERARCHY_H */
