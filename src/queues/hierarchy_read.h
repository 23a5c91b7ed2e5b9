/*-------------------------------------------------------------------------
 *
 * hierarchy_read.h
 *	  Reading of the rows of the queue tables into a hierarchy.
 *
 * Rows are allocated in the loader's scratch context, which is deleted after the
 * hierarchy has been built.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_HIERARCHY_READ_H
#define YQ_HIERARCHY_READ_H

#include "queues/hierarchy.h"
#include "utils/jsonb.h"

/* Columns of yquota.queue that are read to build a hierarchy. */
typedef enum YqQueueColumn
{
	YQ_COL_PATH,
	YQ_COL_POSITION,
	YQ_COL_AUTO_CREATED,
	YQ_COL_CAPACITY,
	YQ_COL_MAXIMUM_CAPACITY,
	YQ_COL_MINIMUM_USER_LIMIT_PERCENT,
	YQ_COL_USER_LIMIT_FACTOR,
	YQ_COL_MAXIMUM_ALLOCATION,
	YQ_COL_MAXIMUM_ALLOCATION_MB,
	YQ_COL_MAXIMUM_ALLOCATION_VCORES,
	YQ_COL_MAXIMUM_APPLICATIONS,
	YQ_COL_MAXIMUM_AM_RESOURCE_PERCENT,
	YQ_COL_MAX_PARALLEL_APPS,
	YQ_COL_STATE,
	YQ_COL_ORDERING_POLICY,
	YQ_COL_ORDERING_POLICY_OPTIONS,
	YQ_COL_PRIORITY,
	YQ_COL_ACCESSIBLE_NODE_LABELS,
	YQ_COL_DEFAULT_NODE_LABEL_EXPRESSION,
	YQ_COL_DISABLE_PREEMPTION,
	YQ_COL_INTRA_QUEUE_DISABLE_PREEMPTION,
	YQ_COL_MAXIMUM_APPLICATION_LIFETIME,
	YQ_COL_DEFAULT_APPLICATION_LIFETIME,
	YQ_COL_RESERVABLE,
	YQ_COL_SHOW_RESERVATIONS,
	YQ_COL_ALLOW_ZERO_CAPACITY_SUM,
	YQ_COL_MULTI_NODE_SORTING_POLICY,
	YQ_COL_AUTO_CREATE_CHILD_QUEUE_ENABLED,
	YQ_COL_LEAF_QUEUE_TEMPLATE,
	YQ_COL_V2_ENABLED,
	YQ_COL_V2_TEMPLATE,
	YQ_COL_V2_LEAF_TEMPLATE,
	YQ_COL_V2_PARENT_TEMPLATE,
	YQ_COL_AUTO_CREATE_CHILD_QUEUE_MAX_QUEUES,
	YQ_COL_AUTO_CREATE_CHILD_QUEUE_FAIL,
	YQ_COL_V2_MAX_QUEUES,
	YQ_COL_V2_MAXIMUM_QUEUE_DEPTH,
	YQ_COL_V2_AUTO_REMOVAL,
	YQ_COL_DEFAULT_APPLICATION_PRIORITY,
	YQ_COL_PRIORITY_ACL,
	YQ_COL_AUTO_PROMOTE_AFTER,
	YQ_COL_HOLD_POLICY,
	YQ_COL_FIRST_ACL,			/* columns of the access lists, in the order of yq_acl_columns */
	YQ_QUEUE_COLUMNS = YQ_COL_FIRST_ACL + YQ_QUEUE_OPERATION_COUNT
} YqQueueColumn;

/* A row of yquota.queue, and the rows of other tables that belong to the same queue. */
typedef struct YqQueueRow
{
	YqBytes		key;			/* path */
	YqQueue    *queue;			/* queue of the hierarchy; set when the YqQueue is created */
	Datum		values[YQ_QUEUE_COLUMNS];
	bool		nulls[YQ_QUEUE_COLUMNS];
	struct YqLabelRow *labels;	/* NULL: none */
	struct YqWeightRow *weights;
	bool		is_plan;
	const struct YqPlanShare *share;	/* share of a queue of a plan, whose row has no other values; NULL for every
										 * other queue */
} YqQueueRow;

