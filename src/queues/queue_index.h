/*-------------------------------------------------------------------------
 *
 * queue_index.h
 *	  What is configured for queues, by path and by short name, for decisions
 *	  about who may do what and where an application goes.
 *
 * Kept per session in one memory context and read again when one of the tables
 * has changed, by this transaction or by a committed one; see
 * store/catalog.h.  Rows are read with the newest committed state.  Pointers
 * into the index are valid until the next yq_queue_index_refresh().
 *
 * A name finds a queue if it is its full path or, as long as no other queue has
 * it, its short name; "root" is always the root (seed 004, Hadoop 3.4.1).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_QUEUE_INDEX_H
#define YQ_QUEUE_INDEX_H

#include "base/bytes_table.h"
#include "nodes/pg_list.h"
#include "queues/acl.h"

/* Hadoop's operations on a queue, in the order of yquota.queue's columns. */
typedef enum YqQueueOperation
{
	YQ_SUBMIT_APPLICATIONS,
	YQ_ADMINISTER_QUEUE,
	YQ_ADMINISTER_RESERVATIONS,
	YQ_LIST_RESERVATIONS,
	YQ_SUBMIT_RESERVATIONS,
	YQ_QUEUE_OPERATION_COUNT
} YqQueueOperation;

/* Templates that give access to queues that are yet to be created. */
typedef enum YqQueueTemplate
{
	YQ_TEMPLATE_MANAGED,		/* leaf-queue-template */
	YQ_TEMPLATE_ANY,			/* auto-queue-creation-v2.template */
	YQ_TEMPLATE_LEAF,			/* .leaf-template */
	YQ_TEMPLATE_PARENT,			/* .parent-template */
	YQ_QUEUE_TEMPLATE_COUNT
} YqQueueTemplate;

typedef struct YqIndexedQueue
{
	YqBytes		key;			/* the path; first, for the hash table */
	const char *path;
	struct YqIndexedQueue *parent;	/* NULL for the root and for orphans */
	bool		is_leaf;		/* a plan (reservable) is none */
	bool		is_managed;		/* creates leaves, first generation */
	bool		creates_queues; /* second generation */
	bool		auto_created;
	int32		default_priority;	/* 0 when not set */
	bool		has_default_priority;
	int32		maximum_depth;	/* of queues created below; -1 when not set */
	YqAcl	   *acls[YQ_QUEUE_OPERATION_COUNT]; /* NULL: not set, nor by a template */
	const char *priority_acl;	/* NULL: not set */
	List	   *priority_groups;	/* YqPriorityGroup; see access.c */
	bool		priority_is_parsed;
} YqIndexedQueue;

/* The columns of yquota.queue with the lists for the operations. */
extern const char *const yq_acl_columns[YQ_QUEUE_OPERATION_COUNT];

/* The columns of yquota.scheduler_setting that decide here. */
typedef struct YqAccessSettings
{
	bool		acl_enable;
	YqAcl	   *admin_acl;		/* everybody when it is not set */
	bool		has_admin_acl;
	int32		maximum_priority;
	bool		override_queue; /* queue-mappings-override.enable */
	bool		json_rules;
	bool		rules_in_force; /* queue-placement-rules has user-group or app-name */
	const char *duplicate_engine;	/* in queue-placement-rules; NULL: none */
	bool		override_priority;	/* workflow-priority-mappings-override.enable */
	const char *workflow_tag_prefix;
	int32		maximum_depth;	/* auto-queue-creation-v2.maximum-queue-depth */
} YqAccessSettings;

/*
 * Bring the index up to date.  Returns a number that is another one whenever
 * what was read may differ.
 */
extern uint64 yq_queue_index_refresh(void);

/* That number, without looking for changes. */
extern uint64 yq_queue_index_generation(void);

extern const YqAccessSettings *yq_access_settings(void);

/* The context of what was read last. */
extern MemoryContext yq_queue_index_context(void);

/* The queue of a path or of a short name that only it has; NULL when there is none. */
extern YqIndexedQueue *yq_queue_find(const char *name);
extern YqIndexedQueue *yq_queue_find_path(const char *path);

/* Whether several queues have that short name. */
extern bool yq_queue_name_is_ambiguous(const char *name);

/* Visit all queues, in no order. */
extern void yq_queue_index_walk(void (*visit) (YqIndexedQueue *queue, void *state), void *state);

/*
 * The list that a template of exactly this path has, of a queue or of
 * wildcard_template, for YQ_SUBMIT_APPLICATIONS or YQ_ADMINISTER_QUEUE.  NULL
 * when there is none.
 */
extern YqAcl *yq_queue_template_acl(const char *path, YqQueueTemplate template,
									YqQueueOperation operation);

/* The priority of a workflow that is mapped for exactly this queue. */
extern bool yq_workflow_priority(const char *queue_path, const char *workflow_id,
								 int32 *priority);

#endif							/* YQ_QUEUE_INDEX_H */
