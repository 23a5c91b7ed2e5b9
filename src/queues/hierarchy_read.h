/*-------------------------------------------------------------------------
 *
 * hierarchy_read.h
 *	  Reading of the rows of the queue tables into a hierarchy.
 *
 * Rows are in a loader's scratch context, which is deleted when the hierarchy has been
 * built.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_HIERARCHY_READ_H
#define YQ_HIERARCHY_READ_H

#include "queues/hierarchy.h"
#include "utils/jsonb.h"

/* Columns of yquota.queue from which a hierarchy is built. */
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
	YQ_COL_FIRST_ACL,			/* in the order of yq_acl_columns */
	YQ_QUEUE_COLUMNS = YQ_COL_FIRST_ACL + YQ_QUEUE_OPERATION_COUNT
} YqQueueColumn;

/* A row of yquota.queue, with the rows of other tables that belong to the queue. */
typedef struct YqQueueRow
{
	YqBytes		key;			/* path */
	YqQueue    *queue;			/* set when the queue is made */
	Datum		values[YQ_QUEUE_COLUMNS];
	bool		nulls[YQ_QUEUE_COLUMNS];
	struct YqLabelRow *labels;	/* NULL: none */
	struct YqWeightRow *weights;
	bool		is_plan;
	const struct YqPlanShare *share;	/* for a queue of a plan, which has no other values; otherwise NULL */
} YqQueueRow;

/* Share of the plan that a queue of the plan has, in fractions. */
typedef struct YqPlanShare
{
	float4		capacity;
	float4		maximum;
} YqPlanShare;

typedef struct YqLabelRow
{
	struct YqLabelRow *next;
	const char *label;
	char	   *capacity;		/* NULL: not set, as in the next two fields */
	char	   *maximum;
	bool		has_am_percent;
	float4		am_percent;
} YqLabelRow;

typedef struct YqWeightRow
{
	struct YqWeightRow *next;
	const char *username;
	float4		weight;
} YqWeightRow;

/* Templates of a row of yquota.wildcard_template; NULL means none. */
typedef struct YqWildcardRow
{
	YqBytes		key;			/* path with wildcards */
	Jsonb	   *common;
	Jsonb	   *leaf;
	Jsonb	   *parent;
} YqWildcardRow;

/* A property of a configuration file that no row represents. */
typedef struct YqUnmappedProperty
{
	YqBytes		key;			/* Hadoop's full name of the property */
	const char *value;
} YqUnmappedProperty;

typedef struct YqHierarchyLoader
{
	YqHierarchy *hierarchy;
	Snapshot	snapshot;
	MemoryContext scratch;
	YqQueueRow **rows;
	int			row_count;
	YqQueueRow **row_of;		/* by number of the queue */
	HTAB	   *type_numbers;	/* names, before they are numbered */
	HTAB	   *wildcards;		/* YqWildcardRow */
	HTAB	   *kept;			/* YqUnmappedProperty entries of queues */
	HTAB	   *active_leaves;	/* keys are made of path and label */
	HTAB	   *label_numbers;
	Oid			running;		/* labels of queue_state */
	Oid			stopped;
} YqHierarchyLoader;

/* Read yquota.queue. */
extern void yq_hierarchy_read_queues(YqHierarchyLoader *loader);

/* Append a row.  The caller's row must exist until the hierarchy has been built. */
extern void yq_hierarchy_append_row(YqHierarchyLoader *loader, YqQueueRow *row);

/* Add the queues of plans, and vacant places.  The children of configured queues have been counted. */
extern void yq_hierarchy_add_plan_queues(YqHierarchyLoader *loader);

/* Compare siblings for qsort(). */
extern int	yq_queue_compare_siblings(const void *a, const void *b);

/* Add a queue to the look-ups by path and by name. */
extern void yq_hierarchy_enter_queue(YqHierarchy *hierarchy, YqQueue *queue);

/*
 * Bring the queues of plans up to date with yquota.reservation_queue.  Returns false
 * when the hierarchy has to be rebuilt, because no vacant place is left or the
 * hierarchy is in use.
 */
extern bool yq_hierarchy_follow_plans(YqHierarchy *hierarchy, Snapshot snapshot);

/*
 * Read the other tables, after the queues have been built.  Names and settings go
 * directly into the hierarchy.
 */
extern void yq_hierarchy_read(YqHierarchyLoader *loader);

/* Read access lists of templates, workflows, mapping rules and the settings of access. */
extern void yq_hierarchy_read_access(YqHierarchyLoader *loader);

/* Fill the configured and inherited properties of a queue.  Its parent must have been resolved. */
extern void yq_hierarchy_resolve(YqHierarchyLoader *loader, YqQueue *queue,
								 const bool *configured_anywhere);

/* Does a leaf of a managed parent have the template's capacity on the label? */
extern bool yq_hierarchy_leaf_is_active(const YqHierarchyLoader *loader, const char *path,
										const char *label);

/* Fill the totals of the hierarchy from yquota.node. */
extern void yq_hierarchy_read_nodes(YqHierarchy *hierarchy, Snapshot snapshot);

#endif							/* YQ_HIERARCHY_READ_H */