/* Share of the plan's capacity that belongs to a queue of the plan, as fractions. */
typedef struct YqPlanShare
{
	float4		capacity;
	float4		maximum;
} YqPlanShare;

typedef struct YqLabelRow
{
	struct YqLabelRow *next;
	const char *label;
	char	   *capacity;		/* NULL: not set */
	char	   *maximum;		/* NULL: not set */
	bool		has_am_percent;
	float4		am_percent;
} YqLabelRow;

typedef struct YqWeightRow
{
	struct YqWeightRow *next;
	const char *username;
	float4		weight;
} YqWeightRow;

/* Templates in a row of yquota.wildcard_template.  A template is NULL if it is not set. */
typedef struct YqWildcardRow
{
	YqBytes		key;			/* path with wildcards */
	Jsonb	   *common;
	Jsonb	   *leaf;
	Jsonb	   *parent;
} YqWildcardRow;

/* A property of a configuration file that is not represented by a column of another table. */
typedef struct YqUnmappedProperty
{
	YqBytes		key;			/* full name of the property in Hadoop */
	const char *value;
} YqUnmappedProperty;

typedef struct YqHierarchyLoader
{
	YqHierarchy *hierarchy;
	Snapshot	snapshot;
	MemoryContext scratch;
	YqQueueRow **rows;
	int			row_count;
	YqQueueRow **row_of;		/* indexed by queue number */
	HTAB	   *type_numbers;	/* set of the names of resource types; the types get their numbers later */
	HTAB	   *wildcards;		/* YqWildcardRow */
	HTAB	   *kept;			/* YqUnmappedProperty entries for properties of queues */
	HTAB	   *active_leaves;	/* set of active leaves; each key consists of the leaf's path and a label */
	HTAB	   *label_numbers;
	Oid			running;		/* labels of queue_state */
	Oid			stopped;
} YqHierarchyLoader;

/* Read yquota.queue. */
extern void yq_hierarchy_read_queues(YqHierarchyLoader *loader);

/* Append a row.  The caller keeps the row's memory until the hierarchy is built. */
extern void yq_hierarchy_append_row(YqHierarchyLoader *loader, YqQueueRow *row);

/*
 * Add the queues of plans, and vacant entries for later queues.  Each configured queue
 * must already know the number of its children.
 */
extern void yq_hierarchy_add_plan_queues(YqHierarchyLoader *loader);

/* Compare two siblings, for qsort(). */
extern int	yq_queue_compare_siblings(const void *a, const void *b);

/* Add a queue to the hash tables by path and by name. */
extern void yq_hierarchy_enter_queue(YqHierarchy *hierarchy, YqQueue *queue);

/*
 * Update the queues of plans from yquota.reservation_queue.  Returns false if the
 * hierarchy has to be rebuilt instead, because a plan has no vacant entry left or a
 * caller still uses the hierarchy.
 */
extern bool yq_hierarchy_follow_plans(YqHierarchy *hierarchy, Snapshot snapshot);

/*
 * Read all tables except yquota.queue, after the queues were created.  Names and
 * settings are stored directly in the hierarchy.
 */
extern void yq_hierarchy_read(YqHierarchyLoader *loader);

/* Read the access lists of templates, the workflows, the mapping rules and the settings of access. */
extern void yq_hierarchy_read_access(YqHierarchyLoader *loader);

/* Set the configured and inherited properties of a queue.  The parent's properties must already be set. */
extern void yq_hierarchy_resolve(YqHierarchyLoader *loader, YqQueue *queue,
								 const bool *configured_anywhere);

/* Does a leaf of a managed parent have the template's capacity on the label? */
extern bool yq_hierarchy_leaf_is_active(const YqHierarchyLoader *loader, const char *path,
										const char *label);

/* Compute the total resources of the hierarchy from yquota.node. */
extern void yq_hierarchy_read_nodes(YqHierarchy *hierarchy, Snapshot snapshot);

#endif							/* YQ_HIERARCHY_READ_H */
